//! Wall time: read here and nowhere else, and only for the manifest.

use jiff::Timestamp;
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

    /// The day in UTC: `2026-11-30`.
    pub fn date(self) -> String {
        self.0.strftime("%Y-%m-%d").to_string()
    }

    /// Milliseconds since 1970.
    pub fn epoch_ms(self) -> i64 {
        self.0.as_millisecond()
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
