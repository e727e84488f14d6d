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
}
