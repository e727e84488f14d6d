//! Moonshot (Kimi).

use super::{Preset, Prices};

/// The facts.
pub(super) static PRESET: Preset = Preset {
    name: "moonshot",
    about: "Moonshot Kimi: automatic, by a rule that is not published; K3.1 meters writes, which live 5 minutes or an hour",
    url: "https://api.moonshot.ai/v1",
    key_env: Some("MOONSHOT_API_KEY"),
    usage: "in streams usage may sit in choices[0]; -1 on its Anthropic side means nothing is left",
    prices: Prices::Of(&["kimi-k3.1-pro"]),
    source: "pages of third parties",
    as_of: "2026-10-25",
    ..Preset::CHAT
};
