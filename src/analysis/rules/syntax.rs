//! A rule as data.

use super::metrics::Metric;
use super::selection::Selection;
use std::fmt;

/// A rule.
#[derive(Clone, Debug, PartialEq)]
pub struct Rule {
    /// What stands left of the comparison.
    pub left: Expression,
    /// How the two sides are compared.
    pub comparison: Comparison,
    /// What stands right of it.
    pub right: Expression,
}

/// How two numbers are compared.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Comparison {
    /// `>=`
    AtLeast,
    /// `<=`
    AtMost,
    /// `>`
    Above,
    /// `<`
    Below,
    /// `==`
    Equal,
    /// `!=`
    Unequal,
}

impl Comparison {
    /// All of them; no one stands behind another that it begins with.
    pub const ALL: [Self; 6] = [
        Self::AtLeast,
        Self::AtMost,
        Self::Equal,
        Self::Unequal,
        Self::Above,
        Self::Below,
    ];

    /// As rules write it.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::AtLeast => ">=",
            Self::AtMost => "<=",
            Self::Above => ">",
            Self::Below => "<",
            Self::Equal => "==",
            Self::Unequal => "!=",
        }
    }

    /// Whether it holds. Never of what is no number.
    pub fn holds(self, left: f64, right: f64) -> bool {
        match left.partial_cmp(&right) {
            None => false,
            Some(order) => match self {
                Self::AtLeast => order.is_ge(),
                Self::AtMost => order.is_le(),
                Self::Above => order.is_gt(),
                Self::Below => order.is_lt(),
                Self::Equal => order.is_eq(),
                Self::Unequal => order.is_ne(),
            },
        }
    }
}

/// How two numbers are put together.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Operator {
    /// `+`
    Add,
    /// `-`
    Subtract,
    /// `*`
    Multiply,
    /// `/`
    Divide,
}

impl Operator {
    /// As rules write it.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Add => "+",
            Self::Subtract => "-",
            Self::Multiply => "*",
            Self::Divide => "/",
        }
    }

    /// Binds tighter the larger it is.
    fn strength(self) -> u8 {
        match self {
            Self::Add | Self::Subtract => 1,
            Self::Multiply | Self::Divide => 2,
        }
    }
}

/// A figure, and what it is taken over.
#[derive(Clone, Debug, PartialEq)]
pub struct Figure {
    /// Which one.
    pub metric: &'static Metric,
    /// Over what.
    pub selection: Selection,
}

/// A number, or what makes one.
#[derive(Clone, Debug, PartialEq)]
pub enum Expression {
    /// A number; never negative.
    Number(f64),
    /// A figure of what is judged.
    Figure(Figure),
    /// The rule's first figure, as the baseline has it.
    Baseline(Selection),
    /// `-` in front.
    Negative(Box<Self>),
    /// Two numbers put together.
    Pair(Operator, Box<(Self, Self)>),
}

impl Expression {
    /// Calls `see` with it and everything in it, from left to right.
    pub fn walk<'a>(&'a self, see: &mut impl FnMut(&'a Self)) {
        see(self);
        match self {
            Self::Negative(inner) => inner.walk(see),
            Self::Pair(_, sides) => {
                sides.0.walk(see);
                sides.1.walk(see);
            }
            Self::Number(_) | Self::Figure(_) | Self::Baseline(_) => {}
        }
    }

    /// Writes it, in parentheses where it binds less than `least`.
    fn write(&self, f: &mut fmt::Formatter<'_>, least: u8) -> fmt::Result {
        match self {
            Self::Number(value) => write!(f, "{value}"),
            Self::Figure(figure) => write!(f, "{}{}", figure.metric.name, figure.selection),
            Self::Baseline(selection) => write!(f, "baseline{selection}"),
            Self::Negative(inner) => {
                f.write_str("-")?;
                inner.write(f, 3)
            }
            Self::Pair(operator, sides) => {
                let strength = operator.strength();
                let (open, close) = if strength < least {
                    ("(", ")")
                } else {
                    ("", "")
                };
                f.write_str(open)?;
                sides.0.write(f, strength)?;
                write!(f, " {} ", operator.as_str())?;
                sides.1.write(f, strength + 1)?;
                f.write_str(close)
            }
        }
    }
}

impl fmt::Display for Expression {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.write(f, 0)
    }
}

impl Rule {
    /// Calls `see` with every part of both sides, from left to right.
    pub fn walk<'a>(&'a self, mut see: impl FnMut(&'a Expression)) {
        self.left.walk(&mut see);
        self.right.walk(&mut see);
    }

    /// The figure that it is about: the first one.
    pub fn lead(&self) -> Option<&Figure> {
        let mut lead = None;
        self.walk(|part| {
            if let Expression::Figure(figure) = part {
                lead = lead.or(Some(figure));
            }
        });
        lead
    }

    /// Whether it asks for a baseline.
    pub fn needs_baseline(&self) -> bool {
        let mut found = false;
        self.walk(|part| found |= matches!(part, Expression::Baseline(_)));
        found
    }
}

impl fmt::Display for Rule {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "{} {} {}",
            self.left,
            self.comparison.as_str(),
            self.right
        )
    }
}
