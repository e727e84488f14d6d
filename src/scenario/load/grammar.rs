//! The grammar of scenario files as types.
//!
//! Doc comments here become the descriptions in the JSON schema, which editors
//! show. Names, files and numbers are checked later, in `check`.

use super::steps::StepEntry;
use super::texts::{NoteFile, SwitchFile, SwitchOrEntries, TextFile};
use super::yaml::{At, Entries};
use crate::chat::{MarkerRule, SummaryPlace, TailPlace, Ttl};
use crate::context::configuration::{External, MemoryForm, Reasoning};
use schemars::JsonSchema;
use serde::Deserialize;
use std::path::PathBuf;

/// A conversation as a person lives it: sends and the events between them.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(title = "prefixbench scenario")]
pub(in crate::scenario) struct ScenarioFile {
    /// Name, unique in a run.
    pub(in crate::scenario) scenario: At<String>,
    /// Free label; charts group by it.
    pub(in crate::scenario) group: Option<At<String>>,
    /// What the scenario shows.
    pub(in crate::scenario) about: Option<String>,
    /// When and where it begins; 2026-10-16 09:00 in UTC.
    pub(in crate::scenario) clock: Option<ClockFile>,
    /// Agent instructions; 1,200 tokens of generated text.
    pub(in crate::scenario) system: Option<At<TextFile>>,
    /// Tool definitions: a JSON array, in OpenAI or flat form.
    pub(in crate::scenario) tools: Option<At<TextFile>>,
    /// Model; the target's own where not named.
    pub(in crate::scenario) model: Option<At<String>>,
    /// State of the sources before the first send.
    #[serde(default)]
    pub(in crate::scenario) start: StartFile,
    /// A small vault: notes by their path.
    #[serde(default)]
    pub(in crate::scenario) notes: Entries<At<NoteFile>>,
    /// Pages by their address.
    #[serde(default)]
    pub(in crate::scenario) urls: Entries<At<TextFile>>,
    /// Browser tabs by their address.
    #[serde(default)]
    pub(in crate::scenario) tabs: Entries<At<TextFile>>,
    /// Where answers come from; scripted.
    #[serde(default)]
    pub(in crate::scenario) replies: RepliesFile,
    /// Configurations of the scenario's own, by name.
    #[serde(default)]
    pub(in crate::scenario) configurations: Entries<At<ConfigurationFile>>,
    /// What happens, in order.
    pub(in crate::scenario) steps: At<Vec<At<StepEntry>>>,
}

/// When and where the scenario begins.
#[derive(Debug, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(in crate::scenario) struct ClockFile {
    /// Local date and time: `2026-10-16T09:00`.
    pub(in crate::scenario) start: Option<At<String>>,
    /// IANA time zone: `Europe/Berlin`.
    pub(in crate::scenario) zone: Option<At<String>>,
}

/// State of the sources before the first send; all off, memory on and empty.
#[derive(Debug, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub(in crate::scenario) struct StartFile {
    /// Project guidance: a text, or off.
    pub(in crate::scenario) project: Option<At<SwitchFile>>,
    /// Artifacts prompt: on (2,500 tokens), off, or a text.
    pub(in crate::scenario) artifacts: Option<At<SwitchFile>>,
    /// Notes of the web-search tool: on (400 tokens), off, or a text.
    pub(in crate::scenario) web_search: Option<At<SwitchFile>>,
    /// Memory tool guard: on (40 tokens), off, or a text.
    pub(in crate::scenario) memory_guard: Option<At<SwitchFile>>,
    /// Stamp user messages with the time they are sent.
    pub(in crate::scenario) timestamps: bool,
    /// Entries of memory, or on or off.
    pub(in crate::scenario) memory: Option<At<SwitchOrEntries>>,
    /// Skills catalogue: descriptions by name, or off.
    pub(in crate::scenario) skills: Option<At<SwitchOrEntries>>,
    /// Texts under keys that no registry knows.
    pub(in crate::scenario) other: Entries<At<SwitchFile>>,
}

/// Where answers come from.
#[derive(Clone, Copy, Debug, Default, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub(in crate::scenario) enum RepliesFile {
    /// Fixed texts, so that configurations differ only in layout.
    #[default]
    Scripted,
    /// The model's own.
    Live,
}

/// A way of building prompts, of the scenario's own.
// The options are written out again, not flattened: flattening loses the places
// of errors. A field that is missing here does not compile in `check`.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(in crate::scenario) struct ConfigurationFile {
    /// The built-in configuration that it is based on.
    pub(in crate::scenario) base: At<String>,
    /// Cache markers; by the wire where not set.
    pub(in crate::scenario) markers: Option<At<MarkerRule>>,
    /// How long marked entries are asked to live.
    pub(in crate::scenario) marker_ttl: Option<At<Ttl>>,
    /// Where the tail goes; by the wire where not set.
    pub(in crate::scenario) tail: Option<At<TailPlace>>,
    /// Where a summary goes; by the wire where not set.
    pub(in crate::scenario) summary: Option<At<SummaryPlace>>,
    /// Stamp every user message with the time it was sent.
    pub(in crate::scenario) timestamps: Option<At<bool>>,
    /// How memory is written out.
    pub(in crate::scenario) memory_form: Option<At<MemoryForm>>,
    /// `prompt_cache_key`; `{conversation}` is replaced by the conversation's name.
    pub(in crate::scenario) prompt_cache_key: Option<At<String>>,
    /// Header that pins a conversation to a server.
    pub(in crate::scenario) affinity_header: Option<At<String>>,
    /// Reasoning in history.
    pub(in crate::scenario) reasoning: Option<At<Reasoning>>,
    /// Context window in tokens; above it the strategy compacts by itself.
    pub(in crate::scenario) window: Option<At<u64>>,
    /// `dev` and `lever-off`: the client resolves variables from the second turn on.
    pub(in crate::scenario) prompt_prefix: Option<At<bool>>,
    /// `layered`: take items of the current turn out of the library.
    pub(in crate::scenario) drop_current_from_library: Option<At<bool>>,
    /// `external`: the user's own builder.
    pub(in crate::scenario) external: Option<At<External>>,
    /// `raw`: a JSONL file of finished bodies, one a turn.
    pub(in crate::scenario) raw: Option<At<PathBuf>>,
}
