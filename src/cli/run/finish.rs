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
    self, AttemptKey, Ending, Manifest, Outcome, Places, ReadError, RequestRecord, Run, SpanStore,
    TargetFacts,
};
use crate::units::{Micros, Tokens};
use std::collections::{BTreeMap, HashMap, HashSet};
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
    /// Whether the folder had records before.
    pub(super) resumed: bool,
}

/// A record of the run, by what decides with whom it is worked on.
struct Entry {
    /// Number of its target.
    target: usize,
    realm: u64,
    sent: Micros,
    salted: bool,
    line: Line,
}

/// Where a record is.
#[derive(Clone, Copy)]
enum Line {
    /// In the file of records.
    At(record::Place),
    /// It counts nowhere, was sent all the same, and is one of few that are at hand.
    Aside(usize),
}

/// What one look at the records of a run told.
struct Index {
    files: Places,
    entries: Vec<Entry>,
    /// Records that count nowhere.
    aside: Vec<RequestRecord>,
    /// What was computed before the run was gone on with.
    known: HashSet<AttemptKey>,
    /// What the answers of each target said in this session.
    tallies: Vec<Tally>,
    any_ok: bool,
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
        let mut any_ok = self.told.any_ok();
        if counted || !given.no_report || !self.watches.is_empty() || self.resumed {
            let kept = self.writer.texts().await;
            match self.compute(&mut counters, &kept, dir).await {
                Ok(ok) => any_ok |= ok,
                Err(error) => {
                    let help = error.help();
                    output::warn(&format!("there are no bounds: {error}\n  help: {help}"));
                }
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
        let nothing_to_do = !self.told.any() && self.ending == Ending::Complete;
        if nothing_to_do && !self.resumed {
            output::warn(
                "no conversation was due, and nothing was sent: `--dry-run` shows what would be",
            );
        }
        // A shard may have none.
        let excused = nothing_to_do && self.manifest.shard.is_some();
        Ok(verdict(&self.ending, any_ok || excused))
    }

    /// Computes and writes bounds, and says whether any request of the folder was
    /// answered.
    async fn compute(
        &mut self,
        counters: &mut [Option<Counter>],
        kept: &SpanStore,
        dir: &Path,
    ) -> Result<bool, ReadError> {
        let mut index = self.index(dir)?;
        let several = self.places.len() > 1;
        for (number, watch) in std::mem::take(&mut self.watches) {
            let place = several.then_some(number + 1);
            watch.end(&index.tallies[number], dir, place).await;
        }
        let mut entries = std::mem::take(&mut index.entries);
        // A realm as a whole stands where its first request does.
        let mut first: HashMap<u64, Micros> = HashMap::new();
        for entry in &entries {
            let begun = first.entry(entry.realm).or_insert(entry.sent);
            *begun = entry.sent.min(*begun);
        }
        entries.sort_by_cached_key(|entry| {
            let begun = first.get(&entry.realm).copied();
            (entry.target, begun, entry.realm, entry.sent)
        });
        // What was stopped before is computed all the same: there is less of it.
        let stop = if self.stop.is_cancelled() {
            CancellationToken::new()
        } else {
            self.stop.clone()
        };
        for of_target in entries.chunk_by(|a, b| a.target == b.target) {
            let number = of_target[0].target;
            let place = &self.places[number];
            let Some(facts) = self.manifest.target(&place.target.name) else {
                continue;
            };
            let mut work = Work {
                facts,
                started_ms: self.manifest.started.epoch_ms(),
                place,
                counter: &mut counters[number],
                index: &mut index,
                kept,
                writer: &self.writer,
            };
            match stop.run_until_cancelled(work.all(of_target)).await {
                Some(done) => done?,
                None => {
                    output::warn("interrupted: requests that are not counted yet have no bound");
                }
            }
            if let Some(counter) = &counters[number] {
                counter.tell(&place.target);
            }
        }
        Ok(index.any_ok)
    }

    /// Goes through the records once.
    fn index(&self, dir: &Path) -> Result<Index, ReadError> {
        let names = self.places.iter().enumerate();
        let numbers: HashMap<Arc<str>, usize> = names
            .map(|(number, place)| (Arc::clone(&place.target.name), number))
            .collect();
        let entry = |record: &RequestRecord, line| {
            Some(Entry {
                target: *numbers.get(&record.target)?,
                realm: bounds::realm_number(record),
                sent: record.stamps.sent_us.unwrap_or(record.stamps.due_us),
                salted: record.salt.is_some(),
                line,
            })
        };
        let run = Run::read(dir)?;
        let mut known = HashSet::new();
        if self.resumed
            && let Some(lines) = run.bounds()?
        {
            for bound in lines {
                known.insert(bound?.key());
            }
        }
        let aside = run.aside()?;
        let mut entries = Vec::new();
        let mut tallies = vec![Tally::default(); self.places.len()];
        let mut any_ok = false;
        // A watch knows what the engine counted in this session.
        let session = self.manifest.resumed.last();
        let since = session.map_or(Micros(0), |session| session.from_us);
        let mut watched = |record: &RequestRecord| {
            if record.stamps.due_us >= since
                && let Some(&target) = numbers.get(&record.target)
            {
                tallies[target].add(record);
            }
        };
        for (at, record) in aside.iter().enumerate() {
            entries.extend(entry(record, Line::Aside(at)));
            watched(record);
        }
        let files = Places::of(&run, |record, place| {
            any_ok |= record.outcome == Outcome::Ok;
            entries.extend(entry(&record, Line::At(place)));
            watched(&record);
        })?;
        Ok(Index {
            files,
            entries,
            aside,
            known,
            tallies,
            any_ok,
        })
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

/// The records of one target.
struct Work<'a> {
    facts: &'a TargetFacts,
    /// When the run began, in milliseconds since 1970.
    started_ms: i64,
    place: &'a Place,
    counter: &'a mut Option<Counter>,
    index: &'a mut Index,
    /// Texts that the files lack.
    kept: &'a SpanStore,
    writer: &'a Writer,
}

impl Work<'_> {
    /// Computes and writes the bounds of entries that come by realm and within it in
    /// the order of sending.
    async fn all(&mut self, entries: &[Entry]) -> Result<(), ReadError> {
        let salted = entries.iter().all(|entry| entry.salted);
        // The model was read from a parsed one, so it parses.
        let apart = bounds::by_realm(self.facts, self.counter.is_some(), salted).unwrap_or(false);
        let mut texts = SpanStore::default();
        let mut rest = entries;
        while !rest.is_empty() {
            let (now, later) = rest.split_at(if apart { batch(rest) } else { rest.len() });
            rest = later;
            texts = self.some(now, &texts).await?;
        }
        Ok(())
    }

    /// Does it for these, and gives their texts, which the next ones may have as well.
    async fn some(
        &mut self,
        entries: &[Entry],
        before: &SpanStore,
    ) -> Result<SpanStore, ReadError> {
        let mut records = Vec::with_capacity(entries.len());
        for entry in entries {
            records.push(match entry.line {
                Line::At(place) => self.index.files.record(place)?,
                Line::Aside(at) => self.index.aside[at].clone(),
            });
        }
        let before = if self.kept.is_empty() {
            before
        } else {
            self.kept
        };
        let texts = self.index.files.texts(&records, before)?;
        let encoder = match &mut self.counter {
            Some(counter) => {
                let (target, client) = (&self.place.target, &self.place.client);
                Some(counter.encoder(target, client, &records, &texts).await)
            }
            None => None,
        };
        let inputs = Inputs {
            target: self.facts,
            records: &records,
            spans: &texts,
            started_ms: Some(self.started_ms),
            encoder: encoder.as_ref(),
        };
        let mut found = bounds(&inputs).unwrap_or_default();
        found.retain(|bound| !self.index.known.contains(&bound.key()));
        self.writer.bounds(found).await;
        Ok(texts)
    }
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

fn verdict(ending: &Ending, any_ok: bool) -> Exit {
    match (ending, any_ok) {
        (Ending::Interrupted, _) => Exit::Interrupted,
        (_, true) => Exit::Done,
        (_, false) => Exit::NoRequestOk,
    }
}
