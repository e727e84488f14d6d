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
    /// Conversations begun and whole, by scenario.
    scenarios: BTreeMap<Arc<str>, (u64, u64)>,
}

impl Bills {
    /// Adds a conversation; `None`: it has no bill of its whole length.
    pub(super) fn add(&mut self, scenario: &Arc<str>, bill: Option<Bill>) {
        let (begun, whole) = self.scenarios.entry(Arc::clone(scenario)).or_default();
        *begun += 1;
        *whole += u64::from(bill.is_some());
        self.whole
            .extend(bill.map(|bill| (Arc::clone(scenario), bill)));
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
    /// for the long lifetime, generated. `None` where a scenario has no bill.
    pub fn mean_parts(&self) -> Option<[f64; 5]> {
        let mut parts = [0.0; 5];
        for (at, part) in parts.iter_mut().enumerate() {
            *part = self.mean(|bill| bill.parts.each()[at])?;
        }
        Some(parts)
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
