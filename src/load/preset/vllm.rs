//! vLLM.

use super::{Preset, Prices};
use crate::load::target::Tolerance;

/// The facts.
pub(super) static PRESET: Preset = Preset {
    name: "vllm",
    about: "vLLM: full blocks; needs --enable-prompt-tokens-details",
    url: "http://127.0.0.1:8000/v1",
    key_env: Some("VLLM_API_KEY"),
    usage: "prompt_tokens_details only with --enable-prompt-tokens-details; created_cache_tokens is no billed write",
    salted: true,
    tolerance: Tolerance::NONE,
    metrics: &["/metrics"],
    prices: Prices::Own,
    source: "vLLM 0.32 measured; the block size is asked of its metrics",
    as_of: "2026-11-30",
    ..Preset::CHAT
};
