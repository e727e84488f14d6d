//! AWS Bedrock, Converse, by API key.

use super::Preset;
use crate::chat::Family;
use std::time::Duration;

/// The facts.
pub(super) static PRESET: Preset = Preset {
    name: "bedrock",
    about: "AWS Bedrock Converse with an API key: entries end at cache points",
    url: "https://bedrock-runtime.{region}.amazonaws.com",
    dialect: "bedrock",
    family: Family::Bedrock,
    key_env: Some("AWS_BEARER_TOKEN_BEDROCK"),
    usage: "inputTokens excludes cacheReadInputTokens and cacheWriteInputTokens",
    tools_first: true,
    cache: Some("breakpoints"),
    lifetime: Some(Duration::from_mins(5)),
    minimum: Some(1024),
    prices: &["claude-opus-5.5", "claude-sonnet-5.5", "claude-haiku-5.5"],
    source: "AWS's page on prompt caching; its own minimums were not found",
    as_of: "2026-11-30",
    ..Preset::CHAT
};
