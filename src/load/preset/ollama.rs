//! Ollama.

use super::{Preset, Prices};
use crate::load::target::Tolerance;

/// The facts.
pub(super) static PRESET: Preset = Preset {
    name: "ollama",
    about: "Ollama: has a cache and does not say what it takes from it",
    url: "http://127.0.0.1:11434/v1",
    usage: "no count of reads; the Responses format writes a constant 0",
    unreliable: &[(
        "",
        "Ollama does not report what it takes from its cache, or writes a constant 0",
    )],
    tolerance: Tolerance::NONE,
    prices: Prices::Own,
    source: "Ollama's sources",
    as_of: "2026-08-21",
    ..Preset::CHAT
};
