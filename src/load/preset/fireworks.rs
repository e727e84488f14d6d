//! Fireworks.

use super::Preset;
use crate::load::target::Affinity;

/// The facts.
pub(super) static PRESET: Preset = Preset {
    name: "fireworks",
    about: "Fireworks: automatic, per replica",
    url: "https://api.fireworks.ai/inference/v1",
    key_env: Some("FIREWORKS_API_KEY"),
    affinity: Some(Affinity::Header("x-session-affinity")),
    cache: Some("steps:1,min=1"),
    source: "Fireworks' page on prompt caching; its step was not found",
    as_of: "2026-11-30",
    ..Preset::CHAT
};
