//! What all decoders share: text to JSON, failures, streams in one piece.

use super::alike::Alike;
use super::halves;
use super::sse::{self, SseLimits};
use super::usual::Usual;
use super::{Decoder, failure};
use crate::chat::ChatEvent;
use serde_json::Value;

/// The part of a decoder that differs from dialect to dialect.
///
/// Both get JSON that reports no failure, and append nothing where it means nothing.
pub(super) trait Reader: Send {
    /// Reads an event of a usual shape without building its value. `None`: it may hold
    /// more, and is read by [`Reader::event`], which must say the same of such an event.
    fn usual<'d>(&mut self, _data: &'d str) -> Option<Usual<'d>> {
        None
    }

    /// Reads one event of a stream.
    fn event(&mut self, name: &str, value: &Value, out: &mut Vec<ChatEvent>);

    /// Reads a whole body that is no stream.
    fn body(&mut self, value: &Value, out: &mut Vec<ChatEvent>);
}

/// A [`Reader`] as a [`Decoder`].
#[derive(Default)]
pub(super) struct Reading<R> {
    reader: R,
    alike: Alike,
}

impl<R: Reader> Decoder for Reading<R> {
    fn piece<'b>(&self, bytes: &'b [u8]) -> Option<(&'b str, usize)> {
        self.alike.start(bytes)
    }

    fn event(&mut self, event: &str, data: &str, out: &mut Vec<ChatEvent>) {
        let data = data.trim();
        if let Some(text) = self.alike.text(data) {
            return out.push(ChatEvent::Text(text.to_owned()));
        }
        let before = out.len();
        // Gateways re-emit comments as data (`data: : ping`).
        let is_comment = data.is_empty() || data.starts_with(':');
        if data == "[DONE]" {
            out.push(ChatEvent::Done);
        } else if let Some(usual) = self.reader.usual(data) {
            if let Some(piece) = usual.piece() {
                self.alike.learn(data, piece);
            }
            out.extend(usual.events());
        } else if !is_comment {
            self.value(event, data, out);
        }
        if out.len() == before {
            out.push(ChatEvent::Other);
        }
    }

    fn whole(&mut self, status: u16, body: &[u8], out: &mut Vec<ChatEvent>) {
        if !(200..300).contains(&status) {
            return out.push(failure::whole(status, body));
        }
        if sse::is_stream(body) {
            return self.stream(body, out);
        }
        match halves::parse(body) {
            Err(_) => out.push(failure::malformed("the body is not JSON", body)),
            Ok(value) if failure::is_error_body(&value) => out.push(failure::whole(status, body)),
            Ok(Value::Array(chunks)) => {
                // Gemini streams a list of chunks where SSE was not asked for.
                for chunk in &chunks {
                    self.reader.body(chunk, out);
                }
            }
            Ok(value) => {
                let before = out.len();
                self.reader.body(&value, out);
                if out.len() == before {
                    out.push(failure::malformed(
                        "the body is no answer of this dialect",
                        body,
                    ));
                }
            }
        }
    }
}

impl<R: Reader> Reading<R> {
    /// Reads an event of any shape.
    fn value(&mut self, event: &str, data: &str, out: &mut Vec<ChatEvent>) {
        match halves::parse(data.as_bytes()) {
            Ok(value) => match failure::event(&value) {
                Some(error) => out.push(error),
                None => self.reader.event(event, &value, out),
            },
            Err(_) => out.push(failure::malformed("an event is not JSON", data.as_bytes())),
        }
    }

    fn stream(&mut self, body: &[u8], out: &mut Vec<ChatEvent>) {
        let mut events = Vec::new();
        let read = sse::parse(body, SseLimits::default(), &mut events);
        for event in events {
            self.event(&event.name, &event.data, out);
        }
        if let Err(too_large) = read {
            out.push(ChatEvent::Error {
                message: too_large.to_string(),
                kind: Some(super::MALFORMED.to_owned()),
            });
        }
    }
}
