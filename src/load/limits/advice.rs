//! What the headers of an answer ask for: how long to wait, what is left of a quota.
//!
//! Read are `Retry-After` and `retry-after-ms`; OpenAI's `x-ratelimit-remaining-requests`
//! and `-tokens` with their `-reset-`, and the same behind `llm_provider-`, as LiteLLM
//! passes them on; Anthropic's `anthropic-ratelimit-...-remaining` and `-reset`; and
//! `ratelimit-remaining` with `ratelimit-reset`, with and without `x-`, and `RateLimit`
//! with its `r` and `t`. An instant of the calendar is taken from the server's own
//! `Date`, never from this machine's clock; without a `Date` it says nothing.

use jiff::Timestamp;
use jiff::fmt::rfc2822;
use std::time::Duration;

/// What is left of a quota, and when it is whole again.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Quota {
    /// Requests or tokens.
    pub left: u64,
    /// From now.
    pub reset: Duration,
}

/// What the headers say.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Advice {
    /// The server wants nothing before this, from now.
    pub retry_after: Option<Duration>,
    /// Requests.
    pub requests: Option<Quota>,
    /// Tokens; the quota that is used up first, where there are several.
    pub tokens: Option<Quota>,
}

impl Advice {
    /// How long nothing more is allowed, as the quotas have it.
    pub fn closed_for(&self) -> Option<Duration> {
        let empty = |quota: Option<Quota>| quota.filter(|quota| quota.left == 0);
        let spans = [empty(self.requests), empty(self.tokens)];
        spans.into_iter().flatten().map(|quota| quota.reset).max()
    }
}

/// Pairs of headers for requests: remaining, reset.
const REQUESTS: &[(&str, &str)] = &[
    (
        "x-ratelimit-remaining-requests",
        "x-ratelimit-reset-requests",
    ),
    (
        "anthropic-ratelimit-requests-remaining",
        "anthropic-ratelimit-requests-reset",
    ),
    ("x-ratelimit-remaining", "x-ratelimit-reset"),
    ("ratelimit-remaining", "ratelimit-reset"),
];

/// Pairs of headers for tokens.
const TOKENS: &[(&str, &str)] = &[
    ("x-ratelimit-remaining-tokens", "x-ratelimit-reset-tokens"),
    (
        "anthropic-ratelimit-tokens-remaining",
        "anthropic-ratelimit-tokens-reset",
    ),
    (
        "anthropic-ratelimit-input-tokens-remaining",
        "anthropic-ratelimit-input-tokens-reset",
    ),
];

/// What `headers` ask for, names in lowercase. `Retry-After` counts where the answer
/// `failed`: on others it means something else.
pub fn advice(headers: &[(String, String)], failed: bool) -> Advice {
    let find = |name: &str| {
        let known =
            |known: &str| known == name || known.strip_prefix("llm_provider-") == Some(name);
        let found = headers.iter().find(|(header, _)| known(header));
        found.map(|(_, value)| value.trim())
    };
    let date = find("date").and_then(instant);
    let quota = |(left, reset): &(&str, &str)| {
        Some(Quota {
            left: find(left)?.parse().ok()?,
            reset: span(find(reset)?, date)?,
        })
    };
    let millis = find("retry-after-ms").and_then(|value| value.parse::<f64>().ok());
    let millis = millis.and_then(|millis| Duration::try_from_secs_f64(millis / 1e3).ok());
    let retry_after = millis.or_else(|| span(find("retry-after")?, date));
    Advice {
        retry_after: retry_after.filter(|_| failed),
        requests: REQUESTS
            .iter()
            .find_map(quota)
            .or_else(|| fields(find("ratelimit")?)),
        tokens: TOKENS
            .iter()
            .filter_map(quota)
            .min_by_key(|quota| quota.left),
    }
}

/// `"default";r=50;t=30`
fn fields(value: &str) -> Option<Quota> {
    let field = |name: &str| {
        let mut parts = value.split(';').map(str::trim);
        parts.find_map(|part| part.strip_prefix(name)?.parse::<u64>().ok())
    };
    Some(Quota {
        left: field("r=")?,
        reset: Duration::from_secs(field("t=")?),
    })
}

/// How long until a reset: seconds, a span as Go writes them (`6m0s`, `17ms`), seconds
/// or milliseconds since 1970, or an instant of the calendar.
fn span(value: &str, now: Option<Timestamp>) -> Option<Duration> {
    let until = |at: f64| {
        let now = now?.as_millisecond() as f64 / 1e3;
        Duration::try_from_secs_f64((at - now).max(0.0)).ok()
    };
    if let Ok(number) = value.parse::<f64>() {
        return match number {
            n if n >= 1e12 => until(n / 1e3),
            n if n >= 1e9 => until(n),
            n => Duration::try_from_secs_f64(n).ok(),
        };
    }
    go(value).or_else(|| until(instant(value)?.as_millisecond() as f64 / 1e3))
}

fn instant(value: &str) -> Option<Timestamp> {
    let dated = || rfc2822::parse(value).ok().map(|at| at.timestamp());
    value.parse().ok().or_else(dated)
}

/// `1h2m3.5s`, `20ms`
fn go(value: &str) -> Option<Duration> {
    let mut rest = value;
    let mut seconds = 0.0;
    while !rest.is_empty() {
        let digits = rest.find(|c: char| !c.is_ascii_digit() && c != '.')?;
        let number: f64 = rest[..digits].parse().ok()?;
        let behind = &rest[digits..];
        let letters = behind
            .find(|c: char| !c.is_alphabetic())
            .unwrap_or(behind.len());
        seconds += number
            * match &behind[..letters] {
                "h" => 3_600.0,
                "m" => 60.0,
                "s" => 1.0,
                "ms" => 1e-3,
                "us" | "µs" => 1e-6,
                _ => return None,
            };
        rest = &behind[letters..];
    }
    (!value.is_empty()).then(|| Duration::try_from_secs_f64(seconds).ok())?
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(headers: &[(&str, &str)], failed: bool) -> Advice {
        let owned = |(name, value): &(&str, &str)| ((*name).to_owned(), (*value).to_owned());
        advice(&headers.iter().map(owned).collect::<Vec<_>>(), failed)
    }

    const DATE: (&str, &str) = ("date", "Mon, 30 Nov 2026 10:00:00 GMT");

    #[test]
    fn a_wait_is_read_in_every_form_that_servers_use() {
        let millis = |millis| Some(Duration::from_millis(millis));
        let cases: &[(&[(&str, &str)], Option<Duration>)] = &[
            (&[("retry-after", "2")], millis(2_000)),
            (&[("retry-after", "0.5")], millis(500)),
            (
                &[("retry-after-ms", "1250"), ("retry-after", "2")],
                millis(1_250),
            ),
            (
                &[DATE, ("retry-after", "Mon, 30 Nov 2026 10:00:07 GMT")],
                millis(7_000),
            ),
            (&[("retry-after", "Mon, 30 Nov 2026 10:00:07 GMT")], None),
            (
                &[DATE, ("retry-after", "Mon, 30 Nov 2026 09:00:00 GMT")],
                millis(0),
            ),
            (&[("retry-after", "soon")], None),
            (&[("retry-after", "-1")], None),
            (&[("llm_provider-retry-after", "3")], millis(3_000)),
            (&[], None),
        ];
        for (headers, expected) in cases {
            assert_eq!(of(headers, true).retry_after, *expected, "{headers:?}");
            assert_eq!(of(headers, false).retry_after, None);
        }
    }

    #[test]
    fn what_is_left_is_read_in_every_form_that_servers_use() {
        let quota = |left, millis| {
            Some(Quota {
                left,
                reset: Duration::from_millis(millis),
            })
        };
        let requests: &[(&[(&str, &str)], Option<Quota>)] = &[
            (
                &[
                    ("x-ratelimit-remaining-requests", "0"),
                    ("x-ratelimit-reset-requests", "6m0s"),
                ],
                quota(0, 360_000),
            ),
            (
                &[
                    ("x-ratelimit-remaining-requests", "3"),
                    ("x-ratelimit-reset-requests", "17ms"),
                ],
                quota(3, 17),
            ),
            (
                &[
                    DATE,
                    ("anthropic-ratelimit-requests-remaining", "9"),
                    ("anthropic-ratelimit-requests-reset", "2026-11-30T10:00:30Z"),
                ],
                quota(9, 30_000),
            ),
            (
                &[
                    ("x-ratelimit-remaining", "1"),
                    ("x-ratelimit-reset", "12.5"),
                ],
                quota(1, 12_500),
            ),
            (
                &[
                    DATE,
                    ("x-ratelimit-remaining", "1"),
                    ("x-ratelimit-reset", "1796032801"),
                ],
                quota(1, 1_000),
            ),
            (
                &[
                    DATE,
                    ("x-ratelimit-remaining", "1"),
                    ("x-ratelimit-reset", "1796032802000"),
                ],
                quota(1, 2_000),
            ),
            (&[("ratelimit", "\"default\";r=50;t=30")], quota(50, 30_000)),
            (&[("x-ratelimit-remaining-requests", "0")], None),
            (
                &[("x-ratelimit-remaining", "-1"), ("x-ratelimit-reset", "1")],
                None,
            ),
        ];
        for (headers, expected) in requests {
            assert_eq!(of(headers, false).requests, *expected, "{headers:?}");
        }
        let both = [
            DATE,
            ("anthropic-ratelimit-tokens-remaining", "500"),
            ("anthropic-ratelimit-tokens-reset", "2026-11-30T10:00:10Z"),
            ("anthropic-ratelimit-input-tokens-remaining", "0"),
            (
                "anthropic-ratelimit-input-tokens-reset",
                "2026-11-30T10:00:20Z",
            ),
        ];
        let advice = of(&both, false);
        assert_eq!(advice.tokens, quota(0, 20_000));
        assert_eq!(advice.closed_for(), Some(Duration::from_secs(20)));
    }

    #[test]
    fn a_quota_that_is_not_used_up_closes_nothing() {
        let left = [("ratelimit-remaining", "1"), ("ratelimit-reset", "60")];
        assert_eq!(of(&left, false).closed_for(), None);
    }
}
