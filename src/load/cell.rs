//! A cell: a number of conversations of one kind.

use super::arrivals::Opening;
use super::crew::Crew;
use super::health::Health;
use super::isolation::{Isolate, Units};
use super::known::{self, Known, StartState, begun};
use super::limits::Gate;
use super::reset::ResetError;
use super::session::{Labels, Session};
use super::target::Target;
use super::todo::Todo;
use super::writer::ToWriter;
use crate::context::Configuration;
use crate::conversation::{Nonce, Resources};
use crate::record::ledger::CellTime;
use crate::record::{Fact, Outcome};
use crate::scenario::model::{Action, Scenario, Step};
use crate::scenario::pace::Think;
use crate::transport::Client;
use crate::units::Micros;
use std::fmt;
use std::sync::atomic::Ordering;
use std::sync::{Arc, Mutex};
use std::time::Duration;
use tokio::sync::mpsc;
use tokio_util::sync::CancellationToken;

/// Conversations of one kind: scenario, configuration, target and load level.
pub struct Cell {
    /// What its name ends in where scenario and configuration do not tell cells apart; else empty.
    pub suffix: Arc<str>,
    /// The scenario.
    pub scenario: Arc<Scenario>,
    /// How prompts are built.
    pub configuration: Configuration,
    /// Where requests go.
    pub target: Arc<Target>,
    /// Load level, as records call it (`sessions=1`).
    pub load: Arc<str>,
    /// What strategies are started with.
    pub resources: Arc<dyn Resources>,
    /// Its unit numbers. Different cells of a run share none.
    pub units: Units,
    /// Number of conversations, at most.
    pub repeats: u32,
    /// Whether it has so many, unless time ends it before; else as many as begin in time.
    pub counted: bool,
    /// None begins later than this in the cell's own time, which passes while it runs.
    pub until: Option<Duration>,
    /// How conversations begin.
    pub opening: Opening,
}

impl Cell {
    /// `quickstart/dev`; unique in a run.
    pub fn name(&self) -> String {
        // Not formatted: every conversation asks for it.
        let configuration = self.configuration.name.as_str();
        [&*self.scenario.name, "/", configuration, &*self.suffix].concat()
    }

    /// `quickstart/dev/1`; unique in a run.
    pub fn conversation(&self, repeat: u32) -> String {
        [self.name().as_str(), "/", &repeat.to_string()].concat()
    }

    /// Whether it ends by its own time, which then has to be known when it goes on.
    pub fn ends_by_time(&self) -> bool {
        self.until.is_some() && matches!(self.opening, Opening::Closed(_))
    }

    /// Whether building a prompt may wait for a process: the user's own builder
    /// does, and after a `configuration` step it may be that one.
    pub(super) fn waits(&self) -> bool {
        fn switches(steps: &[Step]) -> bool {
            steps.iter().any(|step| match &step.action {
                Action::Configuration(_) => true,
                Action::Approve { during, .. } => switches(during),
                _ => false,
            })
        }
        self.configuration.base.name == "external" || switches(&self.scenario.steps)
    }
}

/// What bounds a request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Limits {
    /// Output tokens asked for.
    pub max_tokens: u32,
    /// Tries after the first.
    pub retries: u32,
    /// A server that asks for a longer wait is not asked again.
    pub longest_wait: Duration,
    /// Longest rest where a scenario idles; `None`: as long as it says.
    pub longest_idle: Option<Duration>,
}

/// Why a cell, or a conversation of it, ended early.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum CellEnd {
    /// The run was told to stop.
    Stopped,
    /// The target refuses everything alike: wrong key, path or model, or no connection
    /// where it has never answered.
    Refused {
        /// Kind of refusal.
        outcome: Outcome,
        /// HTTP status.
        status: Option<u16>,
        /// What the target said.
        message: String,
    },
    /// Turn after turn of a conversation failed, or nothing was answered for long.
    Failing {
        /// Kind of the last failure.
        outcome: Outcome,
        /// What the target said.
        message: String,
    },
    /// A conversation ended while its target was away; what was said of its last request.
    /// It alone ends, to be run again where the run is gone on with.
    Away(String),
    /// A prompt could not be built.
    Context(String),
    /// The cache could not be emptied before it.
    Reset(ResetError),
    /// A limit that was set for the run does not allow the next request.
    Limit(String),
}

impl fmt::Display for CellEnd {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Stopped => f.write_str("interrupted"),
            Self::Refused {
                outcome,
                status,
                message,
            } => {
                write!(f, "{}", outcome.as_str())?;
                if let Some(status) = status {
                    write!(f, " (status {status})")?;
                }
                write!(f, ": {message}")
            }
            Self::Failing { outcome, message } => {
                write!(
                    f,
                    "turn after turn failed, last with {}: {message}",
                    outcome.as_str()
                )
            }
            Self::Away(message) => write!(f, "the target was away: {message}"),
            Self::Context(message) | Self::Limit(message) => f.write_str(message),
            Self::Reset(error) => error.fmt(f),
        }
    }
}

/// Moves time while a scenario idles: sleeps for a real target, moves the clock
/// of the embedded server.
pub type Idle = Arc<dyn Fn(Duration) -> futures_util::future::BoxFuture<'static, ()> + Send + Sync>;

/// What a runner is made of.
pub struct RunnerSetup {
    /// The one client.
    pub client: Arc<Client>,
    /// What keeps conversations apart.
    pub isolate: Isolate,
    /// The run's nonce.
    pub nonce: Nonce,
    /// What bounds a request.
    pub limits: Limits,
    /// What holds requests to this target back.
    pub gate: Arc<Gate>,
    /// Whether this target answers.
    pub health: Health,
    /// How long a person thinks between turns.
    pub think: Option<Think>,
    /// Seed of everything drawn.
    pub seed: u64,
    /// Where attempts go as they end.
    pub records: mpsc::Sender<ToWriter>,
    /// Moves time while a scenario idles.
    pub idle: Idle,
    /// Ends the run.
    pub stop: CancellationToken,
    /// What went before, and what is sent before what is measured.
    pub begin: StartState,
}

/// Runs cells. Clones share what is known.
#[derive(Clone)]
pub struct Runner {
    pub(super) setup: Arc<RunnerSetup>,
    known: Arc<Known>,
}

impl Runner {
    /// A runner that has run nothing yet.
    pub fn new(setup: RunnerSetup) -> Self {
        Self {
            known: Arc::new(Known::new(&setup.begin)),
            setup: Arc::new(setup),
        }
    }

    /// Asks the first prompt of a cell that has ended again, for the ledger: whether the
    /// cache still held it.
    ///
    /// # Errors
    ///
    /// A prompt that could not be built again.
    pub async fn probe(&self, cell: &Arc<Cell>) -> Result<(), CellEnd> {
        self.known.probe(&self.setup, cell).await
    }

    /// Runs what is to be done of `cell`, beginning conversations as its opening says, and
    /// returns when all have ended. What has not begun by the end of a closed cell's time
    /// is left.
    ///
    /// A schedule waits for nobody: a conversation that is due begins, whatever the
    /// others do. A shard keeps the times of the whole; a run that is gone on with
    /// begins at the first conversation that is left.
    ///
    /// # Errors
    ///
    /// The first reason for which a conversation ended early; conversations
    /// that have not begun by then do not begin.
    pub async fn run(&self, cell: &Arc<Cell>, todo: &mut Todo) -> Result<(), CellEnd> {
        let ready = self.known.cell(&self.setup, cell).await;
        self.verdict(ready.err().into_iter().collect())?;
        let mut crew = Crew::new(self, cell);
        match &cell.opening {
            Opening::Closed(changes) => {
                self.time(cell, todo, todo.until).await;
                crew.closed(changes, todo).await;
                self.time(cell, todo, None).await;
            }
            Opening::Open(times) => {
                crew.open(times, &todo.all()).await;
                todo.go_on_with(Vec::new());
            }
        }
        let reasons = crew.wait().await;
        self.verdict(reasons)?;
        // What an outage ate at the end can be run again; before, the cell has gone on.
        match self.setup.health.gone() {
            Some(message) => Err(CellEnd::Away(message)),
            None => Ok(()),
        }
    }

    /// Notes that the time of a cell that ends by time passes from now on, or stands still.
    async fn time(&self, cell: &Cell, todo: &Todo, until: Option<Duration>) {
        if cell.ends_by_time() {
            let fact = CellTime {
                cell: Arc::from(cell.name()),
                passed_us: Micros::from(todo.passed),
                until_us: until.map(Micros::from),
            };
            known::note(&self.setup, Fact::Time(fact)).await;
        }
    }

    /// The first reason that does not merely follow from another.
    fn verdict(&self, reasons: Vec<CellEnd>) -> Result<(), CellEnd> {
        if self.setup.stop.is_cancelled() {
            return Err(CellEnd::Stopped);
        }
        let mut own = reasons.into_iter().filter(|end| *end != CellEnd::Stopped);
        own.next().map_or(Ok(()), Err)
    }

    pub(super) fn conversation(
        &self,
        cell: Arc<Cell>,
        repeat: u32,
        arrival: Option<Micros>,
        stop: CancellationToken,
        begin: CancellationToken,
    ) -> impl Future<Output = Result<(), CellEnd>> + Send + 'static {
        let (setup, known) = (Arc::clone(&self.setup), Arc::clone(&self.known));
        async move {
            let order = setup.begin.order.fetch_add(1, Ordering::Relaxed) + 1;
            let (isolation, start) = known.conversation(&setup, &cell, repeat).await?;
            let name: Arc<str> = Arc::from(cell.conversation(repeat));
            let conversation = begun(&cell, &name, &isolation)?;
            let began = setup.client.now();
            let session = Session {
                labels: Labels::of(&setup, &cell, &name, &isolation),
                setup,
                cell,
                name,
                repeat,
                isolation,
                arrival,
                stop,
                begin,
                notes: Mutex::default(),
            };
            // In a box: what a task holds is moved with it, and moved again.
            let ended = Box::pin(session.run(conversation)).await;
            let fact = known::fact(&session, order, began, start, &ended);
            known::note(&session.setup, Fact::Conversation(Box::new(fact))).await;
            ended
        }
    }
}
