//! `run`: drives scenarios against a target.

mod finish;
mod plan;
mod progress;

use super::choice::{Configurations, Files};
use super::counters::Watch;
use super::exit::{Exit, Failure};
use super::output;
use super::prices;
use super::settings::Settings;
use super::target::{Aim, no_client, variable};
use super::targets::{self, Entry};
use crate::load::{Cell, CellEnd, Idle, Isolate, Runner, RunnerSetup, Target, Writer};
use crate::record::{Ending, RunWriter, WallTime, WriteError};
use crate::server::{self, Handle, Server};
use crate::transport::{Client, Settings as ClientSettings};
use plan::Planned;
pub(super) use plan::nonce;
use progress::Progress;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;

/// Drive scenarios against a target and measure what its prefix cache gives
#[derive(clap::Args)]
pub(super) struct Arguments {
    #[command(flatten)]
    files: Files,

    #[command(flatten)]
    configurations: Configurations,

    #[command(flatten)]
    aim: Aim,

    /// Conversations per scenario and configuration [default: 1]
    #[arg(long, value_name = "N")]
    repeat: Option<u32>,

    /// Conversations at once [default: 1]
    #[arg(long, value_name = "N")]
    sessions: Option<usize>,

    /// What starts on a cold cache [default: conversation]
    #[arg(long, value_enum)]
    isolate: Option<Isolate>,

    /// Output tokens asked for [default: 16, or 512 with live replies]
    #[arg(long, value_name = "N")]
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

    /// Folder of the run [default: reports/DATE-SCENARIO]
    #[arg(long, value_name = "DIR")]
    out: Option<PathBuf>,

    /// Write records only; `report` makes the rest later
    #[arg(long)]
    no_report: bool,

    /// Keep lengths and hashes of texts, not the texts
    #[arg(long)]
    no_text: bool,

    /// Say nothing while it runs
    #[arg(long, short)]
    quiet: bool,
}

pub(super) fn run(arguments: Arguments) -> Result<Exit, Failure> {
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .enable_all()
        .build();
    let runtime = runtime.map_err(|error| {
        Failure::new(
            Exit::Unexpected,
            format!("cannot start the runtime: {error}"),
            None,
        )
    })?;
    runtime.block_on(drive(arguments))
}

async fn drive(arguments: Arguments) -> Result<Exit, Failure> {
    let mut settings = Settings::of_process();
    let mut planned = Planned::new(&arguments, &mut settings)?;
    let entry = targets::named(&arguments.aim, &arguments.files.scenarios)?;
    let routes = match &entry {
        Some(entry) => entry.client(&variable)?,
        None => ClientSettings::default(),
    };
    let client = Client::new(&routes, Instant::now()).map_err(no_client)?;
    let client = Arc::new(client);
    let place = Place::find(&arguments, entry.as_ref(), &client, planned.seed).await?;
    let cells = planned.cells(&place.target);
    let manifest = planned.manifest(&arguments, settings, &place.target);
    let dir = plan::folder(&arguments, &planned.scenarios, &manifest);
    let run = RunWriter::create(&dir, &manifest, !arguments.no_text).map_err(not_written)?;
    let stop = CancellationToken::new();
    stop_on_signals(&stop);
    let conversations = cells.iter().map(|cell| u64::from(cell.repeats)).sum();
    let progress = Progress::new(conversations, arguments.quiet);
    let told = progress.clone();
    let writer = Writer::start(
        run,
        Box::new(move |record| told.record(record)),
        stop.clone(),
    );
    let runner = Runner::new(RunnerSetup {
        client: Arc::clone(&client),
        isolate: planned.isolate,
        nonce: planned.nonce,
        limits: planned.limits,
        records: writer.sender(),
        idle: place.idle(),
        stop: stop.clone(),
    });
    let mut watch = Watch::begin(&place.target, &arguments.aim.metrics, &client).await;
    let ending = all_cells(&cells, &runner, &progress, &mut watch).await;
    drop(runner);
    progress.clear();
    let done = finish::Done {
        writer,
        manifest: &manifest,
        target: &place.target,
        client: &client,
        ending,
        watch,
    };
    let exit = done.finish(&arguments, &dir).await;
    place.close().await;
    exit
}

/// Runs the cells one after the other. A cell that fails does not stop the
/// others, unless it was refused in a way that all of them would be.
async fn all_cells(
    cells: &[Arc<Cell>],
    runner: &Runner,
    progress: &Progress,
    watch: &mut Option<Watch>,
) -> Ending {
    let mut any_ok = false;
    let mut failure = None;
    for cell in cells {
        progress.begin(&cell.name());
        let ended = runner.run(cell).await;
        any_ok |= progress.any_ok();
        progress.end(u64::from(cell.repeats));
        if let Some(watch) = watch {
            watch.mark(&cell.name()).await;
        }
        match ended {
            Ok(()) => {}
            Err(CellEnd::Stopped) => return Ending::Interrupted,
            Err(end) => {
                output::warn(&format!("{}: {end}", cell.name()));
                let hopeless = matches!(end, CellEnd::Refused { .. }) && !any_ok;
                failure.get_or_insert(end.to_string());
                if hopeless {
                    break;
                }
            }
        }
    }
    failure.map_or(Ending::Complete, Ending::Failed)
}

/// Where requests go, and the embedded server where that is it.
struct Place {
    target: Arc<Target>,
    server: Option<Arc<Handle>>,
}

impl Place {
    async fn find(
        arguments: &Arguments,
        entry: Option<&Entry>,
        client: &Client,
        seed: u64,
    ) -> Result<Self, Failure> {
        let catalogue = prices::catalogue(arguments.aim.prices.as_deref())?;
        let stated = entry.and_then(Entry::prices);
        let today = WallTime::now().date();
        let price = |target: &Target| prices::of(target, stated, &catalogue, &today);
        if let Some(url) = &arguments.aim.target {
            let mut target = match entry {
                Some(entry) => arguments.aim.named(entry, client).await?,
                None => arguments.aim.remote(url, client).await?,
            };
            target.price = price(&target)?;
            return Ok(Self {
                target: Arc::new(target),
                server: None,
            });
        }
        let profile = super::serve::profile(&arguments.aim.profile)?;
        let options = server::Options {
            profile,
            seed,
            model: "embedded".to_owned(),
            ..server::Options::default()
        };
        let server = Server::start(options).await.map_err(|error| {
            Failure::new(
                Exit::Unexpected,
                format!("cannot start the embedded server: {error}"),
                None,
            )
        })?;
        let model = super::target::parse_model(profile.model)?;
        let mut target = arguments
            .aim
            .embedded(&server.url(), model, profile.lifetime)?;
        target.price = price(&target)?;
        Ok(Self {
            target: Arc::new(target),
            server: Some(Arc::new(server)),
        })
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

    async fn close(self) {
        if let Some(server) = self.server.and_then(Arc::into_inner) {
            server.shutdown().await;
        }
    }
}

/// The first Ctrl-C ends the run and keeps what there is; a second one leaves at once.
fn stop_on_signals(stop: &CancellationToken) {
    let stop = stop.clone();
    #[expect(clippy::disallowed_methods, reason = "it lives as long as the process")]
    tokio::spawn(async move {
        if tokio::signal::ctrl_c().await.is_ok() {
            stop.cancel();
        }
    });
}

/// A folder that cannot be written.
fn not_written(error: WriteError) -> Failure {
    let exit = match &error {
        WriteError::NotEmpty { .. } => Exit::WrongInput,
        _ => Exit::NotWritten,
    };
    let help = Some(error.help().to_owned());
    let source = std::error::Error::source(&error).map(|source| format!(": {source}"));
    Failure::new(exit, format!("{error}{}", source.unwrap_or_default()), help)
}
