//! TensorRT-LLM.

use super::{Preset, Prices};
use crate::load::target::Tolerance;

/// The facts.
pub(super) static PRESET: Preset = Preset {
    name: "tensorrt-llm",
    about: "TensorRT-LLM: blocks of which parts are reused too",
    url: "http://127.0.0.1:8000/v1",
    usage: "prompt_tokens_details.cached_tokens always, also 0; it need not be a multiple of a block",
    tolerance: Tolerance::NONE,
    prices: Prices::Own,
    source: "TensorRT-LLM's documentation and sources",
    as_of: "2026-11-30",
    ..Preset::CHAT
};
