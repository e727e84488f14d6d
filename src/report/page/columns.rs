//! Tables of a page from columns: a name for people, one for programs, and how
//! a row's number is shown.

use crate::analysis::Estimate;
use crate::report::html::{Cell, Column, Table};
use crate::report::words::{UNKNOWN, difference, dollars, latency, mean_tokens, percent};
use crate::units::{Money, grouped};

/// How a number is shown; its value is kept beside it as it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Shown {
    /// Words.
    Text,
    /// A whole number.
    Count,
    /// A mean of whole numbers.
    Mean,
    /// A fraction of 1, as percent.
    Share,
    /// Microseconds, with a fitting unit.
    Latency,
    /// The same; what is not known took for ever.
    Endless,
    /// Microseconds, below 0 or not.
    Slope,
    /// A ratio of two counts.
    Ratio,
    /// Dollars.
    Dollars,
}

/// What stands in a cell before it is shown.
pub(super) enum Value {
    Text(String),
    Number(Option<f64>),
    /// An amount, and as a number for sorting.
    Amount(Option<Money>),
    /// A difference, and how it is told.
    Estimate(Option<f64>, String),
}

/// A column of rows of `R`.
pub(super) struct Of<R> {
    key: &'static str,
    name: &'static str,
    help: &'static str,
    shown: Shown,
    value: Box<dyn Fn(&R) -> Value>,
}

/// A column of words.
pub(super) fn text<R>(
    key: &'static str,
    name: &'static str,
    value: impl Fn(&R) -> String + 'static,
) -> Of<R> {
    Of {
        key,
        name,
        help: "",
        shown: Shown::Text,
        value: Box::new(move |row| Value::Text(value(row))),
    }
}

/// A column of numbers.
pub(super) fn number<R>(
    key: &'static str,
    (name, help): (&'static str, &'static str),
    shown: Shown,
    value: impl Fn(&R) -> Option<f64> + 'static,
) -> Of<R> {
    Of {
        key,
        name,
        help,
        shown,
        value: Box::new(move |row| Value::Number(value(row))),
    }
}

/// A column of amounts.
pub(super) fn amount<R>(
    key: &'static str,
    (name, help): (&'static str, &'static str),
    value: impl Fn(&R) -> Option<Money> + 'static,
) -> Of<R> {
    Of {
        key,
        name,
        help,
        shown: Shown::Dollars,
        value: Box::new(move |row| Value::Amount(value(row))),
    }
}

/// A column of differences.
pub(super) fn estimate<R>(
    key: &'static str,
    (name, help): (&'static str, &'static str),
    shown: impl Fn(f64) -> String + 'static,
    value: impl Fn(&R) -> Option<Estimate> + 'static,
) -> Of<R> {
    Of {
        key,
        name,
        help,
        shown: Shown::Mean,
        value: Box::new(move |row| {
            let value = value(row);
            let number = value.map(|value| value.difference);
            Value::Estimate(number, difference(value, &shown))
        }),
    }
}

/// The table of `rows`. A column in which every cell is empty is left out, and
/// of the names those in `same` where all rows say the same.
pub(super) fn table<R>(
    (key, title, note): (&str, &str, &str),
    columns: &[Of<R>],
    same: &[&str],
    rows: &[R],
) -> Table {
    let cells: Vec<Vec<Cell>> = rows
        .iter()
        .map(|row| columns.iter().map(|column| column.cell(row)).collect())
        .collect();
    let says = |column: usize| {
        let mut texts = cells.iter().map(|row| &row[column].text);
        let first = texts.next();
        let varies = texts.any(|text| Some(text) != first);
        let any = cells.iter().any(|row| !row[column].text.is_empty());
        any && (varies || !same.contains(&columns[column].key))
    };
    let kept: Vec<usize> = (0..columns.len()).filter(|&column| says(column)).collect();
    Table {
        key: key.to_owned(),
        title: title.to_owned(),
        note: note.to_owned(),
        columns: kept.iter().map(|&at| columns[at].head()).collect(),
        rows: cells
            .into_iter()
            .map(|row| kept.iter().map(|&at| row[at].clone()).collect())
            .collect(),
    }
}

impl<R> Of<R> {
    fn head(&self) -> Column {
        Column {
            key: self.key.to_owned(),
            name: self.name.to_owned(),
            help: self.help.to_owned(),
            number: self.shown != Shown::Text,
        }
    }

    fn cell(&self, row: &R) -> Cell {
        match (self.value)(row) {
            Value::Text(text) => Cell::text(if text == UNKNOWN { "" } else { &text }),
            Value::Number(None) if self.shown == Shown::Endless => Cell::text("∞"),
            Value::Number(value) => Cell::number(value, |value| self.shown.words(value)),
            Value::Estimate(None, _) => Cell::default(),
            Value::Estimate(value, text) => Cell { text, value },
            Value::Amount(value) => Cell {
                text: value.map_or_else(String::new, |value| dollars(Some(value))),
                value: value.map(Money::usd),
            },
        }
    }
}

impl Shown {
    fn words(self, value: f64) -> String {
        match self {
            Self::Text | Self::Dollars => value.to_string(),
            Self::Count => {
                #[expect(
                    clippy::cast_possible_truncation,
                    clippy::cast_sign_loss,
                    reason = "it was a count"
                )]
                let count = value as u64;
                grouped(count)
            }
            Self::Mean => mean_tokens(Some(value)),
            Self::Share => percent(Some(value)),
            Self::Slope if value < 0.0 => format!("-{}", latency(Some(-value))),
            Self::Latency | Self::Endless | Self::Slope => latency(Some(value)),
            Self::Ratio => format!("{value:.2}"),
        }
    }
}
