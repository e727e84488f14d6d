//! Rules over requests.

use super::baseline::Baseline;
use super::facts::Facts;
use super::judge::{Judge, Names};
use super::measured::Measured;
use super::metrics::Unit;
use super::selection::{Dimension, Pattern, Wanted};
use super::syntax::{Expression, Figure, Operator, Rule};
use super::verdict::{Case, Verdicts};
use crate::scenario::names::nearest;
use std::collections::BTreeSet;
use std::sync::Arc;
use thiserror::Error;

/// A rule that names what is not there.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[error("rule `{rule}`: no {} `{pattern}`", dimension.as_str())]
pub struct UnknownName {
    /// The rule.
    pub rule: String,
    /// What kind of name it is.
    pub dimension: Dimension,
    /// The name, or the form that no name has.
    pub pattern: String,
    /// Names that would have done.
    pub known: Vec<Arc<str>>,
}

impl UnknownName {
    /// What to do about it.
    pub fn help(&self) -> String {
        let known = || self.known.iter().map(|name| &**name);
        let near = nearest(&self.pattern, known()).or_else(|| {
            let begun: Vec<&str> = known()
                .filter(|name| name.starts_with(&self.pattern))
                .collect();
            (begun.len() == 1).then(|| begun[0])
        });
        let all = known().collect::<Vec<_>>().join(", ");
        near.map_or_else(
            || format!("known: {all}"),
            |near| format!("did you mean `{near}`? known: {all}"),
        )
    }
}

/// Judges a rule over `measured`, against `baseline` where the rule names it.
///
/// # Errors
///
/// [`UnknownName`]: a rule about what is not there is a mistake, not a miss.
pub fn judge(
    rule: &Rule,
    measured: &Measured,
    facts: &Facts,
    baseline: Option<&Baseline>,
) -> Result<Verdicts, UnknownName> {
    known_names(rule, measured)?;
    let Some(lead) = rule.lead() else {
        return Ok(verdicts(rule, Vec::new()));
    };
    let judge = Judge {
        rule,
        lead,
        measured,
        facts,
        baseline,
    };
    let cases = judge.cases();
    let shown = told_apart(&cases, lead);
    let cases = cases.into_iter().map(|case| judge.case(&case, &shown));
    Ok(verdicts(rule, cases.collect()))
}

fn verdicts(rule: &Rule, cases: Vec<Case>) -> Verdicts {
    Verdicts {
        rule: rule.to_string(),
        comparison: rule.comparison,
        unit: unit(rule),
        cases,
    }
}

/// The unit of every figure in the rule, where they share one and are not
/// multiplied or divided by one another.
fn unit(rule: &Rule) -> Option<Unit> {
    let (mut units, mut ratio) = (BTreeSet::new(), false);
    rule.walk(|part| match part {
        Expression::Figure(figure) => {
            units.insert(figure.metric.unit as u8);
        }
        Expression::Pair(Operator::Multiply, sides) => {
            ratio |= has_figure(&sides.0) && has_figure(&sides.1);
        }
        Expression::Pair(Operator::Divide, sides) => ratio |= has_figure(&sides.1),
        _ => {}
    });
    let lead = rule.lead()?.metric.unit;
    (units.len() == 1 && !ratio).then_some(lead)
}

fn has_figure(expression: &Expression) -> bool {
    let mut found = false;
    expression.walk(&mut |part| {
        found |= matches!(part, Expression::Figure(_) | Expression::Baseline(_));
    });
    found
}

fn known_names(rule: &Rule, measured: &Measured) -> Result<(), UnknownName> {
    let mut wrong = None;
    rule.walk(|part| {
        let Expression::Figure(figure) = part else {
            return;
        };
        for dimension in Dimension::ALL {
            let Some(Wanted::These(pattern)) = figure.selection.get(dimension) else {
                continue;
            };
            let known = measured.names(dimension);
            if wrong.is_none() && !known.iter().any(|name| pattern.matches(name)) {
                wrong = Some(UnknownName {
                    rule: rule.to_string(),
                    dimension,
                    pattern: match pattern {
                        Pattern::Name(name) | Pattern::Glob(name) => name.to_string(),
                    },
                    known: known.into_iter().collect(),
                });
            }
        }
    });
    wrong.map_or(Ok(()), Err)
}

/// Dimensions in which cases differ, and the configuration.
fn told_apart(cases: &[Names], lead: &Figure) -> Vec<Dimension> {
    let differs = |dimension: Dimension| {
        let names = cases.iter().flatten().filter(|(of, _)| *of == dimension);
        names.map(|(_, name)| name).collect::<BTreeSet<_>>().len() > 1
    };
    let named = |dimension: Dimension| matches!(lead.selection.get(dimension), Some(Wanted::Each));
    let shown = |dimension: &Dimension| {
        *dimension == Dimension::Configuration || named(*dimension) || differs(*dimension)
    };
    Dimension::ALL.into_iter().filter(shown).collect()
}
