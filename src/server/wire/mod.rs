//! Answers as wire text: whole bodies and the events of streams.
//!
//! Everything is decided before the first byte is sent; a [`Frame`] only says
//! when it is due. The text is written by hand and never by `provider`.

mod bedrock;
mod chat;
mod gemini;
mod messages;
mod responses;

use super::FIRST_TOKEN;
use super::ask::Dialect;
use super::profile::Habit;
use super::usage::Counts;
use serde_json::Value;
use std::time::Duration;

/// When an event is due.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Due {
    /// At once, before anything is computed.
    Start,
    /// When the token of this index, counted from 0, is there.
    Token(usize),
    /// When the answer has ended.
    End,
}

/// One server-sent event.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Frame {
    pub(super) due: Due,
    /// Its name, in formats that name events.
    pub(super) event: Option<&'static str>,
    pub(super) data: String,
    /// Whether `data` has a [`FIRST_TOKEN`] that is filled in when it is sent.
    pub(super) stamped: bool,
}

impl Frame {
    pub(super) fn new(due: Due, data: impl Into<String>) -> Self {
        Self {
            due,
            event: None,
            data: data.into(),
            stamped: false,
        }
    }

    /// An event that has its own type inside.
    fn named(due: Due, event: &'static str, data: &Value) -> Self {
        Self {
            due,
            event: Some(event),
            data: data.to_string(),
            stamped: false,
        }
    }

    /// Fills in when the first token was sent.
    pub(super) fn stamp(&mut self, after: Duration) {
        let open = format!("\"{FIRST_TOKEN}\":0");
        let told = format!("\"{FIRST_TOKEN}\":{}", after.as_micros());
        self.data = self.data.replacen(&open, &told, 1);
    }
}

/// All that an answer says.
#[derive(Clone, Debug)]
pub(super) struct Answer {
    pub(super) dialect: Dialect,
    pub(super) habit: Habit,
    /// Sixteen hexadecimal digits, the same for the same request.
    pub(super) id: String,
    pub(super) model: String,
    /// Seconds since 1970, of a clock that only counts.
    pub(super) created_s: u64,
    pub(super) words: Vec<&'static str>,
    /// Whether the answer ended by itself; else at the limit.
    pub(super) stopped: bool,
    pub(super) counts: Counts,
    /// How many of the words are reasoning, in chat answers.
    pub(super) reasoning: usize,
    /// Whether usage is sent.
    pub(super) usage: bool,
    /// Whether every chunk of a stream has it.
    pub(super) continuous: bool,
    /// Whether it stands on the chunk with the finish reason.
    pub(super) usage_on_finish: bool,
    /// Whether the stream ends with its end marker.
    pub(super) done: bool,
    /// Whether the opening events are sent before anything is computed.
    pub(super) role_gap: bool,
    /// Whether usage says when the first token was sent.
    pub(super) stamps: bool,
}

impl Answer {
    /// The body of an answer that is not streamed.
    pub(super) fn whole(&self) -> Value {
        match self.dialect {
            Dialect::Chat => chat::whole(self),
            Dialect::Messages => messages::whole(self),
            Dialect::Responses => responses::whole(self),
            Dialect::Gemini => gemini::whole(self),
            Dialect::Bedrock => bedrock::whole(self),
        }
    }

    /// The events of a streamed answer, in order.
    pub(super) fn frames(&self) -> Vec<Frame> {
        match self.dialect {
            Dialect::Chat => chat::frames(self),
            Dialect::Messages => messages::frames(self),
            Dialect::Responses => responses::frames(self),
            Dialect::Gemini => gemini::frames(self),
            // Never streamed: see the module.
            Dialect::Bedrock => Vec::new(),
        }
    }

    /// An event that reports a failure in the middle of a stream.
    pub(super) fn failure(&self, due: Due) -> Frame {
        match self.dialect {
            Dialect::Chat => chat::failure(due),
            Dialect::Messages => messages::failure(due),
            Dialect::Responses => responses::failure(due),
            Dialect::Gemini | Dialect::Bedrock => gemini::failure(due),
        }
    }

    fn text(&self) -> String {
        self.words.concat()
    }

    fn usage(&self, streamed: bool) -> Value {
        self.counts.usage(self.habit, self.dialect, streamed)
    }

    /// When the opening events come: with the first token, as a rule.
    fn opening(&self) -> Due {
        if self.role_gap {
            Due::Start
        } else {
            Due::Token(0)
        }
    }
}
