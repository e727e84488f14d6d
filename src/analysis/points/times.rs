//! Quantiles of times of which some have no end.

/// The `q`-quantile of `sorted`, in ascending order, and `endless` more that are longer than any.
///
/// `q` is a fraction. `None` where there is nothing, where `q` is not within 0 to 1, and where the
/// quantile lies among the endless ones, or between the last of the others and the first of them.
///
/// # Source
///
/// R. J. Hyndman and Y. Fan, "Sample quantiles in statistical packages", *The American
/// Statistician* 50(4), 1996, definition 7.
pub fn quantile_with_endless(sorted: &[u64], endless: u64, q: f64) -> Option<f64> {
    let endless = usize::try_from(endless).ok()?;
    let last = (sorted.len() + endless).checked_sub(1)?;
    if !(0.0..=1.0).contains(&q) || sorted.is_empty() {
        return None;
    }
    let rank = q * last as f64;
    if rank.ceil() > (sorted.len() - 1) as f64 {
        return None;
    }
    #[expect(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "rank lies within 0 and the last index"
    )]
    let below = rank.floor() as usize;
    let low = *sorted.get(below)? as f64;
    let high = sorted.get(below + 1).map_or(low, |time| *time as f64);
    Some(low + (high - low) * (rank - rank.floor()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_quantile_among_the_failures_has_no_end() {
        // numpy.quantile([10, 20, 30, 40] + [inf] * k, q), inf and NaN as None.
        let sorted = [10, 20, 30, 40];
        let cases = [
            (0, 0.5, Some(25.0)),
            (0, 1.0, Some(40.0)),
            (1, 0.5, Some(30.0)),
            (1, 0.7, Some(38.0)),
            (1, 0.75, Some(40.0)),
            (1, 0.8, None),
            (1, 1.0, None),
            (4, 0.4, Some(38.0)),
            (4, 0.5, None),
            (1, 75.0, None),
        ];
        for (endless, q, expected) in cases {
            let found = quantile_with_endless(&sorted, endless, q);
            match (found, expected) {
                (Some(found), Some(expected)) => {
                    assert!((found - expected).abs() < 1e-9, "{endless}, {q}: {found}");
                }
                (found, expected) => assert_eq!(found, expected, "{endless}, {q}"),
            }
        }
        assert_eq!(quantile_with_endless(&[], 3, 0.5), None);
        assert_eq!(quantile_with_endless(&[], 0, 0.5), None);
    }
}
