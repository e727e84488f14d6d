//! The LiteLLM proxy.

use super::{Preset, Prices};
use crate::load::target::Tolerance;

/// The facts.
pub(super) static PRESET: Preset = Preset {
    name: "litellm",
    about: "The LiteLLM proxy: the cache is that of the server behind it; its own cache of answers is switched off",
    url: "http://127.0.0.1:4000/v1",
    key_env: Some("LITELLM_API_KEY"),
    usage: "prompt_tokens includes reads and writes, which are stated under several names",
    body: &[("cache", r#"{"no-cache":true,"no-store":true}"#)],
    body_in: &["openai-responses", "anthropic"],
    unreliable: &[(
        "anthropic",
        "LiteLLM loses cache counts where it translates /v1/messages; measure on openai-chat",
    )],
    tolerance: Tolerance::NONE,
    prices: Prices::Behind,
    source: "LiteLLM's documentation and issues; 1.108.7 and 1.110.2 measured",
    as_of: "2026-11-30",
    ..Preset::CHAT
};
