//! Rules on figures: `cached_share(turn-context) >= 0.8`.
//!
//! A rule compares two expressions of figures, numbers and the baseline. What a
//! figure does not say of configuration, target, model and load holds for each
//! of them in turn; scenarios are summed. What a later figure leaves open is as
//! in the first one of the rule, so that like is compared with like.
//!
//! Invariants: reading never panics and points at what is wrong; a rule is
//! written back as something that reads to the same rule; what is compared, added or
//! subtracted is counted in the same; a figure without
//! evidence decides nothing, and a rule that cannot be decided is never met.

mod atoms;
mod baseline;
mod error;
mod evaluate;
mod evident;
mod facts;
mod judge;
mod measured;
mod metrics;
mod parse;
mod reader;
mod selection;
mod syntax;
#[cfg(test)]
mod tests;
mod units;
mod verdict;

pub use baseline::{BASELINE_SCHEMA, Baseline, BaselineError, Stored};
pub use error::{RuleError, RulesError};
pub use evaluate::{UnknownName, judge};
pub use facts::Facts;
pub use measured::Measured;
pub(in crate::analysis) use metrics::takes;
pub use metrics::{Kind, Known, METRICS, Metric, Unit};
pub use parse::{parse, parse_file};
pub use selection::{Dimension, Pattern, Selection, Wanted};
pub use syntax::{Comparison, Expression, Figure, Operator, Rule};
pub use verdict::{Case, Operand, Verdict, Verdicts};
