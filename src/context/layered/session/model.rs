//! What goes into a chat and what comes out of it.

use crate::chat::{Role, Span, Text};
use crate::context::layered::chains::Output;
use crate::context::layered::chatfile::{Names, Sender};
use crate::context::layered::envelope::Envelope;
use crate::context::layered::turn::Item;
use std::sync::Arc;

/// What a person can set.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Settings {
    /// Half the number of exchanges that the history shows.
    pub context_turns: usize,
    /// Length in tokens above which context is summarised.
    pub threshold_tokens: usize,
    /// Whether templates are expanded.
    pub templating: bool,
    /// Whether a reminder to cite goes into questions with tool outputs.
    pub inline_citations: bool,
}

impl Default for Settings {
    fn default() -> Self {
        Self {
            context_turns: 15,
            threshold_tokens: 128_000,
            templating: true,
            inline_citations: false,
        }
    }
}

/// Something attached, by name or with what only the editor knows.
#[derive(Clone, Debug, PartialEq)]
pub enum Attach {
    /// A note by its path.
    Note {
        /// The path.
        path: Arc<str>,
        /// Whether it is the one open in the editor.
        active: bool,
    },
    /// An address; the text is what a fetch gives, `None` where it fails.
    Url {
        /// The address.
        url: Arc<str>,
        /// The page.
        text: Option<Text>,
    },
    /// A tag.
    Tag(Arc<str>),
    /// A folder.
    Folder(Arc<str>),
    /// A browser tab or a selection, as it is now.
    Shown(Item),
}

/// One reply of the model in a tool loop.
#[derive(Clone, Debug, PartialEq)]
pub struct Reply {
    /// Its text.
    pub text: Text,
    /// The calls it makes; none in the last reply.
    pub calls: Vec<ScriptedCall>,
}

/// A call with what it gives.
#[derive(Clone, Debug, PartialEq)]
pub struct ScriptedCall {
    /// Its id.
    pub id: Arc<str>,
    /// The tool.
    pub name: Arc<str>,
    /// Arguments as JSON text.
    pub args: Text,
    /// The result.
    pub result: Text,
}

/// How the model answers.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Answer {
    /// Its answer; empty: none.
    pub text: String,
    /// What tools gave before it was asked.
    pub outputs: Vec<Output>,
    /// Its replies in a tool loop.
    pub script: Vec<Reply>,
}

/// A message as it goes to the model.
#[derive(Clone, Debug, PartialEq)]
pub struct Spoken {
    /// Who speaks.
    pub role: Role,
    /// What.
    pub spans: Vec<Span>,
    /// Calls of an assistant message.
    pub calls: Vec<ScriptedCall>,
    /// Of a tool message: the call that it answers, and the tool.
    pub answers: Option<(Arc<str>, Arc<str>)>,
}

impl Spoken {
    pub(super) fn new(role: Role, spans: Vec<Span>) -> Self {
        Self {
            role,
            spans,
            calls: Vec::new(),
            answers: None,
        }
    }
}

/// One call of the model.
#[derive(Clone, Debug, PartialEq)]
pub struct Request {
    /// What goes to it.
    pub messages: Vec<Spoken>,
    /// The turn's envelope; `None` on later calls of one tool loop.
    pub envelope: Option<Envelope>,
}

/// A message of the chat.
#[derive(Clone, Debug)]
pub(super) struct Message {
    pub(super) id: String,
    pub(super) sender: Sender,
    /// What is shown.
    pub(super) text: String,
    pub(super) names: Names,
    pub(super) envelope: Option<Envelope>,
    /// Question, library and context as one text.
    pub(super) processed: String,
}
