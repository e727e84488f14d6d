//! Numbers, and figures with what they are taken over.

use super::metrics::{METRICS, Unit, find};
use super::reader::{Mistake, Reader};
use super::selection::{Dimension, EACH, Pattern, Selection, Wanted, needs_quotes};
use super::syntax::{Expression, Figure};
use crate::scenario::names::nearest;
use std::ops::Range;
use std::sync::Arc;

/// The word for the baseline.
const BASELINE: &str = "baseline";

impl Reader<'_> {
    pub(super) fn number(&mut self) -> Result<Expression, Mistake> {
        let start = self.at;
        let mut digits =
            self.letters(|letter| letter.is_ascii_digit() || matches!(letter, '.' | '_'));
        if self.rest().starts_with(['e', 'E']) {
            let back = self.at;
            self.at += 1;
            let _sign = self.rest().starts_with(['-', '+']).then(|| self.at += 1);
            if self.letters(|letter| letter.is_ascii_digit()).is_empty() {
                self.at = back;
            }
            digits = &self.text[start..self.at];
        }
        let at = start..self.at;
        let value = digits.replace('_', "").parse::<f64>();
        let value = match value {
            Ok(value) if value.is_finite() => value,
            Ok(_) => {
                return Err(Mistake::at(
                    at,
                    "the number is too large",
                    "here",
                    "no figure is so large",
                ));
            }
            Err(_) => {
                let said = format!("`{digits}` is no number");
                return Err(Mistake::at(
                    at,
                    said,
                    "here",
                    "write it as 0.8, 80 % or 1_000",
                ));
            }
        };
        self.blanks();
        self.unit(value, start)
    }

    /// The number with the unit behind it, if there is one.
    fn unit(&mut self, value: f64, start: usize) -> Result<Expression, Mistake> {
        if self.take("%") {
            self.mark(start, Some(Unit::Share));
            return Ok(Expression::Number(value / 100.0));
        }
        let from = self.at;
        let unit = match self.peek() {
            Some(letter) if letter.is_alphabetic() => {
                self.letters(|letter| letter.is_alphanumeric() || letter == '_')
            }
            _ => "",
        };
        let times = match unit {
            "" | "us" => 1.0,
            "ms" => 1e3,
            "s" => 1e6,
            _ if find(unit).is_some() || unit == BASELINE => {
                let said = "something is missing between the number and the figure";
                let help = format!(
                    "did you mean `{} * {unit}`?",
                    &self.text[start..from].trim_end()
                );
                return Err(Mistake::at(from..from, said, "here", help));
            }
            _ => {
                let said = format!("unknown unit `{unit}`");
                let help =
                    "known: % (of shares), us, ms, s (of times); tokens and dollars have none";
                return Err(Mistake::at(from..self.at, said, "here", help));
            }
        };
        self.blanks();
        self.mark(start, (!unit.is_empty()).then_some(Unit::Micros));
        Ok(Expression::Number(value * times))
    }

    pub(super) fn figure(&mut self) -> Result<Expression, Mistake> {
        let start = self.at;
        let name = self.letters(|letter| letter.is_alphanumeric() || letter == '_');
        let at = start..self.at;
        if name == BASELINE {
            self.blanks();
            let selection = self.selection()?;
            self.mark(start, None);
            return Ok(Expression::Baseline(selection));
        }
        let Some(metric) = find(name) else {
            return Err(self.unknown(name, at));
        };
        self.blanks();
        let selection = self.selection()?;
        self.mark(start, None);
        Ok(Expression::Figure(Figure { metric, selection }))
    }

    /// A name that is no figure; `-` in it may have been meant for `_`.
    fn unknown(&self, name: &str, at: Range<usize>) -> Mistake {
        let rest = &self.text[at.start..self.end];
        let end =
            rest.find(|letter: char| !letter.is_alphanumeric() && !matches!(letter, '_' | '-'));
        let long = rest[..end.unwrap_or(rest.len())].replace('-', "_");
        let known = || METRICS.iter().map(|metric| metric.name).chain([BASELINE]);
        let near = nearest(&long, known()).or_else(|| nearest(name, known()));
        let all = known().collect::<Vec<_>>().join(", ");
        let help = near.map_or_else(
            || format!("known: {all}"),
            |near| format!("did you mean `{near}`? known: {all}"),
        );
        Mistake::at(
            at,
            format!("unknown figure `{name}`"),
            "no figure has this name",
            help,
        )
    }

    fn selection(&mut self) -> Result<Selection, Mistake> {
        let mut selection = Selection::default();
        if !self.take("(") {
            return Ok(selection);
        }
        loop {
            let start = self.at;
            let (dimension, wanted) = self.chosen()?;
            if selection.set(dimension, wanted).is_some() {
                let said = format!("`{}` is given twice", dimension.as_str());
                let help = "take several together with a form, as `scenario=s0*`";
                return Err(Mistake::at(start..self.at, said, "the second one", help));
            }
            self.blanks();
            if self.take(")") {
                return Ok(selection);
            }
            if !self.take(",") {
                return self.wrong(
                    "a `)` is missing",
                    "close what `(` opened, or put a comma between two choices",
                );
            }
        }
    }

    /// `name`, or `dimension=name`.
    fn chosen(&mut self) -> Result<(Dimension, Wanted), Mistake> {
        if self.peek() == Some('"') {
            return Ok((Dimension::Configuration, Wanted::These(self.quoted()?)));
        }
        let start = self.at;
        let key = self.letters(|letter| letter != '=' && !needs_quotes(letter));
        if self.peek() != Some('=') {
            return Ok((Dimension::Configuration, self.bare(key, start)?));
        }
        let key = key.trim();
        let known = || Dimension::ALL.into_iter().map(Dimension::as_str);
        let Some(dimension) = Dimension::ALL.into_iter().find(|one| one.as_str() == key) else {
            let near = nearest(key, known()).map(|near| format!("did you mean `{near}`? "));
            let help = format!(
                "{}known: {}",
                near.unwrap_or_default(),
                known().collect::<Vec<_>>().join(", ")
            );
            return Err(Mistake::at(
                start..self.at,
                format!("unknown choice `{key}`"),
                "here",
                help,
            ));
        };
        self.take("=");
        if self.peek() == Some('"') {
            return Ok((dimension, Wanted::These(self.quoted()?)));
        }
        let start = self.at;
        let name = self.letters(|letter| !needs_quotes(letter));
        Ok((dimension, self.bare(name, start)?))
    }

    fn bare(&self, name: &str, start: usize) -> Result<Wanted, Mistake> {
        match name.trim() {
            "" => {
                let (at, label) = self.here();
                let at = if at.is_empty() { start..start } else { at };
                Err(Mistake::at(
                    at,
                    "a name is missing",
                    label,
                    "name a configuration, or as `scenario=NAME`",
                ))
            }
            EACH => Ok(Wanted::Each),
            name => Ok(Wanted::These(Pattern::bare(name))),
        }
    }

    /// A name in quotes, where `\` stands before a quote or itself.
    fn quoted(&mut self) -> Result<Pattern, Mistake> {
        let start = self.at;
        let (mut name, mut escaped) = (String::new(), false);
        for (at, letter) in self.rest().char_indices().skip(1) {
            match letter {
                _ if std::mem::take(&mut escaped) => name.push(letter),
                '\\' => escaped = true,
                '"' => {
                    self.at = start + at + 1;
                    return Ok(Pattern::Name(Arc::from(name)));
                }
                _ => name.push(letter),
            }
        }
        let help = "end the name with a quote";
        Err(Mistake::at(
            start..start + 1,
            "a quote is not closed",
            "opened here",
            help,
        ))
    }
}
