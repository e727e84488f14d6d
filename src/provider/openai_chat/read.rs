//! Reads Chat Completions, streamed or whole.

use super::chunk;
use crate::chat::{ChatEvent, FinishReason, Usage};
use crate::provider::fields::{arguments, field, index, list, text};
use crate::provider::reading::Reader;
use crate::provider::usage;
use crate::provider::usual::Usual;
use serde_json::Value;

#[derive(Default)]
pub(super) struct OpenAiReader {
    counted: bool,
    served_by: bool,
}

impl Reader for OpenAiReader {
    fn usual<'d>(&mut self, data: &'d str) -> Option<Usual<'d>> {
        let usual = chunk::usual(data, self.served_by)?;
        self.counted |= usual.usage.as_ref().is_some_and(Usage::says_anything);
        Some(usual)
    }

    fn event(&mut self, _name: &str, value: &Value, out: &mut Vec<ChatEvent>) {
        self.chunk(value, out);
    }

    fn body(&mut self, value: &Value, out: &mut Vec<ChatEvent>) {
        if field(value, "choices").is_some_and(Value::is_array) {
            self.chunk(value, out);
        }
    }
}

impl OpenAiReader {
    fn chunk(&mut self, value: &Value, out: &mut Vec<ChatEvent>) {
        let server = text(value, "provider").or_else(|| text(value, "system_fingerprint"));
        if let Some(server) = server.filter(|_| !self.served_by) {
            self.served_by = true;
            out.push(ChatEvent::ServedBy(server.to_owned()));
        }
        let choice = list(value, "choices")
            .iter()
            .find(|choice| index(choice, "index") == 0);
        if let Some(choice) = choice {
            read_choice(choice, out);
            out.extend(token_ids(choice).map(ChatEvent::TokenIds));
        }
        let objects = [Some(value), choice].into_iter().flatten();
        let object = objects
            .filter_map(|place| usage::inclusive(field(place, "usage")?))
            .reduce(|first, other| if first.says_anything() { first } else { other });
        if let Some(usage) = object {
            self.counted |= usage.says_anything();
            out.push(ChatEvent::Usage(usage));
        } else if !self.counted
            && let Some(usage) = field(value, "timings").and_then(usage::timings)
        {
            out.push(ChatEvent::Usage(usage));
        }
    }
}

fn read_choice(choice: &Value, out: &mut Vec<ChatEvent>) {
    let delta = ["delta", "message"]
        .iter()
        .find_map(|name| field(choice, name));
    if let Some(delta) = delta.filter(|delta| delta.is_object()) {
        read_delta(delta, out);
    } else if let Some(piece) = text(choice, "text") {
        out.push(ChatEvent::Text(piece.to_owned()));
    }
    if let Some(reason) = text(choice, "finish_reason").filter(|reason| !reason.is_empty()) {
        out.push(ChatEvent::Finish(finish(reason)));
    }
}

/// Ids of the generated tokens: vLLM names them as `token_ids`, or as the tokens
/// of `logprobs` (`return_tokens_as_token_ids`).
fn token_ids(choice: &Value) -> Option<Vec<u32>> {
    let id = |value: &Value| value.as_u64().and_then(|id| u32::try_from(id).ok());
    if let Some(ids) = field(choice, "token_ids").and_then(Value::as_array) {
        return ids.iter().map(id).collect();
    }
    let tokens = choice.pointer("/logprobs/content")?.as_array()?.iter();
    tokens
        .map(|token| {
            text(token, "token")?
                .strip_prefix("token_id:")?
                .parse()
                .ok()
        })
        .collect()
}

fn read_delta(delta: &Value, out: &mut Vec<ChatEvent>) {
    let reasoning = ["reasoning_content", "reasoning", "thinking"]
        .iter()
        .find_map(|name| text(delta, name));
    if let Some(piece) = reasoning {
        out.push(ChatEvent::Reasoning(piece.to_owned()));
    }
    match field(delta, "content") {
        Some(Value::String(piece)) => out.push(ChatEvent::Text(piece.clone())),
        Some(Value::Array(parts)) => parts.iter().for_each(|part| read_part(part, out)),
        _ => {}
    }
    if let Some(piece) = text(delta, "refusal").filter(|piece| !piece.is_empty()) {
        out.push(ChatEvent::Text(piece.to_owned()));
    }
    for (at, call) in list(delta, "tool_calls").iter().enumerate() {
        let function = field(call, "function").unwrap_or(&Value::Null);
        let place = field(call, "index")
            .and_then(Value::as_u64)
            .map_or(at, |_| index(call, "index"));
        let own = |value: Option<&str>| value.filter(|text| !text.is_empty()).map(str::to_owned);
        out.push(ChatEvent::ToolCall {
            index: place,
            id: own(text(call, "id")),
            name: own(text(function, "name")),
            arguments: arguments(field(function, "arguments")),
        });
    }
}

/// A part of a list of content: Mistral sends thinking and text this way.
fn read_part(part: &Value, out: &mut Vec<ChatEvent>) {
    if let Some(piece) = text(part, "text") {
        out.push(ChatEvent::Text(piece.to_owned()));
    }
    for inner in list(part, "thinking") {
        if let Some(piece) = text(inner, "text") {
            out.push(ChatEvent::Reasoning(piece.to_owned()));
        }
    }
}

/// The neutral word for a reason.
pub(super) fn finish(reason: &str) -> FinishReason {
    match reason {
        "stop" | "eos" | "end_turn" => FinishReason::Stop,
        "length" | "max_tokens" | "model_length" => FinishReason::Length,
        "tool_calls" | "function_call" => FinishReason::ToolCalls,
        "content_filter" => FinishReason::ContentFilter,
        other => FinishReason::Other(other.to_owned()),
    }
}
