//! Whose habits the embedded server imitates.

use crate::cache::known;
use std::time::Duration;

/// Wire habits: which fields say what, and how errors look.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Habit {
    /// vLLM 0.32 with `--enable-prompt-tokens-details`.
    Vllm,
    /// llama.cpp's server.
    LlamaCpp,
    /// The LiteLLM proxy in front of vLLM (`hosted_vllm/`).
    Litellm,
    /// OpenAI 5.6 and later: written tokens are told.
    OpenAi,
    /// OpenAI before 5.6, and most compatible services.
    OpenAiOld,
    /// Anthropic.
    Anthropic,
    /// Gemini: a count of nothing is left out.
    Gemini,
    /// DeepSeek: hit and miss counts beside the usual ones.
    DeepSeek,
    /// SGLang with `--enable-cache-report`: no details on a miss.
    Sglang,
}

impl Habit {
    /// Whether `cache_salt` separates caches; elsewhere it is read over.
    pub fn knows_salt(self) -> bool {
        matches!(self, Self::Vllm | Self::Litellm)
    }
}

/// A server that can be imitated.
#[derive(Debug)]
pub struct Profile {
    /// Name by which it is chosen; lowercase, unique.
    pub name: &'static str,
    /// One sentence for `prefixbench list profiles`.
    pub about: &'static str,
    /// Its cache model, as [`crate::cache::Model`] is written.
    pub model: &'static str,
    /// Its wire habits.
    pub habit: Habit,
    /// How long an unused entry lives.
    pub lifetime: Option<Duration>,
    /// Context window in tokens.
    pub context: usize,
}

/// Every profile; the first is the default. A new one is an entry here.
pub static PROFILES: &[Profile] = &[
    Profile {
        name: "vllm",
        about: "vLLM 0.32, blocks of 16 tokens",
        model: "blocks:16",
        habit: Habit::Vllm,
        lifetime: None,
        context: 131_072,
    },
    Profile {
        name: "vllm-1600",
        about: "vLLM 0.32 serving a hybrid model with a drafter: blocks of 1,600, the last one dropped",
        model: "blocks:1600,drop=1",
        habit: Habit::Vllm,
        lifetime: None,
        context: 131_072,
    },
    Profile {
        name: "vllm-small",
        about: "vLLM 0.32 with 130 blocks of 32 tokens, so that chats evict each other",
        model: "blocks:32,capacity=130",
        habit: Habit::Vllm,
        lifetime: None,
        context: 4_096,
    },
    Profile {
        name: "vllm-align",
        about: "vLLM 0.32 serving a hybrid model that keeps states at block ends only",
        model: "align:1600",
        habit: Habit::Vllm,
        lifetime: None,
        context: 131_072,
    },
    Profile {
        name: "llama-cpp",
        about: "llama.cpp's server with two slots and its cache in host memory",
        model: "slots:2",
        habit: Habit::LlamaCpp,
        lifetime: None,
        context: 32_768,
    },
    Profile {
        name: "sglang",
        about: "SGLang with its cache report on, which leaves a zero out",
        model: "radix:1",
        habit: Habit::Sglang,
        lifetime: None,
        context: 131_072,
    },
    Profile {
        name: "litellm",
        about: "LiteLLM 1.108 in front of vLLM; its Anthropic side loses what was written",
        model: "blocks:16",
        habit: Habit::Litellm,
        lifetime: None,
        context: 131_072,
    },
    Profile {
        name: "openai",
        about: "OpenAI 5.6 and later: entries end at messages and live 30 minutes",
        model: known::OPENAI.cache,
        habit: Habit::OpenAi,
        lifetime: known::OPENAI.lifetime,
        context: 272_000,
    },
    Profile {
        name: "openai-old",
        about: "OpenAI before 5.6: steps of 128 tokens from 1,024",
        model: known::OPENAI_OLD.cache,
        habit: Habit::OpenAiOld,
        // In memory, as without the retention of a day.
        lifetime: Some(Duration::from_mins(10)),
        context: 128_000,
    },
    Profile {
        name: "anthropic",
        about: "Anthropic: entries end at marked blocks and live 5 minutes",
        model: known::CLAUDE_1024.cache,
        habit: Habit::Anthropic,
        lifetime: known::CLAUDE_1024.lifetime,
        context: 200_000,
    },
    Profile {
        name: "gemini",
        about: "Gemini's implicit cache: any prefix from 2,048 tokens, without a guarantee",
        model: known::GEMINI_2_5.cache,
        habit: Habit::Gemini,
        lifetime: known::GEMINI_2_5.lifetime,
        context: 1_048_576,
    },
    Profile {
        name: "deepseek",
        about: "DeepSeek V4: whole prefix units",
        model: known::DEEPSEEK.cache,
        habit: Habit::DeepSeek,
        lifetime: known::DEEPSEEK.lifetime,
        context: 131_072,
    },
];

/// The profile of that name.
pub fn find_profile(name: &str) -> Option<&'static Profile> {
    PROFILES.iter().find(|profile| profile.name == name)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cache::Model;

    #[test]
    fn profiles_have_unique_names_help_and_a_model_that_reads() {
        for (index, profile) in PROFILES.iter().enumerate() {
            let found = find_profile(profile.name).map(|found| std::ptr::eq(found, profile));
            assert_eq!(found, Some(true), "{index}: {}", profile.name);
            assert!(!profile.about.is_empty());
            assert!(profile.model.parse::<Model>().is_ok(), "{}", profile.name);
        }
        assert!(find_profile("nobody").is_none());
    }
}
