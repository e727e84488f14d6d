//! What came of rules: for a terminal, a program, a build server and a pull request.
//!
//! Invariants: two numbers that differ are never shown as the same; names come
//! from files that a person wrote and are escaped wherever they could be markup.

mod json;
mod junit;
mod markdown;
pub(super) mod number;
mod text;

pub use json::{GATE_SCHEMA, json};
pub use junit::junit;
pub use markdown::markdown;
pub use text::text;

use crate::analysis::rules::{Case, Dimension, Verdict, Verdicts};
use number::sides;

/// What is shown.
#[derive(Clone, Copy, Debug)]
pub struct Gate<'a> {
    /// What was judged: a sentence.
    pub about: &'a str,
    /// Whether nothing was sent.
    pub predicted: bool,
    /// What a person must know: lowercase sentences without a full stop.
    pub notes: &'a [String],
    /// What came of each rule, in the order given.
    pub verdicts: &'a [Verdicts],
}

impl Gate<'_> {
    /// Whether every rule is met.
    pub fn is_met(&self) -> bool {
        self.verdicts.iter().all(Verdicts::is_met)
    }

    /// `2 rules met, 1 missed, 1 cannot be decided`.
    fn ending(&self) -> String {
        let count = |is: fn(&Verdicts) -> bool| self.verdicts.iter().filter(|one| is(one)).count();
        let (met, missed) = (count(Verdicts::is_met), count(Verdicts::is_missed));
        let undecided = self.verdicts.len() - met - missed;
        let rules = if self.verdicts.len() == 1 {
            "rule"
        } else {
            "rules"
        };
        let mut said = format!("{met} of {} {rules} met", self.verdicts.len());
        if missed > 0 {
            said += &format!(", {missed} missed");
        }
        if undecided > 0 {
            said += &format!(", {undecided} cannot be decided");
        }
        said
    }
}

/// `append-only`, or `append-only, scenario quickstart`.
fn label(case: &Case) -> String {
    let names = case.about.iter().map(|(dimension, name)| match dimension {
        Dimension::Configuration => name.to_string(),
        other => format!("{} {name}", other.as_str()),
    });
    let names: Vec<String> = names.collect();
    if names.is_empty() {
        "all".to_owned()
    } else {
        names.join(", ")
    }
}

/// `85.2 %, at least 80.0 %`; what is missing where it cannot be decided.
fn outcome(rule: &Verdicts, case: &Case) -> String {
    if let Verdict::Undecided(why) = &case.verdict {
        return format!("cannot be decided: {why}");
    }
    let (left, right) = sides(rule, case);
    format!("{left}, wanted {right}")
}

/// The figures that a case rests on, where the two sides alone do not tell; the
/// first one is left out where it is the left side.
fn operands(case: &Case) -> Vec<String> {
    let first = usize::from(
        case.operands
            .first()
            .is_some_and(|first| first.value == case.left),
    );
    if case.operands.len() < 2 {
        return Vec::new();
    }
    let known = case
        .operands
        .iter()
        .skip(first)
        .filter(|operand| operand.value.is_some());
    let shown = known.map(|operand| {
        let value = number::shown(operand.value, Some(operand.unit), 1);
        format!("{} = {value}", operand.text)
    });
    shown.collect()
}

#[cfg(test)]
mod tests;
