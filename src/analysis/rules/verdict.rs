//! What came of rules.

use super::metrics::Unit;
use super::selection::Dimension;
use super::syntax::Comparison;
use std::sync::Arc;

/// What came of one rule in one case.
#[derive(Clone, Debug, PartialEq)]
pub enum Verdict {
    /// It holds.
    Met,
    /// It does not.
    Missed,
    /// There is no evidence, and why.
    Undecided(String),
}

/// A figure that a case looked at.
#[derive(Clone, Debug, PartialEq)]
pub struct Operand {
    /// As it was taken: `computed_tokens(dev, scenario=s03)`.
    pub text: String,
    /// Its value; `None` where there is no evidence.
    pub value: Option<f64>,
    /// What it is counted in.
    pub unit: Unit,
}

/// A rule for one configuration, target, model and load level.
#[derive(Clone, Debug, PartialEq)]
pub struct Case {
    /// What it is about: those names that tell it from other cases.
    pub about: Vec<(Dimension, Arc<str>)>,
    /// The left side.
    pub left: Option<f64>,
    /// The right side.
    pub right: Option<f64>,
    /// The figures on both sides, in order, each once.
    pub operands: Vec<Operand>,
    /// What came of it.
    pub verdict: Verdict,
}

/// What came of a rule.
#[derive(Clone, Debug, PartialEq)]
pub struct Verdicts {
    /// The rule, written plainly.
    pub rule: String,
    /// How it compares.
    pub comparison: Comparison,
    /// What its sides are counted in, where that can be told.
    pub unit: Option<Unit>,
    /// Its cases; at least one.
    pub cases: Vec<Case>,
}

impl Verdicts {
    /// Whether it holds in every case.
    pub fn is_met(&self) -> bool {
        !self.cases.is_empty() && self.cases.iter().all(|case| case.verdict == Verdict::Met)
    }

    /// Whether it is known not to hold in a case.
    pub fn is_missed(&self) -> bool {
        self.cases
            .iter()
            .any(|case| case.verdict == Verdict::Missed)
    }
}
