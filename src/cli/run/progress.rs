//! What a person sees while a run goes on: a bar on a terminal, plain lines
//! elsewhere, nothing with `--quiet`.

use crate::cli::output;
use crate::record::{Outcome, RequestRecord};
use crate::units::Share;
use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};
use std::io::IsTerminal;
use std::sync::{Arc, Mutex, PoisonError};

/// Numbers of the cell that is running.
#[derive(Default)]
struct Counts {
    cell: String,
    requests: u64,
    failed: u64,
    read: Share,
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
        if let (Some(whole), Some(part)) = (record.usage.total, record.usage.read) {
            counts.read = counts.read + Share { part, whole };
        }
        self.bar.set_message(counts.line());
    }

    /// Whether the running cell has had an answer.
    pub(super) fn any_ok(&self) -> bool {
        let counts = self.counts.lock().unwrap_or_else(PoisonError::into_inner);
        counts.requests > counts.failed
    }

    /// A cell ended.
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
