//! Request bodies, read into what the engine needs of them.
//!
//! The text of a message is the concatenation of its text parts in order, and
//! behind it, for each tool call, the call's name and its arguments as they
//! stand in the body. Tool definitions become one first message of the role
//! `tools`: for each tool its name, description and parameters. Unknown fields
//! are ignored, as servers do.

mod chat;
mod gemini;
mod messages;
mod parts;
mod responses;

use super::refusal::Refusal;
use crate::chat::Role;
use crate::tokens::TemplateMessage;
use serde::Deserialize;

/// Which interface a request came in by.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) enum Dialect {
    /// `/v1/chat/completions`.
    Chat,
    /// `/v1/messages`.
    Messages,
    /// `/v1/responses`.
    Responses,
    /// `/v1beta/models/MODEL:generateContent`.
    Gemini,
}

/// One message as the template renders it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Said {
    pub(super) role: Role,
    pub(super) text: String,
    /// Byte offsets in `text` behind which an entry is asked to end, ascending.
    pub(super) marks: Vec<usize>,
}

impl Said {
    fn new(role: Role) -> Self {
        Self {
            role,
            text: String::new(),
            marks: Vec::new(),
        }
    }

    fn add(&mut self, text: &str, marked: bool) {
        self.text.push_str(text);
        self.marks.extend(marked.then_some(self.text.len()));
    }

    pub(super) fn template(&self) -> TemplateMessage<'_> {
        TemplateMessage::text(self.role.as_str(), &self.text)
    }
}

/// A request.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Ask {
    pub(super) model: Option<String>,
    pub(super) said: Vec<Said>,
    pub(super) stream: bool,
    /// Whether a streamed answer is to end with usage.
    pub(super) usage: bool,
    /// Whether every chunk is to have it.
    pub(super) continuous: bool,
    pub(super) max_tokens: Option<u32>,
    pub(super) salt: Option<String>,
}

impl Ask {
    /// Reads the body of a request.
    pub(super) fn read(dialect: Dialect, body: &[u8]) -> Result<Self, Refusal> {
        let ask = match dialect {
            Dialect::Chat => chat::read(body),
            Dialect::Messages => messages::read(body),
            Dialect::Responses => responses::read(body),
            Dialect::Gemini => gemini::read(body),
        }?;
        if ask.salt.as_deref() == Some("") {
            return Err(Refusal::Salt);
        }
        Ok(ask)
    }
}

/// Reads JSON of the expected form, or says where it is not.
fn json<'a, T: Deserialize<'a>>(body: &'a [u8]) -> Result<T, Refusal> {
    serde_json::from_slice(body).map_err(|error| Refusal::Body {
        at: byte_at(body, error.line(), error.column()),
        reason: error.to_string(),
    })
}

/// The byte at which a line and column, counted from 1, stand.
fn byte_at(body: &[u8], line: usize, column: usize) -> usize {
    let lines = body.split_inclusive(|&byte| byte == b'\n');
    let before: usize = lines.take(line.saturating_sub(1)).map(<[u8]>::len).sum();
    before + column.saturating_sub(1)
}

#[cfg(test)]
mod tests;
