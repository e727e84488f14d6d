//! The grammar of steps as types.

use super::texts::{SwitchFile, SwitchOrEntries, TextFile};
use super::values::{LinesFile, NoteEditFile, NothingFile, TurnFile};
use super::yaml::{At, Entries};
use crate::context::view::{ChainKind, CompactionMode};
use schemars::{JsonSchema, Schema, SchemaGenerator};
use serde::Deserialize;
use serde::de::value::MapAccessDeserializer;
use serde::de::{Deserializer, Error, MapAccess, Visitor};
use std::borrow::Cow;
use std::fmt;

/// A step: a map with one key. Only a map: the derived enum would also take a
/// bare word, and then the next entry of the list as its content.
#[derive(Debug)]
pub(in crate::scenario) struct StepEntry(pub(in crate::scenario) StepFile);

/// What the known keys are said to be where a step has a second kind.
pub(super) const SECOND_KIND: &[&str] = &["-"];

struct StepVisitor;

impl<'de> Visitor<'de> for StepVisitor {
    type Value = StepEntry;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a step like `user: {...}`")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Self::Value, A::Error> {
        let step = StepFile::deserialize(MapAccessDeserializer::new(&mut map))?;
        match map.next_key::<String>()? {
            None => Ok(StepEntry(step)),
            Some(key) => Err(A::Error::unknown_field(&key, SECOND_KIND)),
        }
    }
}

impl<'de> Deserialize<'de> for StepEntry {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(StepVisitor)
    }
}

impl JsonSchema for StepEntry {
    fn schema_name() -> Cow<'static, str> {
        "Step".into()
    }

    fn json_schema(generator: &mut SchemaGenerator) -> Schema {
        StepFile::json_schema(generator)
    }
}

/// One thing that the person, the product or the world does.
// Externally tagged (`- user: ...`): an internal tag makes serde buffer the map,
// and errors then point at its start, not at the field.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub(in crate::scenario) enum StepFile {
    /// The person sends a message.
    User(Box<UserFile>),
    /// Sources are switched or get another text.
    Set(Box<SetFile>),
    /// Memory is edited.
    Memory(MemoryFile),
    /// Notes change: `{PATH: {write: TEXT}}`, `touch`, `delete`, `{move: PATH}`.
    Note(Entries<At<NoteEditFile>>),
    /// Pages change: their new text by address.
    Url(Entries<At<TextFile>>),
    /// Browser tabs change: their new text by address.
    Tab(Entries<At<TextFile>>),
    /// The scenario's clock moves: `26h`, `1h 30m`.
    Wait(At<String>),
    /// The scenario's clock and real time move.
    Idle(At<String>),
    /// The conversation is compacted.
    Compact(CompactFile),
    /// An answer is asked for again.
    Regenerate(RegenerateFile),
    /// A message is edited and sent again.
    Edit(EditFile),
    /// A turn's answer becomes the leaf.
    Branch(BranchFile),
    /// A tool loop pauses, steps happen, it resumes.
    Approve(ApproveFile),
    /// New agent instructions.
    System(At<TextFile>),
    /// New tool definitions.
    Tools(At<TextFile>),
    /// Another model.
    Model(At<String>),
    /// The layout is switched in mid-chat.
    Configuration(At<String>),
    /// The chat is saved and loaded.
    Reload(NothingFile),
    /// A fresh chat of the same user on the same cache.
    NewChat(NothingFile),
    /// An isolated helper with its own prompt is asked.
    Subagent(Box<SubagentFile>),
}

/// A message of the person.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(in crate::scenario) struct UserFile {
    /// What is typed.
    pub(in crate::scenario) text: At<TextFile>,
    /// What is attached.
    #[serde(default)]
    pub(in crate::scenario) attach: Vec<At<AttachFile>>,
    /// What retrieval finds.
    pub(in crate::scenario) retrieved: Option<At<TextFile>>,
    /// Names of files staged for the sandbox.
    #[serde(default)]
    pub(in crate::scenario) queued_files: Vec<At<String>>,
    /// What tools give before the model is asked.
    #[serde(default)]
    pub(in crate::scenario) tool_outputs: Vec<ToolOutputFile>,
    /// Rounds of a tool loop: one request per entry and one more.
    #[serde(default)]
    pub(in crate::scenario) tool_calls: Vec<At<RoundFile>>,
    /// The scripted answer; 120 tokens.
    pub(in crate::scenario) reply: Option<At<TextFile>>,
    /// Chain of the layered family; by what the message holds where not named.
    pub(in crate::scenario) chain: Option<ChainKind>,
    /// Words that a live answer should hold.
    #[serde(default)]
    pub(in crate::scenario) expect: Vec<At<String>>,
}

/// One attachment: exactly one of `note`, `url`, `tab`, `selection`, `tag`,
/// `folder`, `image`.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(in crate::scenario) struct AttachFile {
    /// A note by its path.
    pub(in crate::scenario) note: Option<At<String>>,
    /// A page by its address.
    pub(in crate::scenario) url: Option<At<String>>,
    /// A browser tab by its address.
    pub(in crate::scenario) tab: Option<At<String>>,
    /// Of a note or tab: whether it is the one in front.
    pub(in crate::scenario) active: Option<At<bool>>,
    /// A selection.
    pub(in crate::scenario) selection: Option<At<SelectionFile>>,
    /// All notes with a tag.
    pub(in crate::scenario) tag: Option<At<String>>,
    /// All notes below a folder.
    pub(in crate::scenario) folder: Option<At<String>>,
    /// A picture: PNG, JPEG, GIF or WebP, beside the scenario.
    pub(in crate::scenario) image: Option<At<String>>,
}

/// A selection in a note or page.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(in crate::scenario) struct SelectionFile {
    /// Path of the note.
    pub(in crate::scenario) note: Option<At<String>>,
    /// Address of the page.
    pub(in crate::scenario) url: Option<At<String>>,
    /// First and last line: `[3, 9]` or `3-9`.
    pub(in crate::scenario) lines: Option<At<LinesFile>>,
    /// The selected text; where left out, these lines of the note.
    pub(in crate::scenario) text: Option<At<TextFile>>,
}

/// What a tool gives before the model is asked.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(in crate::scenario) struct ToolOutputFile {
    /// The tool.
    pub(in crate::scenario) tool: At<String>,
    /// Its output.
    pub(in crate::scenario) output: At<TextFile>,
}

/// A round of a tool loop.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(in crate::scenario) struct RoundFile {
    /// What the model says in front of the calls.
    pub(in crate::scenario) text: Option<At<TextFile>>,
    /// The calls, at least one.
    pub(in crate::scenario) calls: Vec<CallFile>,
}

/// A call of a tool.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(in crate::scenario) struct CallFile {
    /// The tool.
    pub(in crate::scenario) name: At<String>,
    /// Its arguments: a map, or a JSON text of one.
    pub(in crate::scenario) args: Option<At<serde_json::Value>>,
    /// What it returns.
    pub(in crate::scenario) result: At<TextFile>,
}

/// Sources that change; those not named stay as they are.
#[derive(Debug, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub(in crate::scenario) struct SetFile {
    /// Artifacts prompt: on, off, or a text.
    pub(in crate::scenario) artifacts: Option<At<SwitchFile>>,
    /// Notes of the web-search tool: on, off, or a text.
    pub(in crate::scenario) web_search: Option<At<SwitchFile>>,
    /// Memory tool guard: on, off, or a text.
    pub(in crate::scenario) memory_guard: Option<At<SwitchFile>>,
    /// Send-time stamps: on or off.
    pub(in crate::scenario) timestamps: Option<bool>,
    /// Memory as a whole: on or off.
    pub(in crate::scenario) memory: Option<bool>,
    /// Project guidance: a text, or off.
    pub(in crate::scenario) project: Option<At<SwitchFile>>,
    /// Skills catalogue: descriptions by name, or off.
    pub(in crate::scenario) skills: Option<At<SwitchOrEntries>>,
    /// The person's time zone.
    pub(in crate::scenario) zone: Option<At<String>>,
    /// Texts under keys that no registry knows, or off.
    pub(in crate::scenario) other: Entries<At<SwitchFile>>,
}

/// An edit of memory.
#[derive(Debug, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub(in crate::scenario) struct MemoryFile {
    /// New entries.
    pub(in crate::scenario) add: Entries<At<TextFile>>,
    /// Entries with a new value.
    pub(in crate::scenario) change: Entries<At<TextFile>>,
    /// Keys of entries that go.
    pub(in crate::scenario) remove: Vec<At<String>>,
}

/// A compaction.
#[derive(Debug, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub(in crate::scenario) struct CompactFile {
    /// User-led turns that stay word for word; 2.
    pub(in crate::scenario) keep_turns: Option<At<u32>>,
    /// The summary; 300 tokens of generated text.
    pub(in crate::scenario) summary: Option<At<TextFile>>,
    /// How it says what it keeps.
    pub(in crate::scenario) mode: CompactionMode,
    /// Whether a summariser request is sent.
    pub(in crate::scenario) call: bool,
}

/// An answer that is asked for again.
#[derive(Debug, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub(in crate::scenario) struct RegenerateFile {
    /// Which turn's; the last.
    pub(in crate::scenario) turn: Option<At<TurnFile>>,
    /// The new scripted answer; the old one again where left out.
    pub(in crate::scenario) reply: Option<At<TextFile>>,
}

/// A message that is edited and sent again.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(in crate::scenario) struct EditFile {
    /// Which turn's.
    pub(in crate::scenario) turn: At<TurnFile>,
    /// The new message.
    pub(in crate::scenario) user: Box<UserFile>,
}

/// A return to an earlier turn.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(in crate::scenario) struct BranchFile {
    /// The turn whose answer becomes the leaf.
    pub(in crate::scenario) from: At<TurnFile>,
}

/// A paused tool loop.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(in crate::scenario) struct ApproveFile {
    /// Which turn's; the last.
    pub(in crate::scenario) turn: Option<At<TurnFile>>,
    /// What happens before it resumes.
    #[serde(default, rename = "while")]
    pub(in crate::scenario) during: Vec<At<StepEntry>>,
}

/// An isolated helper.
#[derive(Debug, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub(in crate::scenario) struct SubagentFile {
    /// What it is asked to do; 60 tokens of generated text.
    pub(in crate::scenario) task: Option<At<TextFile>>,
    /// Always-apply skills: bodies by name.
    pub(in crate::scenario) skills: Entries<At<TextFile>>,
    /// What retrieval finds for it.
    pub(in crate::scenario) retrieved: Option<At<TextFile>>,
    /// The scripted answer; 120 tokens.
    pub(in crate::scenario) reply: Option<At<TextFile>>,
}
