//! DeepSeek.

use super::{Preset, Prices};

/// The facts.
pub(super) static PRESET: Preset = Preset {
    name: "deepseek",
    about: "DeepSeek V4: whole prefix units, best effort",
    url: "https://api.deepseek.com/v1",
    key_env: Some("DEEPSEEK_API_KEY"),
    usage: "prompt_cache_hit_tokens and prompt_cache_miss_tokens add up to prompt_tokens; a miss is plain input, not a write",
    prices: Prices::Of(&["deepseek-flash", "deepseek-v4-pro"]),
    source: "DeepSeek's pages on its cache and prices",
    as_of: "2026-11-15",
    ..Preset::CHAT
};
