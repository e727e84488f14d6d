//! What a request cost: five buckets times dated prices.
//!
//! Each token is billed in exactly one bucket: plain input, read, written for
//! the short or for the long lifetime, generated. A premium for writing is
//! therefore never added to the plain rate of the same token.

use crate::chat::{Usage, UsageOrigin};
use crate::record::{Price, PriceTier};
use crate::units::{Micros, Money, Tokens};
use schemars::JsonSchema;
use serde::Serialize;
use std::ops::AddAssign;

/// What a bill consists of.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, JsonSchema)]
pub struct Buckets {
    /// Plain input.
    pub plain: Money,
    /// Taken from the cache.
    pub read: Money,
    /// Newly cached for the short lifetime, at the whole price of a write.
    pub write: Money,
    /// Newly cached for the long lifetime.
    pub write_long: Money,
    /// Generated.
    pub output: Money,
    /// Keeping what was newly cached, where that is charged by the hour.
    pub storage: Money,
    /// Of `write` and `write_long`, what they cost above plain input.
    pub premium: Money,
}

impl Buckets {
    /// What is billed by the token, in order.
    pub fn each(&self) -> [Money; 5] {
        [
            self.plain,
            self.read,
            self.write,
            self.write_long,
            self.output,
        ]
    }

    /// The whole bill; the premium is a part of the writes, not added again.
    pub fn sum(&self) -> Money {
        self.each().into_iter().sum::<Money>() + self.storage
    }
}

impl AddAssign for Buckets {
    fn add_assign(&mut self, other: Self) {
        self.plain += other.plain;
        self.read += other.read;
        self.write += other.write;
        self.write_long += other.write_long;
        self.output += other.output;
        self.storage += other.storage;
        self.premium += other.premium;
    }
}

/// When a request was billed, and how long the cache keeps what it wrote.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Moment {
    /// Milliseconds since 1970; where it is not known, prices outside the peak hold.
    pub at_ms: Option<i64>,
    /// Milliseconds that storage is charged for.
    pub kept_ms: Option<u64>,
}

impl Moment {
    /// The moment of a request that was sent so long after a run's start at `started_ms`
    /// milliseconds since 1970, to a cache that keeps entries for `kept_ms`.
    pub fn of(started_ms: i64, sent: Option<Micros>, kept_ms: Option<u64>) -> Self {
        let after = sent.and_then(|sent| i64::try_from(sent.0 / 1_000).ok());
        Self {
            at_ms: after.map(|after| started_ms.saturating_add(after)),
            kept_ms,
        }
    }
}

/// The tier for a prompt of `total` tokens; the whole request is billed by it.
fn tier(price: &Price, moment: Moment, total: Tokens) -> Option<&PriceTier> {
    price
        .tiers_at(moment.at_ms)
        .iter()
        .rev()
        .find(|tier| total > tier.above || tier.above == Tokens(0))
}

/// What a request with this usage cost.
///
/// `None` where a count that the bill needs is absent or cannot be, where a
/// bucket with tokens in it has no known price, or where keeping what was written is
/// charged and how much or how long that is is not known. Where a price has no
/// `write`, written tokens cost what plain input costs.
///
/// # Source
///
/// OpenAI, "Prompt caching" guide of 2026-10-02 (its cost formula subtracts both
/// cached and written tokens from the input), and Anthropic's price list, whose
/// counts are disjoint from the start.
pub fn bill(price: &Price, usage: &Usage) -> Option<Money> {
    parts(price, usage).map(|parts| parts.sum())
}

/// The same, bucket by bucket.
pub fn parts(price: &Price, usage: &Usage) -> Option<Buckets> {
    buckets(price, usage, Moment::default())
}

/// The same, bucket by bucket and at its time of day.
pub fn buckets(price: &Price, usage: &Usage, moment: Moment) -> Option<Buckets> {
    if usage.origin != UsageOrigin::Reported {
        return None;
    }
    let (total, read, output) = (usage.total?, usage.read?, usage.output?);
    let short = usage.write.unwrap_or_default();
    let long = usage.write_long.unwrap_or_default();
    let plain = total
        .checked_sub(read)?
        .checked_sub(short)?
        .checked_sub(long)?;
    let tier = tier(price, moment, total)?;
    let short_price = tier.write.unwrap_or(tier.input);
    let long_price = match (tier.write, tier.write_long) {
        (None, None) => Some(tier.input),
        (_, price) => price,
    };
    let (write, write_long) = (short_price * short, bucket(long_price, long)?);
    let as_plain = tier.input * (short + long);
    Some(Buckets {
        plain: tier.input * plain,
        read: bucket(tier.read, read)?,
        write,
        write_long,
        output: tier.output * output,
        storage: storage(price, usage.written(), moment.kept_ms)?,
        premium: Money((write + write_long).0 - as_plain.0),
    })
}

/// What the same request would have cost without a cache.
///
/// `None` where its counts are absent.
pub fn bill_uncached(price: &Price, usage: &Usage) -> Option<Money> {
    uncached_at(price, usage, Moment::default())
}

/// The same at its time of day.
pub fn uncached_at(price: &Price, usage: &Usage, moment: Moment) -> Option<Money> {
    let (total, output) = (usage.total?, usage.output?);
    let tier = tier(price, moment, total)?;
    Some(tier.input * total + tier.output * output)
}

/// What it would have saved to read `tokens` more of a prompt from the cache: its bill
/// without the one that it would have had. Of what is left as much is written as the
/// server said, as far as there is so much.
///
/// `None` where a count or a price that it takes is not known.
pub fn saved_by_reading(
    price: &Price,
    usage: &Usage,
    tokens: Tokens,
    moment: Moment,
) -> Option<Money> {
    let paid = buckets(price, usage, moment)?.sum();
    let better = bill_best(price, usage, usage.read? + tokens, moment)?;
    Some(Money(paid.0 - better.0))
}

/// What it would have cost had the cache returned all of `bound`. Of what is
/// left as much is written as the server said, as far as there is so much.
///
/// `None` where its counts are absent.
pub fn bill_best(price: &Price, usage: &Usage, bound: Tokens, moment: Moment) -> Option<Money> {
    let total = usage.total?;
    let read = bound.min(total);
    let left = total.saturating_sub(read);
    let short = usage.write.map(|write| write.min(left));
    let rest = left.saturating_sub(short.unwrap_or_default());
    let best = Usage {
        read: Some(read),
        write: short,
        write_long: usage.write_long.map(|write| write.min(rest)),
        origin: UsageOrigin::Reported,
        raw: None,
        ..*usage
    };
    buckets(price, &best, moment).map(|buckets| buckets.sum())
}

/// The least and the most that a request can have cost whose cached tokens are
/// not known: all that the cache could have returned was read (`bound`; where
/// that is not known either, the whole prompt), or nothing was and all of it
/// newly cached.
///
/// `None` where even its prompt or its answer was not counted, or reads have no price.
pub fn bill_range(
    price: &Price,
    usage: &Usage,
    bound: Option<Tokens>,
    moment: Moment,
) -> Option<(Money, Money)> {
    let total = usage.total?;
    let counts = |read: Tokens, write: Option<Tokens>| Usage {
        read: Some(read),
        write,
        write_long: None,
        origin: UsageOrigin::Reported,
        raw: None,
        ..*usage
    };
    let least = counts(bound.unwrap_or(total).min(total), Some(Tokens(0)));
    let most = counts(Tokens(0), Some(total));
    let sum = |usage: &Usage| buckets(price, usage, moment).map(|buckets| buckets.sum());
    let (least, most) = (sum(&least)?, sum(&most)?);
    Some((
        least.min(most),
        most.max(uncached_at(price, usage, moment)?),
    ))
}

/// Keeping `written` tokens for `kept_ms`, rounded down to the pico-dollar; nothing where that
/// is free or nothing was written. `None` where it is charged and either of the two is not known.
fn storage(price: &Price, written: Option<Tokens>, kept_ms: Option<u64>) -> Option<Money> {
    const HOUR_MS: i128 = 3_600_000;
    let Some(hour) = price.storage_hour else {
        return Some(Money(0));
    };
    let written = written?;
    if written == Tokens(0) {
        return Some(Money(0));
    }
    let kept = i128::from(kept_ms?);
    Some(Money((hour * written).0 * kept / HOUR_MS))
}

/// An empty bucket costs nothing, whatever its price.
fn bucket(price: Option<Money>, tokens: Tokens) -> Option<Money> {
    if tokens == Tokens(0) {
        return Some(Money(0));
    }
    Some(price? * tokens)
}

#[cfg(test)]
#[path = "cost_tests.rs"]
mod tests;
