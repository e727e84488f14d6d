//! What pictures need beyond tables: points, times, lines and bills of each
//! configuration at a target, a model and a load level.
//!
//! Of points a fixed number is kept, of conversations sums, of a request its time
//! to first token.
//!
//! Invariants: what is kept does not depend on the order of the records; a
//! request without a count is no point; a conversation with a request that has
//! no bill has no bill.

mod bills;
mod thinned;
mod times;

pub use bills::{Bill, Bills};
pub use thinned::Thinned;
pub use times::quantile_with_endless;

use super::across::{Across, across};
use super::cost::{buckets, uncached_at};
use super::samples::Sample;
use super::stats::LineSums;
use super::{Samples, TotalKey};
use crate::record::Outcome;
use crate::units::{Micros, Tokens};
use std::collections::{HashMap, HashSet};
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
    conversations: HashMap<u32, Conversation>,
}

/// Sums of one conversation.
#[derive(Debug, Default)]
struct Conversation {
    name: Arc<str>,
    scenario: Arc<str>,
    repeat: u32,
    requests: u32,
    answered: bool,
    line: LineSums,
    billed: u32,
    bill: Bill,
}

/// The points of a run.
#[derive(Debug, Default)]
pub struct Points {
    priced: HashSet<Arc<str>>,
    sets: HashMap<TotalKey, PointSet>,
    across: Vec<Across>,
}

impl Points {
    /// The points of all records of a run.
    pub fn of(samples: &Samples) -> Self {
        let mut cells: Vec<PointSet> = Vec::new();
        let mut places: HashMap<TotalKey, usize> = HashMap::new();
        let of_cell: Vec<usize> = samples
            .cells()
            .iter()
            .map(|cell| {
                *places.entry(TotalKey::from(&**cell)).or_insert_with(|| {
                    cells.push(PointSet::default());
                    cells.len() - 1
                })
            })
            .collect();
        for sample in samples.list() {
            cells[of_cell[sample.cell_index as usize]].offer(sample);
        }
        let mut cells: Vec<_> = cells.into_iter().map(Some).collect();
        let sets = places.into_iter();
        Self {
            priced: samples.priced_targets().cloned().collect(),
            across: across(samples),
            sets: sets
                .filter_map(|(key, place)| Some((key, cells[place].take()?)))
                .collect(),
        }
    }

    /// The points of a configuration at a target, a model and a load level.
    pub fn get(&self, key: &TotalKey) -> Option<&PointSet> {
        self.sets.get(key)
    }

    /// Configurations that ran on several targets or models, over what these have in common.
    pub fn across(&self) -> &[Across] {
        &self.across
    }

    /// Requests of the longest conversation of each scenario.
    fn longest(&self) -> HashMap<&str, u32> {
        let mut longest = HashMap::new();
        let sets = self.sets.values();
        for conversation in sets.into_iter().flat_map(|set| set.conversations.values()) {
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
        self.priced.get(&key.target)?;
        let longest = self.longest();
        let mut bills = Bills::default();
        for conversation in self.get(key)?.by_name() {
            let most = longest.get(&*conversation.scenario).copied();
            let whole = conversation.billed >= most.unwrap_or(0).max(1);
            let bill = (conversation.bill, u64::from(conversation.billed));
            bills.add(&conversation.scenario, whole.then_some(bill));
        }
        Some(bills)
    }
}

impl PointSet {
    fn offer(&mut self, sample: &Sample) {
        let conversation = self
            .conversations
            .entry(sample.conversation_index)
            .or_default();
        if conversation.requests == 0 {
            conversation.name = Arc::clone(&sample.conversation);
            conversation.scenario = Arc::clone(&sample.cell.scenario);
            conversation.repeat = sample.repeat;
        }
        // What came after a wait that only the scenario's clock took is in no bill.
        let wanted = sample.place.2 == 1 && !sample.has("beyond_lifetime");
        conversation.requests += u32::from(wanted);
        if sample.outcome != Outcome::Ok {
            return;
        }
        conversation.answered = true;
        self.times.extend(sample.ttft.map(|ttft| ttft.0));
        let Some((total, read)) = sample.counted() else {
            return;
        };
        let rank = thinned::rank(&sample.conversation, sample.place.0, sample.place.1);
        self.counted.offer(rank, Counted { total, read });
        self.longest = self.longest.max(total);
        if let Some(ttft) = sample.ttft {
            let computed = total.saturating_sub(read);
            self.answered.offer(rank, Answered { computed, ttft });
            conversation.line.add(computed.0 as f64, ttft.0 as f64);
        }
        let usage = sample.usage();
        let billed = sample.priced().and_then(|(price, moment)| {
            buckets(price, &usage, moment).zip(uncached_at(price, &usage, moment))
        });
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

    /// What each conversation adds to the line through all points.
    pub fn lines(&self) -> Vec<LineSums> {
        Self::lines_together([self])
    }

    /// The same of several configurations together, where the conversations of a scenario
    /// and repeat are one, since they are not independent.
    pub fn lines_together<'s, I>(sets: I) -> Vec<LineSums>
    where
        I: IntoIterator<Item = &'s Self>,
    {
        let mut units: HashMap<(&str, u32), LineSums> = HashMap::new();
        for conversation in sets.into_iter().flat_map(|set| set.conversations.values()) {
            if conversation.line.n() > 0.0 {
                let unit = (&*conversation.scenario, conversation.repeat);
                *units.entry(unit).or_default() += conversation.line;
            }
        }
        units.into_values().collect()
    }

    /// Conversations in which at least one request was answered.
    pub fn answered_conversations(&self) -> u64 {
        let all = self.conversations.values();
        all.filter(|conversation| conversation.answered).count() as u64
    }

    fn by_name(&self) -> Vec<&Conversation> {
        let mut all: Vec<_> = self.conversations.values().collect();
        all.sort_unstable_by(|a, b| a.name.cmp(&b.name));
        all
    }
}

#[cfg(test)]
mod tests;
