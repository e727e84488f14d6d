//! What a strategy sees of a conversation, as data.
//!
//! The conversation owns a tree of messages; a strategy is shown one path
//! through it, from the root to the leaf, as a [`Chain`]. Every user message
//! carries the state of all sources as it was when the message was sent
//! ([`Sample`]), and its attachments frozen at that moment, so that rendering an
//! old message needs neither a clock nor the world as it is now.

use super::stored::Stored;
use crate::chat::{Text, Tool, Wire};
use jiff::{Timestamp, tz::TimeZone};
use std::collections::BTreeMap;
use std::sync::Arc;

/// An instant of the scenario's clock and the zone in which the person lives it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Moment {
    /// The instant.
    pub at: Timestamp,
    /// The zone in force.
    pub zone: TimeZone,
}

impl Moment {
    /// `2026-10-16 (Friday)`, in the moment's own zone.
    pub fn date(&self) -> String {
        self.at
            .to_zoned_datetime(self.zone.clone())
            .strftime("%Y-%m-%d (%A)")
            .to_string()
    }

    /// `2026-10-16`, in the moment's own zone.
    pub fn day(&self) -> jiff::civil::Date {
        self.at.to_zoned_datetime(self.zone.clone()).date()
    }

    /// `2026-10-16 09:00`, in the moment's own zone.
    pub fn minute(&self) -> String {
        self.at
            .to_zoned_datetime(self.zone.clone())
            .strftime("%Y-%m-%d %H:%M")
            .to_string()
    }

    /// `2026-10-16 09:00:47 +02:00 (Friday)`, in the moment's own zone.
    pub fn datetime(&self) -> String {
        self.at
            .to_zoned_datetime(self.zone.clone())
            .strftime("%Y-%m-%d %H:%M:%S %:z (%A)")
            .to_string()
    }

    /// `2026-10-16T07:00:47.313Z`: UTC with milliseconds.
    pub fn iso(&self) -> String {
        self.at
            .to_zoned_datetime(TimeZone::UTC)
            .strftime("%Y-%m-%dT%H:%M:%S.%3fZ")
            .to_string()
    }
}

/// One remembered fact.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct MemoryEntry {
    /// Its key, unique in a memory.
    pub key: Arc<str>,
    /// Its value.
    pub value: Text,
    /// When it was added or last changed.
    pub updated: Moment,
}

/// The user's memory.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Memory {
    /// Off: withheld from the prompt.
    pub on: bool,
    /// Ordered by `updated`, then by insertion: a changed entry moves to the end.
    pub entries: Vec<MemoryEntry>,
}

/// The state of every source at one instant.
///
/// A source that is off is `None` (or an empty list); fillers are already texts.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Sample {
    /// When it was taken.
    pub at: Moment,
    /// Start of the chat, in the zone that was in force then.
    pub started: Moment,
    /// Agent instructions, special variables not yet replaced. Empty text: none.
    pub system: Text,
    /// Tool definitions.
    pub tools: Arc<[Tool]>,
    /// Model that is asked, where anybody named one.
    pub model: Option<Arc<str>>,
    /// Project guidance.
    pub project: Option<Text>,
    /// Artifacts prompt.
    pub artifacts: Option<Text>,
    /// Memory tool guard.
    pub memory_guard: Option<Text>,
    /// Skills catalogue: name and description, in order.
    pub skills: Vec<(Arc<str>, Text)>,
    /// Static notes of the web-search tool; its being on also brings the time.
    pub web_search: Option<Text>,
    /// Memory.
    pub memory: Memory,
    /// Whether messages are stamped with the time they are sent.
    pub timestamps: bool,
    /// Parts under keys that no registry knows.
    pub other: Vec<(Arc<str>, Text)>,
}

/// A note of the vault.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Note {
    /// Path in the vault, with `/`.
    pub path: Arc<str>,
    /// Its text; `None` where it cannot be read (deleted).
    pub text: Option<Text>,
    /// Creation time.
    pub created: Timestamp,
    /// Time of the last change; `touch` changes it and nothing else.
    pub modified: Timestamp,
    /// Tags, without `#`.
    pub tags: Vec<Arc<str>>,
}

impl Note {
    /// File name without folder and extension.
    pub fn title(&self) -> &str {
        let name = self.path.rsplit('/').next().unwrap_or(&self.path);
        name.rsplit_once('.').map_or(name, |(stem, _)| stem)
    }
}

/// The notes as they are now, by path.
pub type Vault = BTreeMap<Arc<str>, Note>;

/// What was attached to a message, frozen when it was sent.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Attachment {
    /// A note of the vault.
    Note {
        /// The note as it was.
        note: Note,
        /// Whether it is the one open in the editor.
        active: bool,
    },
    /// A page by its address.
    Url {
        /// The address.
        url: Arc<str>,
        /// The page's text as fetched.
        text: Text,
    },
    /// A browser tab.
    Tab {
        /// The address.
        url: Arc<str>,
        /// The tab's text as it was.
        text: Text,
        /// Whether it is the one in front.
        active: bool,
    },
    /// A selection in a note or page.
    Selection {
        /// Path of the note, or address of the page.
        source: Arc<str>,
        /// Whether `source` is a page.
        web: bool,
        /// First and last line, for a note.
        lines: Option<(u32, u32)>,
        /// The selected text.
        text: Text,
    },
    /// All notes with a tag.
    Tag {
        /// The tag, without `#`.
        tag: Arc<str>,
        /// The notes as they were.
        notes: Vec<Note>,
    },
    /// All notes below a folder.
    Folder {
        /// The folder.
        path: Arc<str>,
        /// The notes as they were.
        notes: Vec<Note>,
    },
    /// A picture.
    Image {
        /// File name.
        name: Arc<str>,
        /// For example `image/png`.
        media_type: Arc<str>,
        /// Base64 of its bytes.
        data: Text,
    },
}

/// What a tool gave before the model was asked.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ToolOutput {
    /// The tool.
    pub tool: Arc<str>,
    /// Its output.
    pub output: Text,
}

/// A call of a tool with its result, as scripted.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Call {
    /// Id, unique in the chat and the same on every machine.
    pub id: Arc<str>,
    /// The tool.
    pub name: Arc<str>,
    /// Arguments as compact JSON.
    pub arguments: Text,
    /// What it returned.
    pub result: Text,
}

/// One round of a tool loop: what the model said and the calls it made.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Round {
    /// Text in front of the calls; may be empty.
    pub text: Text,
    /// The calls, at least one.
    pub calls: Vec<Call>,
}

/// Prompt chain of the layered family.
#[derive(
    Clone,
    Copy,
    Debug,
    PartialEq,
    Eq,
    Hash,
    serde::Serialize,
    serde::Deserialize,
    schemars::JsonSchema,
)]
#[serde(rename_all = "kebab-case")]
pub enum ChainKind {
    /// Plain.
    Llm,
    /// Documents retrieved for the question.
    VaultQa,
    /// Tools run before the one model call.
    Plus,
    /// A tool loop.
    Agent,
    /// A project's context in front.
    Project,
}

/// Identifies a message of the tree; unique in a chat.
#[derive(
    Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, serde::Serialize, serde::Deserialize,
)]
#[serde(transparent)]
pub struct NodeId(pub u32);

/// A message of the person with everything that was sampled for it.
#[derive(Clone, Debug, PartialEq)]
pub struct UserTurn {
    /// Its place in the tree.
    pub id: NodeId,
    /// What was typed.
    pub text: Text,
    /// When it was sent.
    pub sent: Moment,
    /// State of all sources at that moment.
    pub sample: Arc<Sample>,
    /// What was attached, frozen.
    pub attachments: Vec<Attachment>,
    /// What retrieval found for it.
    pub retrieved: Option<Text>,
    /// Names of files staged for the sandbox with it.
    pub queued_files: Vec<Arc<str>>,
    /// What tools gave before the model was asked.
    pub tool_outputs: Vec<ToolOutput>,
    /// Rounds of the tool loop that answer it. In the newest message of a chain
    /// only the first [`Chain::rounds`] have happened.
    pub rounds: Vec<Round>,
    /// The layered family's chain, where the scenario names it.
    pub chain: Option<ChainKind>,
    /// What the strategy stored when the message was sent.
    pub stored: Option<Stored>,
}

/// An answer of the model.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AssistantTurn {
    /// Its place in the tree.
    pub id: NodeId,
    /// Its text: the script's, or the model's own with live replies.
    pub text: Text,
    /// Its reasoning, with live replies.
    pub reasoning: Option<Text>,
}

/// How a compaction says what it keeps.
#[derive(
    Clone,
    Copy,
    Debug,
    Default,
    PartialEq,
    Eq,
    serde::Serialize,
    serde::Deserialize,
    schemars::JsonSchema,
)]
#[serde(rename_all = "lowercase")]
pub enum CompactionMode {
    /// The first kept message is named; it and all after it survive whole.
    #[default]
    Coverage,
    /// Everything in front of the summary is dropped.
    Positional,
}

/// A summary that stands for everything in front of the kept turns.
#[derive(Clone, Debug, PartialEq)]
pub struct Compaction {
    /// Its place in the tree.
    pub id: NodeId,
    /// The summary.
    pub summary: Text,
    /// How it says what it keeps.
    pub mode: CompactionMode,
    /// Number of user-led turns kept in front of it.
    pub keep_turns: usize,
    /// First kept message; `None` where none is kept.
    pub retained_from: Option<NodeId>,
    /// The anchor of the segment that it opens, once its first message is sent.
    pub stored: Option<Stored>,
}

/// One entry of a chain.
#[derive(Clone, Debug, PartialEq)]
pub enum Link {
    /// A message of the person.
    User(Arc<UserTurn>),
    /// An answer.
    Assistant(Arc<AssistantTurn>),
    /// A compaction.
    Compaction(Arc<Compaction>),
}

/// An isolated helper with a prompt of its own.
#[derive(Clone, Debug, PartialEq)]
pub struct Subagent {
    /// What it is asked to do.
    pub task: Text,
    /// Always-apply skills: name and body.
    pub skills: Vec<(Arc<str>, Text)>,
    /// What retrieval found for it.
    pub retrieved: Option<Text>,
}

/// Why a prompt is built.
#[derive(Clone, Debug, PartialEq)]
pub enum Purpose {
    /// A new message was sent (or its tool loop goes on).
    Send,
    /// The answer to the newest user message of the chain is asked for again.
    Regenerate,
    /// A paused tool loop goes on.
    Resume,
    /// The conversation so far is to be summarised.
    Summarise,
    /// An isolated helper is asked; the chain is that of its caller.
    Subagent(Subagent),
}

/// The path from a chat's root to the message that is to be answered.
#[derive(Clone, Debug)]
pub struct Chain<'a> {
    /// Root first. The last is the user message to be answered, except for
    /// [`Purpose::Summarise`].
    pub links: &'a [Link],
    /// State of the sources now. Equals the newest message's sample while it is
    /// being sent; differs when regenerating or resuming later.
    pub live: &'a Sample,
    /// The notes as they are now.
    pub vault: &'a Vault,
    /// What the strategy stored on the chat itself (the first segment's anchor).
    pub anchor: Option<&'a Stored>,
    /// Why the prompt is built.
    pub purpose: &'a Purpose,
    /// Rounds of the newest message's tool loop that have happened.
    pub rounds: usize,
    /// The first so many user messages entered the product's history by a
    /// rebuild from display text (edit, regenerate, reload), not live.
    pub rebuilt: usize,
    /// The first so many user messages were loaded from a saved chat.
    pub reloaded: usize,
    /// The provider, as far as strategies may know it.
    pub wire: Wire,
}

impl<'a> Chain<'a> {
    /// The newest user message; `None` in an empty chat.
    pub fn newest(&self) -> Option<&'a Arc<UserTurn>> {
        self.users().next_back()
    }

    /// All user messages, oldest first.
    pub fn users(&self) -> impl DoubleEndedIterator<Item = &'a Arc<UserTurn>> + use<'a> {
        self.links.iter().filter_map(|link| match link {
            Link::User(turn) => Some(turn),
            Link::Assistant(_) | Link::Compaction(_) => None,
        })
    }

    /// The newest compaction and its index in `links`, where there is one.
    pub fn boundary(&self) -> Option<(usize, &'a Arc<Compaction>)> {
        self.links
            .iter()
            .enumerate()
            .rev()
            .find_map(|(index, link)| match link {
                Link::Compaction(compaction) => Some((index, compaction)),
                Link::User(_) | Link::Assistant(_) => None,
            })
    }

    /// The links that a prompt still holds word for word: those kept by the
    /// newest compaction and those after it, in order; all of them where there
    /// was none. Compactions themselves are left out.
    ///
    /// One function for planning and for rendering, so that the two cannot
    /// disagree about where a segment begins.
    pub fn visible(&self) -> Vec<&'a Link> {
        let first = self.boundary().map_or(0, |(at, compaction)| {
            let kept = match (compaction.mode, compaction.retained_from) {
                (CompactionMode::Coverage, Some(id)) => self.position(id),
                _ => None,
            };
            kept.unwrap_or(at + 1)
        });
        self.links
            .iter()
            .skip(first)
            .filter(|link| !matches!(link, Link::Compaction(_)))
            .collect()
    }

    fn position(&self, wanted: NodeId) -> Option<usize> {
        self.links.iter().position(|link| match link {
            Link::User(turn) => turn.id == wanted,
            Link::Assistant(turn) => turn.id == wanted,
            Link::Compaction(_) => false,
        })
    }
}
