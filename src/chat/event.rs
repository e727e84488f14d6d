//! What a server's answer says, in no provider's words.

use super::usage::Usage;
use serde::{Deserialize, Serialize};

/// Why an answer ended.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum FinishReason {
    /// The model was done.
    Stop,
    /// The limit of output tokens was reached.
    Length,
    /// The model calls a tool.
    ToolCalls,
    /// A filter ended it.
    ContentFilter,
    /// The provider's own word for anything else.
    Other(String),
}

/// One thing that a server said.
#[derive(Clone, Debug, PartialEq)]
pub enum ChatEvent {
    /// A piece of the answer's text. May be empty: then it is no first token.
    Text(String),
    /// A piece of reasoning. May be empty.
    Reasoning(String),
    /// A piece of a tool call.
    ToolCall {
        /// Which of the answer's calls.
        index: usize,
        /// Its id, on the first piece.
        id: Option<String>,
        /// Its name, on the first piece.
        name: Option<String>,
        /// A piece of its JSON arguments. May be empty.
        arguments: String,
    },
    /// Token ids of a stretch of the answer, where the server names them.
    TokenIds(Vec<u32>),
    /// Counts as far as they are known now; the caller keeps the last.
    Usage(Usage),
    /// Which of those counts stand only in an opening that counted no token at all: a
    /// gateway sent it before the server behind it had said anything.
    Unsaid {
        /// What was read from the cache.
        read: bool,
        /// What was newly written to it.
        write: bool,
    },
    /// The answer ended.
    Finish(FinishReason),
    /// The server reported a failure, in a body or inside a stream.
    Error {
        /// Its message, as clear as the body allows.
        message: String,
        /// Its own word for the kind (`overloaded_error`), if any.
        kind: Option<String>,
    },
    /// The server said who served the answer.
    ServedBy(String),
    /// The end marker of the stream (`[DONE]`, `message_stop`).
    Done,
    /// Anything without meaning here: role chunks, pings, starts and stops.
    Other,
}

impl ChatEvent {
    /// Whether this stops the clock of the time to first token: a non-empty
    /// delta of text, reasoning or a tool call.
    pub fn is_token(&self) -> bool {
        match self {
            Self::Text(text) | Self::Reasoning(text) => !text.is_empty(),
            Self::ToolCall {
                name, arguments, ..
            } => name.is_some() || !arguments.is_empty(),
            _ => false,
        }
    }
}
