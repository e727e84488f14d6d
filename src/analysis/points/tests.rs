//! Points of hand-made records.

use super::*;
use crate::analysis::Cell;
use crate::analysis::stats::line;
use crate::analysis::testing::{blank, counted, manifest};
use crate::chat::UsageOrigin;
use crate::record::{Manifest, Price, PriceTier, RequestRecord};
use crate::units::Money;

fn of(configuration: &str) -> TotalKey {
    TotalKey::from(&Cell::from(&blank(configuration, 1)))
}

fn of_records(manifest: &Manifest, records: &[RequestRecord]) -> Points {
    Points::of(&Samples::of(manifest, records, &[]))
}

fn priced() -> Manifest {
    let mut manifest = manifest();
    manifest.targets[0].price = Some(Price {
        model: Arc::from("m"),
        from: None,
        until: None,
        source: Arc::from("a list, 2026-11-30"),
        certainty: Arc::from("good"),
        peak: None,
        storage_hour: None,
        tiers: vec![PriceTier {
            above: Tokens(0),
            input: Money(1_000_000),
            read: Some(Money(100_000)),
            write: Some(Money(1_250_000)),
            write_long: Some(Money(2_000_000)),
            output: Money(10_000_000),
        }],
    });
    manifest
}

#[test]
fn a_point_is_a_request_with_a_count_and_a_first_token() {
    let mut absent = blank("dev", 2);
    absent.usage.origin = UsageOrigin::Absent;
    let mut failed = blank("dev", 3);
    failed.outcome = Outcome::Timeout;
    let mut silent = counted("dev", 1, 4, (500, 100, 0)).0;
    silent.stamps.first_text_us = None;
    let good = counted("dev", 1, 1, (1_000, 300, 0)).0;
    let points = of_records(&manifest(), &[good, absent, failed, silent]);
    let set = points.get(&of("dev")).expect("points");
    let answered = Answered {
        computed: Tokens(700),
        ttft: Micros(55_000),
    };
    assert_eq!(set.answered.points(9), [answered]);
    let mut lengths = set.counted.points(9);
    lengths.sort();
    let point = |total, read| Counted {
        total: Tokens(total),
        read: Tokens(read),
    };
    assert_eq!(lengths, [point(500, 100), point(1_000, 300)]);
    assert_eq!(set.longest, Tokens(1_000));
    // A request without a count has a time nevertheless.
    assert_eq!(set.times(), [50_000, 55_000]);
    assert!(points.get(&of("layered")).is_none());
}

#[test]
fn the_order_of_the_records_makes_no_difference() {
    let mut records: Vec<_> = (1..=3)
        .flat_map(|repeat| (1..=9).map(move |turn| (repeat, turn)))
        .map(|(repeat, turn)| counted("dev", repeat, turn, (u64::from(turn) * 100, 32, 0)).0)
        .collect();
    let there = of_records(&priced(), &records);
    records.reverse();
    let back = of_records(&priced(), &records);
    let (one, other) = (there.get(&of("dev")), back.get(&of("dev")));
    let (one, other) = (one.expect("points"), other.expect("points"));
    assert_eq!(one.answered.points(99), other.answered.points(99));
    assert_eq!(one.lines().len(), 3);
    let slopes = |set: &PointSet| line(&set.lines(), 7).expect("a line").slope;
    assert!((slopes(one) - 50.0).abs() < 1e-9);
    assert!((slopes(one) - slopes(other)).abs() < 1e-9);
}

#[test]
fn a_bill_is_that_of_whole_conversations_part_by_part() {
    let mut records = Vec::new();
    for repeat in 1..=2 {
        for turn in 1..=2 {
            let mut record = counted("dev", repeat, turn, (1_000, 400, 0)).0;
            record.usage.write = Some(Tokens(100));
            record.usage.output = Some(Tokens(u64::from(repeat) * 10));
            records.push(record);
        }
    }
    // The third ended half way; the fourth has an answer without a count.
    records.push(counted("dev", 3, 1, (1_000, 400, 0)).0);
    records.push(counted("dev", 4, 1, (1_000, 400, 0)).0);
    let mut absent = counted("dev", 4, 2, (1_000, 400, 0)).0;
    absent.usage.origin = UsageOrigin::Absent;
    records.push(absent);
    let bills = of_records(&priced(), &records).bills(&of("dev"));
    let bills = bills.expect("a price");
    assert_eq!((bills.complete(), bills.incomplete()), (2, 2));
    // Two requests: 500 plain at 1, 400 read at 0.1, 100 written at 1.25, 10 or 20 generated at 10
    // dollars a million.
    let parts = bills.mean_parts().expect("two bills");
    let expected = [0.001, 0.000_08, 0.000_25, 0.0, 0.000_3];
    for (found, expected) in parts.into_iter().zip(expected) {
        assert!((found - expected).abs() < 1e-12, "{parts:?}");
    }
    let uncached = bills.mean_uncached().expect("two bills");
    assert!((uncached - 0.002_3).abs() < 1e-12, "{uncached}");
    assert!(bills.interval(7).is_none(), "two bills are too few");
}

#[test]
fn without_a_price_there_is_no_bill_and_without_a_conversation_no_mean() {
    let records = [blank("dev", 1)];
    assert!(
        of_records(&manifest(), &records)
            .bills(&of("dev"))
            .is_none()
    );
    let mut failed = blank("dev", 1);
    failed.outcome = Outcome::Reset;
    let bills = of_records(&priced(), &[failed]).bills(&of("dev"));
    let bills = bills.expect("a price");
    assert_eq!((bills.mean_parts(), bills.incomplete()), (None, 1));
    assert!(bills.mean_uncached().is_none() && bills.interval(7).is_none());
}
