//! xAI.

use super::{Preset, Prices};
use crate::load::target::Affinity;

/// The facts.
pub(super) static PRESET: Preset = Preset {
    name: "xai",
    about: "xAI Grok: per server, evicted at any time",
    url: "https://api.x.ai/v1",
    key_env: Some("XAI_API_KEY"),
    usage: "prompt_tokens includes cached_tokens; reasoning stands beside completion_tokens and is billed as output",
    affinity: Some(Affinity::Header("x-grok-conv-id")),
    affinity_on: &[("openai-responses", Affinity::Field("prompt_cache_key"))],
    prices: Prices::Of(&["grok-4.7"]),
    source: "xAI's page on prompt caching",
    as_of: "2026-09-29",
    ..Preset::CHAT
};
