//! `OpenAI` Responses.
//!
//! A system prompt of one unmarked text goes out as `instructions`, any other as
//! an input message. `store` is false: a benchmark leaves nothing behind. Usage
//! and the finish reason stand in the last event (`response.completed`,
//! `response.incomplete`); what counts is the response's own `status`, as vLLM
//! names the event `completed` either way.

use super::openai_chat::{cache_fields, image_url, marker};
use super::reading::{Reader, Reading, arguments, index, list, text};
use super::{Body, BodyWriter, Decoder, Dialect, RequestParams, body, failure, usage};
use crate::chat::{
    Block, ChatEvent, Content, Family, FinishReason, Message, Part, Prompt, Role, ToolCall,
};
use serde_json::Value;

/// The dialect.
pub(super) struct OpenAiResponses;

impl Dialect for OpenAiResponses {
    fn name(&self) -> &'static str {
        "openai-responses"
    }

    fn about(&self) -> &'static str {
        "OpenAI Responses, also as vLLM and llama.cpp serve it"
    }

    fn path(&self, _model: &str, _stream: bool) -> String {
        "/responses".to_owned()
    }

    fn family(&self) -> Family {
        Family::Openai
    }

    fn body(&self, prompt: &Prompt, params: &RequestParams) -> Body {
        let mut out = BodyWriter::new(params);
        let explicit = prompt.hints.explicit_cache;
        out.text_field("model", &params.model);
        if !prompt.tools.is_empty() && out.field("tools") {
            tools(&mut out, prompt);
        }
        let system: Vec<&Block> = prompt.system.iter().collect();
        let plain = body::plain_text(&system);
        if let Some(spans) = plain
            && out.field("instructions")
        {
            out.place(Role::System);
            out.spans(Part::Text, spans);
        }
        if out.field("input") {
            out.array();
            if plain.is_none() && !system.is_empty() {
                out.place(Role::System);
                said(&mut out, "system", &system, explicit);
            }
            for one in &prompt.messages {
                message(&mut out, one, explicit);
            }
            out.end_array();
        }
        out.json_field("max_output_tokens", &params.max_tokens.to_string());
        out.json_field("stream", if params.stream { "true" } else { "false" });
        out.json_field("store", "false");
        cache_fields(&mut out, prompt, params);
        out.finish()
    }

    fn decoder(&self) -> Box<dyn Decoder> {
        Box::<Reading<ResponsesReader>>::default()
    }
}

fn tools(out: &mut BodyWriter<'_>, prompt: &Prompt) {
    out.place(Role::Tools);
    out.array();
    for tool in &prompt.tools {
        out.object();
        out.pair("type", "function");
        out.key("name");
        out.spans(Part::ToolName, &[body::tool_name(tool)]);
        out.key("description");
        out.spans(Part::Text, &tool.description);
        out.key("parameters");
        out.json(Part::ToolSchema, &tool.parameters);
        // Strict schemas are rewritten by the server; these are not meant to be.
        out.pair_json("strict", "false");
        out.end_object();
    }
    out.end_array();
}

/// The items that one message becomes: reasoning, what is said, calls.
fn message(out: &mut BodyWriter<'_>, message: &Message, explicit: bool) {
    out.place(message.role);
    if message.role == Role::Tool {
        return tool_output(out, message, explicit);
    }
    let reasoning = body::reasoning(&message.blocks);
    if !reasoning.is_empty() {
        out.object();
        out.pair("type", "reasoning");
        out.key("summary");
        out.array();
        out.object();
        out.pair("type", "summary_text");
        out.key("text");
        out.spans(Part::Reasoning, &reasoning);
        out.end_object();
        out.end_array();
        out.end_object();
    }
    let shown = shown(&message.blocks);
    if !shown.is_empty() {
        said(out, message.role.as_str(), &shown, explicit);
    }
    body::calls(&message.blocks).for_each(|made| call(out, made));
}

fn shown(blocks: &[Block]) -> Vec<&Block> {
    let shows = |block: &&Block| matches!(block.content, Content::Text(_) | Content::Image(_));
    blocks.iter().filter(shows).collect()
}

fn said(out: &mut BodyWriter<'_>, role: &str, blocks: &[&Block], explicit: bool) {
    out.object();
    out.pair("type", "message");
    out.pair("role", role);
    out.key("content");
    content(out, role == "assistant", blocks, explicit);
    out.end_object();
}

fn content(out: &mut BodyWriter<'_>, is_output: bool, blocks: &[&Block], explicit: bool) {
    if let Some(spans) = body::plain_text(blocks) {
        return out.spans(Part::Text, spans);
    }
    out.array();
    for block in blocks {
        out.object();
        match &block.content {
            Content::Text(spans) => {
                out.pair(
                    "type",
                    if is_output {
                        "output_text"
                    } else {
                        "input_text"
                    },
                );
                out.key("text");
                out.spans(Part::Text, spans);
            }
            Content::Image(image) => {
                out.pair("type", "input_image");
                out.key("image_url");
                image_url(out, image);
            }
            Content::Call(_) | Content::Reasoning(_) => {}
        }
        marker(out, block.marker.map(|marker| marker.ttl), explicit);
        out.end_object();
    }
    out.end_array();
}

fn tool_output(out: &mut BodyWriter<'_>, message: &Message, explicit: bool) {
    out.object();
    out.pair("type", "function_call_output");
    out.pair(
        "call_id",
        message.tool_call_id.as_deref().unwrap_or_default(),
    );
    out.key("output");
    content(out, false, &shown(&message.blocks), explicit);
    out.end_object();
}

fn call(out: &mut BodyWriter<'_>, call: &ToolCall) {
    out.object();
    out.pair("type", "function_call");
    out.pair("call_id", &call.id);
    out.key("name");
    out.spans(Part::CallName, std::slice::from_ref(&call.name));
    out.key("arguments");
    out.spans(Part::CallArguments, std::slice::from_ref(&call.arguments));
    out.end_object();
}

#[derive(Default)]
struct ResponsesReader {
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
                let item = value.get("item").unwrap_or(&Value::Null);
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
                self.end(value.get("response").unwrap_or(&Value::Null), out);
            }
            _ => {}
        }
    }

    fn body(&mut self, value: &Value, out: &mut Vec<ChatEvent>) {
        if value.get("output").is_some_and(Value::is_array) {
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
                let details = response.get("incomplete_details").unwrap_or(&Value::Null);
                out.push(ChatEvent::Finish(finish(text(details, "reason"))));
            }
            _ if self.calls.is_empty() => out.push(ChatEvent::Finish(FinishReason::Stop)),
            _ => out.push(ChatEvent::Finish(FinishReason::ToolCalls)),
        }
        out.extend(
            response
                .get("usage")
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
                self.call(at, item, arguments(item.get("arguments")), out);
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
