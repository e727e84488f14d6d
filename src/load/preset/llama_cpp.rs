//! llama.cpp's server.

use super::{Preset, Prices};
use crate::load::target::Tolerance;

/// The facts.
pub(super) static PRESET: Preset = Preset {
    name: "llama-cpp",
    about: "llama.cpp's server: one sequence per slot",
    url: "http://127.0.0.1:8080/v1",
    key_env: Some("LLAMA_API_KEY"),
    usage: "as OpenAI, and timings.cache_n beside it; the last prompt token is always computed",
    tolerance: Tolerance::NONE,
    metrics: &["/metrics"],
    prices: Prices::Own,
    source: "llama.cpp's README and measured; the number of slots is asked of /props",
    as_of: "2026-11-30",
    ..Preset::CHAT
};
