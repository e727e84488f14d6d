//! Quantiles of latencies.
//!
//! Each is given three times: exactly, from all values; from a histogram of
//! three significant digits, which can be merged with that of another run; and
//! with every request that was never answered as one that took for ever.

use super::stats::rank;
use hdrhistogram::Histogram;
use schemars::JsonSchema;
use serde::Serialize;

/// The quantiles that are given.
const QUANTILES: [f64; 3] = [0.5, 0.9, 0.99];

/// Quantiles of a latency, in microseconds, over answered requests.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, JsonSchema)]
pub struct Latency {
    /// Answered requests that have it.
    pub n: usize,
    /// Half of them were faster.
    pub p50_us: Option<f64>,
    /// Nine in ten were faster.
    pub p90_us: Option<f64>,
    /// Ninety-nine in a hundred were faster.
    pub p99_us: Option<f64>,
    /// The same from a histogram of three significant digits.
    pub histogram: Quantiles,
    /// The same with failures as infinite.
    pub with_failures: WithFailures,
}

/// Quantiles in microseconds.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, JsonSchema)]
pub struct Quantiles {
    /// Half are faster.
    pub p50_us: Option<f64>,
    /// Nine in ten are faster.
    pub p90_us: Option<f64>,
    /// Ninety-nine in a hundred are faster.
    pub p99_us: Option<f64>,
}

/// Quantiles in which a request that was never answered took for ever. `None`
/// with `n` above 0: infinite.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, JsonSchema)]
pub struct WithFailures {
    /// Answered requests and failed ones.
    pub n: usize,
    /// Half are faster.
    pub p50_us: Option<f64>,
    /// Nine in ten are faster.
    pub p90_us: Option<f64>,
    /// Ninety-nine in a hundred are faster.
    pub p99_us: Option<f64>,
}

/// The quantiles of `values`, each of which is `1 / scale` microseconds, where
/// `failed` requests besides were never answered. Reorders the values.
pub(super) fn latency(values: &mut [u64], scale: f64, failed: usize) -> Latency {
    values.sort_unstable();
    let exact = |q| at(values, values.len(), q).map(|value| value / scale);
    let all = values.len() + failed;
    let with_failures = |q| at(values, all, q).map(|value| value / scale);
    let histogram = histogram(values);
    let binned = |q: f64| {
        let histogram = histogram
            .as_ref()
            .filter(|histogram| !histogram.is_empty())?;
        Some(histogram.value_at_quantile(q) as f64 / scale)
    };
    let [p50, p90, p99] = QUANTILES;
    Latency {
        n: values.len(),
        p50_us: exact(p50),
        p90_us: exact(p90),
        p99_us: exact(p99),
        histogram: Quantiles {
            p50_us: binned(p50),
            p90_us: binned(p90),
            p99_us: binned(p99),
        },
        with_failures: WithFailures {
            n: all,
            p50_us: with_failures(p50),
            p90_us: with_failures(p90),
            p99_us: with_failures(p99),
        },
    }
}

/// The quantile of `n` values in ascending order, of which those that `sorted`
/// lacks are infinite. `None` where it is infinite, or there is no value.
fn at(sorted: &[u64], n: usize, q: f64) -> Option<f64> {
    let (below, part) = rank(n, q)?;
    let low = *sorted.get(below)? as f64;
    if part <= 0.0 {
        return Some(low);
    }
    let high = *sorted.get(below + 1)? as f64;
    Some(low + (high - low) * part)
}

/// `None` where the values do not fit a histogram, which is never the case of times.
fn histogram(sorted: &[u64]) -> Option<Histogram<u64>> {
    let most = sorted.last().copied().unwrap_or(2).max(2);
    let mut histogram = Histogram::new_with_bounds(1, most, 3).ok()?;
    for &value in sorted {
        histogram.record(value).ok()?;
    }
    Some(histogram)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn failures_push_the_tail_to_infinity_and_leave_the_plain_quantiles() {
        let mut values: Vec<u64> = (1..=90).rev().map(|ms| ms * 1_000).collect();
        let found = latency(&mut values, 1.0, 10);
        assert_eq!((found.n, found.with_failures.n), (90, 100));
        assert_eq!(found.p50_us, Some(45_500.0));
        assert_eq!(found.with_failures.p50_us, Some(50_500.0));
        // Of a hundred, the rank of p90 lies between the last answer and the first failure.
        assert_eq!(found.with_failures.p90_us, None);
        assert_eq!(found.with_failures.p99_us, None);
        assert!(found.p99_us.is_some());
    }

    #[test]
    fn quantiles_with_failures_agree_with_numpy() {
        let text = include_str!("../../tests/data/stats-reference.json");
        let reference: serde_json::Value = serde_json::from_str(text).expect("reads");
        let cases = reference["with_failures"].as_array().expect("cases");
        assert!(cases.len() > 10);
        for case in cases {
            let number = |name: &str| case[name].as_u64().expect("a number");
            let mut values: Vec<u64> = (1..=number("answered")).map(|at| at * 1_000).collect();
            let failed = usize::try_from(number("failed")).expect("small");
            let found = latency(&mut values, 1.0, failed).with_failures;
            let q = case["q"].as_f64().expect("a fraction");
            let found = [
                (0.5, found.p50_us),
                (0.9, found.p90_us),
                (0.99, found.p99_us),
            ]
            .into_iter()
            .find(|(known, _)| (known - q).abs() < 1e-9)
            .expect("one of three");
            match (found.1, case["value"].as_f64()) {
                (Some(found), Some(value)) => assert!((found - value).abs() < 1e-6, "{case}"),
                (found, value) => assert_eq!(found, value, "{case}"),
            }
        }
    }

    #[test]
    fn a_histogram_is_within_a_thousandth_of_the_exact_value() {
        // Log-uniform over four decades, from a fixed mixing.
        let mut values: Vec<u64> = (0..50_000_u64)
            .map(|at| {
                let mixed = at.wrapping_mul(0x9E37_79B9_7F4A_7C15) >> 40;
                let exponent = 3.0 + 4.0 * mixed as f64 / f64::from(1 << 24);
                #[expect(
                    clippy::cast_possible_truncation,
                    clippy::cast_sign_loss,
                    reason = "below ten million"
                )]
                let value = 10_f64.powf(exponent) as u64;
                value
            })
            .collect();
        let found = latency(&mut values, 1.0, 0);
        for (exact, binned) in [
            (found.p50_us, found.histogram.p50_us),
            (found.p90_us, found.histogram.p90_us),
            (found.p99_us, found.histogram.p99_us),
        ] {
            let (exact, binned) = (exact.expect("exact"), binned.expect("binned"));
            assert!((binned / exact - 1.0).abs() < 2e-3, "{exact} and {binned}");
        }
    }

    #[test]
    fn none_one_and_equal_values_say_what_is_true() {
        assert_eq!(latency(&mut [], 1.0, 0), Latency::default());
        let failed = latency(&mut [], 1.0, 3);
        assert_eq!((failed.n, failed.p50_us), (0, None));
        assert_eq!(
            (failed.with_failures.n, failed.with_failures.p50_us),
            (3, None)
        );
        let one = latency(&mut [7_000], 1_000.0, 0);
        assert_eq!((one.p50_us, one.p99_us), (Some(7.0), Some(7.0)));
        assert_eq!(one.histogram.p50_us, Some(7.003));
        let equal = latency(&mut [5; 9], 1.0, 0);
        assert_eq!((equal.p50_us, equal.p99_us), (Some(5.0), Some(5.0)));
    }
}
