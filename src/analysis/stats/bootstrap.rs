//! Intervals of ratios of sums.
//!
//! # Source
//!
//! B. Efron and R. J. Tibshirani, *An Introduction to the Bootstrap*, 1993,
//! chapter 13: the percentile interval. Above [`CLOSED_FORM_ABOVE`] units the
//! linearised variance of a ratio estimate and the normal distribution stand in
//! for it: W. G. Cochran, *Sampling Techniques*, 3rd edition, 1977, section 6.4.

use super::quantile::quantile_of_sorted;
use rand::{RngExt as _, SeedableRng as _};
use rand_chacha::ChaCha8Rng;
use schemars::JsonSchema;
use serde::Serialize;
use std::borrow::Borrow;

/// Fewest units that anything can be told from. Of five differences, the most extreme
/// of the 2^5 ways in which their signs can fall has a probability of 2/32, above 5 %;
/// of six, 2/64. Resamples of fewer units lie closer together than the truth does.
pub const FEWEST: usize = 6;

/// Resamples of an interval.
const RESAMPLES: usize = 2_000;
/// Above this number of units the closed form is as good and costs nothing.
pub(super) const CLOSED_FORM_ABOVE: usize = 2_000;
/// Ends of a 95 % interval.
const TAILS: (f64, f64) = (0.025, 0.975);
/// The standard normal distribution's 0.975-quantile.
pub(super) const NORMAL_975: f64 = 1.959_963_984_540_054;

/// A 95 % interval, with what it rests on.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, JsonSchema)]
pub struct Interval {
    /// Lower end.
    pub low: f64,
    /// Upper end.
    pub high: f64,
    /// Units that it was drawn from: conversations, or pairs of them.
    pub n: usize,
    /// How it was made: `bootstrap` or `normal`.
    pub method: &'static str,
}

/// What one unit adds to a ratio of sums.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Ratio {
    /// Adds to the upper sum.
    pub part: f64,
    /// Adds to the lower sum.
    pub whole: f64,
}

/// Ratio of the sums; `None` where the lower sum is 0.
fn pooled<U: Borrow<Ratio>>(units: impl Iterator<Item = U>) -> Option<f64> {
    let (part, whole) = units.fold((0.0, 0.0), |(part, whole), unit| {
        let unit = unit.borrow();
        (part + unit.part, whole + unit.whole)
    });
    (whole > 0.0).then(|| part / whole)
}

/// A 95 % interval of `sum of parts / sum of wholes`, drawing whole units.
///
/// `None` below [`FEWEST`] units, and where the wholes are 0: an interval from a few
/// conversations would look like more than it is.
pub fn ratio_interval(units: &[Ratio], seed: u64) -> Option<Interval> {
    if units.len() > CLOSED_FORM_ABOVE {
        return normal_interval(units);
    }
    percentile_interval(units.len(), seed, |drawn| {
        pooled(drawn.iter().map(|&index| &units[index]))
    })
}

/// A 95 % interval of the mean of `values`.
///
/// `None` below [`FEWEST`] values.
pub fn mean_interval(values: &[f64], seed: u64) -> Option<Interval> {
    let units: Vec<Ratio> = values
        .iter()
        .map(|&part| Ratio { part, whole: 1.0 })
        .collect();
    ratio_interval(&units, seed)
}

/// A 95 % interval of the difference of two pooled ratios, `candidate - base`,
/// drawing whole pairs `(base, candidate)`.
///
/// `None` below [`FEWEST`] pairs, and where either side's wholes are 0.
pub fn difference_interval(pairs: &[(Ratio, Ratio)], seed: u64) -> Option<Interval> {
    if pairs.len() > CLOSED_FORM_ABOVE {
        return normal_difference(pairs);
    }
    percentile_interval(pairs.len(), seed, |drawn| {
        let base = pooled(drawn.iter().map(|&index| &pairs[index].0))?;
        let candidate = pooled(drawn.iter().map(|&index| &pairs[index].1))?;
        Some(candidate - base)
    })
}

pub(super) fn percentile_interval(
    n: usize,
    seed: u64,
    statistic: impl Fn(&[usize]) -> Option<f64>,
) -> Option<Interval> {
    if n < FEWEST {
        return None;
    }
    let (low, high) = tails(resamples(n, seed, statistic))?;
    Some(Interval {
        low,
        high,
        n,
        method: "bootstrap",
    })
}

/// A statistic of each resample of `n` units, which are handed to it by their indexes;
/// resamples of which it is `None` are left out.
pub(super) fn resamples<T>(
    n: usize,
    seed: u64,
    statistic: impl Fn(&[usize]) -> Option<T>,
) -> Vec<T> {
    let mut random = ChaCha8Rng::seed_from_u64(seed);
    let mut drawn = vec![0; n];
    let mut values = Vec::with_capacity(RESAMPLES);
    for _ in 0..RESAMPLES {
        drawn.fill_with(|| random.random_range(0..n));
        values.extend(statistic(&drawn));
    }
    values
}

/// What 95 % of `values` lie between; `None` where there are none.
pub(super) fn tails(mut values: Vec<f64>) -> Option<(f64, f64)> {
    values.sort_by(f64::total_cmp);
    quantile_of_sorted(&values, TAILS.0).zip(quantile_of_sorted(&values, TAILS.1))
}

/// What each unit adds to the error of the pooled ratio, in the ratio's unit.
fn residuals(units: &[Ratio]) -> Option<(f64, Vec<f64>)> {
    let ratio = pooled(units.iter())?;
    let mean_whole = units.iter().map(|unit| unit.whole).sum::<f64>() / units.len() as f64;
    let residual = |unit: &Ratio| (unit.part - ratio * unit.whole) / mean_whole;
    Some((ratio, units.iter().map(residual).collect()))
}

fn normal_interval(units: &[Ratio]) -> Option<Interval> {
    let (ratio, residuals) = residuals(units)?;
    Some(normal(ratio, &residuals))
}

/// The two sides' residuals are subtracted pair by pair, so that what the two
/// have in common falls out.
fn normal_difference(pairs: &[(Ratio, Ratio)]) -> Option<Interval> {
    let (base, candidate): (Vec<Ratio>, Vec<Ratio>) = pairs.iter().copied().unzip();
    let (base, base_residuals) = residuals(&base)?;
    let (candidate, candidate_residuals) = residuals(&candidate)?;
    let residuals: Vec<f64> = candidate_residuals
        .iter()
        .zip(&base_residuals)
        .map(|(candidate, base)| candidate - base)
        .collect();
    Some(normal(candidate - base, &residuals))
}

fn normal(estimate: f64, residuals: &[f64]) -> Interval {
    let n = residuals.len() as f64;
    let squares: f64 = residuals.iter().map(|residual| residual.powi(2)).sum();
    let error = (squares / (n - 1.0) / n).sqrt();
    Interval {
        low: estimate - NORMAL_975 * error,
        high: estimate + NORMAL_975 * error,
        n: residuals.len(),
        method: "normal",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn units(pairs: &[(f64, f64)]) -> Vec<Ratio> {
        pairs
            .iter()
            .map(|&(part, whole)| Ratio { part, whole })
            .collect()
    }

    /// The sample of `scripts/stats-reference.py`.
    fn sample() -> Vec<Ratio> {
        units(&[
            (310.0, 1_000.0),
            (820.0, 1_400.0),
            (95.0, 700.0),
            (1_500.0, 2_100.0),
            (640.0, 900.0),
            (20.0, 650.0),
            (1_100.0, 1_300.0),
            (400.0, 1_250.0),
        ])
    }

    #[test]
    fn an_interval_agrees_with_numpy() {
        let found = ratio_interval(&sample(), 1).expect("eight units");
        // numpy, 400,000 resamples: see the script.
        assert!((found.low - 0.322_9).abs() < 0.02, "{found:?}");
        assert!((found.high - 0.674_2).abs() < 0.02, "{found:?}");
        assert_eq!((found.n, found.method), (8, "bootstrap"));
    }

    #[test]
    fn a_paired_interval_agrees_with_numpy() {
        let pairs: Vec<_> = sample()
            .into_iter()
            .zip(sample().into_iter().rev())
            .collect();
        let found = difference_interval(&pairs, 1).expect("eight pairs");
        assert!((found.low + 0.120_8).abs() < 0.03, "{found:?}");
        assert!((found.high - 0.121_0).abs() < 0.03, "{found:?}");
    }

    #[test]
    fn the_closed_form_agrees_with_numpy_and_with_the_bootstrap() {
        // 2,400 units that repeat the sample 300 times.
        let many: Vec<Ratio> = std::iter::repeat_n(sample(), 300).flatten().collect();
        let found = ratio_interval(&many, 1).expect("many");
        assert_eq!(found.method, "normal");
        assert!(
            (found.low - 0.515_407_572_573_137_1).abs() < 1e-12,
            "{found:?}"
        );
        assert!(
            (found.high - 0.535_130_061_835_465_1).abs() < 1e-12,
            "{found:?}"
        );
        let drawn = percentile_interval(many.len(), 1, |drawn| {
            pooled(drawn.iter().map(|&index| &many[index]))
        })
        .expect("many");
        assert!((drawn.low - found.low).abs() < 0.002, "{drawn:?}");
        assert!((drawn.high - found.high).abs() < 0.002, "{drawn:?}");
    }

    #[test]
    fn the_closed_form_of_a_difference_agrees_with_numpy_and_leaves_out_what_both_share() {
        let pairs = sample().into_iter().zip(sample().into_iter().rev());
        let many: Vec<_> = std::iter::repeat_n(pairs.collect::<Vec<_>>(), 300)
            .flatten()
            .collect();
        let found = difference_interval(&many, 1).expect("many");
        assert_eq!((found.n, found.method), (2_400, "normal"));
        assert!(
            (found.low + 0.007_042_038_304_977_264).abs() < 1e-12,
            "{found:?}"
        );
        assert!(
            (found.high - 0.007_042_038_304_977_264).abs() < 1e-12,
            "{found:?}"
        );
        let same: Vec<_> = many.iter().map(|pair| (pair.0, pair.0)).collect();
        let none = difference_interval(&same, 1).expect("many");
        assert_eq!((none.low, none.high), (0.0, 0.0));
    }

    #[test]
    fn small_equal_and_empty_samples_say_what_is_true() {
        assert_eq!(ratio_interval(&[], 1), None);
        assert_eq!(ratio_interval(&units(&[(1.0, 2.0)]), 1), None);
        assert_eq!(ratio_interval(&units(&[(0.0, 0.0); 8]), 1), None);
        assert_eq!(ratio_interval(&units(&[(1.0, 2.0); 5]), 1), None, "too few");
        let equal = ratio_interval(&units(&[(1.0, 2.0); 6]), 1).expect("six");
        assert_eq!((equal.low, equal.high), (0.5, 0.5));
        assert_eq!(difference_interval(&[], 1), None);
        assert_eq!(mean_interval(&[3.0], 1), None);
    }

    #[test]
    fn the_same_seed_gives_the_same_interval() {
        assert_eq!(ratio_interval(&sample(), 5), ratio_interval(&sample(), 5));
        assert_ne!(ratio_interval(&sample(), 5), ratio_interval(&sample(), 6));
    }
}
