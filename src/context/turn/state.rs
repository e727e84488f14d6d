//! What this family stores on the message tree: anchors and updates.
//!
//! An [`Anchor`] holds what the system prompt of a segment says; an [`Update`]
//! holds what one user message adds to that. Both are values, not rendered
//! prompts, and are stored on the message tree.
//!
//! Invariant: what is written out reads back as the same value.
//!
//! Source: turn context, sections 4, 5 and 15.

use crate::chat::Text;
use serde::{Deserialize, Serialize};
use std::sync::Arc;

/// Version of the stored form.
pub(super) const VERSION: u8 = 1;

/// A remembered fact, as written in a system prompt.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Fact {
    /// Its key.
    pub key: Arc<str>,
    /// Its value.
    pub value: Text,
    /// `YYYY-MM-DD` of its last change, in the zone in force then.
    pub day: String,
}

/// The value of one source.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Value {
    /// Its text, without heading.
    Text(Text),
    /// Memory that is on, oldest change first.
    Memory(Vec<Fact>),
    /// Memory that is off. Other sources that are off are absent.
    Off,
}

/// A source and its value.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Part {
    /// The source.
    pub key: Arc<str>,
    /// Its value.
    pub value: Value,
}

/// The system prompt of a segment, as values.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Anchor {
    /// Version of the stored form: 1.
    pub version: u8,
    /// Local date that it was dated with: `2026-10-16 (Friday)`.
    pub date: String,
    /// The sources, in the order in which the system prompt has them.
    pub parts: Vec<Part>,
}

/// A change of one remembered fact.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum FactChange {
    /// A new fact.
    Added {
        /// Its key.
        key: Arc<str>,
        /// Its value.
        value: Text,
    },
    /// A new value.
    Changed {
        /// Its key.
        key: Arc<str>,
        /// The old value.
        from: Text,
        /// The new one.
        to: Text,
    },
    /// A fact that is gone.
    Removed {
        /// Its key.
        key: Arc<str>,
        /// Its last value.
        value: Text,
    },
}

/// What became of a source.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum To {
    /// It came on, with its whole value.
    On(Value),
    /// It has another text.
    Changed(Text),
    /// Single facts changed.
    Facts(Vec<FactChange>),
    /// It went off.
    Off,
}

/// A change of one source.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Change {
    /// The source.
    pub key: Arc<str>,
    /// What became of it.
    pub to: To,
}

/// Output of a tool that ran before the model was asked.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Output {
    /// The tool.
    pub tool: Arc<str>,
    /// What it gave.
    pub text: Text,
}

/// What one user message tells the model beside its text.
///
/// `date` and `changes` are the net difference from what the model knew; the
/// other fields describe this message only and are never folded.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Update {
    /// Version of the stored form: 1.
    pub version: u8,
    /// The local date, where it is later than the model last saw.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub date: Option<String>,
    /// Changed sources, in canonical order.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub changes: Vec<Change>,
    /// When the message was sent, where messages are stamped.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub sent: Option<String>,
    /// What retrieval found for the message.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub retrieved: Option<Text>,
    /// What tools gave before the model was asked.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub outputs: Vec<Output>,
    /// Files staged with the message.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub files: Vec<Arc<str>>,
}

impl Update {
    /// Whether there is nothing to store.
    pub fn is_empty(&self) -> bool {
        self.date.is_none()
            && self.changes.is_empty()
            && self.sent.is_none()
            && self.retrieved.is_none()
            && self.outputs.is_empty()
            && self.files.is_empty()
    }
}
