//! Records to results: shares, bounds, breaks, latency, cost.
//!
//! Invariants: pure, so that the same run folder gives the same results on
//! every machine; shares are ratios of sums over requests with outcome `ok` and
//! a reported count; what is not known is `None`.

mod across;
pub mod advice;
pub mod bounds;
pub mod breaks;
pub mod compare;
pub mod cost;
mod difference;
mod evidence;
mod figures;
mod fits;
mod flags;
mod gaps;
mod latency;
mod levels;
mod parallel;
pub mod points;
pub mod prices;
mod ranking;
mod recorded;
mod render;
mod results;
pub mod rules;
mod samples;
pub mod stats;
mod sums;
mod tables;
#[cfg(test)]
pub(crate) mod testing;
#[cfg(test)]
mod tests;
mod unbilled;
mod waits;

pub use across::{Across, Side};
pub use difference::{Difference, Estimate};
pub use evidence::{Evidence, LATE_ABOVE, LateCell, evidence};
pub use figures::{Apart, Costs, Figures, Longest, Reuse, Writes, figures, longest};
pub use fits::Fit;
pub use latency::{Latency, Quantiles, WithFailures};
pub use parallel::threads;
pub use ranking::{RankedBy, Ranking, Unfinished};
pub use recorded::RecordedPrompt;
pub use results::{
    ConfigurationNote, GroupTotal, RESULTS_SCHEMA, Results, SummaryRow, TargetNote, Total, TotalKey,
};
pub use samples::{Cell, Sample, Samples, cut_off, labelled};
pub use tables::{BreakTotal, TurnRow};
pub use waits::Waits;
