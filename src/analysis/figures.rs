//! The numbers of a set of samples.

use super::samples::Sample;
use super::stats::{Interval, Ratio, quantile_of_sorted, ratio_interval};
use crate::record::Outcome;
use crate::units::{Money, Share, Tokens};
use serde::Serialize;
use std::collections::HashMap;
use std::sync::Arc;

/// Quantiles of the time to first token, in microseconds, over answered requests.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize)]
pub struct Latency {
    /// Answered requests that had a first token.
    pub n: usize,
    /// Half of them were faster.
    pub p50_us: Option<f64>,
    /// Nine in ten were faster.
    pub p90_us: Option<f64>,
    /// Ninety-nine in a hundred were faster.
    pub p99_us: Option<f64>,
}

/// The numbers of a row. Shares are fractions of 1.
///
/// Everything from `conversations` to `efficiency` is over the requests with
/// outcome `ok` and a reported count, and `None` where there is none.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct Figures {
    /// Requests, retries not counted apart.
    pub requests: u64,
    /// Of these, without any attempt that was answered.
    pub failed: u64,
    /// Of the answered ones, without a count that can be used.
    pub without_count: u64,
    /// Requests that shares are computed from.
    pub counted: u64,
    /// Conversations that these belong to.
    pub conversations: u64,
    /// Prompt tokens.
    pub total: Option<Tokens>,
    /// Of these, taken from the cache.
    pub read: Option<Tokens>,
    /// Of these, newly cached; `None` where the server says nothing of it.
    pub written: Option<Tokens>,
    /// `total - read`: what prefill had to do.
    pub computed: Option<Tokens>,
    /// `computed` per conversation.
    pub computed_per_conversation: Option<f64>,
    /// Shared with what the cache could hold; `None` where one of them has no bound.
    pub eligible: Option<Tokens>,
    /// What of it the cache model can return; `None` where one of them has no bound.
    pub bound: Option<Tokens>,
    /// `read / total`.
    pub cached_share: Option<f64>,
    /// Its 95 % interval over conversations; `None` below two.
    pub cached_interval: Option<Interval>,
    /// The same without each conversation's first request.
    pub cached_share_after_first: Option<f64>,
    /// `bound / total`.
    pub achievable_share: Option<f64>,
    /// `read / bound`.
    pub efficiency: Option<f64>,
    /// Time to first token.
    pub ttft: Latency,
    /// What the counted requests cost; `None` where one of them has no price.
    pub cost: Option<Money>,
    /// What these would have cost without a cache.
    pub cost_uncached: Option<Money>,
}

/// Requests of the longest conversation of each scenario.
pub type Longest = HashMap<Arc<str>, u64>;

/// Counts the requests of every conversation, answered or not.
pub fn longest(samples: &[Sample]) -> Longest {
    let mut requests: HashMap<&Arc<str>, (&Arc<str>, u64)> = HashMap::new();
    for sample in samples.iter().filter(|sample| sample.place.2 == 1) {
        let entry = requests.entry(&sample.conversation);
        entry.or_insert((&sample.cell.scenario, 0)).1 += 1;
    }
    let mut longest = Longest::new();
    for (scenario, requests) in requests.into_values() {
        let most = longest.entry(Arc::clone(scenario)).or_default();
        *most = requests.max(*most);
    }
    longest
}

/// Sums that [`Figures`] are made of.
#[derive(Default)]
struct Sums {
    first_attempts: u64,
    answered: u64,
    counted: u64,
    all: Share,
    after_first: Share,
    written: Option<Tokens>,
    bounds: Known<Tokens>,
    eligible: Known<Tokens>,
    cost: Known<Money>,
    uncached: Known<Money>,
    conversations: HashMap<Arc<str>, Conversation>,
    ttft: Vec<f64>,
}

/// Sums of one conversation.
#[derive(Default)]
struct Conversation {
    scenario: Arc<str>,
    counted: u64,
    sums: Ratio,
}

/// A sum that is known only as long as every part of it is.
#[derive(Default)]
struct Known<T> {
    sum: T,
    missing: bool,
}

impl<T: std::ops::AddAssign + Copy> Known<T> {
    fn add(&mut self, value: Option<T>) {
        match value {
            Some(value) => self.sum += value,
            None => self.missing = true,
        }
    }

    fn known(&self) -> Option<T> {
        (!self.missing).then_some(self.sum)
    }
}

impl Sums {
    fn add(&mut self, sample: &Sample) {
        self.first_attempts += u64::from(sample.place.2 == 1);
        if sample.outcome != Outcome::Ok {
            return;
        }
        self.answered += 1;
        self.ttft.extend(sample.ttft.map(|ttft| ttft.0 as f64));
        let Some((total, read)) = sample.counted() else {
            return;
        };
        let share = Share {
            part: read,
            whole: total,
        };
        self.counted += 1;
        self.all = self.all + share;
        if !sample.is_first() {
            self.after_first = self.after_first + share;
        }
        if let Some(written) = sample.written {
            *self.written.get_or_insert_default() += written;
        }
        self.bounds.add(sample.bound);
        self.eligible.add(sample.eligible);
        self.cost.add(sample.cost);
        self.uncached.add(sample.uncached);
        let unit = self
            .conversations
            .entry(Arc::clone(&sample.conversation))
            .or_default();
        unit.scenario = Arc::clone(&sample.cell.scenario);
        unit.counted += 1;
        unit.sums.part += read.0 as f64;
        unit.sums.whole += total.0 as f64;
    }

    /// Conversations with a count at least.
    fn counted_conversations(&self) -> impl Iterator<Item = &Conversation> {
        self.conversations.values().filter(|unit| unit.counted > 0)
    }

    /// Mean of the computed tokens of those conversations that have as many
    /// counts as the longest of their scenario has requests: one that failed or
    /// ended half way must not look cheap.
    fn computed_per_conversation(&self, longest: &Longest) -> Option<f64> {
        let whole = self.counted_conversations().filter(|unit| {
            let requests = longest.get(&unit.scenario).copied().unwrap_or_default();
            unit.counted >= requests
        });
        let computed: Vec<f64> = whole.map(|unit| unit.sums.whole - unit.sums.part).collect();
        (!computed.is_empty()).then(|| computed.iter().sum::<f64>() / computed.len() as f64)
    }

    fn latency(&mut self) -> Latency {
        self.ttft.sort_by(f64::total_cmp);
        let quantile = |q| quantile_of_sorted(&self.ttft, q);
        Latency {
            n: self.ttft.len(),
            p50_us: quantile(0.5),
            p90_us: quantile(0.9),
            p99_us: quantile(0.99),
        }
    }

    /// Conversations in the order of their names, so that a seed means the
    /// same draw whatever the order of a hash map.
    fn units(&self) -> Vec<Ratio> {
        let counted = self
            .conversations
            .iter()
            .filter(|(_, unit)| unit.counted > 0);
        let mut units: Vec<_> = counted.collect();
        units.sort_by(|a, b| a.0.cmp(b.0));
        units.into_iter().map(|(_, unit)| unit.sums).collect()
    }
}

/// The numbers of `samples`. Intervals are drawn with `seed`.
pub fn figures(samples: &[&Sample], seed: u64, longest: &Longest) -> Figures {
    let mut sums = Sums::default();
    for sample in samples {
        sums.add(sample);
    }
    let requests = sums.first_attempts.max(sums.answered);
    let base = Figures {
        requests,
        failed: requests - sums.answered,
        without_count: sums.answered - sums.counted,
        counted: sums.counted,
        conversations: sums.counted_conversations().count() as u64,
        ttft: sums.latency(),
        ..Figures::default()
    };
    if sums.counted == 0 {
        return base;
    }
    let (total, read) = (sums.all.whole, sums.all.part);
    let computed = total.saturating_sub(read);
    let bound = sums.bounds.known();
    let of = |part: Tokens, whole: Tokens| Share { part, whole }.fraction();
    Figures {
        total: Some(total),
        read: Some(read),
        written: sums.written,
        computed: Some(computed),
        computed_per_conversation: sums.computed_per_conversation(longest),
        eligible: sums.eligible.known(),
        bound,
        cached_share: sums.all.fraction(),
        cached_interval: ratio_interval(&sums.units(), seed),
        cached_share_after_first: sums.after_first.fraction(),
        achievable_share: bound.and_then(|bound| of(bound, total)),
        efficiency: bound.and_then(|bound| of(read, bound)),
        cost: sums.cost.known(),
        cost_uncached: sums.uncached.known(),
        ..base
    }
}
