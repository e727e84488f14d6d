//! Moonshot (Kimi).

use super::Preset;
use std::time::Duration;

/// The facts.
pub(super) static PRESET: Preset = Preset {
    name: "moonshot",
    about: "Moonshot Kimi: automatic; K3.1 meters writes",
    url: "https://api.moonshot.ai/v1",
    key_env: Some("MOONSHOT_API_KEY"),
    usage: "in streams usage may sit in choices[0]; -1 on its Anthropic side means nothing is left",
    lifetime: Some(Duration::from_mins(5)),
    prices: &["kimi-k3.1-pro"],
    source: "pages of third parties",
    as_of: "2026-10-25",
    ..Preset::CHAT
};
