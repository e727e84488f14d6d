//! Anthropic.

use super::{Preset, Prices};
use crate::chat::Family;

/// Models of which prices are known.
pub(super) const MODELS: &[&str] = &[
    "claude-fable-5.1",
    "claude-opus-5.5",
    "claude-sonnet-5.5",
    "claude-haiku-5.5",
    "claude-haiku-4.5",
];

/// The facts.
pub(super) static PRESET: Preset = Preset {
    name: "anthropic",
    about: "Anthropic: entries end at marked blocks and live 5 minutes from the request's start",
    url: "https://api.anthropic.com/v1",
    dialect: "anthropic",
    family: Family::Anthropic,
    key_headers: &[("x-api-key", "")],
    key_env: Some("ANTHROPIC_API_KEY"),
    usage: "input_tokens excludes cache_read_input_tokens and cache_creation_input_tokens; in streams the last value of each counts",
    tools_first: true,
    prices: Prices::Of(MODELS),
    source: "Anthropic's page on prompt caching",
    as_of: "2026-10-07",
    ..Preset::CHAT
};
