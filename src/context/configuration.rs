//! Named ways of building prompts: a strategy with its options.

use super::strategy::{StrategyKind, find};
use crate::chat::{CacheMarker, MarkerRule, SummaryPlace, TailPlace, Ttl, Wire};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::path::PathBuf;

/// How memory is written out in the system prompt.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum MemoryForm {
    /// Numbered values with their dates.
    #[default]
    Values,
    /// The same with keys and token counts.
    Keyed,
}

/// Whether a model's reasoning goes back to it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum Reasoning {
    /// Left out of the history.
    #[default]
    Drop,
    /// Sent back as it came.
    Keep,
}

/// The user's own builder.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct External {
    /// Program and arguments; started in the scenario's folder.
    pub command: Vec<String>,
    /// Seconds to wait for an answer to one line (30).
    #[serde(default = "thirty")]
    pub timeout_s: u64,
}

fn thirty() -> u64 {
    30
}

/// What can be set about a configuration. Everything has a default, and an
/// option that its strategy does not read is an error when the scenario is
/// checked.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct Options {
    /// Cache markers; by the wire where not set.
    pub markers: Option<MarkerRule>,
    /// How long marked entries are asked to live: an hour where not set, and five
    /// minutes where the wire knows nothing else.
    pub marker_ttl: Option<Ttl>,
    /// Where the tail goes; by the wire where not set.
    pub tail: Option<TailPlace>,
    /// Where a summary goes; by the wire where not set.
    pub summary: Option<SummaryPlace>,
    /// Stamp every user message with the time it was sent.
    pub timestamps: Option<bool>,
    /// How memory is written out.
    pub memory_form: Option<MemoryForm>,
    /// `prompt_cache_key`; `{conversation}` is replaced by the conversation's name.
    pub prompt_cache_key: Option<String>,
    /// Header that pins a conversation to a server; its value is the conversation's name.
    pub affinity_header: Option<String>,
    /// Reasoning in history.
    pub reasoning: Option<Reasoning>,
    /// Context window in tokens, a token for four characters. A message whose
    /// prompt would take more than 95 % of it is preceded by a compaction that
    /// keeps the turn before; `copilot-4` has a rule of its own instead.
    pub window: Option<u64>,
    /// `dev` and `lever-off`: the client resolves variables of the prompt prefix
    /// from the second turn on, as the old client did.
    pub prompt_prefix: Option<bool>,
    /// `layered`: take items of the current turn out of the library, as the
    /// fault of 2025-01-25 did.
    pub drop_current_from_library: Option<bool>,
    /// `external`: the user's own builder.
    pub external: Option<External>,
    /// `raw`: a JSONL file of finished bodies, one a turn, relative to the scenario.
    pub raw: Option<PathBuf>,
}

impl Options {
    /// Names of the options that are set, as a scenario writes them.
    pub fn given(&self) -> Vec<&'static str> {
        // Taken apart whole, so that a new option cannot be forgotten here.
        let Self {
            markers,
            marker_ttl,
            tail,
            summary,
            timestamps,
            memory_form,
            prompt_cache_key,
            affinity_header,
            reasoning,
            window,
            prompt_prefix,
            drop_current_from_library,
            external,
            raw,
        } = self;
        let all = [
            ("markers", markers.is_some()),
            ("marker_ttl", marker_ttl.is_some()),
            ("tail", tail.is_some()),
            ("summary", summary.is_some()),
            ("timestamps", timestamps.is_some()),
            ("memory_form", memory_form.is_some()),
            ("prompt_cache_key", prompt_cache_key.is_some()),
            ("affinity_header", affinity_header.is_some()),
            ("reasoning", reasoning.is_some()),
            ("window", window.is_some()),
            ("prompt_prefix", prompt_prefix.is_some()),
            (
                "drop_current_from_library",
                drop_current_from_library.is_some(),
            ),
            ("external", external.is_some()),
            ("raw", raw.is_some()),
        ];
        let set = all.into_iter().filter(|(_, set)| *set);
        set.map(|(name, _)| name).collect()
    }

    /// What every marker of a prompt says. One rule for every configuration, so that
    /// they differ in layout only.
    ///
    /// `model` matters for Bedrock: other models than Claude keep entries for five
    /// minutes. One that is not named counts as Claude. Source: turn context, section 3.4.
    #[must_use]
    pub fn marker(&self, rule: MarkerRule, model: Option<&str>) -> CacheMarker {
        let asked = self.marker_ttl.unwrap_or(Ttl::Hour);
        let known = rule != MarkerRule::Bedrock || model.is_none_or(is_claude);
        CacheMarker {
            ttl: if known { asked } else { Ttl::FiveMinutes },
        }
    }

    /// The wire as these options change it.
    #[must_use]
    pub fn applied_to(&self, mut wire: Wire) -> Wire {
        wire.markers = self.markers.unwrap_or(wire.markers);
        wire.tail = self.tail.unwrap_or(wire.tail);
        wire.summary = self.summary.unwrap_or(wire.summary);
        wire
    }
}

/// Whether a name means one of Anthropic's models, wherever they are served.
pub(super) fn is_claude(model: &str) -> bool {
    let model = model.to_ascii_lowercase();
    model.contains("claude") || model.contains("anthropic")
}

/// A named way of building prompts.
#[derive(Clone)]
pub struct Configuration {
    /// Name, unique in a run.
    pub name: String,
    /// The strategy.
    pub base: &'static StrategyKind,
    /// Its options.
    pub options: Options,
}

impl Configuration {
    /// The built-in configuration of that name, with default options.
    pub fn built_in(name: &str) -> Option<Self> {
        let base = find(name)?;
        Some(Self {
            name: name.to_owned(),
            base,
            options: Options::default(),
        })
    }
}
