//! What is known of vendors, gateways and servers, as data with a date.
//!
//! A preset fills in what a targets file or a flag leaves open; whatever these
//! say goes before it. A new one is a file here, a line in [`PRESETS`], and rows in
//! [`known::RULES`] for what is published of its cache.
//!
//! Invariants: no vendor's peculiarity is code, only data here; every preset
//! says when its facts were read and where; a fact that was not found is absent.

mod anthropic;
mod azure;
mod bedrock;
mod deepseek;
mod fireworks;
mod gemini;
mod groq;
mod litellm;
mod llama_cpp;
mod mistral;
mod moonshot;
mod ollama;
mod openai;
mod openrouter;
mod qwen;
mod sglang;
mod tensorrt_llm;
mod vllm;
mod xai;

use super::target::{Affinity, Tolerance};
use crate::cache::known::{self, Rule};
use crate::chat::{Family, ModelName};

/// What a token costs at a preset.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Prices {
    /// As the price list says, for these models. The same model served by somebody
    /// else may cost something else.
    Of(&'static [&'static str]),
    /// A gateway hands on what the provider that it names in front of a model asks for.
    Behind,
    /// The same of a gateway that names who made the model: others may serve it too,
    /// for other prices, where its weights are open.
    Makers,
    /// One's own machines: nothing by the token.
    Own,
    /// Its prices were not found.
    Unknown,
}

impl Prices {
    /// Whether the price list's price of `model` holds there.
    pub fn listed(self, model: &str) -> bool {
        match self {
            Self::Of(models) => {
                let model = ModelName::new(model);
                models.iter().any(|known| model.is(known))
            }
            Self::Behind | Self::Makers => true,
            Self::Own | Self::Unknown => false,
        }
    }
}

/// Facts about one vendor, gateway or server.
#[derive(Clone, Copy, Debug)]
pub struct Preset {
    /// Name by which a target chooses it; lowercase, unique.
    pub name: &'static str,
    /// One sentence for `prefixbench list targets`.
    pub about: &'static str,
    /// Base URL with its version part; what differs by account stands in braces.
    pub url: &'static str,
    /// Dialect, unless the target says otherwise.
    pub dialect: &'static str,
    /// What strategies build for.
    pub family: Family,
    /// Headers that carry the key, each with what stands before it; empty: as the dialect does.
    pub key_headers: &'static [(&'static str, &'static str)],
    /// Environment variable that usually holds the key; `None` where no key is needed.
    pub key_env: Option<&'static str>,
    /// How its usage object differs from the dialect's own, for a person.
    pub usage: &'static str,
    /// What keeps a conversation on one server.
    pub affinity: Option<Affinity<&'static str>>,
    /// The same in other dialects, where they have another name for it.
    pub affinity_on: &'static [(&'static str, Affinity<&'static str>)],
    /// Headers that every request needs so that counts mean something.
    pub headers: &'static [(&'static str, &'static str)],
    /// Body fields, as JSON; null takes the dialect's own field out.
    pub body: &'static [(&'static str, &'static str)],
    /// Field that bounds the output in chat bodies.
    pub limit_field: &'static str,
    /// Whether it separates caches by `cache_salt`.
    pub salted: bool,
    /// Whether it renders tool definitions in front of everything.
    pub tools_first: bool,
    /// Whose prices hold there.
    pub prices: Prices,
    /// Dialects (empty: all) whose read count is known to be wrong here, and why.
    pub unreliable: &'static [(&'static str, &'static str)],
    /// By how much counts may exceed a bound.
    pub tolerance: Tolerance,
    /// Paths of metrics below the server's root.
    pub metrics: &'static [&'static str],
    /// Where the facts were read.
    pub source: &'static str,
    /// When.
    pub as_of: &'static str,
}

impl Preset {
    /// What a service with the format of Chat Completions usually is: the
    /// base of the others.
    const CHAT: Self = Self {
        name: "",
        about: "",
        url: "",
        dialect: "openai-chat",
        family: Family::Compatible,
        key_headers: &[],
        key_env: None,
        usage: "prompt_tokens includes prompt_tokens_details.cached_tokens",
        affinity: None,
        affinity_on: &[],
        headers: &[],
        body: &[],
        limit_field: "max_tokens",
        salted: false,
        tools_first: false,
        prices: Prices::Unknown,
        unreliable: &[],
        tolerance: Tolerance::HOSTED,
        metrics: &[],
        source: "",
        as_of: "",
    };

    /// What keeps a conversation on one server in `dialect`.
    pub fn affinity_in(&self, dialect: &str) -> Option<Affinity<&'static str>> {
        let named = self.affinity_on.iter().find(|(on, _)| *on == dialect);
        named.map(|(_, affinity)| *affinity).or(self.affinity)
    }

    /// Why the read count is not to be trusted on `dialect`; `None` where nothing is known against it.
    pub fn unreliable_on(&self, dialect: &str) -> Option<&'static str> {
        let known = self
            .unreliable
            .iter()
            .find(|(on, _)| on.is_empty() || *on == dialect);
        known.map(|(_, why)| *why)
    }

    /// How its cache treats `model`; `None` where that depends on what stands
    /// behind, or is not known.
    pub fn rule(&self, model: &str) -> Option<&'static Rule> {
        known::rule(self.name, model)
    }

    /// Whether its cache is known for some models: then one that it is not known for
    /// is worth a word.
    pub fn has_rules(&self) -> bool {
        known::rules(self.name).next().is_some()
    }

    /// Whether the URL is whole, without a part that differs by account.
    pub fn url_is_whole(&self) -> bool {
        !self.url.contains('{')
    }
}

/// Every preset.
pub static PRESETS: &[&Preset] = &[
    &openai::PRESET,
    &azure::PRESET,
    &anthropic::PRESET,
    &bedrock::PRESET,
    &gemini::PRESET,
    &deepseek::PRESET,
    &openrouter::PRESET,
    &xai::PRESET,
    &mistral::PRESET,
    &groq::PRESET,
    &fireworks::PRESET,
    &moonshot::PRESET,
    &qwen::PRESET,
    &litellm::PRESET,
    &vllm::PRESET,
    &sglang::PRESET,
    &llama_cpp::PRESET,
    &tensorrt_llm::PRESET,
    &ollama::PRESET,
];

/// The preset of that name.
pub fn find(name: &str) -> Option<&'static Preset> {
    PRESETS.iter().copied().find(|preset| preset.name == name)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::provider;
    use crate::record::WallTime;
    use serde_json::Value;

    #[test]
    fn presets_have_unique_names_dated_facts_and_data_that_reads() {
        for preset in PRESETS {
            let name = preset.name;
            assert!(
                find(name).is_some_and(|found| std::ptr::eq(found, *preset)),
                "{name}"
            );
            assert!(
                !preset.about.is_empty() && !preset.source.is_empty(),
                "{name}"
            );
            let noon = format!("{}T12:00:00Z", preset.as_of);
            assert!(WallTime::parse(&noon).is_some(), "{name}: {noon}");
            assert!(provider::find(preset.dialect).is_some(), "{name}");
            assert!(preset.url.contains("://"), "{name}");
            for (field, json) in preset.body {
                assert!(
                    serde_json::from_str::<Value>(json).is_ok(),
                    "{name}: {field}"
                );
            }
            for (dialect, why) in preset.unreliable {
                assert!(
                    dialect.is_empty() || provider::find(dialect).is_some(),
                    "{name}"
                );
                assert!(!why.is_empty(), "{name}");
            }
        }
        assert!(find("nobody").is_none());
    }

    #[test]
    fn routes_that_are_known_to_lie_are_marked() {
        let unreliable = |name: &str, dialect: &str| {
            find(name)
                .and_then(|preset| preset.unreliable_on(dialect))
                .is_some()
        };
        assert!(unreliable("ollama", "openai-chat"));
        assert!(unreliable("ollama", "anthropic"));
        assert!(unreliable("litellm", "anthropic"));
        assert!(!unreliable("litellm", "openai-chat"));
        assert!(!unreliable("vllm", "anthropic"));
    }
}
