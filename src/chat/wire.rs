//! What a strategy may know of the provider, as plain data.

use serde::{Deserialize, Serialize};

/// Kind of provider, as far as prompt building cares.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum Family {
    /// OpenAI and Azure.
    Openai,
    /// Servers that speak the OpenAI format: vLLM, llama.cpp, LiteLLM.
    Compatible,
    /// Anthropic Messages.
    Anthropic,
    /// OpenRouter with prompt caching on.
    Openrouter,
    /// Bedrock Converse.
    Bedrock,
    /// Gemini.
    Google,
}

/// Where the volatile tail of a system prompt goes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum TailPlace {
    /// Behind the stable text, in one system text.
    System,
    /// A system block of its own behind the marked stable block (Bedrock).
    SystemBlock,
    /// A user-role message right before the newest human message.
    BeforeNewest,
    /// The same, but behind the newest human message while it is the first
    /// (OpenRouter: its routing hashes the first user message).
    BeforeNewestButFirst,
    /// A second message of role system behind the system prompt.
    SecondSystem,
}

/// Which cache markers are set.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum MarkerRule {
    /// None: the provider caches by itself.
    None,
    /// `cache_control`, at most four; the newer placement.
    Anthropic,
    /// `cache_control`, at most four; the older placement.
    AnthropicOld,
    /// `prompt_cache_breakpoint` with explicit caching.
    OpenaiExplicit,
    /// `cachePoint` blocks.
    Bedrock,
}

/// Where the summary of compacted turns goes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum SummaryPlace {
    /// At the end of the tail, wherever that goes.
    Tail,
    /// A user message at the head of the conversation.
    Head,
}

/// What a strategy may know of the provider.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Wire {
    /// Kind of provider.
    pub family: Family,
    /// Where the tail goes.
    pub tail: TailPlace,
    /// Which markers are set.
    pub markers: MarkerRule,
    /// Where a summary goes.
    pub summary: SummaryPlace,
}

impl Family {
    /// Every family, for lists and messages.
    pub const ALL: [Self; 6] = [
        Self::Openai,
        Self::Compatible,
        Self::Anthropic,
        Self::Openrouter,
        Self::Bedrock,
        Self::Google,
    ];

    /// The name as written on the command line.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Openai => "openai",
            Self::Compatible => "compatible",
            Self::Anthropic => "anthropic",
            Self::Openrouter => "openrouter",
            Self::Bedrock => "bedrock",
            Self::Google => "google",
        }
    }

    /// What this family does unless a configuration says otherwise.
    ///
    /// Source: `@librechat/agents` around pull requests 546 and 550: providers
    /// with block markers take the tail out of the system prompt.
    pub fn wire(self) -> Wire {
        let (tail, markers) = match self {
            Self::Openai | Self::Compatible | Self::Google => (TailPlace::System, MarkerRule::None),
            Self::Anthropic => (TailPlace::BeforeNewest, MarkerRule::Anthropic),
            Self::Openrouter => (TailPlace::BeforeNewestButFirst, MarkerRule::Anthropic),
            Self::Bedrock => (TailPlace::SystemBlock, MarkerRule::Bedrock),
        };
        Wire {
            family: self,
            tail,
            markers,
            summary: SummaryPlace::Tail,
        }
    }
}
