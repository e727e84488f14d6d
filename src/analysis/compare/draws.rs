//! Seeded resamples of conversations.
//!
//! # Source
//!
//! B. Efron and R. J. Tibshirani, *An Introduction to the Bootstrap*, 1993,
//! chapter 13: the percentile interval.

use crate::analysis::stats::{FEWEST, Interval, quantile_of_sorted};
use rand::{RngExt as _, SeedableRng as _};
use rand_chacha::ChaCha8Rng;

/// Resamples of an interval.
const MOST: usize = 2_000;
/// Resamples where there is very much to draw from.
const LEAST: usize = 200;
/// Requests that are drawn at most, over all resamples.
const BUDGET: usize = 40_000_000;

/// 95 % intervals of several statistics at once, drawn with `seed`.
///
/// `statistics` gets the places of the base's and of the candidate's
/// conversations: the same where they are `paired`. `None` where there are fewer
/// than [`FEWEST`], or where a statistic cannot be computed in a resample.
pub(super) fn intervals<const N: usize>(
    n: usize,
    requests: usize,
    paired: bool,
    seed: u64,
    mut statistics: impl FnMut(&[usize], &[usize]) -> [Option<f64>; N],
) -> [Option<Interval>; N] {
    if n < FEWEST {
        return [None; N];
    }
    let mut random = ChaCha8Rng::seed_from_u64(seed);
    let resamples = (BUDGET / requests.max(1)).clamp(LEAST, MOST);
    let mut values: [Vec<f64>; N] = std::array::from_fn(|_| Vec::with_capacity(resamples));
    let (mut base, mut candidate) = (vec![0; n], vec![0; n]);
    for _ in 0..resamples {
        base.fill_with(|| random.random_range(0..n));
        if paired {
            candidate.copy_from_slice(&base);
        } else {
            candidate.fill_with(|| random.random_range(0..n));
        }
        let found = statistics(&base, &candidate);
        for (values, value) in values.iter_mut().zip(found) {
            values.extend(value);
        }
    }
    values.map(|mut values| {
        if values.len() < resamples {
            return None;
        }
        values.sort_by(f64::total_cmp);
        Some(Interval {
            low: quantile_of_sorted(&values, 0.025)?,
            high: quantile_of_sorted(&values, 0.975)?,
            n,
            method: "bootstrap",
        })
    })
}
