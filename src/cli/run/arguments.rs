//! What can be said on the command line of `run`.

use super::levels;
use super::state::EvictionProbe;
use crate::cli::choice::{Configurations, Files};
use crate::cli::target::Aim;
use crate::load::{Isolate, Order, WarmUp};
use crate::record::Shard;
use std::num::NonZeroU64;
use std::path::PathBuf;

/// Drive scenarios against a target and measure what its prefix cache gives
#[derive(clap::Args)]
pub(in crate::cli) struct Arguments {
    #[command(flatten)]
    pub(super) files: Files,

    #[command(flatten)]
    pub(super) configurations: Configurations,

    #[command(flatten)]
    pub(super) aim: Aim,

    /// A plan file; flags and variables go before what it says
    #[arg(long, value_name = "FILE")]
    pub(super) plan: Option<PathBuf>,

    /// Conversations per scenario and configuration [default: 1, or as many as begin in --duration]
    #[arg(long, value_name = "N")]
    pub(super) repeat: Option<u32>,

    #[command(flatten)]
    pub(super) load: levels::LoadArguments,

    /// In which order cells and their conversations are run [default: given]
    #[arg(long, value_enum)]
    pub(super) order: Option<Order>,

    /// What starts on a cold cache [default: conversation]
    #[arg(long, value_enum)]
    pub(super) isolate: Option<Isolate>,

    /// Output tokens asked for [default: 16, or 512 with live replies]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..))]
    pub(super) max_tokens: Option<u32>,

    /// Tries after the first where a failure may pass [default: 2]
    #[arg(long, value_name = "N")]
    pub(super) retries: Option<u32>,

    /// Seed of everything drawn [default: 1]
    #[arg(long, value_name = "N")]
    pub(super) seed: Option<u64>,

    /// The run's nonce, eight digits, to repeat a run byte for byte [default: drawn]
    #[arg(long, value_name = "DIGITS")]
    pub(super) nonce: Option<String>,

    /// Seconds without a sign of life after which an answer is given up: until the connection
    /// stands, until its headers, its first byte, and between any two reads [default: 300]
    #[arg(long, value_name = "SECONDS")]
    pub(super) timeout: Option<NonZeroU64>,

    /// Draw the run's nonce from this text, which must be new for every run; for shards, which
    /// need the same one
    #[arg(long, value_name = "TEXT", conflicts_with = "nonce")]
    pub(super) nonce_from: Option<String>,

    /// Run only this part of the conversations, such as 3/16; `merge` joins the parts
    #[arg(long, value_name = "I/N")]
    pub(super) shard: Option<Shard>,

    /// Run one of N parts: which one, `JOB_COMPLETION_INDEX` says, as in an Indexed Job
    #[arg(long, value_name = "N", conflicts_with = "shard")]
    pub(super) shards: Option<u32>,

    /// Go on with the run in this folder that was broken off; needs nothing else
    #[arg(long, value_name = "DIR")]
    pub(super) resume: Option<PathBuf>,

    /// What is sent before what is measured, and counts nowhere [default: none]
    #[arg(long, value_enum)]
    pub(super) warm_up: Option<WarmUp>,

    /// Whether each cell's first prompt is asked again at its end, to see whether the cache still
    /// held it; auto: where that costs nothing [default: auto]
    #[arg(long, value_enum)]
    pub(super) eviction_probe: Option<EvictionProbe>,
    /// Probe each target first, store what was found as `probe.json`, and fill in what is not
    /// known of it: its cache model, and whether a count that it leaves out is a 0
    #[arg(long)]
    pub(super) probe: bool,

    /// Rest at most this long on a real server where a scenario idles; the request behind a rest
    /// that was cut short is flagged `idle_cut` [default: as long as the scenario says]
    #[arg(long, value_name = "SECONDS")]
    pub(super) longest_idle: Option<u64>,

    /// Folder of the run [default: reports/DATE-SCENARIO]
    #[arg(long, value_name = "DIR")]
    pub(super) out: Option<PathBuf>,

    /// Write records only; `report` makes the rest later
    #[arg(long)]
    pub(super) no_report: bool,

    /// Keep lengths and hashes of texts, not the texts
    #[arg(long)]
    pub(super) no_text: bool,

    /// First measure what the client itself adds on this machine (see `calibrate`), and keep it with
    /// the run
    #[arg(long)]
    pub(super) calibrate: bool,

    /// Print what would be run and what to expect of it; send nothing
    #[arg(long)]
    pub(super) dry_run: bool,

    /// With --dry-run: how many conversations make the interval of a cached share this wide,
    /// in percentage points
    #[arg(long, value_name = "POINTS", requires = "dry_run")]
    pub(super) width: Option<f64>,

    /// With --width: a finished run of the same kind, whose spread is taken
    #[arg(long, value_name = "RUN", requires = "width")]
    pub(super) pilot: Option<PathBuf>,

    /// Do not ask before spending
    #[arg(long)]
    pub(super) yes: bool,

    /// Ask before a run that may cost more than this [default: 1]
    #[arg(long, value_name = "USD")]
    pub(super) ask_above: Option<levels::Usd>,

    /// Say nothing while it runs
    #[arg(long, short)]
    pub(super) quiet: bool,
}
