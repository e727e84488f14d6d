//! Azure OpenAI.

use super::Preset;
use crate::chat::Family;
use crate::load::target::Affinity;
use std::time::Duration;

/// The facts.
pub(super) static PRESET: Preset = Preset {
    name: "azure",
    about: "Azure OpenAI: as OpenAI; entries in memory are gone within an hour",
    url: "https://{resource}.openai.azure.com/openai/v1",
    family: Family::Openai,
    key_headers: &[("api-key", "")],
    key_env: Some("AZURE_OPENAI_API_KEY"),
    usage: "as OpenAI",
    affinity: Some(Affinity::Field("prompt_cache_key")),
    limit_field: "max_completion_tokens",
    tools_first: true,
    cache: Some("steps:128,min=1024"),
    lifetime: Some(Duration::from_mins(5)),
    minimum: Some(1024),
    prices: &["gpt-6.2-sol", "gpt-6.1-sol", "gpt-5.5"],
    source: "Microsoft's page on prompt caching",
    as_of: "2026-11-30",
    ..Preset::CHAT
};
