//! Mistral.

use super::{Preset, Prices};
use crate::load::target::Affinity;

/// The facts.
pub(super) static PRESET: Preset = Preset {
    name: "mistral",
    about: "Mistral: prefix reuse, likelier with a key",
    url: "https://api.mistral.ai/v1",
    key_env: Some("MISTRAL_API_KEY"),
    usage: "as OpenAI; streams end with usage by themselves",
    affinity: Some(Affinity::Field("prompt_cache_key")),
    body: &[("stream_options", "null")],
    prices: Prices::Of(&["mistral-large-2512"]),
    source: "Mistral's page on prompt caching",
    as_of: "2026-06-09",
    ..Preset::CHAT
};
