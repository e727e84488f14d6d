//! Recorded arrivals: a JSONL or CSV file of when conversations began.
//!
//! A line, or a row, names its time in one of a few fields, whose name says the unit:
//! `at_s`, `at_ms`, `at_us`, or `timestamp` in milliseconds, as Mooncake's traces have
//! it. Other fields are left alone. Times count from the first one, so that a trace may
//! hold instants of a calendar.

use serde_json::Value;
use std::time::Duration;
use thiserror::Error;

/// Fields that hold a time, and how many of their units are a second.
const FIELDS: &[(&str, f64)] = &[
    ("at_s", 1.0),
    ("at_ms", 1e3),
    ("at_us", 1e6),
    ("timestamp", 1e3),
];

/// A trace that cannot be replayed.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum TraceError {
    /// It names no time.
    #[error("line {line} has none of the fields `at_s`, `at_ms`, `at_us` and `timestamp`")]
    NoTime {
        /// From 1.
        line: usize,
    },
    /// Its time is no number.
    #[error("line {line} has the time `{found}`, which is no number")]
    NoNumber {
        /// From 1.
        line: usize,
        /// What stands there.
        found: String,
    },
    /// It is earlier than the one before.
    #[error("line {line} is earlier than the line before it: a trace is sorted by its times")]
    Unsorted {
        /// From 1.
        line: usize,
    },
    /// It is neither JSON nor a row of the table.
    #[error("line {line} cannot be read: {said}")]
    Line {
        /// From 1.
        line: usize,
        /// Why not.
        said: String,
    },
    /// There is nothing in it.
    #[error("it holds no arrival")]
    Empty,
}

/// The arrivals in `text`, from the first one on: JSONL where it begins with `{`,
/// else CSV with a row of names.
///
/// # Errors
///
/// [`TraceError`] at the first line that cannot be replayed.
pub fn parse(text: &str) -> Result<Vec<Duration>, TraceError> {
    let seconds = if text.trim_start().starts_with('{') {
        jsonl(text)?
    } else {
        table(text)?
    };
    let first = seconds.first().ok_or(TraceError::Empty)?.1;
    let mut before = first;
    let mut arrivals = Vec::with_capacity(seconds.len());
    for (line, at) in seconds {
        if at < before {
            return Err(TraceError::Unsorted { line });
        }
        before = at;
        let span = Duration::try_from_secs_f64(at - first);
        arrivals.push(span.map_err(|error| TraceError::Line {
            line,
            said: error.to_string(),
        })?);
    }
    Ok(arrivals)
}

fn jsonl(text: &str) -> Result<Vec<(usize, f64)>, TraceError> {
    let mut times = Vec::new();
    for (index, text) in text.lines().enumerate() {
        let line = index + 1;
        if text.trim().is_empty() {
            continue;
        }
        let read: Value = serde_json::from_str(text).map_err(|error| TraceError::Line {
            line,
            said: error.to_string(),
        })?;
        let found = FIELDS
            .iter()
            .find_map(|(name, units)| Some((read.get(name)?, units)));
        let (value, units) = found.ok_or(TraceError::NoTime { line })?;
        let seconds = value.as_f64().map(|number| number / units);
        let seconds = seconds.ok_or_else(|| TraceError::NoNumber {
            line,
            found: value.to_string(),
        })?;
        times.push((line, seconds));
    }
    Ok(times)
}

fn table(text: &str) -> Result<Vec<(usize, f64)>, TraceError> {
    let mut rows = csv::ReaderBuilder::new()
        .trim(csv::Trim::All)
        .from_reader(text.as_bytes());
    let unreadable = |line: usize, error: &csv::Error| TraceError::Line {
        line,
        said: error.to_string(),
    };
    let names = rows.headers().map_err(|error| unreadable(1, &error))?;
    let column = FIELDS.iter().find_map(|(name, units)| {
        let at = names.iter().position(|column| column == *name)?;
        Some((at, *units))
    });
    if names.is_empty() {
        return Err(TraceError::Empty);
    }
    let (column, units) = column.ok_or(TraceError::NoTime { line: 1 })?;
    let mut times = Vec::new();
    for (index, row) in rows.records().enumerate() {
        let row = row.map_err(|error| unreadable(index + 2, &error))?;
        let line = row.position().map_or(index + 2, |position| {
            usize::try_from(position.line()).unwrap_or(usize::MAX)
        });
        let found = row.get(column).unwrap_or_default();
        let number = found
            .parse::<f64>()
            .ok()
            .filter(|number| number.is_finite());
        let seconds = number.ok_or_else(|| TraceError::NoNumber {
            line,
            found: found.to_owned(),
        })?;
        times.push((line, seconds / units));
    }
    Ok(times)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_are_read_in_their_unit_and_count_from_the_first() {
        let millis = |list: &[u64]| list.iter().copied().map(Duration::from_millis).collect();
        let cases: &[(&str, Vec<Duration>)] = &[
            ("at_s\n0\n0.5\n2\n", millis(&[0, 500, 2_000])),
            ("name, at_ms\na, 100\nb, 350\n", millis(&[0, 250])),
            (
                "{\"timestamp\": 27482, \"input_length\": 6955}\n\n{\"timestamp\": 30535}\n",
                millis(&[0, 3_053]),
            ),
            ("{\"at_us\": 1000}\n{\"at_us\": 1000}", millis(&[0, 0])),
            ("at_s\n1790000000\n1790000001\n", millis(&[0, 1_000])),
        ];
        for (text, expected) in cases {
            assert_eq!(parse(text).as_ref(), Ok(expected), "{text}");
        }
    }

    #[test]
    fn what_cannot_be_replayed_is_told_with_its_line() {
        let cases = [
            ("", "it holds no arrival"),
            ("at_s\n", "it holds no arrival"),
            ("time\n1\n", "line 1 has none"),
            ("at_s\n1\nx\n", "line 3 has the time `x`"),
            ("at_s\n1\nNaN\n", "line 3 has the time `NaN`"),
            ("at_s\n2\n1\n", "line 3 is earlier"),
            ("{\"at\": 1}\n", "line 1 has none"),
            ("{\"at_s\": \"1\"}\n", "line 1 has the time"),
            ("{\"at_s\": 1}\nnonsense\n", "line 2 cannot be read"),
            ("at_s,b\n1\n", "line 2 cannot be read"),
            ("at_s\n0\n1e300\n", "line 3 cannot be read"),
        ];
        for (text, expected) in cases {
            let error = parse(text).unwrap_err().to_string();
            assert!(error.starts_with(expected), "{text}: {error}");
        }
    }
}
