//! Azure OpenAI.

use super::{Preset, Prices};
use crate::chat::Family;
use crate::load::target::Affinity;

/// The facts.
pub(super) static PRESET: Preset = Preset {
    name: "azure",
    about: "Azure OpenAI: as OpenAI; name a deployment as its model, or give cache_model",
    url: "https://{resource}.openai.azure.com/openai/v1",
    family: Family::Openai,
    key_headers: &[("api-key", "")],
    key_env: Some("AZURE_OPENAI_API_KEY"),
    usage: "as OpenAI",
    affinity: Some(Affinity::Field("prompt_cache_key")),
    limit_field: "max_completion_tokens",
    tools_first: true,
    prices: Prices::Of(super::openai::MODELS),
    source: "Microsoft's page on prompt caching",
    as_of: "2026-11-30",
    ..Preset::CHAT
};
