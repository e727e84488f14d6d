//! Groq.

use super::{Preset, Prices};

/// The facts.
pub(super) static PRESET: Preset = Preset {
    name: "groq",
    about: "Groq: automatic on some models",
    url: "https://api.groq.com/openai/v1",
    key_env: Some("GROQ_API_KEY"),
    prices: Prices::Of(&["gpt-oss-120b"]),
    source: "Groq's page on prompt caching",
    as_of: "2026-11-30",
    ..Preset::CHAT
};
