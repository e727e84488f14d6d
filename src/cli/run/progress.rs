//! What a person sees while a run goes on: a bar on a terminal, plain lines
//! elsewhere, nothing with `--quiet`.

use crate::cli::output;
use crate::record::{Outcome, RequestRecord};
use crate::units::Share;
use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};
use std::io::IsTerminal;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;
use tokio::time::Instant;

/// How often the bar's message changes at most: to write it for every record
/// would cost more than the record.
const EVERY: Duration = Duration::from_millis(100);

/// Requests of a cell that failed, their retries too.
#[derive(Clone)]
pub(super) struct Lost {
    /// How many.
    pub(super) requests: u64,
    /// How the first one failed.
    pub(super) outcome: Outcome,
    /// What was said of it.
    pub(super) message: String,
}

/// Numbers of the cell that is running.
#[derive(Default)]
struct Counts {
    cell: String,
    requests: u64,
    failed: u64,
    lost: Option<Lost>,
    read: Share,
    shown: Option<Instant>,
}

/// Told of every record, on the writer's thread.
#[derive(Clone)]
pub(super) struct Progress {
    bar: ProgressBar,
    plain: bool,
    counts: Arc<Mutex<Counts>>,
}

impl Progress {
    /// For a run of so many conversations.
    pub(super) fn new(conversations: u64, quiet: bool) -> Self {
        let terminal = std::io::stderr().is_terminal();
        let bar = ProgressBar::new(conversations);
        if quiet || !terminal {
            bar.set_draw_target(ProgressDrawTarget::hidden());
        }
        if let Ok(style) = ProgressStyle::with_template(
            "{bar:24} {pos}/{len} conversations  {elapsed} elapsed, {eta} left  {msg}",
        ) {
            bar.set_style(style);
        }
        Self {
            bar,
            plain: !quiet && !terminal,
            counts: Arc::default(),
        }
    }

    /// A cell begins.
    pub(super) fn begin(&self, cell: &str) {
        let mut counts = self.counts.lock().unwrap_or_else(PoisonError::into_inner);
        *counts = Counts {
            cell: cell.to_owned(),
            ..Counts::default()
        };
        self.bar.set_message(cell.to_owned());
    }

    /// An attempt ended.
    pub(super) fn record(&self, record: &RequestRecord) {
        let mut counts = self.counts.lock().unwrap_or_else(PoisonError::into_inner);
        counts.requests += 1;
        counts.failed += u64::from(record.outcome != Outcome::Ok);
        if is_lost(record) {
            let lost = counts.lost.get_or_insert_with(|| Lost {
                requests: 0,
                outcome: record.outcome,
                message: record.error.clone().unwrap_or_default(),
            });
            lost.requests += 1;
        }
        if let (Some(whole), Some(part)) = (record.usage.total, record.usage.read) {
            counts.read = counts.read + Share { part, whole };
        }
        let now = Instant::now();
        if !self.bar.is_hidden() && counts.shown.is_none_or(|shown| now - shown >= EVERY) {
            counts.shown = Some(now);
            self.bar.set_message(counts.line());
        }
    }

    /// Whether the running cell has had an answer.
    pub(super) fn any_ok(&self) -> bool {
        let counts = self.counts.lock().unwrap_or_else(PoisonError::into_inner);
        counts.requests > counts.failed
    }

    /// What the running cell has lost, if anything.
    pub(super) fn lost(&self) -> Option<Lost> {
        let counts = self.counts.lock().unwrap_or_else(PoisonError::into_inner);
        counts.lost.clone()
    }

    /// A cell ended; all of its records have been told of.
    pub(super) fn end(&self, conversations: u64) {
        self.bar.inc(conversations);
        if self.plain {
            let counts = self.counts.lock().unwrap_or_else(PoisonError::into_inner);
            output::tell(&counts.line());
        }
    }

    /// The run ended: the bar goes.
    pub(super) fn clear(&self) {
        self.bar.finish_and_clear();
    }
}

/// Whether an attempt was the last of its request and failed by itself.
fn is_lost(record: &RequestRecord) -> bool {
    let tried_again = record.flags.iter().any(|flag| &**flag == "tried_again");
    !tried_again && !matches!(record.outcome, Outcome::Ok | Outcome::Aborted)
}

impl Counts {
    fn line(&self) -> String {
        let failed = match self.failed {
            0 => String::new(),
            failed => format!(", {failed} failed"),
        };
        format!(
            "{}: {} requests{failed}, {} cached",
            self.cell, self.requests, self.read
        )
    }
}
