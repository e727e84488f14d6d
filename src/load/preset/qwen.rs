//! Alibaba Qwen.

use super::Preset;

/// The facts.
pub(super) static PRESET: Preset = Preset {
    name: "qwen",
    about: "Alibaba Qwen: its implicit cache; entries are made after the answer",
    url: "https://dashscope-intl.aliyuncs.com/compatible-mode/v1",
    key_env: Some("DASHSCOPE_API_KEY"),
    usage: "as OpenAI; explicit entries are counted as prompt_tokens_details.cache_creation_input_tokens",
    source: "Alibaba's pages on its context cache",
    as_of: "2026-11-16",
    ..Preset::CHAT
};
