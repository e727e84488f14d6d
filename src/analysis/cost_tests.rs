//! Bills by hand against bills by the tables.

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
