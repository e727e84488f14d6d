//! A straight line through points that come in groups.
//!
//! Requests of one conversation depend on each other, so that the interval of
//! the slope is drawn over whole conversations; above [`CLOSED_FORM_ABOVE`] of
//! them it is the one that is robust against what groups have in common.
//!
//! # Source
//!
//! Ordinary least squares. The closed form: K.-Y. Liang and S. L. Zeger,
//! "Longitudinal data analysis using generalized linear models", *Biometrika*
//! 73(1), 1986, with the usual correction `G / (G - 1)` for `G` groups.

use super::bootstrap::{CLOSED_FORM_ABOVE, Interval, NORMAL_975, percentile_interval};
use schemars::JsonSchema;
use serde::Serialize;

/// Sums of one group's points.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Cluster {
    n: f64,
    x: f64,
    y: f64,
    xx: f64,
    xy: f64,
    yy: f64,
}

impl Cluster {
    /// Adds a point. Points far from 0 lose digits: take them from their mean.
    pub fn add(&mut self, x: f64, y: f64) {
        self.join(&Self {
            n: 1.0,
            x,
            y,
            xx: x * x,
            xy: x * y,
            yy: y * y,
        });
    }

    fn join(&mut self, other: &Self) {
        self.n += other.n;
        self.x += other.x;
        self.y += other.y;
        self.xx += other.xx;
        self.xy += other.xy;
        self.yy += other.yy;
    }

    /// Sums of squares and products about the means: of x, of both, of y.
    fn about_means(&self) -> (f64, f64, f64) {
        (
            self.xx - self.x * self.x / self.n,
            self.xy - self.x * self.y / self.n,
            self.yy - self.y * self.y / self.n,
        )
    }

    /// `None` where all x are the same, or as good as.
    fn slope(&self) -> Option<f64> {
        let (xx, xy, _) = self.about_means();
        (xx > 1e-9 * self.xx.max(f64::MIN_POSITIVE)).then(|| xy / xx)
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
    /// 95 % interval of the slope; `None` below two groups.
    pub interval: Option<Interval>,
}

/// The line through all points of `groups`, each a list of `(x, y)`.
///
/// `None` below two points, and where all x are the same.
pub fn line(groups: &[Vec<(f64, f64)>], seed: u64) -> Option<Line> {
    let points = || groups.iter().flatten();
    let n = points().count();
    let mean = |of: fn(&(f64, f64)) -> f64| points().map(of).sum::<f64>() / n as f64;
    let (mean_x, mean_y) = (mean(|point| point.0), mean(|point| point.1));
    let clusters: Vec<Cluster> = groups
        .iter()
        .filter(|group| !group.is_empty())
        .map(|group| {
            let mut cluster = Cluster::default();
            for (x, y) in group {
                cluster.add(x - mean_x, y - mean_y);
            }
            cluster
        })
        .collect();
    let mut all = Cluster::default();
    for cluster in &clusters {
        all.join(cluster);
    }
    let slope = all.slope().filter(|_| n > 1)?;
    let (_, xy, yy) = all.about_means();
    Some(Line {
        n,
        slope,
        intercept: mean_y - slope * mean_x,
        r_squared: (yy > 0.0).then(|| slope * xy / yy),
        interval: interval(&clusters, &all, slope, seed),
    })
}

fn interval(clusters: &[Cluster], all: &Cluster, slope: f64, seed: u64) -> Option<Interval> {
    if clusters.len() > CLOSED_FORM_ABOVE {
        return Some(robust(clusters, all, slope));
    }
    percentile_interval(clusters.len(), seed, |drawn| {
        let mut sum = Cluster::default();
        for &at in drawn {
            sum.join(&clusters[at]);
        }
        sum.slope()
    })
}

/// The points are taken from their means, so that the line goes through 0.
fn robust(clusters: &[Cluster], all: &Cluster, slope: f64) -> Interval {
    let groups = clusters.len() as f64;
    let squares: f64 = clusters
        .iter()
        .map(|cluster| (cluster.xy - slope * cluster.xx).powi(2))
        .sum();
    let error = (squares * groups / (groups - 1.0)).sqrt() / all.xx;
    Interval {
        low: slope - NORMAL_975 * error,
        high: slope + NORMAL_975 * error,
        n: clusters.len(),
        method: "normal",
    }
}
