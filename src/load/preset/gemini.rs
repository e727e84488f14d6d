//! Gemini, native.

use super::{Preset, Prices};
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
    prices: Prices::Of(&[
        "gemini-4-argon",
        "gemini-4-neon",
        "gemini-4-hydrogen",
        "gemini-3.8-flash",
        "gemini-3.1-pro",
        "gemini-3.1-pro-preview",
    ]),
    source: "Gemini's page on context caching",
    as_of: "2026-10-23",
    ..Preset::CHAT
};
