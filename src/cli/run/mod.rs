//! `run`: drives scenarios against a target.

mod chosen;
mod dry;
mod finish;
mod levels;
mod plan;
mod progress;
mod resume;
mod shard;
mod signals;
mod state;
mod told;
mod ways_out;

use super::calibrate;
use super::choice::{Configurations, Files};
use super::counters::Watch;
use super::exit::{Exit, Failure};
use super::output;
use super::prices;
use super::probe::Probed;
use super::settings::Settings;
use super::target::{Aim, name_output, no_client, variable};
use super::targets;
use super::tokens;
use crate::conversation::Nonce;
use crate::load::limits::Budget;
use crate::load::{
    Cell, CellEnd, Idle, Isolate, Limits, Order, Round, Runner, RunnerSetup, StartState, Target,
    WarmUp, Writer,
};
use crate::record::load::write_load;
use crate::record::{
    Calibration, Ending, Invocation, Manifest, RunWriter, Shard, WallTime, WriteError,
};
use crate::scenario::pace::Until;
use crate::server::{self, Handle, Server};
use crate::transport::{Client, Settings as ClientSettings};
pub(super) use plan::nonce;
use plan::{EMBEDDED, Planned};
use progress::Progress;
use resume::{Again, Start};
use state::EvictionProbe;
use std::collections::{BTreeMap, BTreeSet};
use std::ffi::OsString;
use std::num::NonZeroU64;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;
use told::Told;

/// Drive scenarios against a target and measure what its prefix cache gives
#[derive(clap::Args)]
pub(super) struct Arguments {
    #[command(flatten)]
    files: Files,

    #[command(flatten)]
    configurations: Configurations,

    #[command(flatten)]
    aim: Aim,

    /// A plan file; flags and variables go before what it says
    #[arg(long, value_name = "FILE")]
    plan: Option<PathBuf>,

    /// Conversations per scenario and configuration [default: 1, or as many as begin in --duration]
    #[arg(long, value_name = "N")]
    repeat: Option<u32>,

    #[command(flatten)]
    load: levels::LoadArguments,

    /// In which order cells and their conversations are run [default: given]
    #[arg(long, value_enum)]
    order: Option<Order>,

    /// What starts on a cold cache [default: conversation]
    #[arg(long, value_enum)]
    isolate: Option<Isolate>,

    /// Output tokens asked for [default: 16, or 512 with live replies]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..))]
    max_tokens: Option<u32>,

    /// Tries after the first where a failure may pass [default: 2]
    #[arg(long, value_name = "N")]
    retries: Option<u32>,

    /// Seed of everything drawn [default: 1]
    #[arg(long, value_name = "N")]
    seed: Option<u64>,

    /// The run's nonce, eight digits, to repeat a run byte for byte [default: drawn]
    #[arg(long, value_name = "DIGITS")]
    nonce: Option<String>,

    /// Seconds without a sign of life after which an answer is given up: until the connection
    /// stands, until its headers, its first byte, and between any two reads [default: 300]
    #[arg(long, value_name = "SECONDS")]
    timeout: Option<NonZeroU64>,

    /// Draw the run's nonce from this text, which must be new for every run; for shards, which
    /// need the same one
    #[arg(long, value_name = "TEXT", conflicts_with = "nonce")]
    nonce_from: Option<String>,

    /// Run only this part of the conversations, such as 3/16; `merge` joins the parts
    #[arg(long, value_name = "I/N")]
    shard: Option<Shard>,

    /// Run one of N parts: which one, `JOB_COMPLETION_INDEX` says, as in an Indexed Job
    #[arg(long, value_name = "N", conflicts_with = "shard")]
    shards: Option<u32>,

    /// Go on with the run in this folder that was broken off; needs nothing else
    #[arg(long, value_name = "DIR")]
    resume: Option<PathBuf>,

    /// What is sent before what is measured, and counts nowhere [default: none]
    #[arg(long, value_enum)]
    warm_up: Option<WarmUp>,

    /// Whether each cell's first prompt is asked again at its end, to see whether the cache still
    /// held it; auto: where that costs nothing [default: auto]
    #[arg(long, value_enum)]
    eviction_probe: Option<EvictionProbe>,
    /// Probe each target first, store what was found as `probe.json`, and fill in what is not
    /// known of it: its cache model, and whether a count that it leaves out is a 0
    #[arg(long)]
    probe: bool,

    /// Rest at most this long on a real server where a scenario idles; the request behind a rest
    /// that was cut short is flagged `idle_cut` [default: as long as the scenario says]
    #[arg(long, value_name = "SECONDS")]
    longest_idle: Option<u64>,

    /// Folder of the run [default: reports/DATE-SCENARIO]
    #[arg(long, value_name = "DIR")]
    out: Option<PathBuf>,

    /// Write records only; `report` makes the rest later
    #[arg(long)]
    no_report: bool,

    /// Keep lengths and hashes of texts, not the texts
    #[arg(long)]
    no_text: bool,

    /// First measure what the client itself adds on this machine (see `calibrate`), and keep it with
    /// the run
    #[arg(long)]
    calibrate: bool,

    /// Print what would be run and what to expect of it; send nothing
    #[arg(long)]
    dry_run: bool,

    /// With --dry-run: how many conversations make the interval of a cached share this wide,
    /// in percentage points
    #[arg(long, value_name = "POINTS", requires = "dry_run")]
    width: Option<f64>,

    /// With --width: a finished run of the same kind, whose spread is taken
    #[arg(long, value_name = "RUN", requires = "width")]
    pilot: Option<PathBuf>,

    /// Do not ask before spending
    #[arg(long)]
    yes: bool,

    /// Ask before a run that may cost more than this [default: 1]
    #[arg(long, value_name = "USD")]
    ask_above: Option<levels::Usd>,

    /// Say nothing while it runs
    #[arg(long, short)]
    quiet: bool,
}

/// Runs; `raw` are the arguments behind the subcommand's name, as they are kept with
/// the run.
pub(super) fn run(arguments: Arguments, raw: &[OsString]) -> Result<Exit, Failure> {
    // Before there are threads: it may change the working folder.
    let (arguments, begin) = match resume::start(arguments, raw)? {
        Start::Anew(arguments, invocation) => (arguments, Begin::Anew(invocation)),
        Start::Again(arguments, again) => (arguments, Begin::Again(again)),
        Start::Finished(dir, no_report) => return resume::nothing_left(&dir, no_report),
    };
    let runtime = runtime()?;
    let (stop, leave) = (CancellationToken::new(), CancellationToken::new());
    runtime.spawn(signals::watch(stop.clone(), leave.clone()));
    // On a task of its own: what computes for long in it must not hold up a second Ctrl-C.
    let driven = runtime.spawn(drive(*arguments, begin, stop));
    let ended = runtime.block_on(async {
        tokio::select! {
            ended = driven => match ended {
                Ok(ended) => ended,
                Err(join) => std::panic::resume_unwind(join.into_panic()),
            },
            () = leave.cancelled() => Ok(Exit::Interrupted),
        }
    });
    // Threads that still compute or wait for a builder end with the process.
    runtime.shutdown_background();
    ended
}

/// The runtime that requests are driven on.
pub(super) fn runtime() -> Result<tokio::runtime::Runtime, Failure> {
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .enable_all()
        .build();
    runtime.map_err(|error| {
        Failure::new(
            Exit::Unexpected,
            format!("cannot start the runtime: {error}"),
            None,
        )
    })
}

/// How a run begins.
enum Begin {
    /// Anew; with what is kept of the command line.
    Anew(Invocation),
    /// Where it was broken off.
    Again(Box<Again>),
}

impl Begin {
    fn again(&self) -> Option<&Again> {
        match self {
            Self::Anew(_) => None,
            Self::Again(again) => Some(again),
        }
    }

    /// The folder of the run, opened.
    fn open(
        self,
        arguments: &Arguments,
        planned: &Planned,
        mut manifest: Manifest,
        kept: &BTreeSet<Arc<str>>,
    ) -> Result<RunWriter, Failure> {
        match self {
            Self::Again(again) => again.go_on(kept),
            Self::Anew(mut invocation) => {
                let dir = plan::folder(arguments, planned, &manifest);
                // Its way to here is known only once it is there.
                std::fs::create_dir_all(&dir)
                    .map_err(|source| not_written(WriteError::new(&dir, source)))?;
                invocation.folder = resume::way_back(&dir);
                if invocation.folder.is_some() {
                    invocation.arguments = resume::portable(invocation.arguments);
                }
                manifest.invocation = Some(invocation);
                RunWriter::create(&dir, &manifest, !arguments.no_text).map_err(not_written)
            }
        }
    }
}

async fn drive(
    mut arguments: Arguments,
    begin: Begin,
    stop: CancellationToken,
) -> Result<Exit, Failure> {
    let again = begin.again();
    let mut settings = again.map_or_else(Settings::of_process, Again::settings);
    let plan = chosen::plan(&mut arguments, &mut settings)?;
    let planned = Planned::new(&arguments, plan, &mut settings)?;
    if let Some(again) = again {
        again.same_plan(&arguments, &planned)?;
    }
    if arguments.dry_run {
        return dry::run(&arguments, &planned);
    }
    let outlook = dry::before(&arguments, &planned, &stop).await?;
    if let Some(path) = &arguments.aim.tokenizer {
        // One that cannot be used shows now, not when everything has been measured.
        tokens::local(path)?;
    }
    let patience = patience(&arguments, &mut settings)?;
    let started = started(again)?;
    let found = stop
        .run_until_cancelled(Box::pin(Place::all(
            &arguments,
            &planned,
            (started, patience),
        )))
        .await;
    let places = found.unwrap_or_else(|| Err(interrupted_early()))?;
    if places.iter().any(|place| place.server.is_none()) {
        planned.tell_idling();
    }
    let targets: Vec<Arc<Target>> = places.iter().map(|place| place.target.clone()).collect();
    if let Some(again) = again {
        again.same_targets(&targets)?;
    }
    state::resets(&planned, &places).await?;
    let cells = planned.cells(&targets)?;
    let mut rounds = planned.rounds(&cells, &mut settings);
    let kept = again.map(|again| again.kept(&cells, planned.isolate));
    let kept = kept.unwrap_or_default();
    let shard = planned.shard.map(|shard| (shard, planned.isolate));
    shard::narrow(&mut rounds, &cells, shard, &kept);
    let mut manifest = planned.manifest(&arguments, settings, &targets);
    if arguments.calibrate && again.is_none() {
        manifest.calibration = Some(calibrated(&arguments, &planned, &stop).await?);
    }
    let beginnings = state::beginnings(again, &planned, &places);
    let nonce = state::nonce(again, &planned, &cells);
    let resumed = again.is_some();
    let run = begin.open(&arguments, &planned, manifest, &kept)?;
    let (dir, manifest) = (resume::from_here(run.dir()), run.manifest().clone());
    write_probes(&places, &dir)?;
    let budget = Arc::new(Budget::new(planned.load.max_usd));
    if resumed {
        budget.begin_with(state::spent_before(&dir, &targets));
    }
    let progress = Progress::new(&cells, &outlook, Arc::clone(&budget), arguments.quiet);
    let told = Told::new(progress.clone());
    let hears = told.clone();
    let writer = Writer::start(
        run,
        arguments.no_text,
        Box::new(move |measured| hears.measured(measured)),
        stop.clone(),
    );
    let runners = places
        .iter()
        .zip(beginnings)
        .map(|(place, begin)| place.runner(&planned, begin, nonce, &budget, &writer, &stop));
    let runners: Vec<Runner> = runners.collect();
    let mut watches = watches(&arguments, &places).await;
    let all = Rounds {
        order: &rounds,
        cells: &cells,
        places: &places,
        runners: &runners,
        writer: &writer,
        progress: &progress,
        probe: planned.eviction_probe,
        isolate: planned.isolate,
        sweep: planned.load.sweep.as_deref(),
        levels: planned.load.levels.len(),
    };
    let ending = all.run(&mut watches).await;
    drop(runners);
    progress.clear();
    write_load(&dir, &progress.loads()).map_err(not_written)?;
    let done = finish::Done {
        writer,
        manifest: &manifest,
        places: &places,
        ending,
        watches,
        told: &told,
        stop: &stop,
        resumed,
    };
    let exit = done.finish(&arguments, &dir).await;
    for place in places {
        place.close().await;
    }
    exit
}

/// What the client itself adds, measured before the run and told.
async fn calibrated(
    arguments: &Arguments,
    planned: &Planned,
    stop: &CancellationToken,
) -> Result<Calibration, Failure> {
    let request = calibrate::Request::before_a_run(&planned.load.streams());
    let found = request.measure(stop).await?;
    if !arguments.quiet {
        output::tell(calibrate::shown(&found).trim_end());
    }
    Ok(found)
}

/// The watches on the counters of those places that have some, by place.
async fn watches(arguments: &Arguments, places: &[Place]) -> BTreeMap<usize, Watch> {
    let mut watches = BTreeMap::new();
    for (number, Place { target, client, .. }) in places.iter().enumerate() {
        let watch = Watch::begin(target, &arguments.aim.metrics, client).await;
        watches.extend(watch.map(|watch| (number, watch)));
    }
    watches
}

/// Stores what was found by probing in the run's folder.
fn write_probes(places: &[Place], dir: &Path) -> Result<(), Failure> {
    let probed = places.iter().filter_map(|place| place.probed.as_ref());
    for (number, probed) in probed.enumerate() {
        probed.write(&dir.join(probe_file(number)))?;
    }
    Ok(())
}

/// Where the result of a probe is stored in the run's folder.
fn probe_file(number: usize) -> String {
    match number {
        0 => "probe.json".to_owned(),
        number => format!("probe-{}.json", number + 1),
    }
}

/// How long an answer may be silent.
fn patience(arguments: &Arguments, settings: &mut Settings) -> Result<Duration, Failure> {
    let default = NonZeroU64::MIN.saturating_add(299);
    let seconds = settings.resolve("timeout", arguments.timeout, default)?;
    Ok(Duration::from_secs(seconds.get()))
}

/// The instant from which stamps count.
fn started(again: Option<&Again>) -> Result<Instant, Failure> {
    let now = Instant::now();
    let Some(again) = again else { return Ok(now) };
    now.checked_sub(again.from.into()).ok_or_else(|| {
        Failure::new(
            Exit::Unexpected,
            "the clock of this machine does not reach back to the start of the run",
            None,
        )
    })
}

fn interrupted_early() -> Failure {
    Failure::new(
        Exit::Interrupted,
        "interrupted before the first request",
        None,
    )
}

/// What is run, in order, and by whom.
struct Rounds<'a> {
    order: &'a [Round],
    cells: &'a [Arc<Cell>],
    places: &'a [Place],
    /// One for each place.
    runners: &'a [Runner],
    writer: &'a Writer,
    progress: &'a Progress,
    probe: EvictionProbe,
    isolate: Isolate,
    /// Rules of a sweep, where the levels are one.
    sweep: Option<&'a [Until]>,
    /// Cells that differ in their load level only stand side by side, so many of them.
    levels: usize,
}

/// What has become of the cells so far.
#[derive(Default)]
struct Course {
    /// Cells that go no further.
    failed: BTreeSet<usize>,
    /// Places that have answered, and those that refuse everything.
    answered: BTreeSet<usize>,
    hopeless: BTreeSet<usize>,
    /// Sweeps that have ended.
    swept: BTreeSet<usize>,
    /// Why the first of the failed ones did.
    failure: Option<String>,
}

impl Rounds<'_> {
    /// Runs the rounds one after the other. A cell that fails has no further rounds
    /// and does not stop the others, unless it was refused in a way that all of its
    /// target would be. A sweep has no further levels where one breaks a rule.
    async fn run(&self, watches: &mut BTreeMap<usize, Watch>) -> Ending {
        let mut course = Course::default();
        let mut last: BTreeMap<usize, usize> = BTreeMap::new();
        for (number, round) in self.order.iter().enumerate() {
            last.insert(round.cell, number);
        }
        for (number, round) in self.order.iter().enumerate() {
            let cell = &self.cells[round.cell];
            let of_cell = |place: &Place| Arc::ptr_eq(&place.target, &cell.target);
            let Some(place) = self.places.iter().position(of_cell) else {
                continue;
            };
            if course.failed.contains(&round.cell) || course.hopeless.contains(&place) {
                self.progress
                    .give_up(round.cell, "its target refuses everything");
                continue;
            }
            if course.swept.contains(&(round.cell / self.levels)) {
                self.progress
                    .give_up(round.cell, "a lower level of its sweep broke a rule");
                continue;
            }
            self.progress.begin(round.cell);
            let last = last.get(&round.cell) == Some(&number);
            let mut ended = self.runners[place].run(cell, &round.repeats).await;
            if ended.is_ok() && last && self.probe.asks(&cell.target, self.isolate) {
                ended = self.runners[place].probe(cell).await;
            }
            self.writer.flush().await;
            if self.progress.any_ok() {
                course.answered.insert(place);
            }
            self.progress.end(last || ended.is_err());
            if let Some(watch) = watches.get_mut(&place) {
                watch.mark(&cell.name()).await;
            }
            match ended {
                Ok(()) if last => self.cell_ended(round.cell, &mut course),
                Ok(()) => {}
                Err(CellEnd::Stopped) => return Ending::Interrupted,
                Err(end) => {
                    output::warn(&ways_out::of_end(&cell.name(), &end));
                    self.progress.give_up(round.cell, &end.to_string());
                    if let CellEnd::Limit(why) = end {
                        return Ending::Limited(why);
                    }
                    if matches!(end, CellEnd::Refused { .. }) && !course.answered.contains(&place) {
                        course.hopeless.insert(place);
                    }
                    course.failure.get_or_insert(end.to_string());
                    course.failed.insert(round.cell);
                }
            }
        }
        match course.failure {
            None => Ending::Complete,
            Some(why) if course.answered.is_empty() => Ending::Failed(why),
            Some(why) => Ending::Partial(why),
        }
    }

    /// A cell has come to its end: what it lost is told, and whether its sweep goes on.
    fn cell_ended(&self, number: usize, course: &mut Course) {
        let name = self.cells[number].name();
        if let Some(lost) = self.progress.lost() {
            output::warn(&ways_out::of_lost(&name, &lost));
        }
        let broken = self
            .sweep
            .and_then(|rules| self.progress.tally().broken(rules));
        if let Some((rule, found)) = broken {
            course.swept.insert(number / self.levels);
            output::tell(&format!(
                "{name}: the sweep ends here: `{rule}`, and it was {found}"
            ));
        }
    }
}

/// Where requests go, and the embedded server where that is it.
struct Place {
    target: Arc<Target>,
    client: Arc<Client>,
    server: Option<Arc<Handle>>,
    probed: Option<Probed>,
}

/// Tokens of the first prompt of a target's probe.
const PROBE_TOKENS: usize = 2_000;

impl Place {
    /// All targets of the run, in the order given.
    async fn all(
        given: &Arguments,
        planned: &Planned,
        (started, patience): (Instant, Duration),
    ) -> Result<Vec<Self>, Failure> {
        let mut places = Vec::new();
        for name in &planned.targets {
            places.push(Self::find(given, planned, name, (started, patience)).await?);
        }
        Ok(places)
    }

    async fn find(
        given: &Arguments,
        planned: &Planned,
        name: &str,
        (started, patience): (Instant, Duration),
    ) -> Result<Self, Failure> {
        let catalogue = prices::catalogue(given.aim.prices.as_deref())?;
        let today = WallTime::now().date();
        if name != EMBEDDED {
            let aim = Aim {
                target: Some(name.to_owned()),
                ..given.aim.clone()
            };
            let entry = targets::named(&aim, &given.files.scenarios)?;
            let routes = match &entry {
                Some(entry) => entry.client(&variable)?,
                None => ClientSettings::default(),
            };
            let routes = routes.giving_up_after(patience);
            let client = Client::new(&routes, started).map_err(no_client)?;
            let mut target = match &entry {
                Some(entry) => aim.named(entry, &client).await?,
                None => aim.remote(name, &client).await?,
            };
            if planned.live() {
                // What was generated is sent again as text, which need not tokenise alike.
                name_output(&mut target);
            }
            let stated = entry.as_ref().and_then(targets::Entry::prices);
            target.price = prices::of(&target, stated, &catalogue, &today)?;
            let mut probed = None;
            if given.probe {
                // Of no conversation, so that none of them shares its beginning.
                let probe_nonce = planned.nonce.of_unit(u64::MAX);
                let found = Probed::of(&target, &client, probe_nonce, PROBE_TOKENS).await?;
                found.complete(&mut target);
                probed = Some(found);
            }
            return Ok(Self {
                target: Arc::new(target),
                client: Arc::new(client),
                server: None,
                probed,
            });
        }
        let (profile, cache, lifetime) = planned.embedded(&given.aim)?;
        let options = server::Options {
            profile,
            seed: planned.seed,
            model: "embedded".to_owned(),
            cache_model: Some(cache.clone()),
            lifetime,
            ..server::Options::default()
        };
        let server = Server::start(options).await.map_err(|error| {
            Failure::new(
                Exit::Unexpected,
                format!("cannot start the embedded server: {error}"),
                None,
            )
        })?;
        let routes = ClientSettings::default().giving_up_after(patience);
        let client = Client::new(&routes, started).map_err(no_client)?;
        let mut target = given.aim.embedded(&server, cache, lifetime)?;
        target.salted &= profile.habit.knows_salt();
        target.price = prices::of(&target, None, &catalogue, &today)?;
        Ok(Self {
            target: Arc::new(target),
            client: Arc::new(client),
            server: Some(Arc::new(server)),
            probed: None,
        })
    }

    /// Only what is waited for can be cut short.
    fn limits(&self, limits: Limits) -> Limits {
        Limits {
            longest_idle: limits.longest_idle.filter(|_| self.server.is_none()),
            ..limits
        }
    }

    /// The embedded server's clock jumps; anything else is waited for.
    fn idle(&self) -> Idle {
        let server = self.server.clone();
        Arc::new(move |span: Duration| {
            let server = server.clone();
            Box::pin(async move {
                match server {
                    Some(server) => server.advance(span),
                    None => tokio::time::sleep(span).await,
                }
            })
        })
    }

    /// What drives conversations against it.
    fn runner(
        &self,
        planned: &Planned,
        begin: StartState,
        nonce: Nonce,
        budget: &Arc<Budget>,
        writer: &Writer,
        stop: &CancellationToken,
    ) -> Runner {
        Runner::new(RunnerSetup {
            client: Arc::clone(&self.client),
            isolate: planned.isolate,
            nonce,
            limits: self.limits(planned.limits),
            gate: Arc::new(planned.gate(&self.target, budget)),
            think: planned.load.think,
            seed: planned.seed,
            records: writer.sender(),
            idle: self.idle(),
            stop: stop.clone(),
            begin,
        })
    }

    async fn close(self) {
        if let Some(server) = self.server.and_then(Arc::into_inner) {
            server.shutdown().await;
        }
    }
}

/// A folder that cannot be written.
#[expect(clippy::needless_pass_by_value, reason = "it is what `map_err` gives")]
pub(super) fn not_written(error: WriteError) -> Failure {
    let exit = match &error {
        WriteError::NotEmpty { .. } | WriteError::Busy { .. } | WriteError::Resume { .. } => {
            Exit::WrongInput
        }
        _ => Exit::NotWritten,
    };
    let help = Some(error.help().to_owned());
    let source = std::error::Error::source(&error).map(|source| format!(": {source}"));
    Failure::new(exit, format!("{error}{}", source.unwrap_or_default()), help)
}
