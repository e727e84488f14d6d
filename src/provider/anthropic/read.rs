//! Reads Messages, streamed or whole.

use super::piece;
use crate::chat::{ChatEvent, FinishReason};
use crate::provider::fields::{arguments, field, index, list, text};
use crate::provider::reading::Reader;
use crate::provider::usage;
use crate::provider::usual::Usual;
use serde_json::{Map, Value};

#[derive(Default)]
pub(super) struct AnthropicReader {
    usage: Map<String, Value>,
    /// Whether the stream opened with counts that are all 0. No prompt has no token:
    /// LiteLLM sends them before the server behind it has answered.
    empty_opening: bool,
    /// Content blocks that are calls of tools, in order.
    calls: Vec<usize>,
    finished: bool,
}

impl Reader for AnthropicReader {
    fn usual<'d>(&mut self, data: &'d str) -> Option<Usual<'d>> {
        piece::usual(data)
    }

    fn event(&mut self, name: &str, value: &Value, out: &mut Vec<ChatEvent>) {
        let delta = field(value, "delta").unwrap_or(&Value::Null);
        match text(value, "type").unwrap_or(name) {
            "message_start" => {
                let message = field(value, "message");
                let opening = message.and_then(|message| field(message, "usage"));
                self.empty_opening = opening.is_some_and(counts_nothing);
                self.count(opening, out);
            }
            "content_block_start" => {
                let block = field(value, "content_block").unwrap_or(&Value::Null);
                self.block(index(value, "index"), block, true, out);
            }
            "content_block_delta" => self.delta(index(value, "index"), delta, out),
            "message_delta" => {
                self.finish(delta, out);
                self.count(field(value, "usage"), out);
                self.unsaid(field(value, "usage"), out);
            }
            "message_stop" => {
                if !self.finished {
                    out.push(ChatEvent::Finish(FinishReason::Other(
                        "message_stop".to_owned(),
                    )));
                }
                out.push(ChatEvent::Done);
            }
            _ => {}
        }
    }

    fn body(&mut self, value: &Value, out: &mut Vec<ChatEvent>) {
        if !field(value, "content").is_some_and(Value::is_array) {
            return;
        }
        for (at, block) in list(value, "content").iter().enumerate() {
            self.block(at, block, false, out);
        }
        self.finish(value, out);
        self.count(field(value, "usage"), out);
        if out.is_empty() {
            out.push(ChatEvent::Other);
        }
    }
}

/// Whether a usage object has the parts of a prompt and none of them has a token.
fn counts_nothing(usage: &Value) -> bool {
    const PARTS: [&str; 3] = [
        "input_tokens",
        "cache_read_input_tokens",
        "cache_creation_input_tokens",
    ];
    PARTS
        .iter()
        .all(|part| field(usage, part).and_then(Value::as_u64) == Some(0))
}

impl AnthropicReader {
    fn count(&mut self, newer: Option<&Value>, out: &mut Vec<ChatEvent>) {
        if let Some(Value::Object(newer)) = newer {
            usage::overwrite(&mut self.usage, newer);
            out.extend(usage::exclusive(&self.usage).map(ChatEvent::Usage));
        }
    }

    /// Tells which counts stand in an empty opening and nowhere else.
    fn unsaid(&self, newer: Option<&Value>, out: &mut Vec<ChatEvent>) {
        let said =
            |name: &str| newer.is_some_and(|newer| field(newer, name).is_some_and(Value::is_u64));
        if self.empty_opening {
            out.push(ChatEvent::Unsaid {
                read: !said("cache_read_input_tokens"),
                write: !said("cache_creation_input_tokens") && !said("cache_creation"),
            });
        }
    }

    fn finish(&mut self, value: &Value, out: &mut Vec<ChatEvent>) {
        if let Some(reason) = text(value, "stop_reason") {
            self.finished = true;
            out.push(ChatEvent::Finish(finish(reason)));
        }
    }

    fn call(&mut self, block: usize) -> usize {
        let known = self.calls.iter().position(|&known| known == block);
        known.unwrap_or_else(|| {
            self.calls.push(block);
            self.calls.len() - 1
        })
    }

    /// A content block. At the start of a stream's block its `input` is an empty
    /// object that the deltas replace.
    fn block(&mut self, at: usize, block: &Value, opens: bool, out: &mut Vec<ChatEvent>) {
        match text(block, "type") {
            Some("text") => {
                let piece = text(block, "text").unwrap_or_default();
                // An empty start says nothing yet; an empty text of a whole body does.
                if !(opens && piece.is_empty()) {
                    out.push(ChatEvent::Text(piece.to_owned()));
                }
            }
            Some("thinking") => {
                let piece = text(block, "thinking").unwrap_or_default();
                out.push(ChatEvent::Reasoning(piece.to_owned()));
            }
            Some("tool_use" | "server_tool_use") => {
                let input = field(block, "input").filter(|_| !opens);
                out.push(ChatEvent::ToolCall {
                    index: self.call(at),
                    id: text(block, "id").map(str::to_owned),
                    name: text(block, "name").map(str::to_owned),
                    arguments: arguments(input),
                });
            }
            _ => {}
        }
    }

    fn delta(&mut self, at: usize, delta: &Value, out: &mut Vec<ChatEvent>) {
        if let Some(piece) = text(delta, "text") {
            out.push(ChatEvent::Text(piece.to_owned()));
        } else if let Some(piece) = text(delta, "thinking") {
            out.push(ChatEvent::Reasoning(piece.to_owned()));
        } else if let Some(piece) = text(delta, "partial_json") {
            out.push(ChatEvent::ToolCall {
                index: self.call(at),
                id: None,
                name: None,
                arguments: piece.to_owned(),
            });
        }
    }
}

fn finish(reason: &str) -> FinishReason {
    match reason {
        "end_turn" | "stop_sequence" | "stop" => FinishReason::Stop,
        "max_tokens" | "length" | "model_context_window_exceeded" => FinishReason::Length,
        "tool_use" | "tool_calls" => FinishReason::ToolCalls,
        "refusal" => FinishReason::ContentFilter,
        other => FinishReason::Other(other.to_owned()),
    }
}
