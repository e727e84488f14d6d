//! Reads Responses, streamed or whole.

use crate::chat::{ChatEvent, FinishReason};
use crate::provider::fields::{arguments, field, index, list, text};
use crate::provider::reading::Reader;
use crate::provider::{failure, usage};
use serde_json::Value;

#[derive(Default)]
pub(super) struct ResponsesReader {
    said: bool,
    /// Output items that are calls of tools, in order.
    calls: Vec<usize>,
}

impl Reader for ResponsesReader {
    fn event(&mut self, name: &str, value: &Value, out: &mut Vec<ChatEvent>) {
        let delta = || text(value, "delta").unwrap_or_default().to_owned();
        match text(value, "type").unwrap_or(name) {
            "response.output_text.delta" | "response.refusal.delta" => {
                self.said = true;
                out.push(ChatEvent::Text(delta()));
            }
            "response.reasoning_text.delta" | "response.reasoning_summary_text.delta" => {
                out.push(ChatEvent::Reasoning(delta()));
            }
            "response.output_item.added" => {
                let item = field(value, "item").unwrap_or(&Value::Null);
                if text(item, "type") == Some("function_call") {
                    // The arguments follow as deltas.
                    self.call(index(value, "output_index"), item, String::new(), out);
                }
            }
            "response.function_call_arguments.delta" => {
                let call = self.place(index(value, "output_index"));
                out.push(ChatEvent::ToolCall {
                    index: call,
                    id: None,
                    name: None,
                    arguments: delta(),
                });
            }
            "response.completed" | "response.incomplete" | "response.failed" => {
                self.end(field(value, "response").unwrap_or(&Value::Null), out);
            }
            _ => {}
        }
    }

    fn body(&mut self, value: &Value, out: &mut Vec<ChatEvent>) {
        if field(value, "output").is_some_and(Value::is_array) {
            self.end(value, out);
        }
    }
}

impl ResponsesReader {
    fn place(&mut self, item: usize) -> usize {
        let known = self.calls.iter().position(|&known| known == item);
        known.unwrap_or_else(|| {
            self.calls.push(item);
            self.calls.len() - 1
        })
    }

    fn call(&mut self, at: usize, item: &Value, arguments: String, out: &mut Vec<ChatEvent>) {
        let id = text(item, "call_id").or_else(|| text(item, "id"));
        out.push(ChatEvent::ToolCall {
            index: self.place(at),
            id: id.map(str::to_owned),
            name: text(item, "name").map(str::to_owned),
            arguments,
        });
    }

    /// The finished response: what no delta has said, why it ended, the counts.
    fn end(&mut self, response: &Value, out: &mut Vec<ChatEvent>) {
        if !self.said {
            for (at, item) in list(response, "output").iter().enumerate() {
                self.item(at, item, out);
            }
        }
        match text(response, "status") {
            Some("failed") => out.extend(failure::event(response).or_else(|| {
                Some(ChatEvent::Error {
                    message: "the response failed".to_owned(),
                    kind: None,
                })
            })),
            Some("incomplete") => {
                let details = field(response, "incomplete_details").unwrap_or(&Value::Null);
                out.push(ChatEvent::Finish(finish(text(details, "reason"))));
            }
            _ if self.calls.is_empty() => out.push(ChatEvent::Finish(FinishReason::Stop)),
            _ => out.push(ChatEvent::Finish(FinishReason::ToolCalls)),
        }
        out.extend(
            field(response, "usage")
                .and_then(usage::inclusive)
                .map(ChatEvent::Usage),
        );
    }

    fn item(&mut self, at: usize, item: &Value, out: &mut Vec<ChatEvent>) {
        match text(item, "type") {
            Some("message") => {
                for part in list(item, "content") {
                    if let Some(piece) = text(part, "text").or_else(|| text(part, "refusal")) {
                        out.push(ChatEvent::Text(piece.to_owned()));
                    }
                }
            }
            Some("reasoning") => {
                for part in list(item, "summary").iter().chain(list(item, "content")) {
                    if let Some(piece) = text(part, "text") {
                        out.push(ChatEvent::Reasoning(piece.to_owned()));
                    }
                }
            }
            Some("function_call") if !self.calls.contains(&at) => {
                self.call(at, item, arguments(field(item, "arguments")), out);
            }
            _ => {}
        }
    }
}

fn finish(reason: Option<&str>) -> FinishReason {
    match reason {
        Some("max_output_tokens" | "max_tokens") => FinishReason::Length,
        Some("content_filter") => FinishReason::ContentFilter,
        other => FinishReason::Other(other.unwrap_or("incomplete").to_owned()),
    }
}
