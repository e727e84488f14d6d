//! Quantiles of a finished sample.
//!
//! Of the nine definitions that Hyndman and Fan list, this is the seventh, as
//! numpy's default is, so that a reader can check a figure against the exported
//! CSV.

/// Estimates the `q`-quantile of `sample` by linear interpolation between order
/// statistics.
///
/// `q` is a fraction (`0.99`, not `99`). The result has the unit of `sample`.
/// The sample is copied and sorted.
///
/// `None` for an empty sample, and where `q` is not within 0 to 1 or a value is
/// not a number.
///
/// # Source
///
/// R. J. Hyndman and Y. Fan, "Sample quantiles in statistical packages",
/// *The American Statistician* 50(4), 1996, definition 7.
///
/// # Examples
///
/// ```
/// use prefixbench::analysis::stats::quantile;
///
/// assert_eq!(quantile(&[10.0, 20.0, 30.0, 40.0], 0.5), Some(25.0));
/// assert_eq!(quantile(&[], 0.5), None);
/// ```
pub fn quantile(sample: &[f64], q: f64) -> Option<f64> {
    if sample.iter().any(|value| value.is_nan()) {
        return None;
    }
    let mut sorted = sample.to_vec();
    sorted.sort_by(f64::total_cmp);
    quantile_of_sorted(&sorted, q)
}

/// The same for a sample that is in ascending order and has no NaN.
pub fn quantile_of_sorted(sorted: &[f64], q: f64) -> Option<f64> {
    let (below, part) = rank(sorted.len(), q)?;
    let low = *sorted.get(below)?;
    let high = sorted.get(below + 1).copied().unwrap_or(low);
    Some(low + (high - low) * part)
}

/// Where the `q`-quantile of `n` values in ascending order lies: behind the value
/// of this index, and how far on the way to the next one.
///
/// `None` without a value, and where `q` is not within 0 to 1.
pub fn rank(n: usize, q: f64) -> Option<(usize, f64)> {
    if !(0.0..=1.0).contains(&q) {
        return None;
    }
    let rank = q * n.checked_sub(1)? as f64;
    #[expect(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "rank lies within 0 and the last index"
    )]
    let below = rank.floor() as usize;
    Some((below, rank - rank.floor()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn quantiles_agree_with_numpy() {
        let latencies: &[f64] = &[812.0, 97.0, 105.5, 2_300.0, 99.0, 101.0, 350.25];
        let cases: &[(&str, &[f64], f64, Option<f64>)] = &[
            ("one value", &[7.0], 0.99, Some(7.0)),
            ("minimum", &[3.0, 1.0, 2.0], 0.0, Some(1.0)),
            ("maximum", &[3.0, 1.0, 2.0], 1.0, Some(3.0)),
            ("between two", &[1.0, 2.0, 4.0, 8.0], 0.5, Some(3.0)),
            ("equal", &[5.0, 5.0, 5.0], 0.9, Some(5.0)),
            ("latencies, p50", latencies, 0.5, Some(105.5)),
            (
                "latencies, p90",
                latencies,
                0.9,
                Some(1_407.200_000_000_000_3),
            ),
            ("latencies, p99", latencies, 0.99, Some(2_210.72)),
            ("empty", &[], 0.5, None),
            ("percent given for a fraction", &[1.0, 2.0], 99.0, None),
            ("a value is not a number", &[1.0, f64::NAN], 0.5, None),
        ];
        for &(case, sample, q, expected) in cases {
            match (quantile(sample, q), expected) {
                (Some(found), Some(expected)) => {
                    assert!((found - expected).abs() < 1e-9, "{case}: {found}");
                }
                (found, expected) => assert_eq!(found, expected, "{case}"),
            }
        }
    }
}
