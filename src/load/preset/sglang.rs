//! SGLang.

use super::{Preset, Prices};
use crate::load::target::Tolerance;

/// The facts.
pub(super) static PRESET: Preset = Preset {
    name: "sglang",
    about: "SGLang: a radix tree; needs --enable-cache-report",
    url: "http://127.0.0.1:30000/v1",
    key_env: Some("SGLANG_API_KEY"),
    usage: "prompt_tokens_details only with --enable-cache-report, and left out where it is 0",
    tolerance: Tolerance::NONE,
    metrics: &["/metrics"],
    prices: Prices::Own,
    source: "SGLang's sources",
    as_of: "2026-11-30",
    ..Preset::CHAT
};
