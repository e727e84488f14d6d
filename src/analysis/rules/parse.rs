//! Text to rules.
//!
//! ```text
//! rule       = sum ( ">=" | "<=" | ">" | "<" | "==" | "!=" ) sum
//! sum        = product { ( "+" | "-" ) product }
//! product    = factor { ( "*" | "/" ) factor }
//! factor     = "-" factor | "(" sum ")" | number | figure | "baseline" [ selection ]
//! number     = digits [ "." digits ] [ exponent ] [ "%" | "us" | "ms" | "s" ]
//! figure     = name [ selection ]
//! selection  = "(" chosen { "," chosen } ")"
//! chosen     = [ dimension "=" ] ( name | form with "*" | "each" | quoted name )
//! ```
//!
//! `#` begins a comment, but for one in quotes.

use super::error::{RuleError, RulesError};
use super::reader::{Mistake, Reader};
use super::selection::{Dimension, Wanted};
use super::syntax::{Comparison, Expression, Operator, Rule};
use super::units::check;
use miette::NamedSource;
use std::ops::Range;
use std::sync::Arc;

/// Longest rule, in bytes.
const LONGEST: usize = 4_000;
/// Parentheses and signs inside one another.
const DEEPEST: usize = 50;

/// Reads one rule.
///
/// # Errors
///
/// [`RuleError`] that says what is wrong and where.
pub fn parse(text: &str) -> Result<Rule, RuleError> {
    let source = Arc::new(NamedSource::new("rule", text.to_owned()));
    match read(text, 0..text.len()) {
        Ok(Some(rule)) => Ok(rule),
        Ok(None) => Err(shown(
            Mistake::at(0..0, "the rule is empty", "nothing stands here", EXAMPLE),
            &source,
        )),
        Err(mistake) => Err(shown(mistake, &source)),
    }
}

/// Reads a file of rules, one a line; empty lines and comments are passed over.
///
/// # Errors
///
/// [`RulesError`] with every line that is wrong, or that there is no rule.
pub fn parse_file(name: &str, text: &str) -> Result<Vec<Rule>, RulesError> {
    let source = Arc::new(NamedSource::new(name, text.to_owned()));
    let (mut rules, mut errors, mut start) = (Vec::new(), Vec::new(), 0);
    for line in text.split_inclusive('\n') {
        let content = line.trim_end_matches(['\n', '\r']);
        match read(text, start..start + content.len()) {
            Ok(rule) => rules.extend(rule),
            Err(mistake) => errors.push(shown(mistake, &source)),
        }
        start += line.len();
    }
    if rules.is_empty() && errors.is_empty() {
        let none = Mistake::at(
            0..0,
            "there is no rule in the file",
            "nothing but comments",
            EXAMPLE,
        );
        errors.push(shown(none, &source));
    }
    if errors.is_empty() {
        Ok(rules)
    } else {
        Err(RulesError { errors })
    }
}

const EXAMPLE: &str = "a rule is a comparison, as `achievable_share(append-only) >= 0.8`";
const COMPARISONS: &str = "compare with one of >= <= > < == !=";
fn shown(mistake: Mistake, text: &Arc<NamedSource<String>>) -> RuleError {
    RuleError {
        said: mistake.said,
        help: mistake.help,
        label: mistake.label,
        at: mistake.at.into(),
        text: Arc::clone(text),
    }
}

/// The rule that stands in a range of `text`; `None` where there is none.
fn read(text: &str, range: Range<usize>) -> Result<Option<Rule>, Mistake> {
    if range.len() > LONGEST {
        let said = format!("a rule of {} bytes is longer than any", range.len());
        let at = range.start..range.start;
        return Err(Mistake::at(at, said, "begins here", "write several rules"));
    }
    let mut reader = Reader::new(text, range);
    reader.blanks();
    if reader.at == reader.end {
        return Ok(None);
    }
    let rule = reader.rule()?;
    check(&rule, text, reader.marks())?;
    Ok(Some(rule))
}

/// A rule by the grammar alone, whatever its parts are counted in.
#[cfg(test)]
pub(super) fn grammar(text: &str) -> Option<Rule> {
    let mut reader = Reader::new(text, 0..text.len());
    reader.blanks();
    reader.rule().ok()
}

impl Reader<'_> {
    fn rule(&mut self) -> Result<Rule, Mistake> {
        let start = self.at;
        let left = self.sum()?;
        let comparison = self.comparison()?;
        let right = self.sum()?;
        if Comparison::ALL
            .iter()
            .any(|one| self.rest().starts_with(one.as_str()))
        {
            return self.wrong(
                "a rule has one comparison",
                "write a rule for each comparison",
            );
        }
        if self.at != self.end {
            return self.wrong(
                "the rule goes on behind its end",
                "put figures and numbers together with + - * /",
            );
        }
        let rule = Rule {
            left,
            comparison,
            right,
        };
        match rule.lead() {
            Some(_) if each_behind_the_first(&rule) => {
                let help = "the rule then holds for each name, in every figure";
                let said = "`each` can stand only in the first figure of a rule";
                Err(Mistake::at(start..self.end, said, "in this rule", help))
            }
            Some(_) => Ok(rule),
            None => Err(Mistake::at(
                start..self.end,
                "the rule names no figure",
                "only numbers",
                EXAMPLE,
            )),
        }
    }

    fn comparison(&mut self) -> Result<Comparison, Mistake> {
        let found = Comparison::ALL
            .into_iter()
            .find(|one| self.take(one.as_str()));
        if let Some(found) = found {
            return Ok(found);
        }
        for (written, meant) in [
            ("=>", ">="),
            ("=<", "<="),
            ("≥", ">="),
            ("≤", "<="),
            ("=", "=="),
        ] {
            if self.rest().starts_with(written) {
                let at = self.at..self.at + written.len();
                let said = format!("`{written}` is no comparison");
                return Err(Mistake::at(
                    at,
                    said,
                    "here",
                    format!("did you mean `{meant}`?"),
                ));
            }
        }
        self.wrong("a comparison is missing", COMPARISONS)
    }

    fn sum(&mut self) -> Result<Expression, Mistake> {
        let start = self.at;
        let mut left = self.product()?;
        loop {
            let operator = match self.peek() {
                Some('+') => Operator::Add,
                Some('-') => Operator::Subtract,
                _ => return Ok(left),
            };
            self.take(operator.as_str());
            let right = self.product()?;
            left = Expression::Pair(operator, Box::new((left, right)));
            self.mark(start, None);
        }
    }

    fn product(&mut self) -> Result<Expression, Mistake> {
        let start = self.at;
        let mut left = self.factor()?;
        loop {
            let operator = match self.peek() {
                Some('*') => Operator::Multiply,
                Some('/') => Operator::Divide,
                _ => return Ok(left),
            };
            self.take(operator.as_str());
            let right = self.factor()?;
            left = Expression::Pair(operator, Box::new((left, right)));
            self.mark(start, None);
        }
    }

    /// One level deeper.
    fn nested<T>(
        &mut self,
        read: impl FnOnce(&mut Self) -> Result<T, Mistake>,
    ) -> Result<T, Mistake> {
        if self.deep == DEEPEST {
            return self.wrong(
                "too many parentheses inside one another",
                "write several rules",
            );
        }
        self.deep += 1;
        let found = read(self);
        self.deep -= 1;
        found
    }

    fn factor(&mut self) -> Result<Expression, Mistake> {
        match self.peek() {
            Some('-') => {
                let start = self.at;
                self.take("-");
                let inner = self.nested(Self::factor)?;
                self.mark(start, None);
                Ok(Expression::Negative(Box::new(inner)))
            }
            Some('(') => {
                self.take("(");
                let inner = self.nested(Self::sum)?;
                if !self.take(")") {
                    return self.wrong("a `)` is missing", "close what `(` opened");
                }
                Ok(inner)
            }
            Some(digit) if digit.is_ascii_digit() || digit == '.' => self.number(),
            Some(letter) if letter.is_alphabetic() || letter == '_' => self.figure(),
            _ => self.wrong("a figure or a number is missing", EXAMPLE),
        }
    }
}

/// Whether a figure but the first one, or the baseline, says `each`.
fn each_behind_the_first(rule: &Rule) -> bool {
    let (mut first, mut found) = (true, false);
    rule.walk(|part| {
        let selection = match part {
            Expression::Figure(_) if std::mem::take(&mut first) => return,
            Expression::Figure(figure) => &figure.selection,
            Expression::Baseline(selection) => selection,
            _ => return,
        };
        let each = |dimension| selection.get(dimension) == Some(&Wanted::Each);
        found |= Dimension::ALL.into_iter().any(each);
    });
    found
}
