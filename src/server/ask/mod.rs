//! Request bodies, read into what the engine needs of them.
//!
//! The text of a message is the concatenation of its text parts in order, and
//! behind it, for each tool call, the call's name and its arguments as they
//! stand in the body. Tool definitions become one first message of the role
//! `tools`: for each tool its name, description and parameters. Unknown fields
//! are ignored, as servers do.

mod bedrock;
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
    /// `/model/MODEL/converse`.
    Bedrock,
}

/// One message as the template renders it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Said {
    pub(super) role: Role,
    pub(super) text: String,
    /// Byte offsets in `text` behind which an entry is asked to end, ascending.
    pub(super) marks: Vec<usize>,
    /// Those of them whose entry is asked to live an hour.
    pub(super) long_marks: Vec<usize>,
    /// Bytes at the start of `text` that are reasoning.
    pub(super) reasoning: usize,
}

/// Whether an entry is asked to end behind a text.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Mark {
    None,
    Usual,
    /// For an hour.
    Long,
}

impl From<bool> for Mark {
    fn from(marked: bool) -> Self {
        if marked { Self::Usual } else { Self::None }
    }
}

impl Said {
    pub(super) fn new(role: Role) -> Self {
        Self {
            role,
            text: String::new(),
            marks: Vec::new(),
            long_marks: Vec::new(),
            reasoning: 0,
        }
    }

    fn add(&mut self, text: &str, mark: impl Into<Mark>) {
        self.text.push_str(text);
        self.mark(mark.into());
    }

    /// Puts `text` in front, reasoning included.
    pub(super) fn put_before(&mut self, text: &str) {
        self.text.insert_str(0, text);
        let all = self.marks.iter_mut().chain(&mut self.long_marks);
        all.for_each(|mark| *mark += text.len());
    }

    /// Leaves the reasoning at the start out, and the marks inside it.
    pub(super) fn drop_reasoning(&mut self) {
        let gone = std::mem::take(&mut self.reasoning);
        self.text.drain(..gone);
        for marks in [&mut self.marks, &mut self.long_marks] {
            marks.retain(|&mark| mark > gone);
            for mark in marks {
                *mark -= gone;
            }
        }
    }

    /// Puts a mark behind all of the text so far.
    fn mark(&mut self, mark: Mark) {
        if mark == Mark::None {
            return;
        }
        let end = self.text.len();
        if self.marks.last() != Some(&end) {
            self.marks.push(end);
        }
        if mark == Mark::Long {
            self.long_marks.push(end);
        }
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
    /// What is said of the cache in fields of a vendor's own.
    pub(super) cache: CacheFields,
}

/// Fields by which vendors let a request speak of the cache.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct CacheFields {
    /// `prompt_cache_options` of OpenAI 5.6 and later.
    pub(super) options: Option<CacheOptions>,
    /// `prompt_cache_retention` of OpenAI before.
    pub(super) retention: Option<String>,
    /// `id_slot` of llama.cpp.
    pub(super) slot: Option<usize>,
    /// `cache_prompt: false` of llama.cpp: nothing is read, and the slot is filled.
    pub(super) cold: bool,
}

/// `prompt_cache_options`.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize)]
pub(super) struct CacheOptions {
    #[serde(default)]
    pub(super) mode: Option<String>,
    #[serde(default)]
    pub(super) ttl: Option<String>,
}

impl Ask {
    /// Reads the body of a request.
    pub(super) fn read(dialect: Dialect, body: &[u8]) -> Result<Self, Refusal> {
        let ask = match dialect {
            Dialect::Chat => chat::read(body),
            Dialect::Messages => messages::read(body),
            Dialect::Responses => responses::read(body),
            Dialect::Gemini => gemini::read(body),
            Dialect::Bedrock => bedrock::read(body),
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
