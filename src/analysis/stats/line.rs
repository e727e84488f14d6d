//! A straight line through points that come in groups.
//!
//! The one fit of the program: tables, pictures and advice all draw from it, so that they
//! cannot tell different numbers of the same points.
//!
//! # Source
//!
//! Ordinary least squares. The requests of one conversation depend on each other, so
//! intervals are drawn from whole conversations: the percentile bootstrap (B. Efron and
//! R. J. Tibshirani, *An Introduction to the Bootstrap*, 1993, chapter 13), and above
//! [`CLOSED_FORM_ABOVE`] of them the covariance that is robust to clusters (K.-Y. Liang
//! and S. L. Zeger, "Longitudinal data analysis using generalized linear models",
//! *Biometrika* 73(1), 1986) with the normal distribution. Both need only each
//! conversation's sums.

use super::bootstrap::{
    CLOSED_FORM_ABOVE, FEWEST, Interval, NORMAL_975, percentile_interval, resamples, tails,
};
use schemars::JsonSchema;
use serde::Serialize;
use std::borrow::Borrow;
use std::ops::AddAssign;

/// What the points of one conversation add to a line.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct LineSums {
    n: f64,
    x: f64,
    y: f64,
    xx: f64,
    xy: f64,
    yy: f64,
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
            yy: y * y,
        };
    }

    /// How many points were added.
    pub fn n(&self) -> f64 {
        self.n
    }

    fn pooled(units: impl Iterator<Item = impl Borrow<Self>>) -> Self {
        units.fold(Self::default(), |mut sum, unit| {
            sum += *unit.borrow();
            sum
        })
    }

    /// Intercept and slope; `None` below three points, and where they stand all at one
    /// place, or as good as.
    fn solve(&self) -> Option<(f64, f64)> {
        let spread = self.spread();
        if self.n < 3.0 || spread <= 1e-9 * self.n * self.xx {
            return None;
        }
        let slope = (self.n * self.xy - self.x * self.y) / spread;
        Some(((self.y - slope * self.x) / self.n, slope))
    }

    /// The sum of squares of x about its mean, times the number of points.
    fn spread(&self) -> f64 {
        self.n * self.xx - self.x * self.x
    }

    /// The part of y's variance that the line explains; `None` where y does not vary.
    fn r_squared(&self, slope: f64) -> Option<f64> {
        let explained = slope * (self.n * self.xy - self.x * self.y);
        let all = self.n * self.yy - self.y * self.y;
        (all > 1e-12 * self.n * self.yy).then(|| (explained / all).clamp(0.0, 1.0))
    }

    /// Its numbers in an order by which units can be sorted.
    fn numbers(&self) -> [f64; 6] {
        [self.n, self.x, self.y, self.xx, self.xy, self.yy]
    }
}

impl AddAssign for LineSums {
    fn add_assign(&mut self, other: Self) {
        self.n += other.n;
        self.x += other.x;
        self.y += other.y;
        self.xx += other.xx;
        self.xy += other.xy;
        self.yy += other.yy;
    }
}

/// A fitted line.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, JsonSchema)]
pub struct Line {
    /// Points.
    pub n: usize,
    /// What y grows by when x grows by 1.
    pub slope: f64,
    /// What y is where x is 0.
    pub intercept: f64,
    /// The part of y's variance that the line explains; `None` where y does not vary.
    pub r_squared: Option<f64>,
    /// 95 % interval of the slope; `None` below six conversations.
    pub interval: Option<Interval>,
}

/// Where a line may lie at one place.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Band {
    /// The place.
    pub x: f64,
    /// Lower end of the 95 % interval.
    pub low: f64,
    /// Upper end of the 95 % interval.
    pub high: f64,
}

/// The line through all points of `units`, whose order does not matter.
///
/// `None` below three points, and where they stand all at one place.
#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "a number of points"
)]
pub fn line(units: &[LineSums], seed: u64) -> Option<Line> {
    let all = LineSums::pooled(units.iter());
    let (intercept, slope) = all.solve()?;
    let bare = Line {
        n: all.n as usize,
        slope,
        intercept,
        r_squared: all.r_squared(slope),
        interval: None,
    };
    let interval = if units.len() > CLOSED_FORM_ABOVE {
        let half = NORMAL_975 * covariance(&bare, units)[1][1].max(0.0).sqrt();
        Some(Interval {
            low: slope - half,
            high: slope + half,
            n: units.len(),
            method: "normal",
        })
    } else {
        let units = sorted(units);
        percentile_interval(units.len(), seed, |drawn| {
            let drawn = drawn.iter().map(|&index| &units[index]);
            LineSums::pooled(drawn).solve().map(|(_, slope)| slope)
        })
    };
    Some(Line { interval, ..bare })
}

/// Where `line`, which was fitted to `units`, may lie at each of `places`; empty below
/// [`FEWEST`] conversations.
pub fn band(line: &Line, units: &[LineSums], seed: u64, places: &[f64]) -> Vec<Band> {
    if units.len() < FEWEST {
        return Vec::new();
    }
    if units.len() > CLOSED_FORM_ABOVE {
        return robust_band(line, units, places);
    }
    let units = sorted(units);
    let lines: Vec<(f64, f64)> = resamples(units.len(), seed, |drawn| {
        LineSums::pooled(drawn.iter().map(|&index| &units[index])).solve()
    });
    let at = |&x: &f64| {
        let heights = lines.iter().map(|(intercept, slope)| intercept + slope * x);
        let (low, high) = tails(heights.collect())?;
        Some(Band { x, low, high })
    };
    places.iter().filter_map(at).collect()
}

/// Units in an order that depends on nothing but themselves, so that a seed means the
/// same draw whoever gathered them.
fn sorted(units: &[LineSums]) -> Vec<LineSums> {
    let mut units = units.to_vec();
    units.sort_by(|a, b| {
        let pairs = a.numbers().into_iter().zip(b.numbers());
        let mut unequal = pairs.map(|(a, b)| a.total_cmp(&b)).filter(|by| by.is_ne());
        unequal.next().unwrap_or(std::cmp::Ordering::Equal)
    });
    units
}

/// Covariance of intercept and slope: what each conversation's residuals add, around the
/// inverse of the sums.
fn covariance(line: &Line, units: &[LineSums]) -> [[f64; 2]; 2] {
    let all = LineSums::pooled(units.iter());
    let spread = all.spread();
    let inverse = [
        [all.xx / spread, -all.x / spread],
        [-all.x / spread, all.n / spread],
    ];
    let groups = units.len() as f64;
    let correction = groups / (groups - 1.0);
    let mut middle = [[0.0; 2]; 2];
    for unit in units {
        let level = unit.y - line.intercept * unit.n - line.slope * unit.x;
        let rise = unit.xy - line.intercept * unit.x - line.slope * unit.xx;
        middle[0][0] += correction * level * level;
        middle[0][1] += correction * level * rise;
        middle[1][0] += correction * level * rise;
        middle[1][1] += correction * rise * rise;
    }
    product(&product(&inverse, &middle), &inverse)
}

fn product(left: &[[f64; 2]; 2], right: &[[f64; 2]; 2]) -> [[f64; 2]; 2] {
    let cell = |row: usize, column: usize| {
        left[row][0] * right[0][column] + left[row][1] * right[1][column]
    };
    [[cell(0, 0), cell(0, 1)], [cell(1, 0), cell(1, 1)]]
}

fn robust_band(line: &Line, units: &[LineSums], places: &[f64]) -> Vec<Band> {
    let spread = covariance(line, units);
    let at = |&x: &f64| {
        let variance = spread[0][0] + 2.0 * x * spread[0][1] + x * x * spread[1][1];
        let half = NORMAL_975 * variance.max(0.0).sqrt();
        let height = line.intercept + line.slope * x;
        Band {
            x,
            low: height - half,
            high: height + half,
        }
    };
    places.iter().map(at).collect()
}

#[cfg(test)]
#[path = "line_tests.rs"]
mod tests;
