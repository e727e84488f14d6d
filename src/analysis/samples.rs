//! Records, reduced to what results are made of.
//!
//! A run of a million records fits into memory this way: names are shared, and
//! prompts and raw usage are left behind.

use super::cost::{Moment, buckets};
use super::parallel::threads;
use crate::chat::{Usage, UsageOrigin};
use crate::record::lean::{LeanRecord, Name, Shortened};
use crate::record::{
    BoundRecord, Break, Computed, ComputedTable, LineError, Manifest, Names, Outcome, Price,
    ReadError, RequestRecord, Run, files, is_of_gateway,
};
use crate::units::{Micros, Money, Tokens};
use schemars::JsonSchema;
use serde::Serialize;
use std::borrow::Cow;
use std::collections::HashMap;
use std::sync::Arc;

/// What a row of a summary is about.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, JsonSchema)]
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

impl Cell {
    fn is_of(&self, record: &LeanRecord<'_>) -> bool {
        // The configuration first: neighbours differ in it most often.
        *self.configuration == *record.configuration
            && *self.scenario == *record.scenario
            && *self.load == *record.load
            && *self.target == *record.target
            && *self.model == *record.model
            && *self.group == *record.group
    }

    fn of(record: &LeanRecord<'_>, names: &mut Names) -> Self {
        Self {
            group: names.of(&record.group),
            scenario: names.of(&record.scenario),
            configuration: names.of(&record.configuration),
            target: names.of(&record.target),
            model: names.of(&record.model),
            load: names.of(&record.load),
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
    /// Newly cached for the short lifetime.
    pub write: Option<Tokens>,
    /// Newly cached for the long lifetime.
    pub write_long: Option<Tokens>,
    /// Generated.
    pub output: Option<Tokens>,
    /// Shared with what the cache could hold.
    pub eligible: Option<Tokens>,
    /// What of it the cache model can return.
    pub bound: Option<Tokens>,
    /// What it cost; `None` also where only a gateway knows.
    pub cost: Option<Money>,
    /// Where the prefix broke.
    pub broke: Option<Box<Break>>,
    /// When it was sent, from the run's start.
    pub sent: Option<Micros>,
    /// Time to first token: from sent to the first text, reasoning or tool delta. As the
    /// next, `None` where a gateway did not simply pass the answer on.
    pub ttft: Option<Micros>,
    /// The same from when the request was due first; see
    /// [`Stamps::ttft_from_due`](crate::record::Stamps::ttft_from_due).
    pub ttft_from_due: Option<Micros>,
    /// From sent to the end of the answer.
    pub took: Option<Micros>,
    /// How late the client itself was; see [`Stamps::lateness`](crate::record::Stamps::lateness).
    pub late: Micros,
    /// The same where the record says when the request was ready, so that connecting is no
    /// part of it.
    pub own_late: Option<Micros>,
    /// What it waited for limits; `None` where it did not.
    pub limited: Option<Micros>,
    /// Flags of the record and of the analysis.
    pub flags: Arc<[Arc<str>]>,
    /// Steps since the previous turn.
    pub events: Arc<[Arc<str>]>,
    /// Where its line begins in the file of records.
    pub offset: u64,
    pub(super) price: Option<Arc<Priced>>,
    pub(super) cell_index: u32,
    pub(super) conversation_index: u32,
    /// Tokens of the conversation's previous answered prompt; 0 where there is none.
    pub(super) previous: u32,
}

impl Sample {
    /// Whether shares may be computed from it: answered, with a count that the
    /// server reported, in a conversation that began on a known cache, and on a
    /// cache in the state that the scenario asks for.
    pub fn counted(&self) -> Option<(Tokens, Tokens)> {
        self.reported().filter(|_| !self.is_set_apart())
    }

    /// Total and read of an answered request with a count that the server reported.
    pub fn reported(&self) -> Option<(Tokens, Tokens)> {
        let good = self.outcome == Outcome::Ok && self.origin == UsageOrigin::Reported;
        good.then_some((self.total?, self.read?))
    }

    /// Whether its count says nothing of its layout: after a wait that only the
    /// scenario's clock took, on a cache that somebody else had filled, or where a
    /// gateway did not simply pass the answer on.
    pub fn is_set_apart(&self) -> bool {
        !self.flags.is_empty()
            && (self.has("beyond_lifetime") || self.has("contaminated") || self.is_of_gateway())
    }

    /// Whether a gateway did not simply pass its answer on.
    pub fn is_of_gateway(&self) -> bool {
        self.flags.iter().any(|flag| is_of_gateway(flag))
    }

    /// Whether it is the first request of its conversation.
    pub fn is_first(&self) -> bool {
        self.place.0 == 1 && self.place.1 == 1
    }

    /// Whether it has that flag.
    pub fn has(&self, flag: &str) -> bool {
        self.flags.iter().any(|other| &**other == flag)
    }

    /// Nanoseconds for each generated token behind the first. `None` where fewer
    /// than two tokens were generated.
    pub fn between_tokens_ns(&self) -> Option<u64> {
        let behind = self.output?.0.checked_sub(1).filter(|behind| *behind > 0)?;
        let passed = self.took?.0.checked_sub(self.ttft?.0)?;
        Some(passed.saturating_mul(1_000) / behind)
    }

    /// Prompt tokens of the conversation's previous answered request.
    pub fn previous(&self) -> Option<Tokens> {
        (self.previous > 0).then_some(Tokens(u64::from(self.previous)))
    }

    /// Newly cached, both lifetimes; `None` where the server said nothing of it.
    pub fn written(&self) -> Option<Tokens> {
        self.usage().written()
    }

    /// The price of its target, and the moment at which it is billed.
    pub fn priced(&self) -> Option<(&Price, Moment)> {
        let priced = self.price.as_ref()?;
        Some((&priced.price, priced.moment(self.sent)))
    }

    /// Its counts as the server said them.
    pub fn usage(&self) -> Usage {
        Usage {
            total: self.total,
            read: self.read,
            write: self.write,
            write_long: self.write_long,
            output: self.output,
            reasoning: None,
            origin: self.origin,
            raw: None,
        }
    }
}

/// What requests of each target cost.
#[derive(Clone, Debug, Default)]
struct Billing(HashMap<Arc<str>, Arc<Priced>>);

/// What requests of a target cost, and when its run was made.
#[derive(Clone, Debug)]
pub(super) struct Priced {
    price: Price,
    kept_ms: Option<u64>,
    started_ms: i64,
}

impl Priced {
    fn moment(&self, sent: Option<Micros>) -> Moment {
        Moment::of(self.started_ms, sent, self.kept_ms)
    }
}

impl Billing {
    fn add(&mut self, manifest: &Manifest, label: Option<&str>) {
        for target in &manifest.targets {
            let Some(price) = target.price.clone() else {
                continue;
            };
            let priced = Priced {
                price,
                kept_ms: target.lifetime_ms,
                started_ms: manifest.started.epoch_ms(),
            };
            let name = Arc::from(&*labelled(label, &target.name));
            self.0.insert(name, Arc::new(priced));
        }
    }
}

/// A name of one of several runs.
pub fn labelled<'n>(label: Option<&str>, name: &'n str) -> Cow<'n, str> {
    match label {
        Some(label) => Cow::Owned(format!("{label}: {name}")),
        None => Cow::Borrowed(name),
    }
}

/// Makes samples of records; each thread has its own.
#[derive(Debug)]
struct Maker<'a> {
    billing: &'a Billing,
    names: Names,
    cells: Vec<Arc<Cell>>,
    last: usize,
}

impl<'a> Maker<'a> {
    fn new(billing: &'a Billing) -> Self {
        Self {
            billing,
            names: Names::default(),
            cells: Vec::new(),
            last: 0,
        }
    }

    /// The sample of a record whose line begins at `offset`.
    fn sample(
        &mut self,
        record: &LeanRecord<'_>,
        computed: Option<&Computed>,
        offset: u64,
    ) -> Sample {
        let usage = &record.usage;
        let stamps = &record.stamps;
        let price = self.billing.0.get(&*record.target);
        let since_sent = |stamp: Option<Micros>| {
            let passed = stamp?.0.checked_sub(stamps.sent_us?.0);
            passed.map(Micros)
        };
        let of_gateway = record.flags.iter().any(|flag| is_of_gateway(flag));
        let mut sample = Sample {
            conversation: self.names.rare(&record.conversation),
            repeat: record.repeat,
            place: (record.turn, record.request, record.attempt),
            outcome: record.outcome,
            origin: usage.origin,
            total: usage.total,
            read: usage.read,
            write: usage.write,
            write_long: usage.write_long,
            output: usage.output,
            eligible: computed.and_then(|computed| computed.eligible),
            bound: computed.and_then(|computed| computed.bound),
            cost: None,
            price: price.map(Arc::clone),
            broke: computed.and_then(|computed| computed.broke.clone()),
            sent: stamps.sent_us,
            ttft: since_sent(stamps.first_text_us).filter(|_| !of_gateway),
            ttft_from_due: stamps.ttft_from_due().filter(|_| !of_gateway),
            took: since_sent(stamps.done_us).filter(|_| !of_gateway),
            late: stamps.lateness().unwrap_or_default(),
            own_late: stamps.ready_us.and_then(|_| stamps.lateness()),
            limited: stamps.limited_us,
            flags: self.flags(record, computed),
            events: self
                .names
                .list(record.events.iter().map(|event| event.label.as_str())),
            offset,
            cell: self.cell(record),
            cell_index: 0,
            conversation_index: 0,
            previous: 0,
        };
        // By the target's price; where that has none, what was billed in the run.
        sample.cost = match sample.priced() {
            _ if of_gateway => None,
            Some((price, moment)) => {
                buckets(price, &sample.usage(), moment).map(|buckets| buckets.sum())
            }
            None => computed.and_then(|computed| computed.cost),
        };
        sample
    }

    /// Flags of the record, then those that the analysis adds.
    fn flags(&mut self, record: &LeanRecord<'_>, computed: Option<&Computed>) -> Arc<[Arc<str>]> {
        let own = || record.flags.iter().map(Name::as_str);
        let Some(computed) = computed.filter(|computed| !computed.flags.is_empty()) else {
            return self.names.list(own());
        };
        if record.flags.is_empty() {
            return Arc::clone(&computed.flags);
        }
        let added = computed.flags.iter().map(|flag| &**flag);
        let added = added.filter(|flag| !own().any(|known| known == *flag));
        self.names.list(own().chain(added))
    }

    fn cell(&mut self, record: &LeanRecord<'_>) -> Arc<Cell> {
        let last = self.cells.get(self.last);
        if let Some(last) = last.filter(|cell| cell.is_of(record)) {
            return Arc::clone(last);
        }
        let known = self.cells.iter().position(|cell| cell.is_of(record));
        self.last = known.unwrap_or_else(|| {
            let cell = Cell::of(record, &mut self.names);
            self.cells.push(Arc::new(cell));
            self.cells.len() - 1
        });
        Arc::clone(&self.cells[self.last])
    }
}

/// The samples of a run, in the order recorded.
#[derive(Debug, Default)]
pub struct Samples {
    list: Vec<Sample>,
    billing: Billing,
    /// Seeds of the runs by their targets.
    seeds: HashMap<Arc<str>, u64>,
    cells: Vec<Arc<Cell>>,
    cell_places: HashMap<Arc<Cell>, u32>,
    conversations: HashMap<Arc<str>, u32>,
}

impl Samples {
    /// No samples yet; prices are those of the manifest's targets.
    pub fn new(manifest: &Manifest) -> Self {
        let mut samples = Self::default();
        samples.know(manifest, None);
        samples
    }

    /// All records of a run, with what was computed for them.
    pub fn of(manifest: &Manifest, records: &[RequestRecord], bounds: &[BoundRecord]) -> Self {
        let computed = ComputedTable::from(bounds);
        let mut samples = Self::new(manifest);
        let billing = samples.billing.clone();
        let mut maker = Maker::new(&billing);
        for record in records {
            let place = (record.turn, record.request, record.attempt);
            let computed = computed.get(&record.conversation, place);
            samples.push(maker.sample(&LeanRecord::from(record), computed, 0));
        }
        // Records in memory were read or made one by one: none is there twice.
        let _twice = samples.link();
        samples
    }

    /// The records of a run folder, and what a person must know of its files.
    ///
    /// # Errors
    ///
    /// [`ReadError`], at the first line that cannot be read, or at an attempt that is
    /// recorded twice.
    pub fn read(run: &Run) -> Result<(Self, Vec<String>), ReadError> {
        let mut warnings = Vec::new();
        let (computed, torn) = ComputedTable::read(run, threads())?;
        warnings.extend(torn.then(|| cut_off(files::BOUNDS)));
        let mut samples = Self::default();
        let torn = samples.add_run(run, &computed, None, |(), _, _, _| (), |()| Ok(()))?;
        warnings.extend(torn.then(|| cut_off(files::REQUESTS)));
        warnings.extend(samples.gaps(&run.manifest, &run.ledger()?, &computed, None));
        Ok((samples, warnings))
    }

    /// Adds the records of a run folder, read on all cores. Each is shown to
    /// `besides` with what was computed for it, and what that adds to its block is
    /// handed to `take` in the order recorded. Gives whether the last line was
    /// cut off.
    ///
    /// With a `label`, as of one of several runs, that stands in front of the
    /// names of targets and conversations.
    ///
    /// # Errors
    ///
    /// [`ReadError`] of the first line that cannot be read or of an attempt that is
    /// recorded twice, or what `take` gives.
    pub fn add_run<T: Default + Send, E: From<ReadError>>(
        &mut self,
        run: &Run,
        computed: &ComputedTable,
        label: Option<&str>,
        besides: impl Fn(&mut T, &LeanRecord<'_>, Option<&Computed>, &Sample) + Sync,
        mut take: impl FnMut(T) -> Result<(), E>,
    ) -> Result<bool, E> {
        self.know(&run.manifest, label);
        let billing = self.billing.clone();
        let mut failed = None;
        let torn = run.request_blocks()?.each(
            threads(),
            || (Maker::new(&billing), Shortened::default()),
            |(maker, short), piece: &mut (Vec<Sample>, T), line| {
                let mut record = short.record(line.bytes)?;
                let place = (record.turn, record.request, record.attempt);
                let found = computed.get(&record.conversation, place);
                record.label(label);
                let sample = maker.sample(&record, found, line.offset);
                besides(&mut piece.1, &record, found, &sample);
                piece.0.push(sample);
                Ok::<(), LineError>(())
            },
            |(list, piece)| {
                for sample in list {
                    self.push(sample);
                }
                if failed.is_none() {
                    failed = take(piece).err();
                }
            },
        )?;
        if let Some(error) = failed {
            return Err(error);
        }
        match self.link() {
            None => Ok(torn),
            Some(twice) => Err(self.twice(twice, run).into()),
        }
    }

    fn twice(&self, index: u32, run: &Run) -> ReadError {
        let sample = &self.list[index as usize];
        let (turn, request, attempt) = sample.place;
        ReadError::Twice {
            path: run.dir().join(files::REQUESTS),
            conversation: sample.conversation.to_string(),
            turn,
            request,
            attempt,
        }
    }

    /// Notes for each sample how long the conversation's previous prompt was. Gives a
    /// sample that stands there twice, if there is one.
    fn link(&mut self) -> Option<u32> {
        let mut order: Vec<u32> = (0..).take(self.list.len()).collect();
        let at = |index: &u32| &self.list[*index as usize];
        order.sort_unstable_by_key(|index| (at(index).conversation_index, at(index).place));
        let twice = order.windows(2).find(|two| {
            let place = |index: u32| (at(&index).conversation_index, at(&index).place);
            place(two[0]) == place(two[1])
        });
        let twice = twice.map(|two| two[1]);
        let mut last = (u32::MAX, 0);
        for index in order {
            let sample = &mut self.list[index as usize];
            if last.0 != sample.conversation_index {
                last = (sample.conversation_index, 0);
            }
            sample.previous = last.1;
            let believed = sample.outcome == Outcome::Ok
                && sample.origin != UsageOrigin::Contradictory
                && !sample.is_of_gateway();
            if let Some(total) = sample.total.filter(|_| believed) {
                last.1 = u32::try_from(total.0).unwrap_or(u32::MAX);
            }
        }
        twice
    }

    fn push(&mut self, mut sample: Sample) {
        let last = self.list.last();
        let same = last.filter(|last| Arc::ptr_eq(&last.cell, &sample.cell));
        sample.cell_index = match same {
            Some(last) => last.cell_index,
            None => *self
                .cell_places
                .entry(Arc::clone(&sample.cell))
                .or_insert_with(|| {
                    self.cells.push(Arc::clone(&sample.cell));
                    u32::try_from(self.cells.len() - 1).unwrap_or(u32::MAX)
                }),
        };
        let same = last.filter(|last| last.conversation == sample.conversation);
        sample.conversation_index = if let Some(last) = same {
            last.conversation_index
        } else {
            let next = u32::try_from(self.conversations.len()).unwrap_or(u32::MAX);
            let name = Arc::clone(&sample.conversation);
            *self.conversations.entry(name).or_insert(next)
        };
        self.list.push(sample);
    }

    /// The samples in the order added.
    pub fn list(&self) -> &[Sample] {
        &self.list
    }

    /// The conversation with the lowest repeat of every cell that is `wanted`.
    pub fn first_conversations(&self, wanted: impl Fn(&Cell) -> bool) -> Vec<Arc<str>> {
        let wanted: Vec<bool> = self.cells.iter().map(|cell| wanted(cell)).collect();
        let mut first: Vec<Option<&Sample>> = vec![None; wanted.len()];
        for sample in &self.list {
            let at = sample.cell_index as usize;
            if wanted[at] && first[at].is_none_or(|first| sample.repeat < first.repeat) {
                first[at] = Some(sample);
            }
        }
        let found = first.into_iter().flatten();
        found
            .map(|sample| Arc::clone(&sample.conversation))
            .collect()
    }

    /// Prices and seed of a run whose records are added.
    fn know(&mut self, manifest: &Manifest, label: Option<&str>) {
        self.billing.add(manifest, label);
        for target in &manifest.targets {
            let name = Arc::from(&*labelled(label, &target.name));
            self.seeds.insert(name, manifest.seed);
        }
    }

    /// The seed of the run that a target belongs to, so that an interval is the same
    /// beside other runs as in the run's own report.
    pub(super) fn seed_of(&self, target: &str) -> Option<u64> {
        self.seeds.get(target).copied()
    }

    /// Their cells, each once.
    pub(super) fn cells(&self) -> &[Arc<Cell>] {
        &self.cells
    }

    /// Targets that have prices.
    pub(super) fn priced_targets(&self) -> impl Iterator<Item = &Arc<str>> {
        self.billing.0.keys()
    }
}

/// What is said of a file whose last line was cut off.
pub fn cut_off(name: &str) -> String {
    format!("the last line of `{name}` was cut off and is left out")
}
