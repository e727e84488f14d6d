//! What is gathered from the attempts of a run as they end, on the writer's thread.

use super::progress::Progress;
use crate::cli::output;
use crate::load::Measured;
use crate::record::Outcome;
use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, PoisonError};

/// A warning of a configuration: each is told once.
type Warning = (Arc<str>, String);

/// Told of every attempt. A clone shares what was gathered.
#[derive(Clone)]
pub(super) struct Told {
    progress: Progress,
    gathered: Arc<Mutex<Gathered>>,
}

#[derive(Default)]
struct Gathered {
    any: bool,
    any_ok: bool,
    /// With the first request that each came up at.
    warnings: BTreeMap<Warning, String>,
}

impl Told {
    /// Tells `progress` of every attempt as well.
    pub(super) fn new(progress: Progress) -> Self {
        Self {
            progress,
            gathered: Arc::default(),
        }
    }

    /// An attempt ended.
    pub(super) fn measured(&self, measured: &Measured) {
        let record = &measured.record;
        self.progress.record(record);
        let mut gathered = self.gathered.lock().unwrap_or_else(PoisonError::into_inner);
        gathered.any = true;
        gathered.any_ok |= record.outcome == Outcome::Ok;
        for warning in &measured.warnings {
            let warning = (Arc::clone(&record.configuration), warning.clone());
            let place = || format!("{} turn {}", record.conversation, record.turn);
            gathered.warnings.entry(warning).or_insert_with(place);
        }
    }

    /// Each distinct warning once, with the first request that it came up at.
    pub(super) fn tell_warnings(&self) {
        let gathered = self.gathered.lock().unwrap_or_else(PoisonError::into_inner);
        for ((_, warning), place) in &gathered.warnings {
            output::warn(&format!("{place}: {warning}"));
        }
    }

    /// Whether there was any attempt.
    pub(super) fn any(&self) -> bool {
        let gathered = self.gathered.lock().unwrap_or_else(PoisonError::into_inner);
        gathered.any
    }

    /// Whether any request was answered.
    pub(super) fn any_ok(&self) -> bool {
        let gathered = self.gathered.lock().unwrap_or_else(PoisonError::into_inner);
        gathered.any_ok
    }
}
