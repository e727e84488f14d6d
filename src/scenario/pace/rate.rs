//! Rates of arrivals, and how arrivals are spread.

use super::number;
use std::fmt;
use std::str::FromStr;

/// The highest rate that can be asked for, per second.
pub const MOST_PER_SECOND: f64 = 100_000.0;

/// Conversations in a unit of time: `2/s`, `30/min`, `100/h`.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Rate {
    number: f64,
    unit: Unit,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Unit {
    Second,
    Minute,
    Hour,
}

impl Unit {
    fn seconds(self) -> f64 {
        match self {
            Self::Second => 1.0,
            Self::Minute => 60.0,
            Self::Hour => 3_600.0,
        }
    }
}

impl Rate {
    /// Conversations in a second; finite, from 0 to [`MOST_PER_SECOND`].
    pub fn per_second(self) -> f64 {
        self.number / self.unit.seconds()
    }

    /// The same unit of another number; kept within [`MOST_PER_SECOND`].
    #[must_use]
    pub fn with_number(self, number: f64) -> Self {
        let most = MOST_PER_SECOND * self.unit.seconds();
        Self {
            number: number.clamp(0.0, most),
            ..self
        }
    }

    /// The number in front of its unit.
    pub fn number(self) -> f64 {
        self.number
    }
}

impl fmt::Display for Rate {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let unit = match self.unit {
            Unit::Second => "s",
            Unit::Minute => "min",
            Unit::Hour => "h",
        };
        write!(f, "{}/{unit}", self.number)
    }
}

impl FromStr for Rate {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let wrong = || format!("`{text}` is no rate (`2/s`, `30/min`, `100/h`)");
        let (front, unit) = text.split_once('/').ok_or_else(wrong)?;
        let unit = match unit.trim() {
            "s" => Unit::Second,
            "m" | "min" => Unit::Minute,
            "h" => Unit::Hour,
            _ => return Err(wrong()),
        };
        let number = number(front).ok_or_else(wrong)?;
        let rate = Self { number, unit };
        if rate.per_second() > MOST_PER_SECOND {
            return Err(format!("`{text}` is more than {MOST_PER_SECOND}/s"));
        }
        Ok(rate)
    }
}

/// How arrivals are spread around their rate.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub enum Process {
    /// Evenly.
    Constant,
    /// Each independent of the others: exponential gaps, whose coefficient of variation is 1.
    #[default]
    Poisson,
    /// In bursts: gamma gaps with this coefficient of variation; above 1 burstier than Poisson.
    Gamma(f64),
}

impl Process {
    /// Coefficient of variation of the gaps between arrivals at a constant rate.
    pub fn variation(self) -> f64 {
        match self {
            Self::Constant => 0.0,
            Self::Poisson => 1.0,
            Self::Gamma(variation) => variation,
        }
    }
}

impl fmt::Display for Process {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Constant => f.write_str("constant"),
            Self::Poisson => f.write_str("poisson"),
            Self::Gamma(variation) => write!(f, "gamma={variation}"),
        }
    }
}

impl FromStr for Process {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        match text.trim() {
            "constant" => Ok(Self::Constant),
            "poisson" => Ok(Self::Poisson),
            other => {
                let variation = other.strip_prefix("gamma=").and_then(number);
                // Beyond these the gaps are all alike, or nearly all of them 0.
                let variation = variation.filter(|v| (0.05..=20.0).contains(v));
                variation.map(Self::Gamma).ok_or_else(|| {
                    format!(
                        "`{other}` is no spread of arrivals: `constant`, `poisson`, or `gamma=CV` \
                         with a coefficient of variation from 0.05 to 20"
                    )
                })
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rates_read_back_as_they_are_shown() {
        for (text, per_second) in [
            ("2/s", 2.0),
            ("30/min", 0.5),
            ("7.2/h", 0.002),
            ("0/s", 0.0),
        ] {
            let rate: Rate = text.parse().unwrap();
            assert!((rate.per_second() - per_second).abs() < 1e-12, "{text}");
            assert_eq!(rate.to_string(), text);
        }
        for text in ["2", "-1/s", "2/d", "inf/s", "NaN/s", "1e9/s", "/s", ""] {
            assert!(text.parse::<Rate>().is_err(), "{text}");
        }
    }

    #[test]
    fn a_spread_names_its_coefficient_of_variation() {
        for (text, variation) in [("constant", 0.0), ("poisson", 1.0), ("gamma=2.5", 2.5)] {
            let process: Process = text.parse().unwrap();
            assert!((process.variation() - variation).abs() < 1e-12);
            assert_eq!(process.to_string(), text);
        }
        for text in ["gamma", "gamma=0", "gamma=-1", "gamma=1000", "bursty"] {
            assert!(text.parse::<Process>().is_err(), "{text}");
        }
    }
}
