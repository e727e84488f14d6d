//! A straight line through points, with its interval over conversations.
//!
//! # Source
//!
//! Ordinary least squares. The requests of one conversation depend on each
//! other, so its interval is drawn from whole conversations: the percentile
//! bootstrap (B. Efron and R. J. Tibshirani, *An Introduction to the Bootstrap*,
//! 1993, chapter 13), and above [`CLOSED_FORM_ABOVE`] conversations the
//! covariance that is robust to clusters (K.-Y. Liang and S. L. Zeger,
//! *Biometrika* 73(1), 1986) with the normal distribution. Both need only each
//! conversation's sums.

use crate::analysis::stats::{Interval, quantile_of_sorted};
use rand::{RngExt as _, SeedableRng as _};
use rand_chacha::ChaCha8Rng;
use std::borrow::Borrow;
use std::ops::AddAssign;

/// Resamples of an interval.
const RESAMPLES: usize = 2_000;
/// Above this number of conversations the closed form is as good and costs nothing.
const CLOSED_FORM_ABOVE: usize = 2_000;
/// The standard normal distribution's 0.975-quantile.
const NORMAL_975: f64 = 1.959_963_984_540_054;

/// What the points of one conversation add to a line.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct LineSums {
    n: f64,
    x: f64,
    y: f64,
    xx: f64,
    xy: f64,
}

impl LineSums {
    /// Adds a point.
    pub fn add(&mut self, x: f64, y: f64) {
        *self += Self {
            n: 1.0,
            x,
            y,
            xx: x * x,
            xy: x * y,
        };
    }

    /// How many points were added.
    pub fn n(&self) -> f64 {
        self.n
    }

    /// Intercept and slope; `None` below three points, and where they stand all at one place.
    fn solve(&self) -> Option<(f64, f64)> {
        let spread = self.n * self.xx - self.x * self.x;
        if self.n < 3.0 || spread <= 1e-9 * self.n * self.xx {
            return None;
        }
        let slope = (self.n * self.xy - self.x * self.y) / spread;
        Some(((self.y - slope * self.x) / self.n, slope))
    }
}

impl AddAssign for LineSums {
    fn add_assign(&mut self, other: Self) {
        self.n += other.n;
        self.x += other.x;
        self.y += other.y;
        self.xx += other.xx;
        self.xy += other.xy;
    }
}

/// Where the line may lie at one place.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Band {
    /// The place.
    pub x: f64,
    /// Lower end of the 95 % interval.
    pub low: f64,
    /// Upper end of the 95 % interval.
    pub high: f64,
}

/// A straight line through points.
#[derive(Clone, Debug, PartialEq)]
pub struct Line {
    /// Its height at 0.
    pub intercept: f64,
    /// How much it rises for each unit to the right.
    pub slope: f64,
    /// The slope's 95 % interval; `None` below two conversations.
    pub slope_interval: Option<Interval>,
    /// Where it may lie at each of the places asked for; empty below two conversations.
    pub band: Vec<Band>,
}

/// The line through all points of `units`, with its interval at `places`.
///
/// `None` below three points, and where they stand all at one place.
pub fn line(units: &[LineSums], seed: u64, places: &[f64]) -> Option<Line> {
    let (intercept, slope) = pooled(units.iter()).solve()?;
    let bare = Line {
        intercept,
        slope,
        slope_interval: None,
        band: Vec::new(),
    };
    Some(match units.len() {
        0 | 1 => bare,
        n if n > CLOSED_FORM_ABOVE => robust(bare, units, places),
        _ => drawn(bare, units, seed, places),
    })
}

fn pooled<B: Borrow<LineSums>>(units: impl Iterator<Item = B>) -> LineSums {
    units.fold(LineSums::default(), |mut sum, unit| {
        sum += *unit.borrow();
        sum
    })
}

fn drawn(bare: Line, units: &[LineSums], seed: u64, places: &[f64]) -> Line {
    let mut random = ChaCha8Rng::seed_from_u64(seed);
    let mut lines = Vec::with_capacity(RESAMPLES);
    for _ in 0..RESAMPLES {
        let draw = (0..units.len()).map(|_| &units[random.random_range(0..units.len())]);
        lines.extend(pooled(draw).solve());
    }
    let ends = |height: &dyn Fn(&(f64, f64)) -> f64| {
        let mut values: Vec<f64> = lines.iter().map(height).collect();
        values.sort_by(f64::total_cmp);
        quantile_of_sorted(&values, 0.025).zip(quantile_of_sorted(&values, 0.975))
    };
    let band = |&x: &f64| {
        let (low, high) = ends(&|(intercept, slope)| intercept + slope * x)?;
        Some(Band { x, low, high })
    };
    Line {
        slope_interval: ends(&|(_, slope)| *slope).map(|(low, high)| Interval {
            low,
            high,
            n: units.len(),
            method: "bootstrap",
        }),
        band: places.iter().filter_map(band).collect(),
        ..bare
    }
}

/// Covariance of intercept and slope: what each conversation's residuals add, around the inverse
/// of the sums.
fn covariance(line: &Line, units: &[LineSums]) -> [[f64; 2]; 2] {
    let all = pooled(units.iter());
    let spread = all.n * all.xx - all.x * all.x;
    let inverse = [
        [all.xx / spread, -all.x / spread],
        [-all.x / spread, all.n / spread],
    ];
    let mut middle = [[0.0; 2]; 2];
    for unit in units {
        let score = [
            unit.y - line.intercept * unit.n - line.slope * unit.x,
            unit.xy - line.intercept * unit.x - line.slope * unit.xx,
        ];
        for row in 0..2 {
            for column in 0..2 {
                middle[row][column] += score[row] * score[column];
            }
        }
    }
    product(&product(&inverse, &middle), &inverse)
}

fn product(left: &[[f64; 2]; 2], right: &[[f64; 2]; 2]) -> [[f64; 2]; 2] {
    let cell = |row: usize, column: usize| {
        left[row][0] * right[0][column] + left[row][1] * right[1][column]
    };
    [[cell(0, 0), cell(0, 1)], [cell(1, 0), cell(1, 1)]]
}

fn robust(bare: Line, units: &[LineSums], places: &[f64]) -> Line {
    let spread = covariance(&bare, units);
    let half = |x: f64| {
        let variance = spread[0][0] + 2.0 * x * spread[0][1] + x * x * spread[1][1];
        NORMAL_975 * variance.max(0.0).sqrt()
    };
    let slope = NORMAL_975 * spread[1][1].max(0.0).sqrt();
    let band = |&x: &f64| {
        let height = bare.intercept + bare.slope * x;
        Band {
            x,
            low: height - half(x),
            high: height + half(x),
        }
    };
    Line {
        slope_interval: Some(Interval {
            low: bare.slope - slope,
            high: bare.slope + slope,
            n: units.len(),
            method: "normal",
        }),
        band: places.iter().map(band).collect(),
        ..bare
    }
}

#[cfg(test)]
#[path = "line_tests.rs"]
mod tests;
