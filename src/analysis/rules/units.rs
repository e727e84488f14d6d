//! What a rule's numbers are counted in, checked before anything is judged: a share is
//! not compared with a time, and tokens are not added to dollars.
//!
//! A number without a unit goes with everything, since tokens, dollars and counts have
//! none. Counts fall away where something is divided or multiplied by them: tokens by
//! conversations are tokens.

use super::metrics::{Metric, Unit};
use super::reader::Mistake;
use super::syntax::{Expression, Operator, Rule};
use std::fmt;
use std::ops::Range;

/// Where a part of a rule stands, and the unit of a number. One for each part, in the
/// order in which they end.
#[derive(Clone, Debug)]
pub(super) struct Mark {
    pub(super) at: Range<usize>,
    pub(super) unit: Option<Unit>,
}

/// What is left where no tokens, times or dollars are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Plain {
    /// A number that says nothing of it.
    Any,
    /// Between 0 and 1.
    Share,
    /// One amount by another of its kind.
    Ratio,
    /// Pieces.
    Count,
}

/// A kind of number: powers of tokens, times and dollars.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Kind {
    powers: [i32; 3],
    plain: Plain,
}

impl Kind {
    const ANY: Self = Self::plain(Plain::Any);

    const fn plain(plain: Plain) -> Self {
        Self {
            powers: [0; 3],
            plain,
        }
    }

    fn of(unit: Unit) -> Self {
        let power = |powers| Self {
            powers,
            plain: Plain::Any,
        };
        match unit {
            Unit::Share => Self::plain(Plain::Share),
            Unit::Count => Self::plain(Plain::Count),
            Unit::Tokens => power([1, 0, 0]),
            Unit::Micros => power([0, 1, 0]),
            Unit::Dollars => power([0, 0, 1]),
        }
    }

    /// What was read by what the model allows may be above 1: a model can be wrong.
    fn of_metric(metric: &Metric) -> Self {
        match metric.name {
            "efficiency" => Self::plain(Plain::Ratio),
            _ => Self::of(metric.unit),
        }
    }

    fn is_plain(self) -> bool {
        self.powers == [0; 3]
    }

    fn is_any(self) -> bool {
        self == Self::ANY
    }

    /// Whether the two can be compared, added and subtracted.
    fn goes_with(self, other: Self) -> bool {
        let shares = |plain| matches!(plain, Plain::Share | Plain::Ratio);
        self.is_any()
            || other.is_any()
            || self == other
            || (self.is_plain() && other.is_plain() && shares(self.plain) && shares(other.plain))
    }

    fn together(self, operator: Operator, other: Self) -> Self {
        let powers = |sign: i32| {
            let mut powers = self.powers;
            for (own, more) in powers.iter_mut().zip(other.powers) {
                *own += sign * more;
            }
            powers
        };
        let (powers, plain) = match operator {
            Operator::Add | Operator::Subtract if self.is_any() => return other,
            Operator::Add | Operator::Subtract => return self,
            Operator::Multiply => (powers(1), times(self.plain, other.plain)),
            Operator::Divide => (powers(-1), by(self.plain, other.plain)),
        };
        let plain = match (powers == [0; 3], self.is_plain() && other.is_plain()) {
            (true, true) => plain,
            (true, false) => Plain::Ratio,
            (false, _) => Plain::Any,
        };
        Self { powers, plain }
    }

    /// How such a number is written.
    fn help(self) -> &'static str {
        match self {
            _ if self == Self::of(Unit::Micros) => "write a time as 300 ms or 1.5 s",
            _ if !self.is_plain() => "write it as a number without a unit, as 1_000",
            Self {
                plain: Plain::Share | Plain::Ratio,
                ..
            } => "write a share as 0.8 or 80 %",
            _ => "write a count as a number without a unit, as 3",
        }
    }
}

fn times(a: Plain, b: Plain) -> Plain {
    match (a, b) {
        (Plain::Any, other) | (other, Plain::Any) => other,
        (Plain::Count, _) | (_, Plain::Count) => Plain::Count,
        (Plain::Share, Plain::Share) => Plain::Share,
        _ => Plain::Ratio,
    }
}

fn by(a: Plain, b: Plain) -> Plain {
    match (a, b) {
        (a, Plain::Any) => a,
        (Plain::Count, Plain::Share | Plain::Ratio) => Plain::Count,
        _ => Plain::Ratio,
    }
}

impl fmt::Display for Kind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match (self.powers, self.plain) {
            ([0, 0, 0], Plain::Any) => "a number",
            ([0, 0, 0], Plain::Share) => "a share",
            ([0, 0, 0], Plain::Ratio) => "a ratio",
            ([0, 0, 0], Plain::Count) => "a count",
            ([1, 0, 0], _) => "a number of tokens",
            ([0, 1, 0], _) => "a time",
            ([0, 0, 1], _) => "an amount of dollars",
            _ => "of another kind",
        })
    }
}

/// A part of a rule, with its kind and where it stands.
struct Part<'a> {
    expression: &'a Expression,
    kind: Kind,
    at: Range<usize>,
    /// Whether it is a number with a unit.
    written: bool,
}

/// Goes through a rule with the marks of its parts.
struct Check<'a> {
    text: &'a str,
    baseline: Kind,
    marks: std::vec::IntoIter<Mark>,
}

/// Whether the parts of a rule go together; `marks` are those of its parts in `text`.
pub(super) fn check(rule: &Rule, text: &str, marks: Vec<Mark>) -> Result<(), Mistake> {
    let lead = rule.lead().map(|lead| Kind::of_metric(lead.metric));
    let mut check = Check {
        text,
        baseline: lead.unwrap_or(Kind::ANY),
        marks: marks.into_iter(),
    };
    let left = check.part(&rule.left)?;
    let right = check.part(&rule.right)?;
    check.agree(&left, &right, "compared")?;
    check.within_a_share(&left, &right)?;
    check.within_a_share(&right, &left)
}

impl Check<'_> {
    fn part<'e>(&mut self, expression: &'e Expression) -> Result<Part<'e>, Mistake> {
        let kind = match expression {
            Expression::Number(_) => Kind::ANY,
            Expression::Figure(figure) => Kind::of_metric(figure.metric),
            Expression::Baseline(_) => self.baseline,
            Expression::Negative(inner) => self.part(inner)?.kind,
            Expression::Pair(operator, sides) => {
                let (left, right) = (self.part(&sides.0)?, self.part(&sides.1)?);
                match operator {
                    Operator::Add => self.agree(&left, &right, "added")?,
                    Operator::Subtract => self.agree(&left, &right, "subtracted")?,
                    Operator::Multiply | Operator::Divide => {}
                }
                left.kind.together(*operator, right.kind)
            }
        };
        // There is a mark for every part: the reader makes them together.
        let mark = self.marks.next().unwrap_or(Mark {
            at: 0..0,
            unit: None,
        });
        Ok(Part {
            expression,
            kind: mark.unit.map_or(kind, Kind::of),
            at: mark.at,
            written: mark.unit.is_some(),
        })
    }

    fn agree(&self, left: &Part<'_>, right: &Part<'_>, verb: &str) -> Result<(), Mistake> {
        if left.kind.goes_with(right.kind) {
            return Ok(());
        }
        // What a person wrote is what can be mended.
        let (wrong, other) = if left.written && !right.written {
            (left, right)
        } else {
            (right, left)
        };
        let said = format!(
            "`{}` is {}, and `{}` is {}: they cannot be {verb}",
            self.written(left),
            left.kind,
            self.written(right),
            right.kind
        );
        let help = if wrong.written {
            other.kind.help()
        } else {
            "figures of one kind can be compared, added and subtracted; see the units in \
             `summary.csv`, and docs/gate.md"
        };
        Err(Mistake::at(
            wrong.at.clone(),
            said,
            wrong.kind.to_string(),
            help,
        ))
    }

    /// `80` beside a share is most likely meant as `80 %`.
    fn within_a_share(&self, number: &Part<'_>, share: &Part<'_>) -> Result<(), Mistake> {
        let Expression::Number(value) = number.expression else {
            return Ok(());
        };
        if share.kind != Kind::plain(Plain::Share) || *value <= 1.0 {
            return Ok(());
        }
        let said = format!("a share is at most 1, and this is {}", self.written(number));
        let help = if number.written || *value > 100.0 {
            Kind::of(Unit::Share).help().to_owned()
        } else {
            format!("did you mean `{value} %`?")
        };
        Err(Mistake::at(number.at.clone(), said, "more than all", help))
    }

    fn written(&self, part: &Part<'_>) -> &str {
        self.text.get(part.at.clone()).unwrap_or_default()
    }
}
