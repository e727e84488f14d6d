//! How long a person thinks between an answer and the next message.

use super::{number, span};
use crate::scenario::duration;
use std::fmt;
use std::str::FromStr;
use std::time::Duration;

/// Think time between turns, in real time: `2s`, `uniform=1s..5s`, `exponential=5s`,
/// `lognormal=5s,sigma=1`.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Think {
    /// Always the same.
    Fixed(Duration),
    /// Anything between the two alike.
    Uniform {
        /// The shortest.
        from: Duration,
        /// The longest.
        to: Duration,
    },
    /// Mostly short, with this mean.
    Exponential {
        /// The mean.
        mean: Duration,
    },
    /// As people are found to be: half of the times are below the median, some far above it.
    Lognormal {
        /// The median.
        median: Duration,
        /// Standard deviation of the logarithm.
        sigma: f64,
    },
}

impl Think {
    /// The mean, for estimates.
    pub fn mean(self) -> Duration {
        match self {
            Self::Fixed(span) => span,
            Self::Uniform { from, to } => from / 2 + to / 2,
            Self::Exponential { mean } => mean,
            Self::Lognormal { median, sigma } => {
                let mean = median.as_secs_f64() * (sigma * sigma / 2.0).exp();
                Duration::try_from_secs_f64(mean).unwrap_or(Duration::MAX)
            }
        }
    }
}

impl fmt::Display for Think {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let shown = duration::shown;
        match *self {
            Self::Fixed(span) => f.write_str(&shown(span)),
            Self::Uniform { from, to } => write!(f, "uniform={}..{}", shown(from), shown(to)),
            Self::Exponential { mean } => write!(f, "exponential={}", shown(mean)),
            Self::Lognormal { median, sigma } => {
                write!(f, "lognormal={},sigma={sigma}", shown(median))
            }
        }
    }
}

impl FromStr for Think {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let text = text.trim();
        let read = |text: &str| {
            duration::parse(text).map_err(|said| format!("the duration `{}` {said}", text.trim()))
        };
        if let Some(rest) = text.strip_prefix("uniform=") {
            let (from, to) = span(rest).ok_or("`uniform` is written `uniform=1s..5s`")?;
            let (from, to) = (read(from)?, read(to)?);
            if from > to {
                return Err("the shortest think time is longer than the longest".to_owned());
            }
            return Ok(Self::Uniform { from, to });
        }
        if let Some(rest) = text.strip_prefix("exponential=") {
            return Ok(Self::Exponential { mean: read(rest)? });
        }
        if let Some(rest) = text.strip_prefix("lognormal=") {
            let (median, sigma) = rest
                .split_once(",sigma=")
                .ok_or("`lognormal` is written `lognormal=5s,sigma=1`")?;
            let sigma = number(sigma)
                .filter(|sigma| *sigma <= 5.0)
                .ok_or("`sigma` must be a number from 0 to 5")?;
            let median = read(median)?;
            return Ok(Self::Lognormal { median, sigma });
        }
        read(text).map(Self::Fixed).map_err(|said| {
            format!(
                "{said}; a think time is a duration, `uniform=1s..5s`, `exponential=5s` or \
                 `lognormal=5s,sigma=1`"
            )
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn think_times_read_back_as_they_are_shown() {
        let cases = [
            ("2s", 2_000),
            ("uniform=1s..5s", 3_000),
            ("exponential=1m30s", 90_000),
            ("lognormal=5s,sigma=0", 5_000),
        ];
        for (text, mean) in cases {
            let think: Think = text.parse().unwrap();
            assert_eq!(think.to_string(), text);
            assert_eq!(think.mean(), Duration::from_millis(mean), "{text}");
        }
    }

    #[test]
    fn what_is_no_think_time_says_why() {
        for text in [
            "",
            "2",
            "uniform=5s..1s",
            "uniform=5s",
            "lognormal=5s",
            "lognormal=5s,sigma=9",
            "normal=5s",
            "exponential=",
        ] {
            assert!(text.parse::<Think>().is_err(), "{text}");
        }
    }
}
