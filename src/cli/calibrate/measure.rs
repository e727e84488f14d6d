//! Drives conversations against a server on this machine, as a run does, and
//! keeps of each request only what tells what the client added.

use super::child::Server;
use crate::analysis::stats::quantile;
use crate::cli::exit::{Exit, Failure};
use crate::context::Configuration;
use crate::conversation::{Nonce, Shipped};
use crate::load::limits::{Budget, Gate, Quotas, Tariff};
use crate::load::{
    Cell, Health, Isolate, Limits, Measured, Opening, Runner, RunnerSetup, StartState, Target,
    Todo, Units, Writer,
};
use crate::provider;
use crate::record::{CalibrationLevel, Ceiling, Ending, Manifest, Outcome, RunWriter};
use crate::scenario::{LoadOptions, load_str};
use crate::server::FIRST_TOKEN;
use crate::transport::{Client, Settings};
use crate::units::Micros;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU32, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;

/// Turns of a conversation; its prompts are some hundred tokens long.
const SCENARIO: &str = "\
scenario: calibration
system: {generate: {tokens: 40, seed: 1}}
steps:
  - user: {text: {generate: {tokens: 20, seed: 2}}, reply: {generate: {tokens: 16, seed: 3}}}
  - user: {text: {generate: {tokens: 20, seed: 4}}, reply: {generate: {tokens: 16, seed: 5}}}
  - user: {text: {generate: {tokens: 20, seed: 6}}, reply: {generate: {tokens: 16, seed: 7}}}
  - user: {text: {generate: {tokens: 20, seed: 8}}, reply: {generate: {tokens: 16, seed: 9}}}
";

/// A number of streams for a while.
#[derive(Clone, Copy, Debug)]
pub(super) struct Load {
    pub(super) streams: usize,
    pub(super) lasts: Duration,
    /// Within this the streams begin, one after the other, so that they do not
    /// go on in step.
    pub(super) spread: Duration,
    /// Requests that are sent before this are not counted: connections come about, and
    /// code runs for the first time.
    pub(super) warm_up: Duration,
    pub(super) max_tokens: u32,
}

/// What was seen of the requests that count.
#[derive(Default)]
struct Seen {
    counts: AtomicU64,
    samples: Mutex<Samples>,
}

#[derive(Default)]
struct Samples {
    added: Vec<f64>,
    late: Vec<f64>,
    failed: usize,
}

impl Seen {
    /// Notes a request that was sent when those that count have begun; none where that is
    /// never: against a server that does not stamp there is nothing but their number.
    fn see(&self, measured: &Measured, begun: Option<Micros>) {
        let record = &measured.record;
        if record.outcome == Outcome::Ok {
            self.counts.fetch_add(1, Ordering::Relaxed);
        }
        let stamps = &record.stamps;
        if begun.is_none_or(|begun| stamps.due_us < begun) {
            return;
        }
        let mut samples = self.samples.lock().unwrap_or_else(PoisonError::into_inner);
        let server = record
            .usage
            .raw
            .as_ref()
            .and_then(|raw| raw.get(FIRST_TOKEN)?.as_u64());
        let seen = stamps.sent_us.zip(stamps.first_text_us).zip(server);
        match seen {
            Some(((sent, first), server)) if record.outcome == Outcome::Ok => {
                let took = first.0.saturating_sub(sent.0);
                samples.added.push(took.saturating_sub(server) as f64);
                let late = sent.0.saturating_sub(stamps.due_us.0);
                samples.late.push(late as f64);
            }
            _ => samples.failed += 1,
        }
    }
}

/// A folder that goes when this does.
struct Scratch(PathBuf);

impl Drop for Scratch {
    fn drop(&mut self) {
        let _left_behind = std::fs::remove_dir_all(&self.0);
    }
}

/// What `load` adds to a server that stamps, to time to first token.
pub(super) async fn level(
    server: &Server,
    load: Load,
    stop: &CancellationToken,
) -> Result<CalibrationLevel, Failure> {
    let seen = Arc::new(Seen::default());
    drive(
        server,
        load,
        &seen,
        Some(load.warm_up.into()),
        stop,
        async {},
    )
    .await?;
    let samples = seen.samples.lock().unwrap_or_else(PoisonError::into_inner);
    let of = |sample: &[f64], q| quantile(sample, q).map(micros);
    Ok(CalibrationLevel {
        streams: load.streams,
        requests: samples.added.len(),
        failed: samples.failed,
        added_p50_us: of(&samples.added, 0.5),
        added_p99_us: of(&samples.added, 0.99),
        late_p50_us: of(&samples.late, 0.5),
        late_p99_us: of(&samples.late, 0.99),
    })
}

#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "a quantile of microseconds that were whole and not negative"
)]
fn micros(value: f64) -> Micros {
    Micros(value.round() as u64)
}

/// How much can be done against a server that answers at once.
pub(super) async fn ceiling(
    server: &Server,
    load: Load,
    stop: &CancellationToken,
) -> Result<Ceiling, Failure> {
    let seen = Arc::new(Seen::default());
    let marks = Arc::new(Mutex::new(Vec::new()));
    let (counts, into) = (Arc::clone(&seen), Arc::clone(&marks));
    let mark = move || {
        let now = (
            Instant::now(),
            counts.counts.load(Ordering::Relaxed),
            cpu_time(),
        );
        let mut marks = into.lock().unwrap_or_else(PoisonError::into_inner);
        marks.push(now);
    };
    let meanwhile = async move {
        tokio::time::sleep(load.warm_up).await;
        mark();
        tokio::time::sleep(load.lasts.saturating_sub(load.warm_up * 2)).await;
        mark();
    };
    drive(server, load, &seen, None, stop, meanwhile).await?;
    let marks = marks.lock().unwrap_or_else(PoisonError::into_inner);
    let [(began, before, cpu_before), (ended, after, cpu_after)] = marks.as_slice() else {
        return Err(Failure::new(Exit::Interrupted, "interrupted", None));
    };
    let requests = after - before;
    let cpu = cpu_before.zip(*cpu_after);
    let cpu = cpu.map(|(before, after)| after.saturating_sub(before).as_secs_f64() * 1e6);
    Ok(Ceiling {
        streams: load.streams,
        requests,
        requests_per_s: requests as f64 / ended.duration_since(*began).as_secs_f64(),
        cpu_us_per_request: cpu
            .filter(|_| requests > 0)
            .map(|cpu| cpu / requests as f64),
    })
}

/// Runs conversations on `load.streams` streams until the time is over.
async fn drive(
    server: &Server,
    load: Load,
    seen: &Arc<Seen>,
    begun: Option<Micros>,
    stop: &CancellationToken,
    meanwhile: impl Future<Output = ()> + Send + 'static,
) -> Result<(), Failure> {
    let epoch = Instant::now();
    let scratch = scratch();
    let writer = writer(&scratch.0, seen, begun, stop)?;
    let client = Client::new(&Settings::default(), epoch)
        .map_err(|error| Failure::new(Exit::Unexpected, error, None))?;
    let runner = Arc::new(Runner::new(RunnerSetup {
        client: Arc::new(client),
        isolate: Isolate::Conversation,
        nonce: Nonce::draw(1),
        limits: Limits {
            max_tokens: load.max_tokens,
            retries: 0,
            longest_wait: Duration::ZERO,
            longest_idle: None,
        },
        gate: Arc::new(Gate::new(
            Quotas::default(),
            Arc::new(Budget::new(None)),
            Tariff::free(),
            Duration::ZERO,
        )),
        health: Health::default(),
        think: None,
        seed: 1,
        records: writer.sender(),
        idle: Arc::new(|span| Box::pin(tokio::time::sleep(span))),
        stop: stop.clone(),
        begin: StartState::default(),
    }));
    let cell = Arc::new(cell(server, load.streams)?);
    let repeats = Arc::new(AtomicU32::new(1));
    let tasks = TaskTracker::new();
    let failure = Arc::new(Mutex::new(None));
    for stream in 0..load.streams {
        let (runner, cell, repeats) = (runner.clone(), cell.clone(), repeats.clone());
        let failure = Arc::clone(&failure);
        let share = stream as f64 / load.streams as f64;
        tasks.spawn(async move {
            tokio::time::sleep(load.spread.mul_f64(share)).await;
            while epoch.elapsed() < load.lasts {
                let repeat = repeats.fetch_add(1, Ordering::Relaxed);
                if let Err(end) = runner.run(&cell, &mut Todo::of(vec![repeat])).await {
                    let mut failure = failure.lock().unwrap_or_else(PoisonError::into_inner);
                    failure.get_or_insert(end.to_string());
                    return;
                }
            }
        });
    }
    tasks.spawn(meanwhile);
    tasks.close();
    tasks.wait().await;
    drop(runner);
    let written = writer.finish(Ending::Complete).await;
    let failed = failure
        .lock()
        .unwrap_or_else(PoisonError::into_inner)
        .take();
    if let Some(failed) = failed {
        let exit = if stop.is_cancelled() {
            Exit::Interrupted
        } else {
            Exit::NoRequestOk
        };
        return Err(Failure::new(exit, failed, None));
    }
    written
        .map(|_manifest| ())
        .map_err(crate::cli::run::not_written)
}

/// A folder of its own for each run of this process.
fn scratch() -> Scratch {
    static COUNT: AtomicU32 = AtomicU32::new(0);
    let number = COUNT.fetch_add(1, Ordering::Relaxed);
    let name = format!("prefixbench-calibrate-{}-{number}", std::process::id());
    Scratch(std::env::temp_dir().join(name))
}

fn writer(
    dir: &Path,
    seen: &Arc<Seen>,
    begun: Option<Micros>,
    stop: &CancellationToken,
) -> Result<Writer, Failure> {
    let manifest = Manifest::begin(1, "");
    let run = RunWriter::create(dir, &manifest, true).map_err(crate::cli::run::not_written)?;
    let seen = Arc::clone(seen);
    let hears = Box::new(move |measured: &Measured| seen.see(measured, begun));
    Ok(Writer::start(run, false, hears, stop.clone()))
}

fn cell(server: &Server, streams: usize) -> Result<Cell, Failure> {
    let unusable = |what: &str| Failure::new(Exit::Unexpected, format!("no {what}"), None);
    let scenario = load_str(
        "calibration",
        SCENARIO,
        Path::new("."),
        &LoadOptions::default(),
    );
    let scenario = Arc::new(scenario.map_err(Failure::input)?);
    let dialect = provider::find("openai-chat").ok_or_else(|| unusable("dialect"))?;
    let mut target = Target::at("calibration", server.url(), dialect);
    target.model = Arc::from("embedded");
    let configuration = Configuration::built_in("inline");
    Ok(Cell {
        suffix: Arc::from(""),
        configuration: configuration.ok_or_else(|| unusable("configuration"))?,
        target: Arc::new(target),
        load: Arc::from(format!("sessions={streams}")),
        resources: Arc::new(Shipped(Arc::clone(&scenario))),
        scenario,
        units: Units::block(1),
        repeats: u32::MAX,
        counted: true,
        until: None,
        opening: Opening::sessions(1),
    })
}

/// Time that this process has had of any core; `None` where the system does not
/// tell in the way that Linux does.
fn cpu_time() -> Option<Duration> {
    /// Ticks of a second in the kernel's own account, the same on every Linux.
    const HERTZ: u64 = 100;
    let text = std::fs::read_to_string("/proc/self/stat").ok()?;
    // The name may hold anything, so what follows is counted from its end.
    let (_, fields) = text.rsplit_once(") ")?;
    let mut fields = fields.split_ascii_whitespace().skip(11);
    let user: u64 = fields.next()?.parse().ok()?;
    let system: u64 = fields.next()?.parse().ok()?;
    Some(Duration::from_millis((user + system) * 1_000 / HERTZ))
}
