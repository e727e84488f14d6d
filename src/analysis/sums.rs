//! The sums that the numbers of a row are made of.

use super::cost::{Buckets, bill_best, bill_range, buckets, uncached_at};
use super::figures::{Apart, Costs, Figures, Longest, Reuse, Writes};
use super::latency::latency;
use super::samples::Sample;
use super::stats::{Ratio, ratio_interval};
use crate::chat::UsageOrigin;
use crate::record::Outcome;
use crate::units::{Money, Share, Tokens};
use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;

/// See the module.
#[derive(Default)]
pub(super) struct Sums {
    first_attempts: u64,
    answered: u64,
    counted: u64,
    all: Share,
    after_first: Share,
    bounds: Known<Tokens>,
    bounds_after_first: Known<Tokens>,
    eligible: Known<Tokens>,
    hit_chances: u64,
    full_hits: u64,
    reply: Tokens,
    writes: Written,
    breaks: u64,
    lost: Known<Tokens>,
    beyond_lifetime: Apart,
    contaminated: Apart,
    gateway: Apart,
    money: Bills,
    range: Known<(Money, Money)>,
    conversations: HashMap<u32, Conversation>,
    times: Times,
}

/// Over the requests for which the server said what it wrote.
#[derive(Default)]
#[expect(
    clippy::struct_field_names,
    reason = "beside what was new and what was read"
)]
struct Written {
    said: bool,
    written: Tokens,
    new: Tokens,
    read: Tokens,
}

/// Bills of some requests.
#[derive(Default)]
struct Bills {
    cost: Known<Money>,
    uncached: Known<Money>,
    best: Known<Money>,
    buckets: Known<Buckets>,
    by_turn: BTreeMap<u32, (Known<Money>, Known<Money>)>,
}

/// Latencies of answered requests.
#[derive(Default)]
struct Times {
    ttft_us: Vec<u64>,
    ttft_from_due_us: Vec<u64>,
    between_ns: Vec<u64>,
    took_us: Vec<u64>,
}

/// Sums of one conversation.
#[derive(Default)]
struct Conversation {
    name: Arc<str>,
    scenario: Arc<str>,
    counted: u64,
    sums: Ratio,
    cost: Known<Money>,
    uncached: Known<Money>,
    best: Known<Money>,
}

/// The conversations of a scenario.
#[derive(Default)]
struct OfScenario<'s> {
    /// How many were begun, whether anything was answered or not.
    begun: u32,
    whole: Vec<&'s Conversation>,
}

/// A sum that is known only as long as every part of it is.
#[derive(Clone, Copy)]
struct Known<T>(Option<T>);

impl<T: Default> Default for Known<T> {
    fn default() -> Self {
        Self(Some(T::default()))
    }
}

trait Sum {
    fn join(&mut self, other: Self);
}

impl Sum for Tokens {
    fn join(&mut self, other: Self) {
        *self += other;
    }
}

impl Sum for Money {
    fn join(&mut self, other: Self) {
        *self += other;
    }
}

impl Sum for Buckets {
    fn join(&mut self, other: Self) {
        *self += other;
    }
}

impl Sum for (Money, Money) {
    fn join(&mut self, other: Self) {
        self.0 += other.0;
        self.1 += other.1;
    }
}

impl<T: Sum> Known<T> {
    fn add(&mut self, value: Option<T>) {
        match (&mut self.0, value) {
            (Some(sum), Some(value)) => sum.join(value),
            _ => self.0 = None,
        }
    }
}

impl Sums {
    pub(super) fn add(&mut self, sample: &Sample) {
        self.first_attempts += u64::from(sample.place.2 == 1);
        let unit = self
            .conversations
            .entry(sample.conversation_index)
            .or_default();
        if unit.name.is_empty() {
            unit.name = Arc::clone(&sample.conversation);
            unit.scenario = Arc::clone(&sample.cell.scenario);
        }
        if sample.outcome != Outcome::Ok {
            return;
        }
        self.answered += 1;
        self.times.add(sample);
        if let Some(broke) = &sample.broke {
            self.breaks += 1;
            self.lost.add(broke.lost);
        }
        match (sample.counted(), sample.reported()) {
            (Some((total, read)), _) => {
                let bills = Bill::of(sample);
                self.range.add(bills.cost.map(|cost| (cost, cost)));
                self.count(sample, total, read, &bills);
            }
            // What that cost, only the gateway knows.
            (None, counts) if sample.is_of_gateway() => {
                self.gateway.add(counts.unwrap_or_default());
                self.range.add(None);
            }
            (None, Some(counts)) => {
                let apart = if sample.has("beyond_lifetime") {
                    &mut self.beyond_lifetime
                } else {
                    &mut self.contaminated
                };
                apart.add(counts);
                self.range.add(sample.cost.map(|cost| (cost, cost)));
            }
            (None, None) if sample.origin == UsageOrigin::Contradictory => self.range.add(None),
            (None, None) => self.range.add(sample.priced().and_then(|(price, moment)| {
                bill_range(price, &sample.usage(), sample.bound, moment)
            })),
        }
    }

    fn count(&mut self, sample: &Sample, total: Tokens, read: Tokens, bill: &Bill) {
        let share = Share {
            part: read,
            whole: total,
        };
        self.counted += 1;
        self.all = self.all + share;
        if !sample.is_first() {
            self.after_first = self.after_first + share;
            self.bounds_after_first.add(sample.bound);
        }
        self.bounds.add(sample.bound);
        self.eligible.add(sample.eligible);
        if let Some(bound) = sample.bound.filter(|bound| bound.0 > 0) {
            self.hit_chances += 1;
            self.full_hits += u64::from(read >= bound);
        }
        if let Some(previous) = sample.previous() {
            self.reply += read.saturating_sub(previous);
        }
        if let Some(written) = sample.written() {
            self.writes.said = true;
            self.writes.written += written;
            self.writes.read += read;
            self.writes.new += total.saturating_sub(sample.previous().unwrap_or_default());
        }
        self.money.add(bill, sample.place.0);
        let unit = self
            .conversations
            .entry(sample.conversation_index)
            .or_default();
        unit.counted += 1;
        unit.sums.part += read.0 as f64;
        unit.sums.whole += total.0 as f64;
        unit.cost.add(bill.cost);
        unit.uncached.add(bill.uncached);
        unit.best.add(bill.best);
    }

    pub(super) fn figures(mut self, seed: u64, longest: &Longest) -> Figures {
        let requests = self.first_attempts.max(self.answered);
        let failed = requests - self.answered;
        let apart = [self.beyond_lifetime, self.contaminated, self.gateway];
        let apart = apart.map(|apart| apart.requests).iter().sum();
        let base = Figures {
            requests,
            failed,
            without_count: self.answered - self.counted - apart,
            set_apart: apart,
            counted: self.counted,
            conversations: self.counted_units().count() as u64,
            whole_conversations: self.whole(longest).count() as u64,
            breaks: self.breaks,
            lost: self.lost.0,
            beyond_lifetime: self.beyond_lifetime,
            contaminated: self.contaminated,
            gateway: self.gateway,
            costs: self.costs(longest),
            ..self
                .times
                .figures(usize::try_from(failed).unwrap_or(usize::MAX))
        };
        if self.counted == 0 {
            return base;
        }
        self.shares(&base, seed, longest)
    }

    fn shares(&self, base: &Figures, seed: u64, longest: &Longest) -> Figures {
        let (total, read) = (self.all.whole, self.all.part);
        let of = |part: Tokens, whole: Tokens| Share { part, whole }.fraction();
        let bound = self.bounds.0;
        let after_first = self.after_first.whole;
        Figures {
            total: Some(total),
            read: Some(read),
            written: self.writes.said.then_some(self.writes.written),
            computed: Some(total.saturating_sub(read)),
            computed_per_conversation: self.computed_per_conversation(longest),
            eligible: self.eligible.0,
            bound,
            cached_share: self.all.fraction(),
            cached_interval: ratio_interval(&self.units(), seed),
            cached_share_after_first: self.after_first.fraction(),
            achievable_share: bound.and_then(|bound| of(bound, total)),
            achievable_share_after_first: self
                .bounds_after_first
                .0
                .and_then(|bound| of(bound, after_first)),
            efficiency: bound.and_then(|bound| of(read, bound)),
            hit_chances: self.hit_chances,
            full_hits: self.full_hits,
            reuse: Reuse {
                prompt: Some(read.saturating_sub(self.reply)),
                reply: Some(self.reply),
                reply_share: of(self.reply, read),
            },
            writes: self.writes.figures(self.money.break_even_turn()),
            cost: self.money.cost.0,
            cost_uncached: self.money.uncached.0,
            ..*base
        }
    }

    fn costs(&self, longest: &Longest) -> Costs {
        let missing = self.answered > self.counted;
        let range = self.range.0.filter(|_| missing);
        let any = self.counted > 0;
        let mix = self.mix(longest);
        let each = |of: fn(&Conversation) -> Known<Money>| {
            let (mut sum, mut begun) = (0_i128, 0_i128);
            for scenario in mix.as_ref()? {
                let bills: Option<i128> =
                    scenario.whole.iter().map(|unit| Some(of(unit).0?.0)).sum();
                let whole = i128::try_from(scenario.whole.len()).ok()?;
                // Exact where every conversation is whole.
                sum += bills? * i128::from(scenario.begun) / whole;
                begun += i128::from(scenario.begun);
            }
            Some(Money(sum / begun))
        };
        Costs {
            buckets: self.money.buckets.0.filter(|_| any),
            best: self.money.best.0.filter(|_| any),
            least: range.map(|range| range.0),
            most: range.map(|range| range.1),
            per_conversation: each(|unit| unit.cost),
            uncached_per_conversation: each(|unit| unit.uncached),
            best_per_conversation: each(|unit| unit.best),
        }
    }

    /// Conversations that have as many counts as the longest of their scenario
    /// has requests: one that failed or ended half way must not look cheap.
    fn whole<'s>(
        &'s self,
        longest: &'s Longest,
    ) -> impl Iterator<Item = &'s Conversation> + use<'s> {
        self.counted_units().filter(|unit| {
            let requests = longest.get(&unit.scenario);
            unit.counted >= requests.copied().unwrap_or_default()
        })
    }

    fn counted_units(&self) -> impl Iterator<Item = &Conversation> {
        self.conversations.values().filter(|unit| unit.counted > 0)
    }

    /// Whole conversations by scenario. `None` where a scenario that was begun has none,
    /// or nothing was: a mean over the others would be one of another mix.
    fn mix<'s>(&'s self, longest: &'s Longest) -> Option<Vec<OfScenario<'s>>> {
        let mut mix: BTreeMap<&str, OfScenario<'s>> = BTreeMap::new();
        for unit in self.conversations.values() {
            mix.entry(&unit.scenario).or_default().begun += 1;
        }
        for unit in self.whole(longest) {
            mix.entry(&unit.scenario).or_default().whole.push(unit);
        }
        let known = !mix.is_empty() && mix.values().all(|one| !one.whole.is_empty());
        known.then(|| mix.into_values().collect())
    }

    /// Sums below 2^53 are exact, so that their order is of no matter.
    fn computed_per_conversation(&self, longest: &Longest) -> Option<f64> {
        let (mut sum, mut begun) = (0.0, 0.0);
        for scenario in self.mix(longest)? {
            let computed = |unit: &&Conversation| unit.sums.whole - unit.sums.part;
            let all: f64 = scenario.whole.iter().map(computed).sum();
            sum += all * f64::from(scenario.begun) / scenario.whole.len() as f64;
            begun += f64::from(scenario.begun);
        }
        Some(sum / begun)
    }

    /// Conversations in the order of their names, so that a seed means the
    /// same draw whatever the order of a hash map.
    fn units(&self) -> Vec<Ratio> {
        let mut units: Vec<_> = self.counted_units().collect();
        units.sort_unstable_by(|a, b| a.name.cmp(&b.name));
        units.into_iter().map(|unit| unit.sums).collect()
    }
}

/// What a counted request cost, and might have.
struct Bill {
    cost: Option<Money>,
    uncached: Option<Money>,
    best: Option<Money>,
    buckets: Option<Buckets>,
}

impl Bill {
    fn of(sample: &Sample) -> Self {
        let usage = sample.usage();
        let price = sample.priced();
        let priced = price.as_ref();
        Self {
            cost: sample.cost,
            uncached: priced.and_then(|(price, moment)| uncached_at(price, &usage, *moment)),
            best: priced
                .zip(sample.bound)
                .and_then(|((price, moment), bound)| bill_best(price, &usage, bound, *moment)),
            buckets: priced.and_then(|(price, moment)| buckets(price, &usage, *moment)),
        }
    }
}

impl Bills {
    fn add(&mut self, bill: &Bill, turn: u32) {
        self.cost.add(bill.cost);
        self.uncached.add(bill.uncached);
        self.best.add(bill.best);
        self.buckets.add(bill.buckets);
        let (cost, uncached) = self.by_turn.entry(turn).or_default();
        cost.add(bill.cost);
        uncached.add(bill.uncached);
    }

    fn break_even_turn(&self) -> Option<u32> {
        let (mut cost, mut uncached) = (0, 0);
        let mut from = None;
        for (turn, (of_turn, uncached_of_turn)) in &self.by_turn {
            cost += of_turn.0?.0;
            uncached += uncached_of_turn.0?.0;
            from = (cost < uncached).then(|| from.unwrap_or(*turn));
        }
        from
    }
}

impl Written {
    fn figures(&self, break_even_turn: Option<u32>) -> Writes {
        let ratio = |part: Tokens, whole: Tokens| Share { part, whole }.fraction();
        Writes {
            new_tokens: self.said.then_some(self.new),
            amplification: ratio(self.written, self.new).filter(|_| self.said),
            reads_per_written: ratio(self.read, self.written).filter(|_| self.said),
            break_even_turn,
        }
    }
}

impl Times {
    fn add(&mut self, sample: &Sample) {
        self.ttft_us.extend(sample.ttft.map(|ttft| ttft.0));
        let from_due = sample.ttft_from_due;
        self.ttft_from_due_us.extend(from_due.map(|ttft| ttft.0));
        self.took_us.extend(sample.took.map(|took| took.0));
        self.between_ns.extend(sample.between_tokens_ns());
    }

    /// Figures that have latencies only.
    fn figures(&mut self, failed: usize) -> Figures {
        Figures {
            ttft: latency(&mut self.ttft_us, 1.0, failed),
            ttft_from_due: latency(&mut self.ttft_from_due_us, 1.0, failed),
            between_tokens: latency(&mut self.between_ns, 1e3, failed),
            took: latency(&mut self.took_us, 1.0, failed),
            ..Figures::default()
        }
    }
}
