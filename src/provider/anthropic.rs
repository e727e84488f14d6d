//! Anthropic Messages.
//!
//! Messages stay as the strategy made them: two user messages in a row go out as
//! two (the API takes that and joins them itself), because joining them here
//! would hide a boundary at which entries can end. Only results of tools must
//! stand together: consecutive ones become the blocks of one user message, and
//! each is still a placed message of its own. A message of role `system` inside
//! the conversation goes out as such; newer models take it.
//!
//! Reasoning goes back with an empty signature, since strategies have none.
//!
//! Streams: of each usage field the last value wins, whether it came with
//! `message_start` or with `message_delta`. `LiteLLM` starts with zeros, vLLM with
//! the whole prompt where later only its uncached part is meant.

use super::openai_chat::cache_control;
use super::reading::{Reader, Reading, index, list, text};
use super::{Body, BodyWriter, Decoder, Dialect, RequestParams, body, usage};
use crate::chat::{
    Block, ChatEvent, Content, Family, FinishReason, Message, Part, Prompt, Role, ToolCall,
};
use serde_json::{Map, Value};

/// The dialect.
pub(super) struct Anthropic;

impl Dialect for Anthropic {
    fn name(&self) -> &'static str {
        "anthropic"
    }

    fn about(&self) -> &'static str {
        "Anthropic Messages, also as vLLM, llama.cpp and LiteLLM serve it"
    }

    fn path(&self, _model: &str, _stream: bool) -> String {
        "/messages".to_owned()
    }

    fn family(&self) -> Family {
        Family::Anthropic
    }

    fn body(&self, prompt: &Prompt, params: &RequestParams) -> Body {
        let mut out = BodyWriter::new(params);
        out.text_field("model", &params.model);
        out.json_field("max_tokens", &params.max_tokens.to_string());
        if !prompt.tools.is_empty() && out.field("tools") {
            tools(&mut out, prompt);
        }
        if !prompt.system.is_empty() && out.field("system") {
            out.place(Role::System);
            content(&mut out, &prompt.system);
        }
        if out.field("messages") {
            out.array();
            let both = |a: &Message, b: &Message| a.role == Role::Tool && b.role == Role::Tool;
            for stretch in prompt.messages.chunk_by(both) {
                messages(&mut out, stretch);
            }
            out.end_array();
        }
        out.json_field("stream", if params.stream { "true" } else { "false" });
        if let Some(salt) = &params.salt {
            out.text_field("cache_salt", salt);
        }
        out.finish()
    }

    fn decoder(&self) -> Box<dyn Decoder> {
        Box::<Reading<AnthropicReader>>::default()
    }
}

fn tools(out: &mut BodyWriter<'_>, prompt: &Prompt) {
    out.place(Role::Tools);
    out.array();
    for tool in &prompt.tools {
        out.object();
        out.key("name");
        out.spans(Part::ToolName, &[body::tool_name(tool)]);
        out.key("description");
        out.spans(Part::Text, &tool.description);
        out.key("input_schema");
        out.json(Part::ToolSchema, &tool.parameters);
        if let Some(marker) = tool.marker {
            out.pair_json("cache_control", cache_control(marker.ttl));
        }
        out.end_object();
    }
    out.end_array();
}

/// One message, or the results of tools that stand together.
fn messages(out: &mut BodyWriter<'_>, stretch: &[Message]) {
    let role = match stretch.first().map(|message| message.role) {
        Some(Role::Assistant) => "assistant",
        Some(Role::System) => "system",
        _ => "user",
    };
    out.object();
    out.pair("role", role);
    out.key("content");
    match stretch {
        [message] if message.role != Role::Tool => {
            out.place(message.role);
            content(out, &message.blocks);
        }
        results => {
            out.array();
            for result in results {
                tool_result(out, result);
            }
            out.end_array();
        }
    }
    out.end_object();
}

fn tool_result(out: &mut BodyWriter<'_>, message: &Message) {
    out.place(Role::Tool);
    out.object();
    out.pair("type", "tool_result");
    out.pair(
        "tool_use_id",
        message.tool_call_id.as_deref().unwrap_or_default(),
    );
    out.key("content");
    // A marker of the result's only block stands on the result itself.
    let marker = match message.blocks.as_slice() {
        [
            Block {
                content: Content::Text(spans),
                marker,
            },
        ] => {
            out.spans(Part::Text, spans);
            *marker
        }
        blocks => {
            list_content(out, blocks);
            None
        }
    };
    if let Some(marker) = marker {
        out.pair_json("cache_control", cache_control(marker.ttl));
    }
    out.end_object();
}

fn content(out: &mut BodyWriter<'_>, blocks: &[Block]) {
    match body::plain_text(&blocks.iter().collect::<Vec<_>>()) {
        Some(spans) => out.spans(Part::Text, spans),
        None => list_content(out, blocks),
    }
}

fn list_content(out: &mut BodyWriter<'_>, blocks: &[Block]) {
    out.array();
    for block in blocks {
        out.object();
        match &block.content {
            Content::Text(spans) => {
                out.pair("type", "text");
                out.key("text");
                out.spans(Part::Text, spans);
            }
            Content::Image(image) => {
                out.pair("type", "image");
                out.key("source");
                out.object();
                out.pair("type", "base64");
                out.pair("media_type", &image.media_type);
                out.key("data");
                out.spans(Part::Image, std::slice::from_ref(&image.data));
                out.end_object();
            }
            Content::Call(call) => tool_use(out, call),
            Content::Reasoning(spans) => {
                out.pair("type", "thinking");
                out.key("thinking");
                out.spans(Part::Reasoning, spans);
                out.pair("signature", "");
            }
        }
        if let Some(marker) = block.marker {
            out.pair_json("cache_control", cache_control(marker.ttl));
        }
        out.end_object();
    }
    out.end_array();
}

fn tool_use(out: &mut BodyWriter<'_>, call: &ToolCall) {
    out.pair("type", "tool_use");
    out.pair("id", &call.id);
    out.key("name");
    out.spans(Part::CallName, std::slice::from_ref(&call.name));
    out.key("input");
    out.json(Part::CallArguments, &call.arguments);
}

#[derive(Default)]
struct AnthropicReader {
    usage: Map<String, Value>,
    /// Content blocks that are calls of tools, in order.
    calls: Vec<usize>,
    finished: bool,
}

impl Reader for AnthropicReader {
    fn event(&mut self, name: &str, value: &Value, out: &mut Vec<ChatEvent>) {
        let delta = value.get("delta").unwrap_or(&Value::Null);
        match text(value, "type").unwrap_or(name) {
            "message_start" => {
                self.count(
                    value
                        .get("message")
                        .and_then(|message| message.get("usage")),
                    out,
                );
            }
            "content_block_start" => {
                let block = value.get("content_block").unwrap_or(&Value::Null);
                self.block(index(value, "index"), block, true, out);
            }
            "content_block_delta" => self.delta(index(value, "index"), delta, out),
            "message_delta" => {
                self.finish(delta, out);
                self.count(value.get("usage"), out);
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
        if !value.get("content").is_some_and(Value::is_array) {
            return;
        }
        for (at, block) in list(value, "content").iter().enumerate() {
            self.block(at, block, false, out);
        }
        self.finish(value, out);
        self.count(value.get("usage"), out);
        if out.is_empty() {
            out.push(ChatEvent::Other);
        }
    }
}

impl AnthropicReader {
    fn count(&mut self, newer: Option<&Value>, out: &mut Vec<ChatEvent>) {
        if let Some(Value::Object(newer)) = newer {
            usage::overwrite(&mut self.usage, newer);
            out.extend(usage::exclusive(&self.usage).map(ChatEvent::Usage));
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
                let input = block.get("input").filter(|_| !opens);
                out.push(ChatEvent::ToolCall {
                    index: self.call(at),
                    id: text(block, "id").map(str::to_owned),
                    name: text(block, "name").map(str::to_owned),
                    arguments: super::reading::arguments(input),
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
