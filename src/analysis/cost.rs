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

    #[test]
    fn a_bill_is_the_sum_of_its_buckets_and_tells_the_premium_of_writes() {
        let price = Catalogue::shipped();
        let price = price
            .find("claude-opus-5.5", "2026-11-30")
            .expect("shipped");
        let usage = usage(10_000, 4_000, 2_000, 1_000, 500);
        let found = buckets(price, &usage, Moment::default()).expect("a bill");
        // 3,000 plain at 4, 4,000 read at 0.20, 2,000 at 5, 1,000 at 8, 500 at 20 dollars a million.
        let parts = [
            found.plain,
            found.read,
            found.write,
            found.write_long,
            found.output,
        ];
        assert_eq!(
            parts.map(Money::decimal),
            ["0.012", "0.0008", "0.01", "0.008", "0.01"]
        );
        // One dollar a million above plain input for the short, four for the long lifetime.
        assert_eq!(found.premium.decimal(), "0.006");
        assert_eq!(Some(found.sum()), bill(price, &usage));
    }

    #[test]
    fn the_best_possible_bill_reads_the_bound_and_writes_no_more_than_is_left() {
        let price = Catalogue::shipped();
        let price = price
            .find("claude-opus-5.5", "2026-11-30")
            .expect("shipped");
        let usage = usage(10_000, 0, 10_000, 0, 0);
        let best = |bound| bill_best(price, &usage, Tokens(bound), Moment::default());
        // 9,000 at 0.20 and 1,000 at 5 dollars a million.
        assert_eq!(best(9_000).map(Money::decimal).as_deref(), Some("0.0068"));
        assert_eq!(best(0), bill(price, &usage));
        assert_eq!(best(99_999).map(Money::decimal).as_deref(), Some("0.002"));
    }

    #[test]
    fn without_a_count_there_is_a_range_and_the_true_bill_lies_in_it() {
        let catalogue = Catalogue::shipped();
        for model in ["gpt-5.5", "claude-opus-5.5", "gpt-6.1-sol"] {
            let price = catalogue.find(model, "2026-11-30").expect("shipped");
            for (read, write) in [(0, 0), (0, 10_000), (4_000, 6_000), (8_000, 0)] {
                let known = usage(10_000, read, write, 0, 500);
                let unknown = Usage {
                    read: None,
                    write: None,
                    origin: UsageOrigin::Absent,
                    ..known.clone()
                };
                let bound = Some(Tokens(8_000));
                let range = bill_range(price, &unknown, bound, Moment::default());
                let (least, most) = range.expect("a range");
                let bill = bill(price, &known).expect("a bill");
                assert!(
                    least <= bill && bill <= most,
                    "{model}, {read} read, {write} written"
                );
            }
        }
        let nothing = Usage::default();
        let price = catalogue.find("gpt-5.5", "2026-11-30").expect("shipped");
        assert_eq!(bill_range(price, &nothing, None, Moment::default()), None);
    }

    #[test]
    fn a_peak_has_its_own_prices_and_storage_is_charged_by_the_hour() {
        let catalogue = Catalogue::shipped();
        let price = catalogue
            .find("deepseek-flash", "2026-11-30")
            .expect("shipped");
        let usage = usage(1_000_000, 0, 0, 0, 0);
        // 2026-11-30 is a Monday; 1_796_000_400_000 is 01:00 UTC of it.
        let monday = 1_796_000_400_000;
        let hour = 3_600_000;
        for (at, dollars) in [
            (monday - 1, "0.15"),
            (monday, "0.3"),
            (monday + 3 * hour - 1, "0.3"),
            (monday + 3 * hour, "0.15"),
            (monday + 5 * hour, "0.3"),
            (monday + 9 * hour, "0.15"),
            (monday - 24 * hour, "0.15"),
        ] {
            let moment = Moment {
                at_ms: Some(at),
                kept_ms: None,
            };
            let bill = buckets(price, &usage, moment).expect("a bill").sum();
            assert_eq!(bill.decimal(), dollars, "{at}");
        }
        let kept = Price {
            storage_hour: Some(Money(1_000_000)),
            ..price.clone()
        };
        let usage = Usage {
            write: Some(Tokens(1_000_000)),
            ..usage
        };
        let moment = Moment {
            at_ms: None,
            kept_ms: Some(1_800_000),
        };
        let found = buckets(&kept, &usage, moment).expect("a bill");
        assert_eq!(
            found.storage.decimal(),
            "0.5",
            "a dollar an hour for half an hour"
        );
    }

    /// A dollar a million tokens and hour for what is kept.
    fn with_storage() -> Price {
        let catalogue = Catalogue::shipped();
        let price = catalogue.find("claude-opus-5.5", "2026-11-30");
        Price {
            storage_hour: Some(Money(1_000_000)),
            ..price.expect("shipped").clone()
        }
    }

    #[test]
    fn storage_that_cannot_be_reckoned_leaves_no_bill() {
        let price = with_storage();
        let kept = Moment {
            at_ms: None,
            kept_ms: Some(3_600_000),
        };
        let wrote = usage(10_000, 4_000, 2_000, 0, 500);
        let none = Usage {
            write: Some(Tokens(0)),
            ..usage(10_000, 4_000, 0, 0, 500)
        };
        let silent = usage(10_000, 4_000, 0, 0, 500);
        let cases = [
            ("written, kept for an hour", &wrote, kept, Some("0.002")),
            (
                "written, lifetime not known",
                &wrote,
                Moment::default(),
                None,
            ),
            ("nothing written", &none, Moment::default(), Some("0")),
            ("writes not told", &silent, kept, None),
        ];
        for (case, usage, moment, storage) in cases {
            let found = buckets(&price, usage, moment);
            let found = found.map(|found| found.storage.decimal());
            assert_eq!(found.as_deref(), storage, "{case}");
            let best = bill_best(&price, usage, Tokens(5_000), moment);
            assert_eq!(best.is_some(), storage.is_some(), "{case}, at best");
        }
        let absent = Usage {
            read: None,
            origin: UsageOrigin::Absent,
            ..silent
        };
        assert_eq!(bill_range(&price, &absent, None, Moment::default()), None);
        assert!(bill_range(&price, &absent, None, kept).is_some());
    }

    #[test]
    fn what_reading_saves_is_the_difference_of_two_bills_at_their_hour() {
        let catalogue = Catalogue::shipped();
        let find = |model| catalogue.find(model, "2026-11-30").expect("shipped");
        let saved = |price: &Price, usage: &Usage, moment| {
            saved_by_reading(price, usage, Tokens(1_000_000), moment).map(Money::decimal)
        };
        let usage = |write: Option<u64>| Usage {
            write: write.map(Tokens),
            ..usage(4_000_000, 1_000_000, 0, 0, 10)
        };
        // 01:00 and 04:00 UTC of a Monday: at the peak, and behind it. 0.15 dollars a million
        // there and 0.003 read, twice as much at the peak.
        let at = |hour: i64| Moment {
            at_ms: Some(1_796_000_400_000 + hour * 3_600_000),
            kept_ms: None,
        };
        let peaked = find("deepseek-flash");
        let plain = usage(None);
        assert_eq!(saved(peaked, &plain, at(0)).as_deref(), Some("0.294"));
        assert_eq!(saved(peaked, &plain, at(3)).as_deref(), Some("0.147"));
        // All was written at 5 dollars a million; a third of it, so that plain input is saved.
        let opus = find("claude-opus-5.5");
        let moment = Moment::default();
        let all = saved(opus, &usage(Some(3_000_000)), moment);
        assert_eq!(all.as_deref(), Some("4.8"));
        let third = saved(opus, &usage(Some(1_000_000)), moment);
        assert_eq!(third.as_deref(), Some("3.8"));
        let absent = Usage {
            read: None,
            origin: UsageOrigin::Absent,
            ..usage(None)
        };
        assert_eq!(
            saved(opus, &absent, moment),
            None,
            "not known what was read"
        );
    }
}
