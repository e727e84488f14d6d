//! OpenRouter.

use super::{Preset, Prices};
use crate::chat::Family;

/// The facts.
pub(super) static PRESET: Preset = Preset {
    name: "openrouter",
    about: "OpenRouter: the provider's cache behind it; its own cache of whole answers is switched off",
    url: "https://openrouter.ai/api/v1",
    family: Family::Openrouter,
    key_env: Some("OPENROUTER_API_KEY"),
    usage: "prompt_tokens includes prompt_tokens_details.cached_tokens and cache_write_tokens; an answer from its own cache has zeros",
    headers: &[("x-openrouter-cache", "false")],
    body: &[("usage", r#"{"include":true}"#)],
    tools_first: true,
    prices: Prices::Makers,
    source: "OpenRouter's page on prompt caching; it keeps a conversation on one provider for 10 idle minutes",
    as_of: "2026-11-30",
    ..Preset::CHAT
};
