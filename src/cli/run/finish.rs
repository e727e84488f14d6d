//! What follows the last answer: bounds, tables, the verdict.
//!
//! Everything is computed from the files that the run wrote, a few conversations
//! at a time where nothing in a cache connects them, so that memory does not grow
//! with the run.

use super::told::Told;
use super::{Arguments, Place, not_written};
use crate::analysis::bounds::{self, Inputs, bounds};
use crate::cli::counters::{Tally, Watch};
use crate::cli::exit::{Exit, Failure};
use crate::cli::tokens::Counter;
use crate::cli::{output, outputs};
use crate::load::Writer;
use crate::record::{
    self, Ending, Manifest, Places, ReadError, RequestRecord, Run, SpanStore, TargetFacts,
};
use crate::tokens::SharedEncoder;
use crate::units::{Micros, Tokens};
use std::collections::{BTreeMap, HashMap};
use std::path::Path;
use std::sync::Arc;
use tokio_util::sync::CancellationToken;

/// Records that are worked on together at least, where there are as many.
const TOGETHER: usize = 64;

/// A run whose last answer is in.
pub(super) struct Done<'a> {
    pub(super) writer: Writer,
    pub(super) manifest: &'a Manifest,
    pub(super) places: &'a [Place],
    pub(super) ending: Ending,
    /// By the position of their place.
    pub(super) watches: BTreeMap<usize, Watch>,
    pub(super) told: &'a Told,
    /// Ends what can be computed again later.
    pub(super) stop: &'a CancellationToken,
}

/// A record of the run, by what decides with whom it is worked on.
struct Entry {
    /// Number of its target.
    target: usize,
    realm: u64,
    sent: Micros,
    salted: bool,
    place: record::Place,
}

impl Done<'_> {
    /// Computes and writes what follows from the records, and says how the run ended.
    pub(super) async fn finish(mut self, given: &Arguments, dir: &Path) -> Result<Exit, Failure> {
        self.told.tell_warnings();
        self.writer.flush().await;
        let mut counters = Vec::new();
        for place in self.places {
            counters.push(Counter::of(&given.aim, &place.target)?);
        }
        // What needs no tokens is left to the report, which computes it where it is missing.
        let counted = counters.iter().any(Option::is_some);
        if counted || !given.no_report || !self.watches.is_empty() {
            let kept = self.writer.texts().await;
            if let Err(error) = self.compute(&mut counters, &kept, dir).await {
                let help = error.help();
                output::warn(&format!("there are no bounds: {error}\n  help: {help}"));
            }
            if given.no_text {
                self.lengths(&mut counters, kept).await;
            }
        }
        self.writer
            .finish(self.ending.clone())
            .await
            .map_err(not_written)?;
        if !given.no_report {
            let results = outputs::rebuild(dir, None)?;
            output::data(&outputs::terminal(&results))?;
        }
        output::tell(&format!("records: {}", dir.display()));
        Ok(verdict(&self.ending, self.told.any_ok()))
    }

    async fn compute(
        &mut self,
        counters: &mut [Option<Counter>],
        kept: &SpanStore,
        dir: &Path,
    ) -> Result<(), ReadError> {
        let (mut files, mut entries, tallies) = self.index(dir)?;
        let several = self.places.len() > 1;
        for (number, watch) in std::mem::take(&mut self.watches) {
            let place = several.then_some(number + 1);
            watch.end(&tallies[number], dir, place).await;
        }
        entries.sort_by_key(|entry| (entry.target, entry.realm, entry.sent));
        // What was stopped before is computed all the same: there is less of it.
        let stop = match self.stop.is_cancelled() {
            true => CancellationToken::new(),
            false => self.stop.clone(),
        };
        for of_target in entries.chunk_by(|a, b| a.target == b.target) {
            let number = of_target[0].target;
            let place = &self.places[number];
            let Some(facts) = self.manifest.target(&place.target.name) else {
                continue;
            };
            let counter = &mut counters[number];
            let done = stop
                .run_until_cancelled(of(
                    facts,
                    of_target,
                    &mut files,
                    kept,
                    place,
                    counter,
                    &self.writer,
                ))
                .await;
            match done {
                Some(done) => done?,
                None => {
                    output::warn("interrupted: requests that are not counted yet have no bound")
                }
            }
            if let Some(counter) = counter {
                counter.tell(&place.target);
            }
        }
        Ok(())
    }

    /// Goes through the records once: where each stands, and what the answers of
    /// each target said.
    fn index(&self, dir: &Path) -> Result<(Places, Vec<Entry>, Vec<Tally>), ReadError> {
        let names = self.places.iter().enumerate();
        let numbers: HashMap<Arc<str>, usize> = names
            .map(|(number, place)| (Arc::clone(&place.target.name), number))
            .collect();
        let mut entries = Vec::new();
        let mut tallies = vec![Tally::default(); self.places.len()];
        let files = Places::of(&Run::read(dir)?, |record, place| {
            if let Some(&target) = numbers.get(&record.target) {
                tallies[target].add(&record);
                entries.push(Entry {
                    target,
                    realm: bounds::realm_number(&record),
                    sent: record.stamps.sent_us.unwrap_or(record.stamps.due_us),
                    salted: record.salt.is_some(),
                    place,
                });
            }
        })?;
        Ok((files, entries, tallies))
    }

    /// Stores how long the texts are that are not stored themselves. The first
    /// target that counts for itself decides: a server is not asked for every text.
    async fn lengths(&self, counters: &mut [Option<Counter>], kept: SpanStore) {
        let encoder = counters.iter().flatten().find_map(Counter::here);
        if let Some(encoder) = encoder {
            let count = move |sha256| {
                let text = kept.text(sha256)?;
                Some(Tokens(encoder.output(text).len() as u64))
            };
            self.writer.lengths(count).await;
        }
    }
}

/// Computes and writes the bounds of a target's records, which come by realm and
/// within it in the order of sending.
async fn of(
    facts: &TargetFacts,
    entries: &[Entry],
    files: &mut Places,
    kept: &SpanStore,
    place: &Place,
    counter: &mut Option<Counter>,
    writer: &Writer,
) -> Result<(), ReadError> {
    let salted = entries.iter().all(|entry| entry.salted);
    // The model was read from a parsed one, so it parses.
    let apart = bounds::by_realm(facts, counter.is_some(), salted).unwrap_or(false);
    let mut texts = SpanStore::default();
    let mut rest = entries;
    while !rest.is_empty() {
        let (now, later) = rest.split_at(if apart { batch(rest) } else { rest.len() });
        rest = later;
        let mut records = Vec::with_capacity(now.len());
        for entry in now {
            records.push(files.record(entry.place)?);
        }
        let before = if kept.is_empty() { &texts } else { kept };
        texts = files.texts(&records, before)?;
        let encoder = match counter {
            Some(counter) => {
                let (target, client) = (&place.target, &place.client);
                Some(counter.encoder(target, client, &records, &texts).await)
            }
            None => None,
        };
        let found = computed(facts, &records, &texts, encoder.as_ref());
        writer.bounds(found).await;
    }
    Ok(())
}

/// How many of the entries are worked on together: whole realms.
fn batch(entries: &[Entry]) -> usize {
    let mut many = 0;
    for realm in entries.chunk_by(|a, b| a.realm == b.realm) {
        many += realm.len();
        if many >= TOGETHER {
            break;
        }
    }
    many
}

fn computed(
    target: &TargetFacts,
    records: &[RequestRecord],
    spans: &SpanStore,
    encoder: Option<&SharedEncoder>,
) -> Vec<record::BoundRecord> {
    let inputs = Inputs {
        target,
        records,
        spans,
        encoder,
    };
    bounds(&inputs).unwrap_or_default()
}

fn verdict(ending: &Ending, any_ok: bool) -> Exit {
    match (ending, any_ok) {
        (Ending::Interrupted, _) => Exit::Interrupted,
        (_, true) => Exit::Done,
        (_, false) => Exit::NoRequestOk,
    }
}
