//! OpenAI.

use super::{Preset, Prices};
use crate::chat::Family;
use crate::load::target::Affinity;

/// Models of which prices are known.
pub(super) const MODELS: &[&str] = &[
    "gpt-6.2-astra",
    "gpt-6.2-sol",
    "gpt-6.1-sol",
    "gpt-6.1-terra",
    "gpt-6-luna",
    "gpt-5.5",
];

/// The facts.
pub(super) static PRESET: Preset = Preset {
    name: "openai",
    about: "OpenAI: entries end at messages from 5.6 on, before it every so many tokens",
    url: "https://api.openai.com/v1",
    family: Family::Openai,
    key_env: Some("OPENAI_API_KEY"),
    usage: "prompt_tokens includes prompt_tokens_details.cached_tokens and cache_write_tokens; in streams only with stream_options",
    affinity: Some(Affinity::Field("prompt_cache_key")),
    body: &[(
        "stream_options",
        r#"{"include_usage":true,"include_obfuscation":false}"#,
    )],
    limit_field: "max_completion_tokens",
    tools_first: true,
    prices: Prices::Of(MODELS),
    source: "OpenAI's guide on prompt caching",
    as_of: "2026-10-02",
    ..Preset::CHAT
};
