//! What would be read from a response or a stream: the `decode` command.

use super::sse::{self, SseLimits};
use super::{Answer, Dialect, finish_word};
use crate::chat::{ChatEvent, Usage};
use crate::units::Tokens;
use serde::Serialize;
use serde_json::Value;

/// Counts as `decode` prints them; null for what the server did not say.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct DecodedUsage {
    /// The whole prompt, whatever the dialect's convention.
    pub total: Option<Tokens>,
    /// Taken from the cache.
    pub read: Option<Tokens>,
    /// Newly cached, billed or not.
    pub write: Option<Tokens>,
    /// Generated.
    pub output: Option<Tokens>,
    /// The server's own object.
    pub raw: Option<Value>,
}

impl From<Usage> for DecodedUsage {
    fn from(usage: Usage) -> Self {
        Self {
            write: usage.written(),
            total: usage.total,
            read: usage.read,
            output: usage.output,
            raw: usage.raw,
        }
    }
}

/// A response or stream as it was understood; serialised as `decode` prints it.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Decoded {
    /// Dialect it was read in.
    pub dialect: &'static str,
    /// The answer's text; null where there was none.
    pub text: Option<String>,
    /// Why it ended, in neutral words.
    pub finish_reason: Option<String>,
    /// What went wrong: an error body, an error event, or a stream that ended
    /// before its finish marker.
    pub error: Option<String>,
    /// Data event of a stream, counted from 0, that brought the first non-empty
    /// text, reasoning or tool delta.
    pub first_text_event: Option<usize>,
    /// What the server counted.
    pub usage: Option<DecodedUsage>,
}

/// Reads `bytes`, a stream or a whole body as its content shows.
pub fn decode(dialect: &dyn Dialect, bytes: &[u8]) -> Decoded {
    let mut answer = Answer::default();
    let mut first = None;
    if sse::is_stream(bytes) {
        first = stream(dialect, bytes, &mut answer);
    } else {
        let mut events = Vec::new();
        // The status is not known here; a body that reports a failure says so itself.
        dialect.decoder().whole(200, bytes, &mut events);
        answer.extend(events);
    }
    Decoded {
        dialect: dialect.name(),
        text: answer.text,
        finish_reason: answer
            .finish
            .as_ref()
            .map(|reason| finish_word(reason).to_owned()),
        error: answer.error.map(|error| error.message),
        first_text_event: first,
        usage: answer.usage.map(DecodedUsage::from),
    }
}

fn stream(dialect: &dyn Dialect, bytes: &[u8], answer: &mut Answer) -> Option<usize> {
    let mut decoder = dialect.decoder();
    let (mut data, mut events, mut first) = (Vec::new(), Vec::new(), None);
    let read = sse::parse(bytes, SseLimits::default(), &mut data);
    for (at, event) in data.into_iter().enumerate() {
        decoder.event(&event.name, &event.data, &mut events);
        if first.is_none() && events.iter().any(ChatEvent::is_token) {
            first = Some(at);
        }
        answer.extend(events.drain(..));
    }
    if let Err(too_large) = read {
        answer.take(error(too_large.to_string()));
    } else if answer.finish.is_none() && answer.error.is_none() {
        answer.take(error(super::CUT.to_owned()));
    }
    first
}

fn error(message: String) -> ChatEvent {
    ChatEvent::Error {
        message,
        kind: None,
    }
}
