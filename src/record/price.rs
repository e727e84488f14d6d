//! Prices as data: what a run's manifest keeps, so that an old run is always
//! billed with the prices that it was made under.

use crate::units::{Money, Tokens};
use serde::{Deserialize, Serialize};
use std::sync::Arc;

/// Prices per token from a prompt length on. The tier of a request is chosen by
/// its whole prompt, and holds for all of its tokens.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct PriceTier {
    /// The tier holds for prompts of more tokens than this.
    pub above: Tokens,
    /// Plain input.
    pub input: Money,
    /// Taken from the cache; `None` where no price was found.
    pub read: Option<Money>,
    /// Newly cached for the short lifetime; `None` where writes cost what plain input costs.
    pub write: Option<Money>,
    /// Newly cached for the long lifetime; `None` where there is none or no price was found.
    pub write_long: Option<Money>,
    /// Generated.
    pub output: Money,
}

/// What a model costs in a period of time.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Price {
    /// Model, as people name it.
    pub model: Arc<str>,
    /// First day of validity (`2026-10-07`); `None`: since always.
    pub from: Option<Arc<str>>,
    /// First day on which it no longer holds; `None`: until further notice.
    pub until: Option<Arc<str>>,
    /// Where the numbers were read, and when.
    pub source: Arc<str>,
    /// How far to trust them.
    pub certainty: Arc<str>,
    /// Ascending by `above`; the first one has 0.
    pub tiers: Vec<PriceTier>,
    /// What holds in place of `tiers` at certain hours.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub peak: Option<Peak>,
    /// Keeping a token in the cache for an hour; `None` where that is free.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub storage_hour: Option<Money>,
}

/// Hours of the week in UTC at which other prices hold.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Peak {
    /// Days, 1 for Monday to 7 for Sunday.
    pub days: Vec<u8>,
    /// First hour, and the first behind: `(1, 4)` is from 01:00 to 03:59.
    pub hours: Vec<(u8, u8)>,
    /// As [`Price::tiers`].
    pub tiers: Vec<PriceTier>,
}

impl Price {
    /// The tiers that hold at an instant, in milliseconds since 1970. Where it is
    /// not known, those outside the peak.
    pub fn tiers_at(&self, at_ms: Option<i64>) -> &[PriceTier] {
        let Some((peak, at)) = self.peak.as_ref().zip(at_ms) else {
            return &self.tiers;
        };
        let hours = at.div_euclid(3_600_000);
        // 1970-01-01 was a Thursday.
        let day = (hours.div_euclid(24) + 3).rem_euclid(7) + 1;
        let hour = hours.rem_euclid(24);
        let in_peak = peak.days.iter().any(|known| i64::from(*known) == day)
            && peak
                .hours
                .iter()
                .any(|&(from, until)| (i64::from(from)..i64::from(until)).contains(&hour));
        if in_peak { &peak.tiers } else { &self.tiers }
    }
}
