//! Brings caches into a known state before what is measured, and keeps the ledger.
//!
//! Invariants: a unit whose cache is to be emptied begins only behind the answer that
//! says it was; what warms or probes a cache is recorded aside and counts nowhere; a
//! conversation's line in the ledger follows all of its records.

use super::cell::{Cell, CellEnd, RunnerSetup};
use super::isolation::{Isolate, Isolation};
use super::reset::reset_when_back;
use super::session::{Labels, Session};
use super::writer::ToWriter;
use crate::cache::Model;
use crate::conversation::{Conversation, ConversationSetup, Next, Pending};
use crate::record::ledger::{ConversationFact, Ended, Held, Probe, Start, WarmUp as Warmed};
use crate::record::{Fact, LedgerLine, RequestRecord};
use crate::units::{Micros, Tokens};
use std::collections::{BTreeSet, HashMap};
use std::fmt;
use std::str::FromStr;
use std::sync::atomic::{AtomicU32, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

/// What is sent before what is measured.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, clap::ValueEnum)]
pub enum WarmUp {
    /// Nothing.
    #[default]
    None,
    /// The first prompt of each unit, under its own nonce, again until the cache gives it
    /// back: the unit begins warm.
    Prime,
    /// The first prompt of each cell, under a nonce of its own: the server is warm and the
    /// unit's cache is not.
    Isolate,
}

/// How many requests go before what is measured.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Before {
    /// Before each conversation.
    pub conversation: u64,
    /// Before each cell.
    pub cell: u64,
}

impl WarmUp {
    /// Requests that go before, where a cache gives back what it holds as soon as the
    /// answer has ended; and at most.
    pub fn requests(self, isolate: Isolate) -> (Before, Before) {
        let (usual, most) = match self {
            Self::None => (0, 0),
            // One writes, and one sees that it is there.
            Self::Prime => (2, u64::from(PRIMES)),
            Self::Isolate => (1, 1),
        };
        let apart = self == Self::Prime && isolate == Isolate::Conversation;
        let before = |requests| Before {
            conversation: if apart { requests } else { 0 },
            cell: if apart { 0 } else { requests },
        };
        (before(usual), before(most))
    }
}

impl fmt::Display for WarmUp {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::None => "none",
            Self::Prime => "prime",
            Self::Isolate => "isolate",
        })
    }
}

impl FromStr for WarmUp {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        clap::ValueEnum::from_str(text, false)
    }
}

/// What a runner begins from.
#[derive(Clone, Debug, Default)]
pub struct StartState {
    /// Which session of the run this is: 0, and one more each time it is gone on with.
    pub session: u32,
    /// Resets of the target's cache that went before.
    pub epoch: u32,
    /// What is sent before what is measured.
    pub warm_up: WarmUp,
    /// Counts conversations as they begin; shared by the runners of a run.
    pub order: Arc<AtomicU64>,
}

/// What is known of the cache of a runner's target.
#[derive(Debug, Default)]
pub(super) struct Known {
    epoch: AtomicU32,
    /// Units that were made ready: a cell's name, or the empty one for the run.
    ready: Mutex<BTreeSet<String>>,
    /// The first prompt of each cell: whose it was.
    first: Mutex<HashMap<String, First>>,
}

/// The conversation of a cell that began first.
#[derive(Clone, Debug)]
struct First {
    repeat: u32,
    isolation: Isolation,
    began: Micros,
}

/// Tries until a primed entry is readable, and the wait between them: hosted caches
/// need a moment after the answer.
const PRIMES: u32 = 8;
const PRIME_PAUSE: Duration = Duration::from_millis(500);

/// Tokens that may be read without an entry of one's own: a provider's hidden text.
const HIDDEN: Tokens = Tokens(64);

impl Known {
    pub(super) fn new(beginning: &StartState) -> Self {
        Self {
            epoch: AtomicU32::new(beginning.epoch),
            ..Self::default()
        }
    }

    /// How a conversation is kept apart from now on.
    pub(super) fn isolation(&self, setup: &RunnerSetup, cell: &Cell, repeat: u32) -> Isolation {
        let apart = Isolation::of(setup.isolate, setup.nonce, &cell.target, cell.units, repeat);
        let epoch = self.epoch.load(Ordering::Acquire);
        Isolation { epoch, ..apart }
    }

    /// Before conversations of a cell: what is done once for the cell or the run.
    pub(super) async fn cell(
        &self,
        setup: &Arc<RunnerSetup>,
        cell: &Arc<Cell>,
    ) -> Result<(), CellEnd> {
        let name = cell.name();
        let unit = match setup.isolate {
            Isolate::Cell => Some(name.clone()),
            Isolate::Run => Some(String::new()),
            Isolate::Conversation | Isolate::None => None,
        };
        if let Some(unit) = unit
            && cell.target.resets
            && self.is_first(&format!("unit {unit}"))
        {
            let shown = if unit.is_empty() { "the run" } else { &unit };
            self.empty(setup, cell, shown).await?;
        }
        if setup.begin.warm_up == WarmUp::None || !self.is_first(&name) {
            return Ok(());
        }
        match setup.begin.warm_up {
            WarmUp::Isolate => {
                let beside = Isolation::beside(setup.nonce, &cell.target, cell.units);
                let epoch = self.epoch.load(Ordering::Acquire);
                self.warm(setup, cell, Isolation { epoch, ..beside }).await
            }
            WarmUp::Prime if setup.isolate != Isolate::Conversation => {
                let isolation = self.isolation(setup, cell, 1);
                self.warm(setup, cell, isolation).await
            }
            WarmUp::Prime | WarmUp::None => Ok(()),
        }
    }

    /// Before a conversation: what is done for it alone. Says how it is kept apart, and
    /// what its first request is to find.
    pub(super) async fn conversation(
        &self,
        setup: &Arc<RunnerSetup>,
        cell: &Arc<Cell>,
        repeat: u32,
    ) -> Result<(Isolation, Start), CellEnd> {
        let alone = setup.isolate == Isolate::Conversation;
        if alone && cell.target.resets {
            let unit = cell.conversation(repeat);
            // In a box, as below: rare, and long enough to make every conversation dear.
            Box::pin(self.empty(setup, cell, &unit)).await?;
        }
        let isolation = self.isolation(setup, cell, repeat);
        let primed = setup.begin.warm_up == WarmUp::Prime;
        if alone && primed {
            Box::pin(self.warm(setup, cell, isolation.clone())).await?;
        }
        let name = cell.name();
        let mut firsts = self.lock(&self.first);
        let first = firsts.get(&name).is_none_or(|first| first.repeat == repeat);
        if first && !firsts.contains_key(&name) {
            let known = First {
                repeat,
                isolation: isolation.clone(),
                began: setup.client.now(),
            };
            firsts.insert(name, known);
        }
        drop(firsts);
        let start = match setup.isolate {
            _ if primed => Start::Warm,
            Isolate::Conversation => Start::Cold,
            Isolate::Cell if first => Start::Cold,
            Isolate::Cell | Isolate::Run => Start::Shared,
            Isolate::None => Start::Unknown,
        };
        Ok((isolation, start))
    }

    /// Whether this is asked for the first time.
    fn is_first(&self, unit: &str) -> bool {
        self.lock(&self.ready).insert(unit.to_owned())
    }

    #[expect(clippy::unused_self, reason = "it is one of its own")]
    fn lock<'a, T>(&self, what: &'a Mutex<T>) -> std::sync::MutexGuard<'a, T> {
        what.lock().unwrap_or_else(PoisonError::into_inner)
    }

    async fn empty(&self, setup: &RunnerSetup, cell: &Cell, unit: &str) -> Result<(), CellEnd> {
        let epoch = self.epoch.load(Ordering::Acquire) + 1;
        let called = reset_when_back(&setup.client, &cell.target, (unit, epoch), &setup.stop);
        let done = called.await;
        let done = done.map_err(CellEnd::Reset)?;
        self.epoch.store(epoch, Ordering::Release);
        note(setup, Fact::Reset(done)).await;
        Ok(())
    }

    /// Sends the first prompt of the cell: once, or until it can be read where it is to be.
    async fn warm(
        &self,
        setup: &Arc<RunnerSetup>,
        cell: &Arc<Cell>,
        isolation: Isolation,
    ) -> Result<(), CellEnd> {
        let mode = setup.begin.warm_up;
        let prime = mode == WarmUp::Prime;
        let (session, pending) = first_request(setup, cell, 1, isolation)?;
        let Some(pending) = pending else {
            return Ok(());
        };
        let (mut requests, mut read) = (0, None);
        let most = if prime { PRIMES } else { 1 };
        while requests < most {
            if requests > 1 {
                let pause = tokio::time::sleep(PRIME_PAUSE);
                if setup.stop.run_until_cancelled(pause).await.is_none() {
                    break;
                }
            }
            let record = session.aside(&pending, "warm_up").await;
            requests += 1;
            read = record.usage.read;
            // The first one writes; only one behind it can show that it is there.
            let seen = requests > 1 && read.is_some_and(|read| read > HIDDEN);
            if seen || read.is_none() {
                break;
            }
        }
        let readable = read.filter(|_| prime).map(|read| read > HIDDEN);
        let warmed = Warmed {
            cell: Arc::from(cell.name()),
            mode: Arc::from(mode.to_string()),
            nonce: Arc::clone(&session.labels.nonce),
            salt: session.isolation.salt.clone(),
            requests,
            read,
            readable,
        };
        note(setup, Fact::WarmUp(warmed)).await;
        Ok(())
    }

    /// Asks the first prompt of a cell again and notes whether the cache still had it.
    /// Does nothing where no conversation of the cell has begun.
    pub(super) async fn probe(
        &self,
        setup: &Arc<RunnerSetup>,
        cell: &Arc<Cell>,
    ) -> Result<(), CellEnd> {
        let first = self.lock(&self.first).remove(&cell.name());
        let Some(First {
            repeat,
            isolation,
            began,
        }) = first
        else {
            return Ok(());
        };
        if isolation.epoch != self.epoch.load(Ordering::Acquire) {
            // It was emptied since, as it was to be.
            return Ok(());
        }
        let (session, pending) = first_request(setup, cell, repeat, isolation)?;
        let Some(pending) = pending else {
            return Ok(());
        };
        let at = setup.client.now();
        let record = session.aside(&pending, "probe").await;
        let probe = Probe {
            cell: Arc::from(cell.name()),
            conversation: Arc::clone(&session.name),
            held: held(&record, cell),
            total: record.usage.total,
            read: record.usage.read,
            after_us: Micros(at.0.saturating_sub(began.0)),
        };
        note(setup, Fact::Probe(probe)).await;
        Ok(())
    }
}

/// What the count of a prompt that was sent before says of the cache.
fn held(record: &RequestRecord, cell: &Cell) -> Held {
    let (Some(total), Some(read)) = (record.usage.total, record.usage.read) else {
        return Held::Untold;
    };
    // The last block is never whole, and the last token always computed.
    let open = Tokens(step(cell)).max(Tokens(total.0 / 10));
    if read + open >= total {
        Held::Whole
    } else if read > HIDDEN.max(cell.target.tolerance.tokens) {
        Held::Part
    } else {
        Held::Nothing
    }
}

/// Tokens that the target's cache returns at a time; 0 where that is not known.
fn step(cell: &Cell) -> u64 {
    match &cell.target.cache {
        Some(
            Model::Blocks { size, .. } | Model::Align { size, .. } | Model::Steps { size, .. },
        ) => size.get() as u64,
        _ => 0,
    }
}

/// The first request of a conversation of the cell, and what sends it.
fn first_request(
    setup: &Arc<RunnerSetup>,
    cell: &Arc<Cell>,
    repeat: u32,
    isolation: Isolation,
) -> Result<(Session, Option<Pending>), CellEnd> {
    let name: Arc<str> = Arc::from(cell.conversation(repeat));
    let mut conversation = begun(cell, &name, &isolation)?;
    let session = Session {
        labels: Labels::of(setup, cell, &name, &isolation),
        setup: Arc::clone(setup),
        cell: Arc::clone(cell),
        name,
        repeat,
        isolation,
        arrival: None,
        stop: setup.stop.clone(),
        begin: setup.stop.clone(),
        notes: Mutex::default(),
    };
    loop {
        match conversation
            .next()
            .map_err(|error| CellEnd::Context(error.to_string()))?
        {
            None => return Ok((session, None)),
            Some(Next::Idle(_)) => {}
            Some(Next::Request(pending)) => return Ok((session, Some(*pending))),
        }
    }
}

/// A conversation of the cell that has not sent anything.
pub(super) fn begun(
    cell: &Cell,
    name: &Arc<str>,
    isolation: &Isolation,
) -> Result<Box<Conversation>, CellEnd> {
    Conversation::new(
        Arc::clone(&cell.scenario),
        ConversationSetup {
            name: Arc::clone(name),
            configuration: cell.configuration.clone(),
            wire: cell.target.wire,
            served: cell.target.served(),
            nonce: isolation.nonce,
            place: isolation.place,
            resources: Arc::clone(&cell.resources),
        },
    )
    .map(Box::new)
    .map_err(|error| CellEnd::Context(error.to_string()))
}

/// What the ledger keeps of a conversation that ended.
pub(super) fn fact(
    session: &Session,
    order: u64,
    began: Micros,
    start: Start,
    ended: &Result<(), CellEnd>,
) -> ConversationFact {
    let target = &session.cell.target;
    let notes = session.notes.lock();
    let notes = notes.unwrap_or_else(PoisonError::into_inner).clone();
    let tolerance = HIDDEN.max(target.tolerance.tokens);
    let as_expected = notes.first_read.and_then(|read| match start {
        Start::Cold => Some(read <= tolerance),
        Start::Warm => Some(read > HIDDEN),
        Start::Shared | Start::Unknown => None,
    });
    ConversationFact {
        conversation: Arc::clone(&session.name),
        session: session.setup.begin.session,
        order,
        salt: session.isolation.salt.clone(),
        nonce: Arc::clone(&session.labels.nonce),
        epoch: session.isolation.epoch,
        began_us: began,
        attempts: notes.attempts,
        idle_us: notes.idle,
        lifetime_us: target.lifetime.map(Micros::from),
        start,
        read: notes.first_read,
        as_expected,
        ended: match ended {
            Ok(()) => Ended::Complete,
            Err(end) => Ended::Early(end.to_string()),
        },
    }
}

/// Puts a line into the ledger. A writer that is gone tells why by itself.
pub(super) async fn note(setup: &RunnerSetup, fact: Fact) {
    let line = LedgerLine::new(setup.client.now(), fact);
    let _gone = setup.records.send(ToWriter::Note(line)).await;
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_goes_before_is_before_each_conversation_only_where_each_has_its_own_cache() {
        let before = |conversation, cell| Before { conversation, cell };
        let (nothing, once) = (Before::default(), before(0, 1));
        for (warm_up, isolate, usual, most) in [
            (WarmUp::None, Isolate::Conversation, nothing, nothing),
            (WarmUp::Isolate, Isolate::Conversation, once, once),
            (WarmUp::Isolate, Isolate::Run, once, once),
            (
                WarmUp::Prime,
                Isolate::Conversation,
                before(2, 0),
                before(8, 0),
            ),
            (WarmUp::Prime, Isolate::Cell, before(0, 2), before(0, 8)),
            (WarmUp::Prime, Isolate::None, before(0, 2), before(0, 8)),
        ] {
            assert_eq!(
                warm_up.requests(isolate),
                (usual, most),
                "{warm_up} {isolate}"
            );
        }
    }
}
