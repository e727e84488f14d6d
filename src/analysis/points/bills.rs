//! What whole conversations cost, part by part.

use crate::analysis::cost::Buckets;
use crate::analysis::stats::{Interval, Ratio, ratio_interval};
use crate::units::Money;
use std::collections::BTreeMap;
use std::ops::AddAssign;
use std::sync::Arc;

/// What a conversation cost.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Bill {
    /// Its parts.
    pub parts: Buckets,
    /// What it would have cost without a cache.
    pub uncached: Money,
}

impl AddAssign<(Buckets, Money)> for Bill {
    fn add_assign(&mut self, (parts, uncached): (Buckets, Money)) {
        self.parts += parts;
        self.uncached += uncached;
    }
}

/// The bills of the conversations of a configuration.
///
/// Means are those of every table: of the whole conversations of each scenario, where a
/// scenario weighs by its conversations that were begun. There is none where a scenario
/// has no whole one: without the longest, the rest would look cheap.
#[derive(Clone, Debug, Default)]
pub struct Bills {
    /// Those that are whole, in the order of the conversations' names, with their scenarios.
    whole: Vec<(Arc<str>, Bill)>,
    /// Requests of those that are whole.
    pub requests: u64,
    /// Conversations begun and whole, by scenario.
    scenarios: BTreeMap<Arc<str>, (u64, u64)>,
}

impl Bills {
    /// Adds a conversation with its requests and its bill; `None`: it has none of its whole
    /// length.
    pub(super) fn add(&mut self, scenario: &Arc<str>, bill: Option<(Bill, u64)>) {
        let (begun, whole) = self.scenarios.entry(Arc::clone(scenario)).or_default();
        *begun += 1;
        *whole += u64::from(bill.is_some());
        if let Some((bill, requests)) = bill {
            self.whole.push((Arc::clone(scenario), bill));
            self.requests += requests;
        }
    }

    /// Conversations that have one.
    pub fn complete(&self) -> u64 {
        self.whole.len() as u64
    }

    /// Conversations that have none.
    pub fn incomplete(&self) -> u64 {
        let begun: u64 = self.scenarios.values().map(|(begun, _)| begun).sum();
        begun - self.complete()
    }

    /// Each bill with its weight; `None` where a scenario has none.
    fn weighted(&self) -> Option<Vec<(f64, &Bill)>> {
        let all = !self.whole.is_empty() && self.scenarios.values().all(|(_, whole)| *whole > 0);
        let weight = |scenario: &Arc<str>| {
            let (begun, whole) = self.scenarios.get(scenario).copied().unwrap_or((1, 1));
            begun as f64 / whole as f64
        };
        all.then(|| {
            self.whole
                .iter()
                .map(|one| (weight(&one.0), &one.1))
                .collect()
        })
    }

    /// The mean of `amount`, in dollars a conversation.
    fn mean(&self, amount: impl Fn(&Bill) -> Money) -> Option<f64> {
        let (mut sum, mut weights) = (0.0, 0.0);
        for (weight, bill) in self.weighted()? {
            sum += weight * amount(bill).usd();
            weights += weight;
        }
        Some(sum / weights)
    }

    /// The mean of the parts, in dollars a conversation: plain, read, written for the short and
    /// for the long lifetime, generated, kept in the cache. `None` where a scenario has no bill.
    pub fn mean_parts(&self) -> Option<[f64; 6]> {
        let part = |of: fn(&Buckets) -> Money| self.mean(|bill| of(&bill.parts));
        Some([
            part(|parts| parts.each()[0])?,
            part(|parts| parts.each()[1])?,
            part(|parts| parts.each()[2])?,
            part(|parts| parts.each()[3])?,
            part(|parts| parts.each()[4])?,
            part(|parts| parts.storage)?,
        ])
    }

    /// The mean of what they would have cost without a cache, in dollars a conversation.
    pub fn mean_uncached(&self) -> Option<f64> {
        self.mean(|bill| bill.uncached)
    }

    /// The 95 % interval of the mean cost of a conversation, in dollars; `None` below six.
    pub fn interval(&self, seed: u64) -> Option<Interval> {
        let units = self.weighted()?.into_iter().map(|(weight, bill)| Ratio {
            part: weight * bill.parts.sum().usd(),
            whole: weight,
        });
        ratio_interval(&units.collect::<Vec<_>>(), seed)
    }
}
