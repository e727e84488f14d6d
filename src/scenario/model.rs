//! A checked scenario: no file names, no unresolved texts, no unknown names.

use crate::chat::{Digest, Text, Tool};
use crate::context::Options;
use crate::context::view::{ChainKind, Vault};
use crate::context::view::{CompactionMode, Memory, Moment, Note, Round, ToolOutput};
use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

/// How far each `user` step moves the scenario's clock.
pub const USER_STEP: Duration = Duration::from_millis(47_313);

/// Where answers come from.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Replies {
    /// Fixed texts, so that configurations differ only in layout.
    #[default]
    Scripted,
    /// The model's own.
    Live,
}

/// State of the sources before the first send.
#[derive(Clone, Debug, PartialEq)]
pub struct Start {
    /// Agent instructions; empty: none.
    pub system: Text,
    /// Tool definitions.
    pub tools: Arc<[Tool]>,
    /// Model, where the scenario names one.
    pub model: Option<Arc<str>>,
    /// Project guidance.
    pub project: Option<Text>,
    /// Artifacts prompt.
    pub artifacts: Option<Text>,
    /// Memory tool guard.
    pub memory_guard: Option<Text>,
    /// Skills catalogue.
    pub skills: Vec<(Arc<str>, Text)>,
    /// Static notes of the web-search tool.
    pub web_search: Option<Text>,
    /// Memory.
    pub memory: Memory,
    /// Send-time stamps.
    pub timestamps: bool,
    /// Parts under keys that no registry knows.
    pub other: Vec<(Arc<str>, Text)>,
}

/// Which turn a step means.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TurnRef {
    /// Counted from 1 in the order in which turns happen.
    Number(u32),
    /// The newest.
    Last,
}

/// What a `user` step attaches, not yet frozen.
#[derive(Clone, Debug, PartialEq)]
pub enum Attach {
    /// A note by its path.
    Note {
        /// The path.
        path: Arc<str>,
        /// Open in the editor.
        active: bool,
    },
    /// A page by its address.
    Url(Arc<str>),
    /// A browser tab by its address.
    Tab {
        /// The address.
        url: Arc<str>,
        /// In front.
        active: bool,
    },
    /// A selection.
    Selection {
        /// Path or address.
        source: Arc<str>,
        /// Whether `source` is an address.
        web: bool,
        /// First and last line.
        lines: Option<(u32, u32)>,
        /// The selected text.
        text: Text,
    },
    /// All notes with a tag.
    Tag(Arc<str>),
    /// All notes below a folder.
    Folder(Arc<str>),
    /// A picture, already read.
    Image {
        /// File name.
        name: Arc<str>,
        /// For example `image/png`.
        media_type: Arc<str>,
        /// Base64 of its bytes.
        data: Text,
    },
}

/// A `user` step: one send.
#[derive(Clone, Debug, PartialEq)]
pub struct UserStep {
    /// What is typed.
    pub text: Text,
    /// What is attached.
    pub attach: Vec<Attach>,
    /// What retrieval finds.
    pub retrieved: Option<Text>,
    /// Files staged for the sandbox.
    pub queued_files: Vec<Arc<str>>,
    /// What tools give before the model is asked.
    pub tool_outputs: Vec<ToolOutput>,
    /// Rounds of a tool loop; one request each and one more.
    pub rounds: Vec<Round>,
    /// The scripted answer.
    pub reply: Text,
    /// Chain of the layered family, where named.
    pub chain: Option<ChainKind>,
    /// Words that a live answer should hold.
    pub expect: Vec<String>,
}

/// A change of one source; `None` fields stay as they are.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct SetStep {
    /// Artifacts prompt: on with its text, or off.
    pub artifacts: Option<Option<Text>>,
    /// Web-search notes.
    pub web_search: Option<Option<Text>>,
    /// Memory tool guard.
    pub memory_guard: Option<Option<Text>>,
    /// Send-time stamps.
    pub timestamps: Option<bool>,
    /// Memory as a whole.
    pub memory: Option<bool>,
    /// Project guidance.
    pub project: Option<Option<Text>>,
    /// Skills catalogue; empty: off.
    pub skills: Option<Vec<(Arc<str>, Text)>>,
    /// The person's time zone.
    pub zone: Option<jiff::tz::TimeZone>,
    /// Parts under keys that no registry knows.
    pub other: Vec<(Arc<str>, Option<Text>)>,
}

/// An edit of memory.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct MemoryStep {
    /// New entries.
    pub add: Vec<(Arc<str>, Text)>,
    /// Entries with a new value.
    pub change: Vec<(Arc<str>, Text)>,
    /// Entries that go.
    pub remove: Vec<Arc<str>>,
}

/// An edit of one note.
#[derive(Clone, Debug, PartialEq)]
pub enum NoteEdit {
    /// New text; creates the note where it does not exist.
    Write(Text),
    /// Only the modification time changes.
    Touch,
    /// The note goes.
    Delete,
    /// The note gets another path.
    Move(Arc<str>),
}

/// A compaction.
#[derive(Clone, Debug, PartialEq)]
pub struct CompactStep {
    /// User-led turns that stay word for word.
    pub keep_turns: usize,
    /// The summary.
    pub summary: Text,
    /// How it says what it keeps.
    pub mode: CompactionMode,
    /// Whether a summariser request is sent.
    pub call: bool,
}

/// What a step does.
#[derive(Clone, Debug, PartialEq)]
pub enum Action {
    /// The person sends a message.
    User(Box<UserStep>),
    /// Sources change.
    Set(Box<SetStep>),
    /// Memory is edited.
    Memory(MemoryStep),
    /// Notes change, in order.
    Note(Vec<(Arc<str>, NoteEdit)>),
    /// Pages change.
    Url(Vec<(Arc<str>, Text)>),
    /// Tabs change.
    Tab(Vec<(Arc<str>, Text)>),
    /// The scenario's clock moves.
    Wait(Duration),
    /// The scenario's clock and real time move.
    Idle(Duration),
    /// The conversation is compacted.
    Compact(CompactStep),
    /// An answer is asked for again.
    Regenerate {
        /// Which turn's.
        turn: TurnRef,
        /// The new scripted answer; the old one again where absent.
        reply: Option<Text>,
    },
    /// A message is edited and sent again, as a sibling of the old one.
    Edit {
        /// Which turn's.
        turn: TurnRef,
        /// The new message.
        user: Box<UserStep>,
    },
    /// A turn's answer becomes the leaf.
    Branch {
        /// Which turn's.
        from: TurnRef,
    },
    /// A paused tool loop: steps happen, then it resumes.
    Approve {
        /// Which turn's.
        turn: TurnRef,
        /// What happens meanwhile.
        during: Vec<Step>,
    },
    /// New agent instructions.
    System(Text),
    /// New tool definitions.
    Tools(Arc<[Tool]>),
    /// Another model.
    Model(Arc<str>),
    /// The layout is switched in mid-chat.
    Configuration(Arc<str>),
    /// The chat is saved and loaded.
    Reload,
    /// A fresh chat of the same user on the same cache.
    NewChat,
    /// An isolated helper is asked.
    Subagent(Box<SubagentStep>),
}

/// An isolated helper with a prompt of its own.
#[derive(Clone, Debug, PartialEq)]
pub struct SubagentStep {
    /// What it is asked to do.
    pub task: Text,
    /// Always-apply skills: name and body.
    pub skills: Vec<(Arc<str>, Text)>,
    /// What retrieval finds for it.
    pub retrieved: Option<Text>,
    /// The scripted answer.
    pub reply: Text,
}

/// One entry of a scenario.
#[derive(Clone, Debug, PartialEq)]
pub struct Step {
    /// What it does.
    pub action: Action,
    /// What a record, a chart's axis and `explain` call it: `artifacts on`,
    /// `memory changed tone`, `compact`, `wait 26h`. Short and lowercase.
    pub label: Arc<str>,
    /// Line of the file, counted from 1.
    pub line: usize,
}

/// A configuration as a scenario or plan file defines it.
#[derive(Clone, Debug, PartialEq)]
pub struct ConfigurationSpec {
    /// The strategy it is based on.
    pub base: String,
    /// Its options; paths are already relative to the working folder.
    pub options: Options,
}

/// A checked scenario.
#[derive(Clone, Debug, PartialEq)]
pub struct Scenario {
    /// Name, unique in a run.
    pub name: Arc<str>,
    /// Free label by which charts group.
    pub group: Arc<str>,
    /// What it shows.
    pub about: Arc<str>,
    /// The file it came from.
    pub path: PathBuf,
    /// SHA-256 over the file and every file that it names, in order.
    pub digest: Digest,
    /// When the scenario's clock starts, in the person's zone.
    pub clock: Moment,
    /// State before the first send.
    pub start: Start,
    /// The vault before the first step.
    pub vault: Vault,
    /// Pages by address.
    pub urls: BTreeMap<Arc<str>, Text>,
    /// Tabs by address.
    pub tabs: BTreeMap<Arc<str>, Text>,
    /// Where answers come from.
    pub replies: Replies,
    /// What happens.
    pub steps: Vec<Step>,
    /// Configurations that it defines, by name.
    pub configurations: BTreeMap<String, ConfigurationSpec>,
}

impl Scenario {
    /// A note of the vault as it is before the first step.
    pub fn note(&self, path: &str) -> Option<&Note> {
        self.vault.get(path)
    }
}
