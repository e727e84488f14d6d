//! Wall time: read here and nowhere else, for the manifest and where a server names
//! a date until which to wait.

use crate::units::Micros;
use jiff::Timestamp;
use jiff::civil::DateTime;
use serde::{Deserialize, Deserializer, Serialize, Serializer, de};
use std::fmt;

/// An instant of the calendar, written as RFC 3339 in UTC. Never used to
/// measure a latency.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct WallTime(Timestamp);

impl WallTime {
    /// Now, in whole seconds.
    pub fn now() -> Self {
        let now = Timestamp::now();
        Self(Timestamp::from_second(now.as_second()).unwrap_or(now))
    }

    /// Reads RFC 3339; `None` for anything else.
    pub fn parse(text: &str) -> Option<Self> {
        text.parse().ok().map(Self)
    }

    /// Reads a date of HTTP in any of its three forms (RFC 9110, section 5.6.7); `None`
    /// for anything else.
    pub fn parse_http(text: &str) -> Option<Self> {
        const FORMS: [&str; 3] = [
            "%a, %d %b %Y %H:%M:%S GMT",
            "%A, %d-%b-%y %H:%M:%S GMT",
            "%a %b %e %H:%M:%S %Y",
        ];
        let read = |form| DateTime::strptime(form, text.trim()).ok();
        let date = FORMS.into_iter().find_map(read)?;
        let zoned = date.to_zoned_datetime(jiff::tz::TimeZone::UTC).ok()?;
        Some(Self(zoned.timestamp()))
    }

    /// The day in UTC: `2026-11-30`.
    pub fn date(self) -> String {
        self.0.strftime("%Y-%m-%d").to_string()
    }

    /// Time from `earlier` to this; 0 where the calendar was set back in between.
    pub fn since(self, earlier: Self) -> Micros {
        let micros = self.0.as_microsecond() - earlier.0.as_microsecond();
        Micros(u64::try_from(micros).unwrap_or(0))
    }

    /// The second in UTC, fit for a file name: `20261130T104500Z`.
    pub fn compact(self) -> String {
        self.0.strftime("%Y%m%dT%H%M%SZ").to_string()
    }
}

impl fmt::Display for WallTime {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(&self.0, f)
    }
}

impl Serialize for WallTime {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

impl<'de> Deserialize<'de> for WallTime {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text = String::deserialize(deserializer)?;
        Self::parse(&text)
            .ok_or_else(|| de::Error::custom(format!("`{text}` is not a time of RFC 3339")))
    }
}
