//! AWS Bedrock, Converse, by API key.

use super::{Preset, Prices};
use crate::chat::Family;

/// The facts.
pub(super) static PRESET: Preset = Preset {
    name: "bedrock",
    about: "AWS Bedrock Converse with an API key: entries end at cache points; least entries are Anthropic's, as a third party says that AWS has others: probe",
    url: "https://bedrock-runtime.{region}.amazonaws.com",
    dialect: "bedrock",
    family: Family::Bedrock,
    key_env: Some("AWS_BEARER_TOKEN_BEDROCK"),
    usage: "inputTokens excludes cacheReadInputTokens and cacheWriteInputTokens",
    tools_first: true,
    prices: Prices::Of(super::anthropic::MODELS),
    source: "AWS's page on prompt caching",
    as_of: "2026-11-30",
    ..Preset::CHAT
};
