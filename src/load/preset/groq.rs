//! Groq.

use super::Preset;
use std::time::Duration;

/// The facts.
pub(super) static PRESET: Preset = Preset {
    name: "groq",
    about: "Groq: automatic on some models, for 2 hours after the last use",
    url: "https://api.groq.com/openai/v1",
    key_env: Some("GROQ_API_KEY"),
    cache: Some("steps:1,min=1"),
    lifetime: Some(Duration::from_hours(2)),
    prices: &["groq/openai/gpt-oss-120b"],
    source: "Groq's page on prompt caching; its step was not found",
    as_of: "2026-11-30",
    ..Preset::CHAT
};
