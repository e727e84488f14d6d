//! Quantities whose unit is in the type.
//!
//! Invariants: a [`Share`] keeps its two sums, so that shares of parts are
//! pooled by adding the sums and never by averaging ratios; [`Money`] is whole
//! pico-dollars, so that adding a million small bills loses nothing.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::fmt;
use std::iter::Sum;
use std::ops::{Add, AddAssign, Mul};
use std::time::Duration;

/// A span of time in whole microseconds: the unit of every recorded latency.
#[derive(
    Clone,
    Copy,
    Debug,
    Default,
    PartialEq,
    Eq,
    PartialOrd,
    Ord,
    Hash,
    Serialize,
    Deserialize,
    JsonSchema,
)]
#[serde(transparent)]
pub struct Micros(pub u64);

impl From<Duration> for Micros {
    /// Rounds down; a span above `u64::MAX` microseconds saturates.
    fn from(span: Duration) -> Self {
        Self(u64::try_from(span.as_micros()).unwrap_or(u64::MAX))
    }
}

impl From<Micros> for Duration {
    fn from(span: Micros) -> Self {
        Self::from_micros(span.0)
    }
}

impl fmt::Display for Micros {
    /// As [`span`].
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&span(self.0 as f64))
    }
}

/// A span of microseconds, not negative, for a person: `850 µs`, `12.3 ms`, `4.56 s`. Three
/// significant digits are enough, rounded once, from the number as it is: a mean that were
/// rounded to whole microseconds first could end on the other side of a half.
pub fn span(us: f64) -> String {
    match us {
        ..999.5 => format!("{us:.0} µs"),
        ..9_995.0 => format!("{:.2} ms", us / 1e3),
        ..99_950.0 => format!("{:.1} ms", us / 1e3),
        ..999_500.0 => format!("{:.0} ms", us / 1e3),
        _ => format!("{:.2} s", us / 1e6),
    }
}

/// A number of tokens.
#[derive(
    Clone,
    Copy,
    Debug,
    Default,
    PartialEq,
    Eq,
    PartialOrd,
    Ord,
    Hash,
    Serialize,
    Deserialize,
    JsonSchema,
)]
#[serde(transparent)]
pub struct Tokens(pub u64);

impl Tokens {
    /// `self - other`, or `None` where that would be negative.
    pub fn checked_sub(self, other: Self) -> Option<Self> {
        self.0.checked_sub(other.0).map(Self)
    }

    /// `self - other`, 0 where that would be negative.
    #[must_use]
    pub fn saturating_sub(self, other: Self) -> Self {
        Self(self.0.saturating_sub(other.0))
    }
}

impl fmt::Display for Tokens {
    /// Thousands are set apart: `12,345`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(&grouped(self.0))
    }
}

impl Add for Tokens {
    type Output = Self;

    fn add(self, other: Self) -> Self {
        Self(self.0 + other.0)
    }
}

impl AddAssign for Tokens {
    fn add_assign(&mut self, other: Self) {
        self.0 += other.0;
    }
}

impl Sum for Tokens {
    fn sum<I: Iterator<Item = Self>>(items: I) -> Self {
        items.fold(Self(0), Add::add)
    }
}

/// A number of bytes.
#[derive(
    Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize,
)]
#[serde(transparent)]
pub struct Bytes(pub u64);

/// A part of a whole, both in tokens.
///
/// Shares of several requests are pooled with `+`, which adds both sums: a mean
/// of ratios would give a short request the weight of a long one.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Share {
    /// What is counted.
    pub part: Tokens,
    /// What it is counted out of.
    pub whole: Tokens,
}

impl Share {
    /// The share as a fraction of 1; `None` where the whole is 0.
    pub fn fraction(self) -> Option<f64> {
        (self.whole.0 > 0).then(|| self.part.0 as f64 / self.whole.0 as f64)
    }
}

impl Add for Share {
    type Output = Self;

    fn add(self, other: Self) -> Self {
        Self {
            part: self.part + other.part,
            whole: self.whole + other.whole,
        }
    }
}

impl Sum for Share {
    fn sum<I: Iterator<Item = Self>>(items: I) -> Self {
        items.fold(Self::default(), Add::add)
    }
}

impl fmt::Display for Share {
    /// `62.4 %`, or `-` where there is no whole.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.fraction() {
            Some(fraction) => f.pad(&format!("{:.1} %", fraction * 100.0)),
            None => f.pad("-"),
        }
    }
}

/// An amount of money in whole pico-dollars (1e-12 USD).
///
/// A price of 1 USD per million tokens is 1,000,000 pico-dollars a token, so
/// every published price is a whole number and sums are exact.
#[derive(
    Clone,
    Copy,
    Debug,
    Default,
    PartialEq,
    Eq,
    PartialOrd,
    Ord,
    Hash,
    Serialize,
    Deserialize,
    JsonSchema,
)]
#[serde(transparent)]
pub struct Money(pub i128);

impl Money {
    /// The amount in US dollars, for display and for CSV.
    pub fn usd(self) -> f64 {
        self.0 as f64 / 1e12
    }

    /// The amount in US dollars as an exact decimal, without trailing zeros: `0.003`.
    pub fn decimal(self) -> String {
        let sign = if self.0 < 0 { "-" } else { "" };
        let (whole, part) = (
            self.0.unsigned_abs() / 1_000_000_000_000,
            self.0.unsigned_abs() % 1_000_000_000_000,
        );
        let text = format!("{sign}{whole}.{part:012}");
        text.trim_end_matches('0').trim_end_matches('.').to_owned()
    }
}

impl Add for Money {
    type Output = Self;

    fn add(self, other: Self) -> Self {
        Self(self.0 + other.0)
    }
}

impl AddAssign for Money {
    fn add_assign(&mut self, other: Self) {
        self.0 += other.0;
    }
}

impl Sum for Money {
    fn sum<I: Iterator<Item = Self>>(items: I) -> Self {
        items.fold(Self(0), Add::add)
    }
}

impl Mul<Tokens> for Money {
    type Output = Self;

    /// A price per token times a number of tokens.
    fn mul(self, tokens: Tokens) -> Self {
        Self(self.0 * i128::from(tokens.0))
    }
}

/// `1234567` as `1,234,567`.
pub fn grouped(value: u64) -> String {
    let digits = value.to_string();
    let mut out = String::with_capacity(digits.len() + digits.len() / 3);
    for (index, digit) in digits.chars().enumerate() {
        if index > 0 && (digits.len() - index).is_multiple_of(3) {
            out.push(',');
        }
        out.push(digit);
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn thousands_are_set_apart() {
        let cases = [
            (0, "0"),
            (7, "7"),
            (999, "999"),
            (1_000, "1,000"),
            (1_234_567, "1,234,567"),
        ];
        for (value, expected) in cases {
            assert_eq!(grouped(value), expected);
        }
    }

    #[test]
    fn a_span_is_rounded_once_and_keeps_three_digits() {
        let cases = [
            (0.4, "0 µs"),
            (850.0, "850 µs"),
            (999.4, "999 µs"),
            (999.6, "1.00 ms"),
            (2_284.9, "2.28 ms"),
            (9_996.0, "10.0 ms"),
            (99_960.0, "100 ms"),
            (999_700.0, "1.00 s"),
            (123_400.0, "123 ms"),
            (61_234_567.0, "61.23 s"),
        ];
        for (us, expected) in cases {
            assert_eq!(span(us), expected);
        }
        assert_eq!(Micros(12_345).to_string(), "12.3 ms");
    }

    #[test]
    fn shares_pool_by_their_sums() {
        let short = Share {
            part: Tokens(10),
            whole: Tokens(10),
        };
        let long = Share {
            part: Tokens(0),
            whole: Tokens(90),
        };
        assert_eq!((short + long).fraction(), Some(0.1));
        assert_eq!(Share::default().fraction(), None);
        assert_eq!(Share::default().to_string(), "-");
    }

    #[test]
    fn a_price_times_tokens_is_exact() {
        // 0.003 USD per million tokens is 3,000 pico-dollars a token.
        assert_eq!(Money(3_000) * Tokens(1_000_000), Money(3_000_000_000));
        assert!((Money(3_000_000_000).usd() - 0.003).abs() < 1e-15);
    }

    #[test]
    fn an_amount_is_written_exactly() {
        let cases = [
            (0, "0"),
            (3_000_000_000, "0.003"),
            (1, "0.000000000001"),
            (-1_500_000_000_000, "-1.5"),
            (20_000_000_000_000, "20"),
        ];
        for (pico, expected) in cases {
            assert_eq!(Money(pico).decimal(), expected);
        }
    }
}
