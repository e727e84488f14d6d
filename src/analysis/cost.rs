//! What a request cost: five buckets times dated prices.
//!
//! Each token is billed in exactly one bucket: plain input, read, written for
//! the short or for the long lifetime, generated. A premium for writing is
//! therefore never added to the plain rate of the same token.

use crate::chat::{Usage, UsageOrigin};
use crate::record::{Price, PriceTier};
use crate::units::{Money, Tokens};
use std::ops::AddAssign;

/// The tier for a prompt of `total` tokens; the whole request is billed by it.
fn tier(price: &Price, total: Tokens) -> Option<&PriceTier> {
    price
        .tiers
        .iter()
        .rev()
        .find(|tier| total > tier.above || tier.above == Tokens(0))
}

/// The parts of a bill: each token is in exactly one.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Buckets {
    /// Input that was neither read from the cache nor written to it at a rate of its own.
    pub plain: Money,
    /// Taken from the cache.
    pub read: Money,
    /// Newly cached for the short lifetime.
    pub write: Money,
    /// Newly cached for the long lifetime.
    pub write_long: Money,
    /// Generated.
    pub output: Money,
}

impl Buckets {
    /// The parts in order.
    pub fn each(&self) -> [Money; 5] {
        [
            self.plain,
            self.read,
            self.write,
            self.write_long,
            self.output,
        ]
    }

    /// All parts together.
    pub fn sum(&self) -> Money {
        self.each().into_iter().sum()
    }
}

impl AddAssign for Buckets {
    fn add_assign(&mut self, other: Self) {
        self.plain += other.plain;
        self.read += other.read;
        self.write += other.write;
        self.write_long += other.write_long;
        self.output += other.output;
    }
}

/// What a request with this usage cost.
///
/// `None` as for [`parts`].
pub fn bill(price: &Price, usage: &Usage) -> Option<Money> {
    parts(price, usage).map(|parts| parts.sum())
}

/// What a request with this usage cost, part by part.
///
/// `None` where a count that the bill needs is absent or cannot be, or where a
/// bucket with tokens in it has no known price. Where a price has no `write`,
/// written tokens cost what plain input costs.
///
/// # Source
///
/// OpenAI, "Prompt caching" guide of 2026-10-02 (its cost formula subtracts both
/// cached and written tokens from the input), and Anthropic's price list, whose
/// counts are disjoint from the start.
pub fn parts(price: &Price, usage: &Usage) -> Option<Buckets> {
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
    let tier = tier(price, total)?;
    let short_price = tier.write.unwrap_or(tier.input);
    let long_price = match (tier.write, tier.write_long) {
        (None, None) => Some(tier.input),
        (_, price) => price,
    };
    Some(Buckets {
        plain: tier.input * plain,
        read: bucket(tier.read, read)?,
        write: short_price * short,
        write_long: bucket(long_price, long)?,
        output: tier.output * output,
    })
}

/// What the same request would have cost without a cache.
///
/// `None` where its counts are absent.
pub fn bill_uncached(price: &Price, usage: &Usage) -> Option<Money> {
    let (total, output) = (usage.total?, usage.output?);
    let tier = tier(price, total)?;
    Some(tier.input * total + tier.output * output)
}

/// What it would have saved to read `tokens` of a prompt from the cache that were
/// computed: written where the server says that it wrote, else plain.
///
/// `None` where a count or a price that it takes is not known.
pub fn saved_by_reading(price: &Price, usage: &Usage, tokens: Tokens) -> Option<Money> {
    let tier = tier(price, usage.total?)?;
    let wrote = usage.written().is_some_and(|written| written > Tokens(0));
    let paid = tier.write.filter(|_| wrote).unwrap_or(tier.input);
    let read = tier.read? * tokens;
    Some(Money((paid * tokens).0 - read.0))
}

/// An empty bucket costs nothing, whatever its price.
fn bucket(price: Option<Money>, tokens: Tokens) -> Option<Money> {
    if tokens == Tokens(0) {
        return Some(Money(0));
    }
    Some(price? * tokens)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::analysis::prices::Catalogue;

    fn usage(total: u64, read: u64, write: u64, write_long: u64, output: u64) -> Usage {
        let some = |tokens: u64| Some(Tokens(tokens));
        Usage {
            total: some(total),
            read: some(read),
            write: (write > 0).then_some(Tokens(write)),
            write_long: (write_long > 0).then_some(Tokens(write_long)),
            output: some(output),
            origin: UsageOrigin::Reported,
            ..Usage::default()
        }
    }

    #[test]
    fn documented_bills_come_out_to_the_cent() {
        let catalogue = Catalogue::shipped();
        let cases: &[(&str, &str, Usage, &str, &str)] = &[
            // The two turns of OpenAI's guide: 12,000 written, then 12,000 read and 3,000 written.
            (
                "guide, turn 1",
                "gpt-6.1-sol",
                usage(12_000, 0, 12_000, 0, 0),
                "0.03",
                "0.024",
            ),
            (
                "guide, turn 2",
                "gpt-6.1-sol",
                usage(15_000, 12_000, 3_000, 0, 0),
                "0.0087",
                "0.03",
            ),
            // No fee for writes: 128 of 1,000 read at a tenth.
            (
                "no write fee",
                "gpt-5.5",
                usage(1_000, 128, 0, 0, 10),
                "0.004724",
                "0.0053",
            ),
            // Both lifetimes: 5m at 1.25, 1h at 2 times the input price.
            (
                "both lifetimes",
                "claude-opus-5.5",
                usage(10_000, 4_000, 2_000, 1_000, 500),
                "0.0408",
                "0.05",
            ),
            // Above 100,000 tokens the whole request is billed by the higher tier.
            (
                "at the tier",
                "claude-haiku-5.5",
                usage(100_000, 0, 0, 0, 0),
                "0.01",
                "0.01",
            ),
            (
                "above the tier",
                "claude-haiku-5.5",
                usage(100_001, 0, 0, 0, 0),
                "0.0500005",
                "0.0500005",
            ),
            (
                "no reads, price of reads not known",
                "gemini-3.8-flash",
                usage(1_000, 0, 0, 0, 0),
                "0.00075",
                "0.00075",
            ),
        ];
        for (case, model, usage, cost, uncached) in cases {
            let price = catalogue.find(model, "2026-11-30").expect("shipped");
            assert_eq!(
                bill(price, usage).map(Money::decimal).as_deref(),
                Some(*cost),
                "{case}"
            );
            let plain = bill_uncached(price, usage).map(Money::decimal);
            assert_eq!(plain.as_deref(), Some(*uncached), "{case}");
        }
    }

    #[test]
    fn what_is_not_known_has_no_bill() {
        let catalogue = Catalogue::shipped();
        let find = |model| catalogue.find(model, "2026-11-30").expect("shipped");
        let absent = Usage {
            origin: UsageOrigin::Absent,
            read: None,
            ..usage(10, 0, 0, 0, 1)
        };
        let contradictory = Usage {
            origin: UsageOrigin::Contradictory,
            ..usage(10, 20, 0, 0, 1)
        };
        let no_output = Usage {
            output: None,
            ..usage(10, 0, 0, 0, 1)
        };
        assert_eq!(bill(find("gpt-5.5"), &absent), None);
        assert_eq!(bill(find("gpt-5.5"), &contradictory), None);
        assert_eq!(bill(find("gpt-5.5"), &no_output), None);
        assert_eq!(bill(find("gemini-3.8-flash"), &usage(10, 5, 0, 0, 1)), None);
        assert_eq!(bill(find("kimi-k3.1-pro"), &usage(10, 0, 0, 5, 1)), None);
        assert_eq!(
            bill(find("gpt-5.5"), &usage(10, 5, 6, 0, 1)),
            None,
            "negative plain part"
        );
    }
}
