//! The grammar of scenario files as types.
//!
//! Doc comments here become the descriptions in the JSON schema, which editors
//! show. Names, files and numbers are checked later, in `check`.

use super::steps::StepEntry;
use super::yaml::{At, Entries, EntriesVisitor};
use crate::chat::{MarkerRule, SummaryPlace, TailPlace, Ttl};
use crate::context::configuration::{External, MemoryForm, Reasoning};
use crate::scenario::generate::Kind;
use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::Deserialize;
use serde::de::value::MapAccessDeserializer;
use serde::de::{Deserializer, Error, MapAccess, Visitor};
use std::borrow::Cow;
use std::fmt;
use std::marker::PhantomData;
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

/// How a text is made.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(in crate::scenario) struct GenerateFile {
    /// Number of tokens in `o200k_base`.
    pub(in crate::scenario) tokens: At<u64>,
    /// Texts of different seeds have nothing in common.
    #[serde(default)]
    pub(in crate::scenario) seed: u64,
    /// What it looks like.
    #[serde(default)]
    pub(in crate::scenario) kind: Kind,
}

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(in crate::scenario) struct TextMap {
    /// A file beside the scenario.
    pub(in crate::scenario) file: Option<At<String>>,
    /// Generated text.
    pub(in crate::scenario) generate: Option<GenerateFile>,
}

/// A text, or where it comes from.
#[derive(Debug)]
pub(in crate::scenario) enum TextFile {
    /// As it stands.
    Literal(String),
    /// As it stands in the source, where YAML reads a number or a switch.
    Plain,
    /// By a file or generated.
    Map(TextMap),
}

/// Of a source: on, off, or a text.
#[derive(Debug)]
pub(in crate::scenario) enum SwitchFile {
    /// On or off.
    Switch(bool),
    /// A text.
    Text(TextFile),
}

/// On, off, or texts by key.
#[derive(Debug)]
pub(in crate::scenario) enum SwitchOrEntries {
    /// On or off.
    Switch(bool),
    /// Texts by key.
    Entries(Entries<At<TextFile>>),
}

/// A note: a text, or a map of its text and tags.
#[derive(Debug)]
pub(in crate::scenario) enum NoteFile {
    /// Only a text.
    Text(TextFile),
    /// With tags.
    Map(NoteMap),
}

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(in crate::scenario) struct NoteMap {
    /// The text.
    pub(in crate::scenario) text: Option<At<TextFile>>,
    /// A file beside the scenario.
    pub(in crate::scenario) file: Option<At<String>>,
    /// Generated text.
    pub(in crate::scenario) generate: Option<GenerateFile>,
    /// Tags, without `#`.
    #[serde(default)]
    pub(in crate::scenario) tags: Vec<At<String>>,
}

const TEXT: &str = "a text, `{file: ...}` or `{generate: ...}`";

/// Visits what is a text in YAML's eyes or only in the writer's (a number).
macro_rules! scalars {
    ($plain:expr, $literal:expr) => {
        fn visit_i64<E: Error>(self, _: i64) -> Result<Self::Value, E> {
            Ok($plain)
        }
        fn visit_u64<E: Error>(self, _: u64) -> Result<Self::Value, E> {
            Ok($plain)
        }
        fn visit_f64<E: Error>(self, _: f64) -> Result<Self::Value, E> {
            Ok($plain)
        }
        fn visit_str<E: Error>(self, text: &str) -> Result<Self::Value, E> {
            Ok($literal(text))
        }
    };
}

struct TextVisitor;

impl<'de> Visitor<'de> for TextVisitor {
    type Value = TextFile;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(TEXT)
    }

    scalars!(TextFile::Plain, |text: &str| TextFile::Literal(
        text.to_owned()
    ));

    fn visit_bool<E: Error>(self, _: bool) -> Result<Self::Value, E> {
        Ok(TextFile::Plain)
    }

    fn visit_map<A: MapAccess<'de>>(self, map: A) -> Result<Self::Value, A::Error> {
        TextMap::deserialize(MapAccessDeserializer::new(map)).map(TextFile::Map)
    }
}

struct SwitchVisitor;

impl<'de> Visitor<'de> for SwitchVisitor {
    type Value = SwitchFile;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "on, off, {TEXT}")
    }

    scalars!(SwitchFile::Text(TextFile::Plain), |text: &str| match text {
        // Quoted by a writer who is wary of YAML's switches.
        "on" => SwitchFile::Switch(true),
        "off" => SwitchFile::Switch(false),
        _ => SwitchFile::Text(TextFile::Literal(text.to_owned())),
    });

    fn visit_bool<E: Error>(self, on: bool) -> Result<Self::Value, E> {
        Ok(SwitchFile::Switch(on))
    }

    fn visit_map<A: MapAccess<'de>>(self, map: A) -> Result<Self::Value, A::Error> {
        TextVisitor.visit_map(map).map(SwitchFile::Text)
    }
}

struct SwitchOrEntriesVisitor;

impl<'de> Visitor<'de> for SwitchOrEntriesVisitor {
    type Value = SwitchOrEntries;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("on, off, or a map of texts")
    }

    fn visit_bool<E: Error>(self, on: bool) -> Result<Self::Value, E> {
        Ok(SwitchOrEntries::Switch(on))
    }

    fn visit_map<A: MapAccess<'de>>(self, map: A) -> Result<Self::Value, A::Error> {
        EntriesVisitor(PhantomData)
            .visit_map(map)
            .map(SwitchOrEntries::Entries)
    }
}

struct NoteVisitor;

impl<'de> Visitor<'de> for NoteVisitor {
    type Value = NoteFile;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(TEXT)
    }

    scalars!(NoteFile::Text(TextFile::Plain), |text: &str| {
        NoteFile::Text(TextFile::Literal(text.to_owned()))
    });

    fn visit_bool<E: Error>(self, _: bool) -> Result<Self::Value, E> {
        Ok(NoteFile::Text(TextFile::Plain))
    }

    fn visit_map<A: MapAccess<'de>>(self, map: A) -> Result<Self::Value, A::Error> {
        NoteMap::deserialize(MapAccessDeserializer::new(map)).map(NoteFile::Map)
    }
}

/// A type that is read by a visitor over whatever stands there, with its schema.
macro_rules! by_visitor {
    ($name:ident, $visitor:expr, $title:literal, $schema:expr) => {
        impl<'de> Deserialize<'de> for $name {
            fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
                deserializer.deserialize_any($visitor)
            }
        }

        impl JsonSchema for $name {
            fn schema_name() -> Cow<'static, str> {
                $title.into()
            }

            fn json_schema(generator: &mut SchemaGenerator) -> Schema {
                let schema: fn(&mut SchemaGenerator) -> Schema = $schema;
                schema(generator)
            }
        }
    };
}

by_visitor!(TextFile, TextVisitor, "Text", |generator| {
    let map = generator.subschema_for::<TextMap>();
    json_schema!({"anyOf": [{"type": ["string", "number", "boolean"]}, map]})
});
by_visitor!(SwitchFile, SwitchVisitor, "SwitchOrText", |generator| {
    let map = generator.subschema_for::<TextMap>();
    json_schema!({"anyOf": [{"type": ["boolean", "string", "number"]}, map]})
});
by_visitor!(
    SwitchOrEntries,
    SwitchOrEntriesVisitor,
    "SwitchOrTexts",
    |generator| {
        let map = generator.subschema_for::<Entries<At<TextFile>>>();
        json_schema!({"anyOf": [{"type": "boolean"}, {"enum": ["on", "off"]}, map]})
    }
);
by_visitor!(NoteFile, NoteVisitor, "Note", |generator| {
    let map = generator.subschema_for::<NoteMap>();
    json_schema!({"anyOf": [{"type": ["string", "number", "boolean"]}, map]})
});
