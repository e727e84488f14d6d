//! `run`: drives scenarios against a target.

mod arguments;
mod chosen;
mod dry;
mod earlier;
mod finish;
mod levels;
mod numbering;
mod place;
mod plan;
mod progress;
mod resume;
mod rounds;
mod shard;
mod signals;
mod state;
mod told;
mod ways_out;

use super::calibrate;
use super::counters::Watch;
use super::exit::{Exit, Failure};
use super::output;
use super::settings::Settings;
use super::tokens;
use crate::load::{Runner, Target, Writer};
use crate::record::load::write_load;
use crate::record::{Calibration, Invocation, Manifest, RunWriter, WriteError};
pub(super) use arguments::Arguments;
use place::Place;
use plan::Planned;
pub(super) use plan::nonce;
use progress::Progress;
pub(super) use progress::load_record;
use resume::{Again, Start};
use rounds::Rounds;
use std::collections::{BTreeMap, BTreeSet};
use std::ffi::OsString;
use std::num::NonZeroU64;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;
use told::Told;

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
    let clock = (started(again)?, patience);
    let places = places(&arguments, &planned, clock, &stop).await?;
    let targets: Vec<Arc<Target>> = places.iter().map(|place| place.target.clone()).collect();
    if let Some(again) = again {
        again.same_targets(&targets)?;
    }
    state::resets(&planned, &places).await?;
    let cells = planned.cells(&targets, again.map_or(0, Again::session))?;
    let mut rounds = planned.rounds(&cells, &mut settings);
    let earlier = again.map(|again| again.earlier(&cells, planned.isolate));
    let earlier = earlier.unwrap_or_default();
    let todos = shard::narrow(&mut rounds, &cells, &planned, &earlier);
    let mut manifest = planned.manifest(&arguments, settings, &targets);
    if arguments.calibrate && again.is_none() {
        manifest.calibration = Some(calibrated(&arguments, &planned, &stop).await?);
    }
    let beginnings = state::beginnings(again, &planned, &places);
    let nonce = state::nonce(again, &planned, &cells);
    let resumed = again.is_some();
    let run = begin.open(&arguments, &planned, manifest, &earlier.kept)?;
    let (dir, manifest) = (resume::from_here(run.dir()), run.manifest().clone());
    write_probes(&places, &dir)?;
    let budget = state::budget(&planned, &places, resumed.then_some(&*dir));
    let progress = Progress::new(&cells, &outlook, Arc::clone(&budget), arguments.quiet);
    if resumed {
        progress.go_on(&dir, &todos);
    }
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
    let ending = all.run(todos, &mut watches).await;
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

/// Where requests go, unless somebody interrupts before that is known.
async fn places(
    arguments: &Arguments,
    planned: &Planned,
    clock: (Instant, Duration),
    stop: &CancellationToken,
) -> Result<Vec<Place>, Failure> {
    let all = Box::pin(Place::all(arguments, planned, clock));
    let found = stop.run_until_cancelled(all).await;
    let places = found.unwrap_or_else(|| Err(interrupted_early()))?;
    planned.tell_idling(&places);
    Ok(places)
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
