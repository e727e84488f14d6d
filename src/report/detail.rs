//! The few conversations that a report looks into: their records and texts.
//!
//! A run of any size is summed up from reduced records; only what is drawn to
//! scale, or shown as text, is kept whole. So memory is bounded by what a page
//! can show, not by the run.

use super::scenes::{DRAWN_CONFIGURATIONS, DRAWN_SCENES, Scene};
use crate::analysis::Samples;
use crate::record::{AttemptKey, BoundRecord, ReadError, RequestRecord, Run, SpanStore};
use std::collections::{HashMap, HashSet};
use std::sync::Arc;

/// Requests that are kept of a conversation: as many as a prefix map has rows for.
pub(super) const KEPT_REQUESTS: usize = 80;

/// Spans that are kept of a run.
const KEPT_SPANS: usize = 1_000_000;

/// The first conversation of every drawn cell.
#[derive(Debug, Default)]
pub(super) struct Detail {
    wanted: HashMap<Arc<str>, usize>,
    spans: usize,
    records: Vec<RequestRecord>,
    bounds: HashMap<AttemptKey, BoundRecord>,
    texts: SpanStore,
    /// Whether requests of these conversations were left out.
    pub(super) cut: bool,
    /// Whether a text was not kept.
    pub(super) textless: bool,
}

impl Detail {
    /// Chooses the conversations: of each drawn cell that of the lowest repeat.
    pub(super) fn plan(samples: &Samples, scenes: &[Scene<'_>]) -> Self {
        let drawn: HashSet<_> = scenes
            .iter()
            .take(DRAWN_SCENES)
            .flat_map(|scene| scene.rows.iter().take(DRAWN_CONFIGURATIONS))
            .map(|row| &row.cell)
            .collect();
        let mut first: HashMap<_, (u32, &Arc<str>)> = HashMap::new();
        for sample in samples.list() {
            if !drawn.contains(&*sample.cell) {
                continue;
            }
            let known = first
                .entry(&sample.cell)
                .or_insert((sample.repeat, &sample.conversation));
            if sample.repeat < known.0 {
                *known = (sample.repeat, &sample.conversation);
            }
        }
        Self {
            wanted: first
                .into_values()
                .map(|(_, conversation)| (Arc::clone(conversation), 0))
                .collect(),
            ..Self::default()
        }
    }

    /// Keeps the record if it belongs to a chosen conversation and there is room.
    pub(super) fn offer(&mut self, record: &RequestRecord) {
        let Some(kept) = self.wanted.get_mut(&record.conversation) else {
            return;
        };
        let spans: usize = record.prompt.iter().map(|one| one.spans.len()).sum();
        if *kept == KEPT_REQUESTS || self.spans + spans > KEPT_SPANS {
            self.cut = true;
            return;
        }
        *kept += 1;
        self.spans += spans;
        self.records.push(record.clone());
    }

    /// Keeps what was computed for the records, and reads their texts.
    pub(super) fn complete(&mut self, bounds: &[BoundRecord], run: &Run) -> Result<(), ReadError> {
        let keys: HashSet<_> = self.records.iter().map(RequestRecord::key).collect();
        let kept = bounds.iter().filter(|bound| keys.contains(&bound.key()));
        self.bounds = kept.map(|bound| (bound.key(), bound.clone())).collect();
        let spans = self.records.iter().flat_map(|record| &record.prompt);
        let needed: HashSet<_> = spans
            .flat_map(|message| &message.spans)
            .map(|span| span.sha256)
            .collect();
        if !needed.is_empty() {
            for stored in run.spans()? {
                let stored = stored?;
                if let Some(text) = stored.text.filter(|_| needed.contains(&stored.sha256)) {
                    self.texts.insert(text);
                }
            }
        }
        self.textless = self.texts.len() < needed.len();
        Ok(())
    }

    /// The records in the order recorded.
    pub(super) fn records(&self) -> &[RequestRecord] {
        &self.records
    }

    /// What was computed for a record.
    pub(super) fn bound(&self, record: &RequestRecord) -> Option<&BoundRecord> {
        self.bounds.get(&record.key())
    }

    /// The texts.
    pub(super) fn texts(&self) -> &SpanStore {
        &self.texts
    }
}
