//! What a conversation hands out and takes back.

use crate::chat::Prompt;
use crate::context::view::Purpose;
use crate::record::EventLabel;
use std::fmt;
use std::sync::Arc;
use std::time::Duration;

/// What is to be done next.
#[derive(Clone, Debug)]
pub enum Next {
    /// A request is to be sent; [`answer`](super::Conversation::answer) or
    /// [`fail`](super::Conversation::fail) follows.
    Request(Box<Pending>),
    /// So much real time passes in which nothing is sent. The scenario's clock
    /// has already moved.
    Idle(Duration),
}

/// Why a request is sent.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum PurposeLabel {
    /// A new message, or its tool loop going on.
    Send,
    /// The same message again.
    Regenerate,
    /// A paused tool loop going on.
    Resume,
    /// A summary of the conversation so far.
    Summarise,
    /// An isolated helper.
    Subagent,
}

impl PurposeLabel {
    /// The name as written in output.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Send => "send",
            Self::Regenerate => "regenerate",
            Self::Resume => "resume",
            Self::Summarise => "summarise",
            Self::Subagent => "subagent",
        }
    }
}

impl fmt::Display for PurposeLabel {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.as_str())
    }
}

impl From<&Purpose> for PurposeLabel {
    fn from(purpose: &Purpose) -> Self {
        match purpose {
            Purpose::Send => Self::Send,
            Purpose::Regenerate => Self::Regenerate,
            Purpose::Resume => Self::Resume,
            Purpose::Summarise => Self::Summarise,
            Purpose::Subagent(_) => Self::Subagent,
        }
    }
}

/// A request that is due.
#[derive(Clone, Debug)]
pub struct Pending {
    /// Turn, from 1 in the order in which turns happen. A summary and a helper
    /// are no turns: their requests count with the turn before them (0 before
    /// the first).
    pub turn: u32,
    /// Request of the turn, from 1.
    pub request: u32,
    /// Why it is sent.
    pub purpose: PurposeLabel,
    /// What is sent: with the nonce, the hints and the strategy's warnings.
    pub prompt: Prompt,
    /// Model that it is laid out for and goes to; `None` where nobody has named one.
    pub model: Option<Arc<str>>,
    /// Instant of the scenario's clock, in milliseconds since 1970.
    pub scenario_ms: i64,
    /// What happened since the request before: on a turn's first request, and
    /// on one that goes on after a pause.
    pub events: Vec<EventLabel>,
    /// Words that a live answer should hold; on the request that ends the turn.
    pub expect: Vec<String>,
    /// Whether the answer enters the conversation as the model gave it.
    pub live: bool,
    /// Chat of the conversation, from 1; `new_chat` opens the next.
    pub chat: u32,
    /// Configuration that built the prompt: another than the conversation's
    /// first after a `configuration` step.
    pub configuration: Arc<str>,
}

/// What came back.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Reply {
    /// The answer's text; `None` where it had none.
    pub text: Option<String>,
    /// The answer's reasoning; `None` where it had none.
    pub reasoning: Option<String>,
}

impl Reply {
    /// An answer of text alone.
    pub fn text(text: impl Into<String>) -> Self {
        Self {
            text: Some(text.into()),
            reasoning: None,
        }
    }
}
