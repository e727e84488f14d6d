//! What pictures need beyond tables: points, times, lines and bills of each
//! configuration at a target, a model and a load level.
//!
//! Filled record by record, so that a report of any size needs it only once
//! through the file: of points a fixed number is kept, of conversations sums,
//! of a request its time to first token.
//!
//! Invariants: what is kept does not depend on the order of the records; a
//! request without a count is no point; a conversation with a request that has
//! no bill has no bill.

mod bills;
mod line;
mod thinned;
mod times;

pub use bills::{Bill, Bills};
pub use line::{Band, Line, LineSums, line};
pub use thinned::Thinned;
pub use times::quantile_with_endless;

use super::TotalKey;
use super::cost::{bill_uncached, parts};
use crate::chat::UsageOrigin;
use crate::record::{Manifest, Outcome, Price, RequestRecord};
use crate::units::{Micros, Tokens};
use std::collections::HashMap;
use std::sync::Arc;

/// Points that are kept of a set, at most.
pub const KEPT_POINTS: usize = 400;

/// A counted request with a time to first token.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Answered {
    /// Tokens that were not read from the cache.
    pub computed: Tokens,
    /// From sent to the first text, reasoning or tool delta.
    pub ttft: Micros,
}

/// A counted request.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Counted {
    /// The whole prompt.
    pub total: Tokens,
    /// Of it, taken from the cache.
    pub read: Tokens,
}

/// The points of one configuration at a target, a model and a load level.
#[derive(Debug, Default)]
pub struct PointSet {
    /// Times to first token against computed tokens, some of all.
    pub answered: Thinned<Answered>,
    /// Tokens read against prompt length, some of all.
    pub counted: Thinned<Counted>,
    /// The longest prompt that was counted.
    pub longest: Tokens,
    times: Vec<u64>,
    conversations: HashMap<Arc<str>, Conversation>,
}

/// Sums of one conversation.
#[derive(Debug, Default)]
struct Conversation {
    scenario: Arc<str>,
    requests: u32,
    answered: bool,
    line: LineSums,
    billed: u32,
    bill: Bill,
}

/// The points of a run.
#[derive(Debug, Default)]
pub struct Points {
    prices: HashMap<Arc<str>, Price>,
    sets: HashMap<TotalKey, PointSet>,
}

impl Points {
    /// No points yet; prices are those of the manifest's targets.
    pub fn new(manifest: &Manifest) -> Self {
        let priced = manifest.targets.iter();
        Self {
            prices: priced
                .filter_map(|target| Some((Arc::clone(&target.name), target.price.clone()?)))
                .collect(),
            sets: HashMap::new(),
        }
    }

    /// All records of a run.
    pub fn of(manifest: &Manifest, records: &[RequestRecord]) -> Self {
        let mut points = Self::new(manifest);
        for record in records {
            points.offer(record);
        }
        points
    }

    /// Adds a record.
    pub fn offer(&mut self, record: &RequestRecord) {
        let price = self.prices.get(&record.target);
        let set = self.sets.entry(key(record)).or_default();
        set.offer(record, price);
    }

    /// The points of a configuration at a target, a model and a load level.
    pub fn get(&self, key: &TotalKey) -> Option<&PointSet> {
        self.sets.get(key)
    }

    /// Requests of the longest conversation of each scenario.
    fn longest(&self) -> HashMap<&str, u32> {
        let mut longest = HashMap::new();
        let sets = self.sets.values();
        for conversation in sets.flat_map(|set| set.conversations.values()) {
            let most = longest.entry(&*conversation.scenario).or_default();
            *most = conversation.requests.max(*most);
        }
        longest
    }

    /// What conversations of a configuration cost. Only those count that have a bill for as many
    /// requests as the longest of their scenario has: one that ended half way must not look cheap.
    ///
    /// `None` where the target has no price.
    pub fn bills(&self, key: &TotalKey) -> Option<Bills> {
        self.prices.get(&key.target)?;
        let longest = self.longest();
        let mut bills = Bills::default();
        for (_, conversation) in self.get(key)?.by_name() {
            let most = longest.get(&*conversation.scenario).copied();
            if conversation.billed >= most.unwrap_or(0).max(1) {
                bills.whole.push(conversation.bill);
            } else {
                bills.incomplete += 1;
            }
        }
        Some(bills)
    }
}

fn key(record: &RequestRecord) -> TotalKey {
    TotalKey {
        configuration: Arc::clone(&record.configuration),
        target: Arc::clone(&record.target),
        model: Arc::clone(&record.model),
        load: Arc::clone(&record.load),
    }
}

impl PointSet {
    fn offer(&mut self, record: &RequestRecord, price: Option<&Price>) {
        let name = &record.conversation;
        if !self.conversations.contains_key(name) {
            let started = Conversation {
                scenario: Arc::clone(&record.scenario),
                ..Conversation::default()
            };
            self.conversations.insert(Arc::clone(name), started);
        }
        let Some(conversation) = self.conversations.get_mut(name) else {
            return;
        };
        conversation.requests += u32::from(record.attempt == 1);
        if record.outcome != Outcome::Ok {
            return;
        }
        conversation.answered = true;
        let ttft = ttft(record);
        self.times.extend(ttft.map(|ttft| ttft.0));
        let usage = &record.usage;
        let reported = usage.origin == UsageOrigin::Reported;
        let Some((total, read)) = usage.total.zip(usage.read).filter(|_| reported) else {
            return;
        };
        let rank = thinned::rank(&record.conversation, record.turn, record.request);
        self.counted.offer(rank, Counted { total, read });
        self.longest = self.longest.max(total);
        if let Some(ttft) = ttft {
            let computed = total.saturating_sub(read);
            self.answered.offer(rank, Answered { computed, ttft });
            conversation.line.add(computed.0 as f64, ttft.0 as f64);
        }
        let billed = price.and_then(|price| parts(price, usage).zip(bill_uncached(price, usage)));
        if let Some(billed) = billed {
            conversation.billed += 1;
            conversation.bill += billed;
        }
    }

    /// Times to first token in microseconds, ascending: of every answered request that had one.
    pub fn times(&self) -> Vec<u64> {
        let mut times = self.times.clone();
        times.sort_unstable();
        times
    }

    /// What the line through all points of each conversation is made of, in the order of their
    /// names, so that a seed means the same draw whatever the order of a hash map.
    pub fn lines(&self) -> Vec<LineSums> {
        let named = self.by_name().into_iter();
        named
            .map(|(_, conversation)| conversation.line)
            .filter(|line| line.n() > 0.0)
            .collect()
    }

    /// Conversations in which at least one request was answered.
    pub fn answered_conversations(&self) -> u64 {
        let all = self.conversations.values();
        all.filter(|conversation| conversation.answered).count() as u64
    }

    fn by_name(&self) -> Vec<(&Arc<str>, &Conversation)> {
        let mut all: Vec<_> = self.conversations.iter().collect();
        all.sort_by(|a, b| a.0.cmp(b.0));
        all
    }
}

/// From sent to the first text, reasoning or tool delta; `None` where there was none, and where
/// the clock ran backwards.
fn ttft(record: &RequestRecord) -> Option<Micros> {
    let stamps = &record.stamps;
    let (first, sent) = stamps.first_text_us.zip(stamps.sent_us)?;
    first.0.checked_sub(sent.0).map(Micros)
}

#[cfg(test)]
mod tests;
