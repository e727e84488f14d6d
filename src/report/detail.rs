//! The few conversations that a report looks into: their records and texts.
//!
//! A run of any size is summed up from reduced records; only what is drawn to
//! scale, or shown as text, is kept whole. So memory is bounded by what a page
//! can show, not by the run.

use super::scenes::{DRAWN_CONFIGURATIONS, DRAWN_SCENES, Scene};
use crate::analysis::{Samples, threads};
use crate::chat::Text;
use crate::record::lean::LeanSpan;
use crate::record::{
    AttemptKey, BoundRecord, ComputedTable, ReadError, RequestRecord, Run, SpanStore, StoredSpan,
    VersionedLine as _,
};
use std::collections::{HashMap, HashSet};

/// Requests that are kept of a conversation: as many as a prefix map has rows for.
pub(super) const KEPT_REQUESTS: usize = 80;

/// Spans that are kept of a run.
const KEPT_SPANS: usize = 1_000_000;

/// The first conversation of every drawn cell.
#[derive(Debug, Default)]
pub(super) struct Detail {
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
    /// Reads the first conversation, by the lowest repeat, of each drawn cell.
    ///
    /// # Errors
    ///
    /// [`ReadError`] where the run's files have changed since they were read.
    pub(super) fn read(
        run: &Run,
        samples: &Samples,
        scenes: &[Scene<'_>],
        computed: &ComputedTable,
    ) -> Result<Self, ReadError> {
        let mut detail = Self::default();
        let drawn: HashSet<_> = scenes
            .iter()
            .take(DRAWN_SCENES)
            .flat_map(|scene| scene.rows.iter().take(DRAWN_CONFIGURATIONS))
            .map(|row| &row.cell)
            .collect();
        let first = samples.first_conversations(|cell| drawn.contains(cell));
        let mut kept: HashMap<_, _> = first
            .into_iter()
            .map(|conversation| (conversation, KEPT_REQUESTS))
            .collect();
        for sample in samples.list() {
            let Some(room) = kept.get_mut(&sample.conversation) else {
                continue;
            };
            if *room == 0 || detail.spans >= KEPT_SPANS {
                detail.cut = true;
                continue;
            }
            *room -= 1;
            let record = run.request_at(sample.offset)?;
            detail.spans += record
                .prompt
                .iter()
                .map(|one| one.spans.len())
                .sum::<usize>();
            if let Some(found) = computed.get(&record.conversation, sample.place) {
                detail.bounds.insert(record.key(), found.record(&record));
            }
            detail.records.push(record);
        }
        detail.read_texts(run)?;
        Ok(detail)
    }

    fn read_texts(&mut self, run: &Run) -> Result<(), ReadError> {
        let spans = self.records.iter().flat_map(|record| &record.prompt);
        let needed: HashSet<_> = spans
            .flat_map(|message| &message.spans)
            .map(|span| span.sha256)
            .collect();
        if needed.is_empty() {
            return Ok(());
        }
        run.span_blocks()?.each(
            threads(),
            || (),
            |(), texts: &mut Vec<Text>, line| {
                if needed.contains(&LeanSpan::of(line.bytes)?.sha256) {
                    let stored: StoredSpan = line.whole()?;
                    texts.extend(stored.text);
                }
                Ok(())
            },
            |texts| self.texts.extend(texts),
        )?;
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
