//! The statistics against values that numpy and scipy gave:
//! `scripts/stats-reference.py`, kept in `tests/data/stats-reference.json`.

use super::{
    Interval, LineSums, Ratio, difference_interval, line, mean_interval, quantile, ratio_interval,
};
use serde::Deserialize;

#[derive(Deserialize)]
struct Reference {
    quantiles: Vec<QuantileCase>,
    ratios: Ratios,
    line: Lines,
}

#[derive(Deserialize)]
struct QuantileCase {
    case: String,
    sample: Option<Vec<f64>>,
    scattered: Option<u64>,
    q: f64,
    value: f64,
}

#[derive(Deserialize)]
struct Ratios {
    units: Vec<(f64, f64)>,
    ratio: (f64, f64),
    difference_to_reversed: (f64, f64),
    mean_of_parts: (f64, f64),
    repeated: usize,
    ratio_closed: (f64, f64),
    difference_closed: (f64, f64),
}

#[derive(Deserialize)]
struct Lines {
    groups: Vec<Vec<(f64, f64)>>,
    slope: f64,
    intercept: f64,
    r_squared: f64,
    interval: (f64, f64),
    repeated: usize,
    interval_closed: (f64, f64),
}

fn reference() -> Reference {
    let text = include_str!("../../../tests/data/stats-reference.json");
    serde_json::from_str(text).expect("the reference reads")
}

/// Whether both ends are as far off as 2,000 draws may be: a tenth of the width.
fn drawn_well(found: Option<Interval>, (low, high): (f64, f64)) -> bool {
    let width = high - low;
    found.is_some_and(|found| {
        found.method == "bootstrap"
            && (found.low - low).abs() < 0.1 * width
            && (found.high - high).abs() < 0.1 * width
    })
}

fn conversations(groups: &[Vec<(f64, f64)>]) -> Vec<LineSums> {
    let sums = |group: &Vec<(f64, f64)>| {
        let mut sums = LineSums::default();
        for &(x, y) in group {
            sums.add(x, y);
        }
        sums
    };
    groups.iter().map(sums).collect()
}

fn same(found: Option<Interval>, (low, high): (f64, f64)) -> bool {
    found.is_some_and(|found| {
        found.method == "normal"
            && (found.low - low).abs() < 1e-9 * low.abs().max(1.0)
            && (found.high - high).abs() < 1e-9 * high.abs().max(1.0)
    })
}

#[test]
fn quantiles_agree_with_numpy_from_one_value_to_a_million() {
    let cases = reference().quantiles;
    assert!(cases.len() > 20);
    for case in cases {
        let sample = case.sample.unwrap_or_else(|| {
            let scattered = case.scattered.expect("a sample or a number");
            let value = |at: u64| (at * 7_919 % 1_000_003) as f64;
            (0..scattered).map(value).collect()
        });
        let found = quantile(&sample, case.q).expect("a quantile");
        assert!(
            (found - case.value).abs() < 1e-9,
            "{} {}: {found}",
            case.case,
            case.q
        );
    }
}

#[test]
fn intervals_of_ratios_differences_and_means_agree_with_numpy() {
    let given = reference().ratios;
    let ratio = |&(part, whole): &(f64, f64)| Ratio { part, whole };
    let units: Vec<Ratio> = given.units.iter().map(ratio).collect();
    let pairs: Vec<_> = units
        .iter()
        .copied()
        .zip(units.iter().rev().copied())
        .collect();
    let parts: Vec<f64> = units.iter().map(|unit| unit.part).collect();
    assert!(drawn_well(ratio_interval(&units, 1), given.ratio));
    assert!(drawn_well(
        difference_interval(&pairs, 1),
        given.difference_to_reversed
    ));
    assert!(drawn_well(mean_interval(&parts, 1), given.mean_of_parts));
    let many = units.repeat(given.repeated);
    assert!(same(ratio_interval(&many, 1), given.ratio_closed));
    let many = pairs.repeat(given.repeated);
    assert!(same(difference_interval(&many, 1), given.difference_closed));
}

#[test]
fn a_line_and_its_interval_agree_with_scipy() {
    let given = reference().line;
    let groups = conversations(&given.groups);
    let found = line(&groups, 1).expect("a line");
    assert!((found.slope - given.slope).abs() < 1e-9, "{found:?}");
    assert!(
        (found.intercept - given.intercept).abs() < 1e-6,
        "{found:?}"
    );
    let explained = found.r_squared.expect("y varies");
    assert!((explained - given.r_squared).abs() < 1e-12, "{found:?}");
    assert!(drawn_well(found.interval, given.interval), "{found:?}");
    let many = groups.repeat(given.repeated);
    let many = line(&many, 1).expect("a line");
    assert!(same(many.interval, given.interval_closed), "{many:?}");
}
