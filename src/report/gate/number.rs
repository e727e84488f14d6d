//! Figures of rules as a person reads them.

use crate::analysis::rules::{Case, Comparison, Unit, Verdicts};
use crate::report::words::UNKNOWN;
use crate::units::grouped;

/// What stands for a time that too many failures leave without an end.
const ENDLESS: &str = "never";

/// Digits behind the point, at most.
const MOST_DIGITS: usize = 9;

/// Both sides of a case, with so many digits that they differ where they do:
/// `79.96 %` and `at least 80.00 %`.
pub(super) fn sides(rule: &Verdicts, case: &Case) -> (String, String) {
    let with = |digits| {
        (
            shown(case.left, rule.unit, digits),
            shown(case.right, rule.unit, digits),
        )
    };
    let differ = case.left != case.right;
    let mut found = with(1);
    for digits in 2..=MOST_DIGITS {
        if !differ || found.0 != found.1 {
            break;
        }
        found = with(digits);
    }
    (found.0, format!("{} {}", wanted(rule.comparison), found.1))
}

fn wanted(comparison: Comparison) -> &'static str {
    match comparison {
        Comparison::AtLeast => "at least",
        Comparison::AtMost => "at most",
        Comparison::Above => "more than",
        Comparison::Below => "less than",
        Comparison::Equal => "exactly",
        Comparison::Unequal => "anything but",
    }
}

/// A value in its unit, with one digit behind the point or more.
pub(in crate::report) fn shown(value: Option<f64>, unit: Option<Unit>, digits: usize) -> String {
    let Some(value) = value else {
        return UNKNOWN.to_owned();
    };
    match unit {
        Some(Unit::Share) => format!("{:.digits$} %", value * 100.0),
        _ if value.is_infinite() => ENDLESS.to_owned(),
        Some(Unit::Tokens | Unit::Count) => counted(value, digits - 1),
        Some(Unit::Micros) if value.abs() < 1e3 => format!("{value:.0$} µs", digits - 1),
        Some(Unit::Micros) if value.abs() < 1e6 => format!("{:.digits$} ms", value / 1e3),
        Some(Unit::Micros) => format!("{:.1$} s", value / 1e6, digits + 1),
        Some(Unit::Dollars) => format!("${value:.0$}", digits + 3),
        None => format!("{value:.0$}", digits + 2),
    }
}

/// Rounded half away from 0, as every whole number of a report is; `format!` alone would
/// make 4,460 of 4,460.5 and 4,462 of 4,461.5.
fn rounded(value: f64, digits: usize) -> f64 {
    let scale = 10_f64.powi(i32::try_from(digits).unwrap_or(i32::MAX));
    let scaled = (value * scale).round();
    if scaled.is_finite() && scaled < 9e15 {
        scaled / scale
    } else {
        value
    }
}

/// A number with its thousands set apart: `12,345.5`.
fn counted(value: f64, digits: usize) -> String {
    let text = format!("{:.digits$}", rounded(value.abs(), digits));
    let (whole, part) = text
        .split_once('.')
        .map_or((text.as_str(), ""), |(whole, part)| (whole, part));
    // A number that no count can be is left as it is.
    let whole = whole.parse().map_or_else(|_| whole.to_owned(), grouped);
    let sign = if value < 0.0 { "-" } else { "" };
    let point = if part.is_empty() { "" } else { "." };
    format!("{sign}{whole}{point}{part}")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::report::words::mean_tokens;

    #[test]
    fn whole_numbers_are_rounded_as_in_every_report() {
        for value in [0.5, 1.5, 4_460.5, 4_461.5, 4_460.499, 12_345_678.5] {
            assert_eq!(
                shown(Some(value), Some(Unit::Tokens), 1),
                mean_tokens(Some(value)),
                "{value}"
            );
        }
        assert_eq!(shown(Some(4_460.5), Some(Unit::Tokens), 1), "4,461");
        assert_eq!(shown(Some(-2.5), Some(Unit::Tokens), 1), "-3");
        assert_eq!(shown(Some(f64::INFINITY), Some(Unit::Micros), 1), "never");
    }
}
