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
    source: "Fireworks' page on prompt caching",
    as_of: "2026-11-30",
    ..Preset::CHAT
};
