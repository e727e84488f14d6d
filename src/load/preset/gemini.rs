//! Gemini, native.

use super::Preset;
use crate::chat::Family;

/// The facts.
pub(super) static PRESET: Preset = Preset {
    name: "gemini",
    about: "Gemini's implicit cache: a prefix of a recent request, without a guarantee",
    url: "https://generativelanguage.googleapis.com/v1beta",
    dialect: "gemini",
    family: Family::Google,
    key_headers: &[("x-goog-api-key", "")],
    key_env: Some("GEMINI_API_KEY"),
    usage: "promptTokenCount includes cachedContentTokenCount, which is left out where it is 0",
    tools_first: true,
    cache: Some("steps:1,min=4096"),
    minimum: Some(4096),
    prices: &[
        "gemini-4-argon",
        "gemini-4-neon",
        "gemini-4-hydrogen",
        "gemini-3.8-flash",
        "gemini-3.1-pro",
    ],
    source: "Gemini's page on context caching; models of 2.5 have a minimum of 2,048",
    as_of: "2026-10-23",
    ..Preset::CHAT
};
