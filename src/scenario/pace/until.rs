//! Rules at whose break a sweep ends.

use super::number;
use std::fmt;
use std::str::FromStr;

/// What a rule is about.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Measure {
    /// Time to first token, counted from when the request was sent.
    Ttft(f64),
    /// Time to first token, counted from when the request was due.
    TtftDue(f64),
    /// How late the client itself was.
    Late(f64),
    /// Share of requests that failed, those that were shed among them.
    Failed,
    /// Share of arrivals that were shed.
    Shed,
}

/// What a level must keep to: `ttft_p90<=500ms`, `ttft_due_p99<=2s`, `late_p99<=1ms`,
/// `failed<=1%`, `shed<=0%`. A sweep ends at the first level that does not.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Until {
    /// What it is about; quantiles are within 0 and 1.
    pub measure: Measure,
    /// The most that is allowed: microseconds, or a share from 0 to 1.
    pub most: f64,
}

impl fmt::Display for Measure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        // In thousandths of a percent, so that 0.999 is shown as 99.9.
        let percent = |q: f64| (q * 1e5).round() / 1e3;
        match self {
            Self::Ttft(q) => write!(f, "ttft_p{}", percent(*q)),
            Self::TtftDue(q) => write!(f, "ttft_due_p{}", percent(*q)),
            Self::Late(q) => write!(f, "late_p{}", percent(*q)),
            Self::Failed => f.write_str("failed"),
            Self::Shed => f.write_str("shed"),
        }
    }
}

impl Measure {
    /// `value` of this measure, for a person.
    pub fn shown(self, value: f64) -> String {
        match self {
            Self::Failed | Self::Shed => format!("{}%", (value * 1e4).round() / 1e2),
            _ => format!("{}ms", value.round() / 1e3),
        }
    }

    fn read(text: &str) -> Option<Self> {
        let quantile = |text: &str| {
            let percent = number(text)?;
            (percent > 0.0 && percent <= 100.0).then_some(percent / 100.0)
        };
        match text {
            "failed" => return Some(Self::Failed),
            "shed" => return Some(Self::Shed),
            _ => {}
        }
        let (name, percent) = text.rsplit_once("_p")?;
        let q = quantile(percent)?;
        match name {
            "ttft" => Some(Self::Ttft(q)),
            "ttft_due" => Some(Self::TtftDue(q)),
            "late" => Some(Self::Late(q)),
            _ => None,
        }
    }
}

impl fmt::Display for Until {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}<={}", self.measure, self.measure.shown(self.most))
    }
}

impl FromStr for Until {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let wrong = || {
            format!(
                "`{}` is no rule for a sweep: `ttft_p90<=500ms`, `ttft_due_p90<=500ms`, \
                 `late_p99<=1ms`, `failed<=1%` or `shed<=0%`",
                text.trim()
            )
        };
        let (measure, most) = text.split_once("<=").ok_or_else(wrong)?;
        let measure = Measure::read(measure.trim()).ok_or_else(wrong)?;
        let most = most.trim();
        let most = match measure {
            Measure::Failed | Measure::Shed => most
                .strip_suffix('%')
                .and_then(number)
                .map(|percent| percent / 100.0)
                .filter(|share| *share <= 1.0),
            _ => micros(most),
        };
        most.map(|most| Self { measure, most }).ok_or_else(wrong)
    }
}

/// `500ms`, `1.5s`, `200us` in microseconds.
fn micros(text: &str) -> Option<f64> {
    for (unit, size) in [("ms", 1e3), ("us", 1.0), ("s", 1e6)] {
        if let Some(value) = text.strip_suffix(unit) {
            return number(value).map(|value| value * size);
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rules_read_back_as_they_are_shown() {
        for text in [
            "ttft_p90<=500ms",
            "ttft_due_p99.9<=2000ms",
            "late_p99<=0.5ms",
            "failed<=1%",
            "shed<=0%",
        ] {
            let rule: Until = text.parse().unwrap();
            assert_eq!(rule.to_string(), text);
        }
        let rule: Until = " ttft_p50 <= 1.5s ".parse().unwrap();
        assert_eq!(rule.to_string(), "ttft_p50<=1500ms");
    }

    #[test]
    fn what_is_no_rule_says_so() {
        for text in [
            "",
            "ttft<=1s",
            "ttft_p0<=1s",
            "ttft_p101<=1s",
            "ttft_p90<=1",
            "ttft_p90>=1s",
            "failed<=1",
            "failed<=101%",
            "cached<=1%",
            "failed<=-1%",
        ] {
            assert!(text.parse::<Until>().is_err(), "{text}");
        }
    }
}
