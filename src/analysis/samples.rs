//! Records, reduced to what results are made of.
//!
//! A run of a million records fits into memory this way: names are shared, and
//! prompts and raw usage are left behind.

use super::cost::bill_uncached;
use crate::chat::{Origin, UsageOrigin};
use crate::record::{
    BoundRecord, Break, Manifest, Outcome, Price, ReadError, RequestRecord, Run, files,
};
use crate::units::{Micros, Money, Tokens};
use serde::Serialize;
use std::collections::{HashMap, HashSet};
use std::sync::Arc;

/// What a row of a summary is about.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize)]
pub struct Cell {
    /// Group of the scenario.
    pub group: Arc<str>,
    /// Scenario.
    pub scenario: Arc<str>,
    /// Configuration.
    pub configuration: Arc<str>,
    /// Target.
    pub target: Arc<str>,
    /// Model asked for.
    pub model: Arc<str>,
    /// Load level.
    pub load: Arc<str>,
}

impl From<&RequestRecord> for Cell {
    fn from(record: &RequestRecord) -> Self {
        Self {
            group: Arc::clone(&record.group),
            scenario: Arc::clone(&record.scenario),
            configuration: Arc::clone(&record.configuration),
            target: Arc::clone(&record.target),
            model: Arc::clone(&record.model),
            load: Arc::clone(&record.load),
        }
    }
}

/// One attempt.
#[derive(Clone, Debug)]
pub struct Sample {
    /// What it belongs to.
    pub cell: Arc<Cell>,
    /// Conversation.
    pub conversation: Arc<str>,
    /// Repeat of the scenario.
    pub repeat: u32,
    /// Turn, request and attempt, each from 1.
    pub place: (u32, u32, u32),
    /// How it ended.
    pub outcome: Outcome,
    /// Origin of the count.
    pub origin: UsageOrigin,
    /// The whole prompt as the server counted it.
    pub total: Option<Tokens>,
    /// Taken from the cache.
    pub read: Option<Tokens>,
    /// Newly cached, both lifetimes.
    pub written: Option<Tokens>,
    /// Shared with what the cache could hold.
    pub eligible: Option<Tokens>,
    /// What of it the cache model can return.
    pub bound: Option<Tokens>,
    /// What it cost.
    pub cost: Option<Money>,
    /// What it would have cost without a cache.
    pub uncached: Option<Money>,
    /// Where the prefix broke.
    pub broke: Option<Break>,
    /// Time to first token: from sent to the first text, reasoning or tool delta.
    pub ttft: Option<Micros>,
    /// How late the client itself was; see [`Stamps::lateness`](crate::record::Stamps::lateness).
    pub late: Micros,
    /// The same where the record says when the request was ready, so that connecting is no
    /// part of it.
    pub own_late: Option<Micros>,
    /// Flags of the record and of the analysis.
    pub flags: Vec<Arc<str>>,
    /// Steps since the previous turn.
    pub events: Vec<Arc<str>>,
}

impl Sample {
    /// Whether shares may be computed from it: answered, with a count that the server
    /// reported, in a conversation that began on a known cache.
    pub fn counted(&self) -> Option<(Tokens, Tokens)> {
        let good = self.outcome == Outcome::Ok
            && self.origin == UsageOrigin::Reported
            && !self.has("contaminated");
        good.then_some((self.total?, self.read?))
    }

    /// Whether it is the first request of its conversation.
    pub fn is_first(&self) -> bool {
        self.place.0 == 1 && self.place.1 == 1
    }

    /// Whether it has that flag.
    pub fn has(&self, flag: &str) -> bool {
        self.flags.iter().any(|other| &**other == flag)
    }
}

/// The samples of a run, in the order recorded.
#[derive(Debug, Default)]
pub struct Samples {
    list: Vec<Sample>,
    prices: HashMap<Arc<str>, Price>,
    names: HashSet<Arc<str>>,
    cells: HashSet<Arc<Cell>>,
}

impl Samples {
    /// No samples yet; prices are those of the manifest's targets.
    pub fn new(manifest: &Manifest) -> Self {
        let prices = manifest
            .targets
            .iter()
            .filter_map(|target| Some((Arc::clone(&target.name), target.price.clone()?)))
            .collect();
        Self {
            prices,
            ..Self::default()
        }
    }

    /// All records of a run, with what was computed for them.
    pub fn of(manifest: &Manifest, records: &[RequestRecord], bounds: &[BoundRecord]) -> Self {
        let by_attempt: HashMap<_, _> = bounds.iter().map(|bound| (bound.key(), bound)).collect();
        let mut samples = Self::new(manifest);
        for record in records {
            samples.add(record, by_attempt.get(&record.key()).copied());
        }
        samples
    }

    /// The records of a run folder, read one after the other, and what a person
    /// must know of its files.
    ///
    /// # Errors
    ///
    /// [`ReadError`], at the first line that cannot be read.
    pub fn read(run: &Run) -> Result<(Self, Vec<String>), ReadError> {
        let mut warnings = Vec::new();
        let mut torn = |torn: bool, name: &str| {
            if torn {
                warnings.push(format!(
                    "the last line of `{name}` was cut off and is left out"
                ));
            }
        };
        let mut by_attempt = HashMap::new();
        if let Some(mut lines) = run.bounds()? {
            for bound in lines.by_ref() {
                let bound = bound?;
                by_attempt.insert(bound.key(), bound);
            }
            torn(lines.torn(), files::BOUNDS);
        }
        let mut samples = Self::new(&run.manifest);
        let mut lines = run.requests()?;
        for record in lines.by_ref() {
            let record = record?;
            samples.add(&record, by_attempt.remove(&record.key()).as_ref());
        }
        torn(lines.torn(), files::REQUESTS);
        Ok((samples, warnings))
    }

    /// The samples in the order added.
    pub fn list(&self) -> &[Sample] {
        &self.list
    }

    /// Adds a record and what was computed for it.
    pub fn add(&mut self, record: &RequestRecord, bound: Option<&BoundRecord>) {
        let stamps = &record.stamps;
        let added = bound.map_or(&[][..], |bound| &bound.flags);
        let mut flags: Vec<Arc<str>> = Vec::new();
        for flag in record.flags.iter().chain(added) {
            if !flags.contains(flag) {
                flags.push(self.name(flag));
            }
        }
        let broke = bound
            .and_then(|bound| bound.broke.as_ref())
            .map(|broke| Break {
                origin: Origin::from(&*self.name(broke.origin.as_str())),
                cause: self.name(&broke.cause),
                ..*broke
            });
        let uncached = self
            .prices
            .get(&record.target)
            .and_then(|price| bill_uncached(price, &record.usage));
        let sample = Sample {
            cell: self.cell(record),
            conversation: self.name(&record.conversation),
            repeat: record.repeat,
            place: (record.turn, record.request, record.attempt),
            outcome: record.outcome,
            origin: record.usage.origin,
            total: record.usage.total,
            read: record.usage.read,
            written: record.usage.written(),
            eligible: bound.and_then(|bound| bound.eligible),
            bound: bound.and_then(|bound| bound.bound),
            cost: bound.and_then(|bound| bound.cost),
            uncached,
            broke,
            ttft: stamps
                .first_text_us
                .zip(stamps.sent_us)
                .and_then(|(first, sent)| first.0.checked_sub(sent.0))
                .map(Micros),
            late: stamps.lateness().unwrap_or_default(),
            own_late: stamps.ready_us.and_then(|_| stamps.lateness()),
            flags,
            events: record
                .events
                .iter()
                .map(|event| self.name(&event.label))
                .collect(),
        };
        self.list.push(sample);
    }

    /// The shared copy of a name.
    fn name(&mut self, name: &str) -> Arc<str> {
        if let Some(known) = self.names.get(name) {
            return Arc::clone(known);
        }
        let name: Arc<str> = Arc::from(name);
        self.names.insert(Arc::clone(&name));
        name
    }

    fn cell(&mut self, record: &RequestRecord) -> Arc<Cell> {
        let cell = Cell::from(record);
        if let Some(known) = self.cells.get(&cell) {
            return Arc::clone(known);
        }
        let cell = Arc::new(cell);
        self.cells.insert(Arc::clone(&cell));
        cell
    }
}
