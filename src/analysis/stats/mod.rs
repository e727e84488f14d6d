//! Statistics of finished samples.
//!
//! Latencies are heavy-tailed and shares are ratios, so nothing here is a mean
//! of ratios or a mean alone: quantiles of latencies, and intervals of ratios of
//! sums in which whole conversations are drawn, since the requests of one
//! conversation depend on each other.
//!
//! Invariants: inputs are not reordered; the same seed gives the same interval;
//! a figure that does not exist is `None`, and so is an interval of fewer than
//! [`FEWEST`] units.
//!
//! Reference values in the tests come from `scripts/stats-reference.py` (numpy).

mod bootstrap;
mod line;
mod quantile;
#[cfg(test)]
mod reference;

pub use bootstrap::{FEWEST, Interval, Ratio, difference_interval, mean_interval, ratio_interval};
pub use line::{Band, Line, LineSums, band, line};
pub use quantile::{quantile, quantile_of_sorted, rank};
