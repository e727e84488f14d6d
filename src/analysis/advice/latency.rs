//! How much time a computed token took, where that can be told.

use crate::analysis::samples::Sample;
use statrs::distribution::{ContinuousCDF as _, StudentsT};
use std::borrow::Borrow;

/// Fewest requests that a slope is fitted to.
const FEWEST: usize = 10;

/// Time to first token against computed tokens: a straight line's slope, in
/// microseconds a token.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Slope {
    /// The slope.
    pub us_per_token: f64,
    /// Ends of its 95 % interval.
    pub interval: (f64, f64),
    /// Requests that it rests on.
    pub n: usize,
}

/// The least-squares slope over the counted requests that have a time.
///
/// `None` below ten of them, where all computed equally much, and where the
/// interval holds 0: then these times do not tell what a token costs.
///
/// # Source
///
/// N. R. Draper and H. Smith, *Applied Regression Analysis*, 3rd edition, 1998,
/// section 1.4: the slope's standard error and Student's distribution with n - 2
/// degrees of freedom.
pub fn slope<S: Borrow<Sample>>(samples: impl IntoIterator<Item = S>) -> Option<Slope> {
    let points: Vec<(f64, f64)> = samples
        .into_iter()
        .filter_map(|sample| {
            let sample = sample.borrow();
            let (total, read) = sample.counted()?;
            Some((total.saturating_sub(read).0 as f64, sample.ttft?.0 as f64))
        })
        .collect();
    fitted(&points)
}

fn fitted(points: &[(f64, f64)]) -> Option<Slope> {
    let n = points.len();
    if n < FEWEST {
        return None;
    }
    let mean = |of: fn(&(f64, f64)) -> f64| points.iter().map(of).sum::<f64>() / n as f64;
    let (x, y) = (mean(|point| point.0), mean(|point| point.1));
    let spread: f64 = points.iter().map(|point| (point.0 - x).powi(2)).sum();
    if spread <= 0.0 {
        return None;
    }
    let together: f64 = points
        .iter()
        .map(|point| (point.0 - x) * (point.1 - y))
        .sum();
    let slope = together / spread;
    let residual = |point: &(f64, f64)| point.1 - y - slope * (point.0 - x);
    let squares: f64 = points.iter().map(|point| residual(point).powi(2)).sum();
    let freedom = (n - 2) as f64;
    let error = (squares / freedom / spread).sqrt();
    let t = StudentsT::new(0.0, 1.0, freedom).ok()?.inverse_cdf(0.975);
    let interval = (slope - t * error, slope + t * error);
    (interval.0 > 0.0).then_some(Slope {
        us_per_token: slope,
        interval,
        n,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    #[expect(clippy::unreadable_literal, reason = "as they were computed")]
    fn the_slope_agrees_with_values_computed_elsewhere() {
        // The textbook sums in plain Python, with t(0.975, 8) = 2.306004135033371.
        let x = [
            100.0, 250.0, 400.0, 600.0, 900.0, 1200.0, 1500.0, 2000.0, 2600.0, 3300.0,
        ];
        let y = [
            1400.0, 1480.0, 1900.0, 2000.0, 2700.0, 3100.0, 3300.0, 4500.0, 5300.0, 6900.0,
        ];
        let points: Vec<_> = x.into_iter().zip(y).collect();
        let found = fitted(&points).expect("ten points");
        assert!(
            (found.us_per_token - 1.6866352239681337).abs() < 1e-9,
            "{found:?}"
        );
        assert!(
            (found.interval.0 - 1.5585805886349684).abs() < 1e-6,
            "{found:?}"
        );
        assert!(
            (found.interval.1 - 1.814689859301299).abs() < 1e-6,
            "{found:?}"
        );
    }

    #[test]
    fn where_nothing_can_be_told_there_is_no_slope() {
        let line = |n: usize, slope: f64| -> Vec<(f64, f64)> {
            (0..n)
                .map(|at| (at as f64, slope * at as f64 + f64::from(at % 2 == 0)))
                .collect()
        };
        assert!(fitted(&line(9, 5.0)).is_none(), "too few");
        assert!(fitted(&line(20, 5.0)).is_some());
        assert!(fitted(&line(20, 0.0)).is_none(), "flat");
        assert!(fitted(&line(20, -5.0)).is_none(), "falling");
        assert!(fitted(&[(1.0, 1.0); 20]).is_none(), "all alike");
    }
}
