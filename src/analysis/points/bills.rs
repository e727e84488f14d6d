//! What whole conversations cost, part by part.

use crate::analysis::cost::Buckets;
use crate::analysis::stats::{Interval, mean_interval};
use crate::units::Money;
use std::ops::AddAssign;

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
#[derive(Clone, Debug, Default)]
pub struct Bills {
    /// Those that are whole, in the order of the conversations' names.
    pub whole: Vec<Bill>,
    /// Their requests.
    pub requests: u64,
    /// Conversations that have none.
    pub incomplete: u64,
}

impl Bills {
    /// The mean of the parts, in dollars a conversation: plain, read, written for the short and
    /// for the long lifetime, generated, kept in the cache. `None` where no conversation has a bill.
    pub fn mean_parts(&self) -> Option<[f64; 6]> {
        let sum = self.whole.iter().fold(Buckets::default(), |mut sum, bill| {
            sum += bill.parts;
            sum
        });
        let mean = |money: Money| money.usd() / self.whole.len() as f64;
        let [plain, read, write, write_long, output] = sum.each();
        let all = [plain, read, write, write_long, output, sum.storage];
        (!self.whole.is_empty()).then(|| all.map(mean))
    }

    /// The mean of what they would have cost without a cache, in dollars a conversation.
    pub fn mean_uncached(&self) -> Option<f64> {
        let sum: Money = self.whole.iter().map(|bill| bill.uncached).sum();
        (!self.whole.is_empty()).then(|| sum.usd() / self.whole.len() as f64)
    }

    /// The 95 % interval of the mean cost of a conversation, in dollars; `None` below two.
    pub fn interval(&self, seed: u64) -> Option<Interval> {
        let costs = self.whole.iter();
        let costs: Vec<f64> = costs.map(|bill| bill.parts.sum().usd()).collect();
        mean_interval(&costs, seed)
    }
}
