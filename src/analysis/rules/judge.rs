//! A rule in one case: its figures, its two sides, and what came of it.

use super::baseline::{Baseline, Found};
use super::evident::usable;
use super::facts::Facts;
use super::measured::Measured;
use super::metrics::{Kind, Metric, Unit};
use super::selection::{Dimension, Pattern, Selection, Wanted};
use super::syntax::{Comparison, Expression, Figure, Operator, Rule};
use super::verdict::{Case, Operand, Verdict};
use crate::analysis::samples::Cell;
use std::sync::Arc;

/// The names that tell a case from others, by dimension.
pub(super) type Names = Vec<(Dimension, Arc<str>)>;

pub(super) struct Judge<'a> {
    pub(super) rule: &'a Rule,
    pub(super) lead: &'a Figure,
    pub(super) measured: &'a Measured,
    pub(super) facts: &'a Facts,
    pub(super) baseline: Option<&'a Baseline>,
}

/// A figure that a side rests on.
struct Rested {
    metric: &'static Metric,
    found: Found,
}

/// What a case has looked at so far.
#[derive(Default)]
struct Seen {
    operands: Vec<Operand>,
    rested: Vec<Rested>,
}

impl Judge<'_> {
    /// Each combination of names that the rule holds for.
    pub(super) fn cases(&self) -> Vec<Names> {
        let each: Vec<Dimension> = Dimension::ALL
            .into_iter()
            .filter(|&dimension| match self.lead.selection.get(dimension) {
                Some(wanted) => *wanted == Wanted::Each,
                None => dimension.is_apart(),
            })
            .collect();
        let names = |cell: &Cell| -> Names {
            each.iter()
                .map(|&dimension| (dimension, Arc::clone(dimension.of(cell))))
                .collect()
        };
        let held = self
            .measured
            .cells()
            .filter(|cell| self.lead.selection.holds(cell));
        let mut found: Vec<Names> = Vec::new();
        for names in held.map(names) {
            if !found.contains(&names) {
                found.push(names);
            }
        }
        if found.is_empty() {
            // Each name is known and nothing has all of them: one case without evidence.
            found.push(Vec::new());
        }
        found
    }

    pub(super) fn case(&self, names: &Names, shown: &[Dimension]) -> Case {
        let mut seen = Seen::default();
        let left = self.value(&self.rule.left, names, &mut seen);
        let right = self.value(&self.rule.right, names, &mut seen);
        let verdict = match (&left, &right) {
            (Err(why), _) | (_, Err(why)) => Verdict::Undecided(why.clone()),
            (Ok(left), Ok(right)) => match alike(&seen.rested) {
                Some(why) => Verdict::Undecided(why),
                None => compared(*left, self.rule.comparison, *right),
            },
        };
        let about = names
            .iter()
            .filter(|(dimension, _)| shown.contains(dimension));
        let mut about: Names = about.cloned().collect();
        for &dimension in shown {
            let named = match self.lead.selection.get(dimension) {
                Some(Wanted::These(Pattern::Name(name) | Pattern::Glob(name))) => Some(name),
                _ => None,
            };
            about.extend(named.map(|name| (dimension, Arc::clone(name))));
        }
        about.sort_by_key(|(dimension, _)| *dimension);
        Case {
            about,
            left: left.ok(),
            right: right.ok(),
            operands: seen.operands,
            verdict,
        }
    }

    /// The value of an expression, or why there is none.
    fn value(&self, part: &Expression, names: &Names, seen: &mut Seen) -> Result<f64, String> {
        match part {
            Expression::Number(value) => Ok(*value),
            Expression::Negative(inner) => Ok(-self.value(inner, names, seen)?),
            Expression::Pair(operator, sides) => {
                let left = self.value(&sides.0, names, seen);
                let right = self.value(&sides.1, names, seen);
                put_together(*operator, left?, right?)
            }
            Expression::Figure(figure) => self.figure(figure, names, seen),
            Expression::Baseline(selection) => self.base(selection, names, seen),
        }
    }

    /// What is said of a selection, with the rest as in the case and the first figure.
    fn filled(&self, selection: &Selection, names: &Names) -> Selection {
        let mut filled = Selection::default();
        for dimension in Dimension::ALL {
            let own = selection
                .get(dimension)
                .filter(|wanted| **wanted != Wanted::Each);
            let case = names.iter().find(|(of, _)| *of == dimension);
            let case = case.map(|(_, name)| Wanted::These(Pattern::Name(Arc::clone(name))));
            let lead = self.lead.selection.get(dimension);
            let wanted = own.cloned().or(case).or_else(|| lead.cloned());
            if let Some(wanted) = wanted.filter(|wanted| *wanted != Wanted::Each) {
                filled.set(dimension, wanted);
            }
        }
        filled
    }

    fn figure(&self, figure: &Figure, names: &Names, seen: &mut Seen) -> Result<f64, String> {
        let metric = figure.metric;
        let selection = self.filled(&figure.selection, names);
        let text = format!("{}{}", metric.name, self.shown(&selection));
        let found = match self.measured.take(&selection) {
            None => Err(format!("no request is of {selection}")),
            Some(_) if self.measured.is_predicted() && !metric.predicted => Err(format!(
                "{} needs a server's answers, and nothing was sent: gate a run",
                metric.name
            )),
            Some(taken) => {
                let found = Found::of(metric, taken);
                seen.rested.push(Rested { metric, found });
                let found = seen.rested.last().map(|rested| &rested.found);
                found.map_or(Err(String::new()), |found| usable(metric, found, ""))
            }
        };
        seen.note(text, found.as_ref().ok().copied(), metric.unit);
        found
    }

    fn base(&self, selection: &Selection, names: &Names, seen: &mut Seen) -> Result<f64, String> {
        let metric = self.lead.metric;
        let filled = self.filled(selection, names);
        let text = format!("baseline {}{}", metric.name, self.shown(&filled));
        let found = self.of_baseline(metric, selection, filled, seen);
        seen.note(text, found.as_ref().ok().copied(), metric.unit);
        found
    }

    fn of_baseline(
        &self,
        metric: &'static Metric,
        said: &Selection,
        mut filled: Selection,
        seen: &mut Seen,
    ) -> Result<f64, String> {
        let baseline = self.baseline.ok_or_else(|| {
            "there is no baseline: give one with --baseline RUN or FILE".to_owned()
        })?;
        let (own, base) = (self.measured.is_predicted(), baseline.is_predicted());
        if own != base && metric.name.starts_with("computed") {
            let kind = |predicted| if predicted { "predicted" } else { "measured" };
            return Err(format!(
                "{} is {} here and {} in the baseline",
                metric.name,
                kind(own),
                kind(base)
            ));
        }
        if let Some(why) = self.facts.forbids(baseline.facts(), metric, own || base) {
            return Err(why);
        }
        // A target may have another name there: the only one is meant.
        for dimension in [Dimension::Target, Dimension::Model, Dimension::Load] {
            let open = |selection: &Selection| {
                selection
                    .get(dimension)
                    .is_none_or(|wanted| *wanted == Wanted::Each)
            };
            if open(said) && open(&self.lead.selection) && baseline.names(dimension).len() == 1 {
                filled.set(dimension, Wanted::These(Pattern::bare("*")));
            }
        }
        let found = baseline.find(metric, &filled)?;
        let value = usable(metric, &found, " in the baseline");
        seen.rested.push(Rested { metric, found });
        value
    }

    /// A selection without what every case has in common.
    fn shown(&self, selection: &Selection) -> Selection {
        let mut shown = Selection::default();
        for dimension in Dimension::ALL {
            let trivial = dimension.is_apart() && self.measured.names(dimension).len() < 2;
            let wanted = selection.get(dimension);
            if let Some(wanted) =
                wanted.filter(|_| !trivial || dimension == Dimension::Configuration)
            {
                shown.set(dimension, wanted.clone());
            }
        }
        shown
    }
}

impl Seen {
    fn note(&mut self, text: String, value: Option<f64>, unit: Unit) {
        if !self.operands.iter().any(|known| known.text == text) {
            self.operands.push(Operand { text, value, unit });
        }
    }
}

/// Why the figures of a rule rest on different conversations.
fn alike(rested: &[Rested]) -> Option<String> {
    let of = |kinds: &[Kind]| -> Vec<&Found> {
        let rested = rested
            .iter()
            .filter(|rested| kinds.contains(&rested.metric.kind));
        rested.map(|rested| &rested.found).collect()
    };
    let sums = of(&[Kind::Sum]);
    if let [first, rest @ ..] = sums.as_slice()
        && let Some(other) = rest.iter().find(|other| other.support != first.support)
    {
        return Some(format!(
            "the sums are over different conversations ({} and {}): compare computed_per_conversation \
             or a share",
            first.whole(),
            other.whole()
        ));
    }
    let means = of(&[Kind::Mean]);
    let [first, rest @ ..] = means.as_slice() else {
        return None;
    };
    let mixed = rest.iter().any(|other| !same_mix(first, other));
    mixed.then(|| {
        "the means are over different scenarios: choose those that both have, as `scenario=NAME`"
            .to_owned()
    })
}

/// Whether two sets of conversations are of the same scenarios in the same proportion.
fn same_mix(a: &Found, b: &Found) -> bool {
    a.support.len() == b.support.len()
        && a.support.iter().all(|(scenario, count)| {
            let other = b.support.get(scenario);
            other.is_some_and(|other| count * b.whole() == other * a.whole())
        })
}

fn put_together(operator: Operator, left: f64, right: f64) -> Result<f64, String> {
    let value = match operator {
        Operator::Add => left + right,
        Operator::Subtract => left - right,
        Operator::Multiply => left * right,
        Operator::Divide if right == 0.0 => return Err("the rule divides by 0".to_owned()),
        Operator::Divide => left / right,
    };
    // A time that failures leave without an end stays so.
    let endless = (left.is_infinite() || right.is_infinite()) && !value.is_nan();
    if value.is_finite() || endless {
        Ok(value)
    } else if value.is_nan() {
        Err("too many requests failed for these times to be put together".to_owned())
    } else {
        Err("the numbers of the rule become too large".to_owned())
    }
}

fn compared(left: f64, comparison: Comparison, right: f64) -> Verdict {
    if comparison.holds(left, right) {
        Verdict::Met
    } else {
        Verdict::Missed
    }
}
