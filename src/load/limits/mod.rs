//! What holds requests back: quotas of the user's own, what the server asks for, and
//! the money that may be spent.
//!
//! One [`Gate`] stands before each target. A request passes it when there is room in
//! flight, within the minute and in the budget, and not before the time that the server
//! named. Who comes first goes first.
//!
//! Invariants: what is waited here is told to the caller, who records it apart from the
//! client's own lateness; no minute holds more requests or tokens than allowed, but for
//! one request that alone is larger; money is set aside before a request is sent, so
//! that the sum is never exceeded as long as no answer is dearer than its bound, and what
//! does not fit beside requests in flight waits until they are billed; a wait ends with
//! the run. A queue in which nobody is held back is no limit.

mod advice;
mod budget;
mod sizes;
mod waits;
mod window;

pub use advice::{Advice, Quota, advice};
pub use budget::{Budget, Tariff};

use super::target::Rates;
use crate::chat::{Usage, UsageOrigin};
use crate::record::Outcome;
use crate::units::{Money, Tokens};
use budget::Reserved;
use sizes::Sizes;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;
use tokio::sync::{OwnedSemaphorePermit, Semaphore};
use tokio::time::{Instant, sleep_until};
use waits::Waits;
use window::Window;

/// Quotas of one target; `None`: none.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Quotas {
    /// Requests that may begin in any minute.
    pub requests_per_minute: Option<u64>,
    /// Tokens, prompt and answer, in any minute.
    pub tokens_per_minute: Option<u64>,
    /// Requests in flight.
    pub in_flight: Option<usize>,
}

impl Quotas {
    /// These, and not more than an account allows.
    #[must_use]
    pub fn within(self, rates: Rates) -> Self {
        let tighter = |own: Option<u64>, account: Option<u64>| match (own, account) {
            (Some(own), Some(account)) => Some(own.min(account)),
            (own, account) => own.or(account),
        };
        let requests = rates.requests_per_minute.map(u64::from);
        Self {
            requests_per_minute: tighter(self.requests_per_minute, requests),
            tokens_per_minute: tighter(self.tokens_per_minute, rates.tokens_per_minute),
            ..self
        }
    }
}

/// A request that wants to pass.
#[derive(Clone, Copy, Debug)]
pub struct Ask {
    /// Size of its body, or a little more: it is written only once it may be sent.
    pub bytes: u64,
    /// The longest answer that it allows.
    pub max_tokens: u32,
}

/// The right to send one request. Given back by [`Gate::settle`].
#[derive(Debug)]
pub struct Pass {
    /// What was waited for limits; `None` where nothing was.
    pub limited: Option<Duration>,
    _slot: Option<OwnedSemaphorePermit>,
    entry: u64,
    reserved: Reserved,
    ask: Ask,
}

/// Room in flight that was taken in advance; see [`Gate::try_enter`].
#[derive(Debug)]
pub struct Slot(Option<OwnedSemaphorePermit>);

/// No room in flight: an arrival that finds this is shed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Full;

/// The budget does not suffice for the next request.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Spent(pub String);

/// How an answer bears on the limits.
#[derive(Clone, Copy, Debug)]
pub struct Settled<'a> {
    /// How the attempt ended.
    pub outcome: Outcome,
    /// What the server counted.
    pub usage: Option<&'a Usage>,
    /// Response headers, names in lowercase.
    pub headers: &'a [(String, String)],
}

/// Stands before a target.
pub struct Gate {
    slots: Option<Arc<Semaphore>>,
    in_flight: usize,
    /// Held by whoever waits, so that others wait behind.
    queue: tokio::sync::Mutex<()>,
    /// Whether whoever holds the queue waits for a limit.
    waits: Waits,
    state: Mutex<State>,
    budget: Arc<Budget>,
    tariff: Tariff,
    /// The longest that a server's wish is waited for.
    longest: Duration,
    epoch: Instant,
    long_wait: AtomicBool,
}

/// What changes with every request.
struct State {
    window: Window,
    /// The server wants nothing before this.
    closed: Option<Instant>,
    /// Tokens that the server still allows, and until when that holds.
    tokens: Option<(u64, Instant)>,
    sizes: Sizes,
}

impl Gate {
    /// A gate with these quotas. `budget` is the whole run's.
    pub fn new(quotas: Quotas, budget: Arc<Budget>, tariff: Tariff, longest: Duration) -> Self {
        let window = Window::new(quotas.requests_per_minute, quotas.tokens_per_minute);
        Self {
            slots: quotas
                .in_flight
                .map(|slots| Arc::new(Semaphore::new(slots.clamp(1, Semaphore::MAX_PERMITS)))),
            in_flight: quotas.in_flight.unwrap_or(usize::MAX),
            queue: tokio::sync::Mutex::new(()),
            waits: Waits::default(),
            state: Mutex::new(State {
                window,
                closed: None,
                tokens: None,
                sizes: Sizes::default(),
            }),
            budget,
            tariff,
            longest,
            epoch: Instant::now(),
            long_wait: AtomicBool::new(false),
        }
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The most requests in flight.
    pub fn in_flight(&self) -> usize {
        self.in_flight
    }

    /// Whether nobody has asked this before: a wait that is too long is told once.
    pub fn is_first_long_wait(&self) -> bool {
        !self.long_wait.swap(true, Ordering::Relaxed)
    }

    /// Room in flight for an arrival, at once.
    ///
    /// # Errors
    ///
    /// [`Full`] where there is none.
    pub fn try_enter(&self) -> Result<Slot, Full> {
        let Some(slots) = &self.slots else {
            return Ok(Slot(None));
        };
        let permit = Arc::clone(slots).try_acquire_owned();
        permit.map(|permit| Slot(Some(permit))).map_err(|_| Full)
    }

    /// Waits until a request may be sent. Whoever drops the wait leaves nothing behind.
    ///
    /// # Errors
    ///
    /// [`Spent`] where the budget does not suffice; nothing passes after that.
    pub async fn admit(&self, ask: Ask, slot: Option<Slot>) -> Result<Pass, Spent> {
        let begun = Instant::now();
        let mut waited = false;
        // Before the queue: an arrival comes with its room and stands in that, so whoever
        // is first there must not wait for room.
        let slot = match slot {
            Some(Slot(slot)) => slot,
            None => self.room(&mut waited).await,
        };
        let turn = match self.queue.try_lock() {
            Ok(turn) => turn,
            Err(_taken) => {
                // Only behind somebody who is held back is that a wait for a limit.
                let before = self.waits.mark();
                let turn = self.queue.lock().await;
                waited |= self.waits.was_needed_since(before);
                turn
            }
        };
        // Before the minute is entered: it counts from when a request is sent.
        let mut reserved = self.money(ask, &mut waited).await?;
        let mut entry = self.enter(ask);
        while let Err(until) = entry {
            waited = true;
            let _waiting = self.waits.needed();
            sleep_until(until).await;
            entry = self.enter(ask);
        }
        let entry = entry.unwrap_or_default();
        reserved.spend();
        drop(turn);
        Ok(Pass {
            limited: waited.then(|| begun.elapsed()),
            _slot: slot,
            entry,
            reserved,
            ask,
        })
    }

    /// Waits for room in flight.
    async fn room(&self, waited: &mut bool) -> Option<OwnedSemaphorePermit> {
        let slots = self.slots.as_ref()?;
        if let Ok(permit) = Arc::clone(slots).try_acquire_owned() {
            return Some(permit);
        }
        *waited = true;
        let _waiting = self.waits.needed();
        // Closed by nobody.
        Arc::clone(slots).acquire_owned().await.ok()
    }

    /// Sets money aside, and waits where it has to come from requests in flight.
    async fn money(&self, ask: Ask, waited: &mut bool) -> Result<Reserved, Spent> {
        let prompt = Tokens(self.state().sizes.at_most(ask.bytes));
        let most = self.tariff.most(prompt, Tokens(u64::from(ask.max_tokens)));
        if let Some(reserved) = self.budget.try_set_aside(most)? {
            return Ok(reserved);
        }
        *waited = true;
        let _waiting = self.waits.needed();
        self.budget.wait_for(most).await
    }

    /// Enters the request into the minute, or says when to ask again.
    fn enter(&self, ask: Ask) -> Result<u64, Instant> {
        let mut state = self.state();
        let now = Instant::now();
        let tokens = state.sizes.likely(ask.bytes) + u64::from(ask.max_tokens);
        if let Some(closed) = state.closed {
            if closed > now {
                return Err(closed);
            }
            state.closed = None;
        }
        state.tokens = state.tokens.filter(|(_, until)| *until > now);
        if let Some((left, until)) = state.tokens
            && tokens > left
        {
            return Err(until);
        }
        let since = now.saturating_duration_since(self.epoch);
        if let Some(wait) = state.window.wait(since, tokens) {
            return Err(now + wait);
        }
        // Taken only by a request that goes: one that waits asks again.
        if let Some((left, _)) = &mut state.tokens {
            *left -= tokens;
        }
        Ok(state.window.enter(since, tokens))
    }

    /// What is reckoned for a request that may cost `most`.
    fn charged(&self, outcome: Outcome, usage: Option<&Usage>, most: Money) -> Money {
        match usage {
            _ if is_refused(outcome) => Money(0),
            Some(usage) => self.tariff.bill(usage).unwrap_or(most),
            None => most,
        }
    }

    /// What the requests of an earlier session, each with what it asked for and how it
    /// ended, have cost by the rule of this one.
    pub fn spent(&self, requests: &[(Ask, Outcome, Usage)]) -> Money {
        let mut sizes = Sizes::default();
        for (ask, _, usage) in requests {
            if let Some(total) = possible(usage).and_then(|usage| usage.total) {
                sizes.learn(ask.bytes, total.0);
            }
        }
        let bills = requests.iter().map(|(ask, outcome, usage)| {
            let prompt = Tokens(sizes.at_most(ask.bytes));
            let output = Tokens(u64::from(ask.max_tokens));
            self.charged(*outcome, possible(usage), self.tariff.most(prompt, output))
        });
        bills.sum()
    }

    /// Takes a pass back: counts what was really used and heeds what the server asks
    /// for. Says how long the server wants to be left alone.
    pub fn settle(&self, pass: Pass, ended: Settled<'_>) -> Option<Duration> {
        let usage = ended.usage.and_then(possible);
        let total = usage.and_then(|usage| usage.total);
        let output = usage.and_then(|usage| usage.output);
        let refused = is_refused(ended.outcome);
        let Pass {
            reserved,
            entry,
            ask,
            _slot: slot,
            ..
        } = pass;
        let bill = self.charged(ended.outcome, usage, reserved.most());
        reserved.settle(bill);
        let failed = ended.outcome != Outcome::Ok;
        let advice = advice(ended.headers, failed);
        let now = Instant::now();
        let mut state = self.state();
        if let Some(total) = total {
            state.sizes.learn(ask.bytes, total.0);
            let used = total.0 + output.unwrap_or_default().0;
            state.window.settle(entry, used);
        } else if refused {
            state.window.settle(entry, 0);
        }
        if let Some(Quota { left, reset }) = advice.tokens {
            state.tokens = Some((left, now + reset.min(self.longest)));
        }
        let closed = [advice.retry_after, advice.closed_for()];
        if let Some(span) = closed.into_iter().flatten().max() {
            let until = now + span.min(self.longest);
            state.closed = Some(state.closed.map_or(until, |known| known.max(until)));
        }
        drop(state);
        // Last, so that whoever takes its room knows all of that.
        drop(slot);
        advice.retry_after
    }
}

/// Counts that can be: from others nothing is learned.
fn possible(usage: &Usage) -> Option<&Usage> {
    (usage.origin != UsageOrigin::Contradictory).then_some(usage)
}

/// Whether nothing was done for a request that ended so.
fn is_refused(outcome: Outcome) -> bool {
    matches!(
        outcome,
        Outcome::Http429
            | Outcome::Http4xx
            | Outcome::Http5xx
            | Outcome::Auth
            | Outcome::NotFound
            | Outcome::Overflow
            | Outcome::Connect
    )
}

#[cfg(test)]
mod tests;
