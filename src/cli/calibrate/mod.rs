//! `calibrate`: what the client itself adds and costs on this machine.
//!
//! The embedded server runs in a process of its own, is set to known latencies,
//! and says in its answers when it sent each first token. What the client saw
//! beyond that is the client's and this machine's. The same code drives the
//! requests as in a run, records and all.

mod child;
mod measure;

use super::exit::{Exit, Failure};
use super::output;
use crate::record::{Calibration, CalibrationLevel, Ceiling};
use crate::units::{Micros, grouped};
use child::Server;
use comfy_table::{CellAlignment, Table, presets};
use measure::Load;
use std::time::Duration;
use tokio_util::sync::CancellationToken;

/// Measure what this program itself adds to latencies on this machine, and how much it can do
#[derive(clap::Args)]
pub(super) struct Arguments {
    /// Streams at once, a level each
    #[arg(long, value_name = "N", value_delimiter = ',', default_value = "1,16,64,256",
          value_parser = clap::value_parser!(u32).range(1..=100_000))]
    streams: Vec<u32>,

    /// Seconds that each level lasts; the first, in which connections come about, does not count
    #[arg(long, value_name = "N", default_value_t = 4,
          value_parser = clap::value_parser!(u64).range(1..=86_400))]
    seconds: u64,

    /// Milliseconds to the first token that the server is set to
    #[arg(long, value_name = "MS", default_value_t = 50,
          value_parser = clap::value_parser!(u64).range(..=600_000))]
    first_token_ms: u64,

    /// Tokens of an answer
    #[arg(long, value_name = "N", default_value_t = 16,
          value_parser = clap::value_parser!(u32).range(1..=4_096))]
    tokens: u32,

    /// Tokens of a stream in a second
    #[arg(long, value_name = "N", default_value_t = 50,
          value_parser = clap::value_parser!(u32).range(1..=10_000))]
    rate: u32,

    /// How it is printed
    #[arg(long, value_enum, default_value_t = Format::Text)]
    format: Format,
}

#[derive(Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
enum Format {
    /// A row per level
    Text,
    /// One JSON object
    Json,
}

/// Streams with which the ceiling is measured.
const CEILING_STREAMS: usize = 16;

/// Tokens of the answers that come at once.
const CEILING_TOKENS: u32 = 32;

/// What is measured, and how long.
#[derive(Clone, Debug)]
pub(super) struct Request {
    /// Streams at once, a level each.
    pub(super) streams: Vec<usize>,
    /// How long each level lasts.
    pub(super) lasts: Duration,
    /// What the server is set to.
    pub(super) first_token: Duration,
    /// Tokens of an answer.
    pub(super) tokens: u32,
    /// Tokens of a stream in a second.
    pub(super) rate: u32,
}

impl Request {
    /// A short look at these numbers of streams, as before a run.
    pub(super) fn before_a_run(streams: &[usize]) -> Self {
        Self {
            streams: streams.to_vec(),
            lasts: Duration::from_secs(2),
            first_token: Duration::from_millis(50),
            tokens: 16,
            rate: 50,
        }
    }

    /// Measures.
    ///
    /// # Errors
    ///
    /// Where the server does not start, a request fails, or `stop` ends it.
    pub(super) async fn measure(&self, stop: &CancellationToken) -> Result<Calibration, Failure> {
        let server = Server::start(&[
            "--stamps".to_owned(),
            format!("--first-token-ms={}", self.first_token.as_millis()),
            format!("--decode={}", self.rate),
        ])?;
        let answer = self.first_token + Duration::from_secs(u64::from(self.tokens)) / self.rate;
        // Every stream has had an answer before any counts.
        let spread = answer.max(Duration::from_secs(1)).min(self.lasts / 4);
        let load = |streams| Load {
            streams,
            lasts: self.lasts,
            spread,
            warm_up: (spread + answer).min(self.lasts / 2),
            max_tokens: self.tokens,
        };
        let mut levels = Vec::new();
        for &streams in &self.streams {
            levels.push(measure::level(&server, load(streams), stop).await?);
        }
        drop(server);
        let server = Server::start(&[format!("--canned={CEILING_TOKENS}")])?;
        let load = Load {
            streams: CEILING_STREAMS,
            lasts: self.lasts,
            spread: Duration::ZERO,
            warm_up: Duration::from_millis(300),
            max_tokens: CEILING_TOKENS,
        };
        let ceiling = measure::ceiling(&server, load, stop).await?;
        Ok(Calibration {
            first_token_us: Micros::from(self.first_token),
            tokens: self.tokens,
            levels,
            ceiling,
        })
    }
}

pub(super) fn run(arguments: &Arguments) -> Result<Exit, Failure> {
    let streams = arguments.streams.iter();
    let request = Request {
        streams: streams
            .filter_map(|&streams| usize::try_from(streams).ok())
            .collect(),
        lasts: Duration::from_secs(arguments.seconds),
        first_token: Duration::from_millis(arguments.first_token_ms),
        tokens: arguments.tokens,
        rate: arguments.rate,
    };
    let runtime = super::run::runtime()?;
    let stop = CancellationToken::new();
    let found = runtime.block_on(async {
        let interrupted = stop.clone();
        tokio::select! {
            found = request.measure(&stop) => found,
            _ = tokio::signal::ctrl_c() => {
                interrupted.cancel();
                Err(Failure::new(Exit::Interrupted, "interrupted", None))
            }
        }
    });
    runtime.shutdown_background();
    let found = found?;
    let text = match arguments.format {
        Format::Text => shown(&found),
        Format::Json => {
            let json = serde_json::to_string_pretty(&found);
            let json = json.map_err(|error| Failure::new(Exit::Unexpected, error, None))?;
            format!("{json}\n")
        }
    };
    output::data(&text)?;
    Ok(Exit::Done)
}

/// A table and a sentence.
pub(super) fn shown(found: &Calibration) -> String {
    let mut table = Table::new();
    table.load_style(presets::NOTHING);
    table.set_header([
        "streams",
        "requests",
        "failed",
        "added p50",
        "added p99",
        "late p50",
        "late p99",
    ]);
    for level in &found.levels {
        table.add_row(row(level));
    }
    for column in table.column_iter_mut() {
        column.set_cell_alignment(CellAlignment::Right);
    }
    format!(
        "added to time to first token, as the server stamped it ({} ms), and lateness\n{table}\n{}\n",
        found.first_token_us.0 / 1_000,
        sentence(&found.ceiling)
    )
}

fn row(level: &CalibrationLevel) -> [String; 7] {
    let time = |time: Option<Micros>| {
        time.map_or_else(String::new, |Micros(us)| {
            format!("{:.3} ms", us as f64 / 1e3)
        })
    };
    [
        grouped(level.streams as u64),
        grouped(level.requests as u64),
        grouped(level.failed as u64),
        time(level.added_p50_us),
        time(level.added_p99_us),
        time(level.late_p50_us),
        time(level.late_p99_us),
    ]
}

fn sentence(ceiling: &Ceiling) -> String {
    let Ceiling {
        streams,
        requests_per_s,
        cpu_us_per_request,
        ..
    } = ceiling;
    let cpu = cpu_us_per_request.map_or_else(String::new, |us| {
        format!(
            "; a request costs {:.3} ms of a core, so that one core does at most {:.0} a second",
            us / 1e3,
            1e6 / us
        )
    });
    format!("ceiling: {requests_per_s:.0} requests a second on {streams} streams{cpu}")
}
