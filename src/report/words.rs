//! Numbers as a person reads them.

use crate::analysis::Estimate;
use crate::analysis::stats::FEWEST;
use crate::units::{Money, Tokens, grouped, span};

/// What stands for a number that is not known.
pub const UNKNOWN: &str = "-";

/// A fraction of 1 as `62.4 %`; never `100.0 %` or `0.0 %` where it is not quite.
pub fn percent(fraction: Option<f64>) -> String {
    match fraction {
        None => UNKNOWN.to_owned(),
        Some(value) if value > 0.0 && value < 0.0005 => "<0.1 %".to_owned(),
        Some(value) if (0.9995..1.0).contains(&value) => ">99.9 %".to_owned(),
        Some(value) => format!("{:.1} %", value * 100.0),
    }
}

/// Tokens with their thousands set apart.
pub fn tokens(tokens: Option<Tokens>) -> String {
    tokens.map_or_else(|| UNKNOWN.to_owned(), |tokens| tokens.to_string())
}

/// A mean number of tokens, rounded to whole ones.
pub fn mean_tokens(value: Option<f64>) -> String {
    value.map_or_else(|| UNKNOWN.to_owned(), |value| grouped(whole(value)))
}

/// A latency in microseconds.
pub fn latency(us: Option<f64>) -> String {
    us.map_or_else(|| UNKNOWN.to_owned(), span)
}

/// An amount in dollars with three significant digits: `$0.00123`, `$12.3`.
pub fn dollars(amount: Option<Money>) -> String {
    let Some(amount) = amount.map(Money::usd) else {
        return UNKNOWN.to_owned();
    };
    if amount == 0.0 {
        return "$0".to_owned();
    }
    #[expect(
        clippy::cast_possible_truncation,
        reason = "a logarithm of an amount is small"
    )]
    let digits = 2 - amount.abs().log10().floor() as i64;
    let places = usize::try_from(digits).unwrap_or(0);
    format!("${amount:.places$}")
}

/// A mean difference of tokens with its sign: `-1,024`.
pub fn signed_tokens(value: f64) -> String {
    let sign = if value < 0.0 { '-' } else { '+' };
    format!("{sign}{}", grouped(whole(value.abs())))
}

/// An amount in dollars with its sign: `-$0.00123`.
pub fn signed_dollars(value: f64) -> String {
    let sign = if value < 0.0 { '-' } else { '+' };
    #[expect(
        clippy::cast_possible_truncation,
        reason = "a bill is far below the largest amount"
    )]
    let amount = Money((value.abs() * 1e12).round() as i128);
    format!("{sign}{}", dollars(Some(amount)))
}

/// A difference with its 95 % interval. Where there is none, as of a few pairs, or it
/// holds 0, no number: it would look like more than it is.
pub fn difference(estimate: Option<Estimate>, shown: impl Fn(f64) -> String) -> String {
    let Some(estimate) = estimate else {
        return UNKNOWN.to_owned();
    };
    let Some(interval) = estimate.interval else {
        return few(estimate.n);
    };
    let range = format!("[{}, {}]", shown(interval.low), shown(interval.high));
    let same = interval.low.abs() + interval.high.abs() <= 0.0;
    if estimate.is_clear() || same {
        format!("{} {range}", shown(estimate.difference))
    } else {
        format!("cannot tell at this sample size {range}")
    }
}

/// That too little was run for anything to be told: `cannot tell (2 of 6 conversations)`.
pub fn few(pairs: usize) -> String {
    if pairs < FEWEST {
        format!("cannot tell ({pairs} of {FEWEST} conversations)")
    } else {
        "cannot tell".to_owned()
    }
}

/// A number with its noun: `1 request`, `1,200 requests`.
pub fn count(number: u64, noun: &str) -> String {
    let plural = if number == 1 { "" } else { "s" };
    format!("{} {noun}{plural}", grouped(number))
}

/// Breaks `text` at blanks into lines of at most `width` letters, all but the
/// first with `indent` in front. Blanks in front of the text stay, and so does
/// a word that is wider than a line.
pub fn wrapped(text: &str, width: usize, indent: &str) -> String {
    let front = text.len() - text.trim_start_matches(' ').len();
    let mut done = String::new();
    let mut line = text[..front].to_owned();
    let mut empty = true;
    for word in text[front..].split(' ') {
        if !empty && line.chars().count() + 1 + word.chars().count() > width {
            done.push_str(&line);
            done.push('\n');
            indent.clone_into(&mut line);
            empty = true;
        }
        if !empty {
            line.push(' ');
        }
        line.push_str(word);
        empty = false;
    }
    done + &line
}

/// Rounds to the nearest whole number; what is negative or no number becomes 0.
fn whole(value: f64) -> u64 {
    #[expect(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "a cast of a float saturates"
    )]
    let rounded = value.round() as u64;
    rounded
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_share_is_never_rounded_to_all_or_nothing() {
        let cases = [
            (None, "-"),
            (Some(0.0), "0.0 %"),
            (Some(0.0001), "<0.1 %"),
            (Some(0.6241), "62.4 %"),
            (Some(0.9996), ">99.9 %"),
            (Some(1.0), "100.0 %"),
            (Some(1.25), "125.0 %"),
        ];
        for (share, expected) in cases {
            assert_eq!(percent(share), expected);
        }
    }

    #[test]
    fn amounts_have_three_digits() {
        let cases = [
            (0, "$0"),
            (1_234_000_000, "$0.00123"),
            (12_345_000_000_000, "$12.3"),
            (1_234_567_000_000_000, "$1235"),
        ];
        for (pico, expected) in cases {
            assert_eq!(dollars(Some(Money(pico))), expected);
        }
        assert_eq!(dollars(None), "-");
    }

    #[test]
    fn text_is_broken_at_blanks() {
        assert_eq!(wrapped("one two three", 7, ""), "one two\nthree");
        assert_eq!(wrapped("one two three", 7, "  "), "one two\n  three");
        assert_eq!(wrapped("unbreakable word", 4, ""), "unbreakable\nword");
        assert_eq!(wrapped("  one two", 6, "    "), "  one\n    two");
        assert_eq!(wrapped("", 4, ""), "");
    }
}
