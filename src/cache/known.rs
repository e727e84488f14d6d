//! What is published of vendors' caches, model by model: the one table behind
//! presets, `list targets` and the profiles of the embedded server.
//!
//! Invariants: every row says where and when it was read; a model that no row
//! names has no cache model (none is guessed); what is not published of a rule is
//! left open towards a higher bound and said in the row's note.

use super::model::Model;
use crate::chat::ModelName;
use std::time::Duration;

/// How one vendor's cache treats some of its models.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Rule {
    /// Presets it holds for.
    pub vendors: &'static [&'static str],
    /// Models, as [`ModelName::is_of`] takes them; `*`: all of the vendor's.
    pub models: &'static [&'static str],
    /// The cache model, as [`Model`] is written.
    pub cache: &'static str,
    /// How long an unused entry lives; `None` where nothing is said of it.
    pub lifetime: Option<Duration>,
    /// What is not certain of it.
    pub note: Option<&'static str>,
    /// Where it was read.
    pub source: &'static str,
    /// When (`2026-11-30`).
    pub as_of: &'static str,
}

impl Rule {
    /// Least entry in tokens; `None` where there is none, or none is published.
    pub fn minimum(&self) -> Option<usize> {
        let model: Option<Model> = self.cache.parse().ok();
        model.and_then(|model| model.minimum())
    }
}

/// The rule of `model` at `vendor`, a preset's name.
pub fn rule(vendor: &str, model: &str) -> Option<&'static Rule> {
    let model = ModelName::new(model);
    rules(vendor).find(|rule| rule.models.iter().any(|pattern| model.is_of(pattern)))
}

/// Every rule of a vendor.
pub fn rules(vendor: &str) -> impl Iterator<Item = &'static Rule> {
    RULES
        .iter()
        .filter(move |rule| rule.vendors.contains(&vendor))
}

const OPENAI_GUIDE: &str = "OpenAI's guide on prompt caching";
const AZURE_PAGE: &str = "Microsoft's page on prompt caching: as OpenAI";
const CLAUDE_TABLE: &str = "Anthropic's reference on prompt caching, table of minimums";
const GEMINI_TABLE: &str = "Gemini's page on context caching, table of minimums";
const NO_PROMISE: &str = "implicit, and without a guarantee: its bounds are optimistic";

/// OpenAI 5.6 and later: entries end at messages.
pub const OPENAI: Rule = Rule {
    vendors: &["openai"],
    models: &["gpt-5.6*", "gpt-6*"],
    cache: "message-ends",
    lifetime: Some(Duration::from_mins(30)),
    note: None,
    source: OPENAI_GUIDE,
    as_of: "2026-10-02",
};

/// OpenAI GPT-5.5: entries every 2,048 tokens, hidden ones counted.
pub const OPENAI_5_5: Rule = Rule {
    models: &["gpt-5.5", "gpt-5.5-pro"],
    cache: "intervals:2048",
    lifetime: Some(Duration::from_hours(24)),
    note: Some(
        "how long its hidden text is, is not published: bounds are optimistic; entries live up to 24 hours, 30 minutes as a rule",
    ),
    ..OPENAI
};

/// OpenAI from gpt-4o to gpt-5.4: reported in steps of 128.
pub const OPENAI_OLD: Rule = Rule {
    models: &[
        "gpt-4o*",
        "gpt-4.1*",
        "gpt-4.5*",
        "gpt-5",
        "gpt-5-mini*",
        "gpt-5-nano*",
        "gpt-5-pro*",
        "gpt-5-chat*",
        "gpt-5-codex*",
        "gpt-5.1*",
        "gpt-5.2*",
        "gpt-5.3*",
        "gpt-5.4*",
    ],
    cache: "steps:128,min=1024",
    lifetime: Some(Duration::from_hours(24)),
    note: Some(
        "the blocks below the report's steps are not published: bounds are optimistic; entries live up to 24 hours, 5 to 10 minutes where they are kept in memory only",
    ),
    ..OPENAI
};

/// The same models on Azure.
const AZURE: Rule = Rule {
    vendors: &["azure"],
    source: AZURE_PAGE,
    as_of: "2026-11-30",
    ..OPENAI
};

const AZURE_5_5: Rule = Rule {
    vendors: &["azure"],
    source: AZURE_PAGE,
    as_of: "2026-11-30",
    ..OPENAI_5_5
};

const AZURE_OLD: Rule = Rule {
    vendors: &["azure"],
    lifetime: Some(Duration::from_hours(1)),
    note: Some(
        "the blocks below the report's steps are not published: bounds are optimistic; entries are gone after 5 to 10 minutes without use, and always after an hour, unless prompt_cache_retention asks for more",
    ),
    source: "Microsoft's page on prompt caching",
    as_of: "2026-11-30",
    ..OPENAI_OLD
};

/// Claude with entries from 1,024 tokens.
pub const CLAUDE_1024: Rule = Rule {
    vendors: &["anthropic", "bedrock"],
    models: &[
        "claude-opus-4.8",
        "claude-sonnet-5",
        "claude-sonnet-4.5",
        "claude-opus-4.1",
        "claude-opus-4",
        "claude-opus-4-0",
        "claude-sonnet-4",
        "claude-sonnet-4-0",
    ],
    cache: "breakpoints",
    lifetime: Some(Duration::from_mins(5)),
    note: None,
    source: CLAUDE_TABLE,
    as_of: "2026-11-30",
};

const CLAUDE_512: Rule = Rule {
    models: &[
        "claude-opus-5",
        "claude-fable-5",
        "claude-fable-5.1",
        "claude-mythos-5",
        "claude-mythos-5.1",
    ],
    cache: "breakpoints,min=512",
    ..CLAUDE_1024
};

const CLAUDE_SONNET_4_6: Rule = Rule {
    models: &["claude-sonnet-4.6"],
    note: Some("a user measured a least entry of 2,048 tokens, as older copies of the table say"),
    ..CLAUDE_1024
};

const CLAUDE_OPUS_4_7: Rule = Rule {
    models: &["claude-opus-4.7"],
    cache: "breakpoints,min=2048",
    note: Some("older copies of the table say 4,096 tokens"),
    ..CLAUDE_1024
};

const CLAUDE_2048: Rule = Rule {
    models: &["claude-haiku-3.5", "claude-3.5-haiku"],
    cache: "breakpoints,min=2048",
    ..CLAUDE_1024
};

const CLAUDE_4096: Rule = Rule {
    models: &["claude-opus-4.6", "claude-opus-4.5", "claude-haiku-4.5"],
    cache: "breakpoints,min=4096",
    ..CLAUDE_1024
};

const CLAUDE_5_5: Rule = Rule {
    models: &["claude-opus-5.5", "claude-sonnet-5.5", "claude-haiku-5.5"],
    cache: "breakpoints,min=0",
    note: Some(
        "its least entry is not published, and none is assumed: bounds of short prompts may be too high; `probe` finds it",
    ),
    ..CLAUDE_1024
};

const NOVA: Rule = Rule {
    vendors: &["bedrock"],
    models: &["nova*"],
    cache: "breakpoints,min=1000",
    lifetime: Some(Duration::from_mins(5)),
    note: Some("its least entry is given as `1k`; tools are not cached"),
    source: "AWS's page on prompt caching",
    as_of: "2026-11-30",
};

/// Gemini 2.5.
pub const GEMINI_2_5: Rule = Rule {
    vendors: &["gemini"],
    models: &["gemini-2.5-flash", "gemini-2.5-pro"],
    cache: "steps:1,min=2048",
    lifetime: None,
    note: Some(NO_PROMISE),
    source: GEMINI_TABLE,
    as_of: "2026-10-23",
};

const GEMINI: Rule = Rule {
    models: &[
        "gemini-4-argon",
        "gemini-3.8-flash",
        "gemini-3.7-flash",
        "gemini-3.6-flash",
        "gemini-3.5-flash",
        "gemini-3.1-pro",
        "gemini-3.1-pro-preview",
    ],
    cache: "steps:1,min=4096",
    ..GEMINI_2_5
};

const GEMINI_OPEN: Rule = Rule {
    models: &["gemini-4-neon", "gemini-4-hydrogen"],
    cache: "steps:1",
    note: Some(
        "its least entry is not published, and none is assumed; implicit, and without a guarantee: its bounds are optimistic",
    ),
    source: "third parties: implicit only",
    as_of: "2026-11-30",
    ..GEMINI_2_5
};

/// DeepSeek V4.
pub const DEEPSEEK: Rule = Rule {
    vendors: &["deepseek"],
    models: &["deepseek-v4*", "deepseek-flash"],
    cache: "units",
    lifetime: None,
    note: Some("best effort, and its fixed intervals are not published"),
    source: "DeepSeek's page on its cache",
    as_of: "2026-11-15",
};

const XAI: Rule = Rule {
    vendors: &["xai"],
    models: &["grok*"],
    cache: "steps:128",
    lifetime: None,
    note: Some("the step was measured by others; entries are evicted at any time"),
    source: "xAI's page on prompt caching",
    as_of: "2026-09-29",
};

const GROQ: Rule = Rule {
    vendors: &["groq"],
    models: &["gpt-oss-120b"],
    cache: "steps:1",
    lifetime: Some(Duration::from_hours(2)),
    note: Some("its step and its least entry are not published: bounds are optimistic"),
    source: "Groq's page on prompt caching: automatic on some models",
    as_of: "2026-11-30",
};

const MISTRAL: Rule = Rule {
    vendors: &["mistral"],
    models: &["*"],
    lifetime: None,
    source: "Mistral's page on prompt caching",
    ..GROQ
};

const FIREWORKS: Rule = Rule {
    vendors: &["fireworks"],
    source: "Fireworks' page on prompt caching",
    ..MISTRAL
};

const QWEN: Rule = Rule {
    vendors: &["qwen"],
    models: &["*"],
    cache: "steps:1,min=1024",
    lifetime: None,
    note: Some("its implicit cache, without a guarantee; an older copy says from 256 tokens"),
    source: "Alibaba's page on its context cache",
    as_of: "2026-10-11",
};

const QWEN_4: Rule = Rule {
    models: &["qwen4*"],
    lifetime: Some(Duration::from_mins(5)),
    source: "Alibaba's page on the cache of Qwen4",
    as_of: "2026-11-16",
    ..QWEN
};

const SGLANG: Rule = Rule {
    vendors: &["sglang"],
    models: &["*"],
    cache: "radix:1",
    lifetime: None,
    note: Some("pages of one token, as it starts by itself"),
    source: "SGLang's sources",
    as_of: "2026-11-30",
};

const TENSORRT_LLM: Rule = Rule {
    vendors: &["tensorrt-llm"],
    note: Some("parts of blocks are reused, as it starts by itself"),
    source: "TensorRT-LLM's documentation and sources",
    ..SGLANG
};

const OLLAMA: Rule = Rule {
    vendors: &["ollama"],
    models: &["*"],
    cache: "slots:1",
    lifetime: None,
    note: None,
    source: "Ollama's sources: it runs llama.cpp's server",
    as_of: "2026-08-21",
};

/// Every row; of a vendor's, the first that names the model holds.
pub static RULES: &[Rule] = &[
    OPENAI,
    OPENAI_5_5,
    OPENAI_OLD,
    AZURE,
    AZURE_5_5,
    AZURE_OLD,
    CLAUDE_512,
    CLAUDE_1024,
    CLAUDE_SONNET_4_6,
    CLAUDE_OPUS_4_7,
    CLAUDE_2048,
    CLAUDE_4096,
    CLAUDE_5_5,
    NOVA,
    GEMINI,
    GEMINI_2_5,
    GEMINI_OPEN,
    DEEPSEEK,
    XAI,
    GROQ,
    MISTRAL,
    FIREWORKS,
    QWEN_4,
    QWEN,
    SGLANG,
    TENSORRT_LLM,
    OLLAMA,
];

#[cfg(test)]
#[path = "known_tests.rs"]
mod tests;
