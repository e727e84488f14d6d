//! xAI.

use super::Preset;
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
    cache: Some("steps:128,min=128"),
    prices: &["grok-4.7"],
    source: "xAI's page on prompt caching; the step was measured by others",
    as_of: "2026-09-29",
    ..Preset::CHAT
};
