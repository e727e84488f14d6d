//! Bedrock Converse, with layouts of `cachePoint` blocks. Its answers are read in
//! one piece: its streams are a binary format of their own and are not read.
//!
//! The API requires that user and assistant take turns, so messages in a row of
//! one side become the blocks of one message; each is still a placed message of
//! its own. The model stands in the path.

use super::fields::{arguments, field, list, text};
use super::path::segment;
use super::reading::{Reader, Reading};
use super::{Body, BodyWriter, Decoder, Dialect, RequestParams, body, usage};
use crate::chat::{
    Block, CacheMarker, ChatEvent, Content, Family, FinishReason, Message, Part, Prompt, Role, Ttl,
};
use serde_json::Value;

/// The dialect.
pub(super) struct Bedrock;

impl Dialect for Bedrock {
    fn name(&self) -> &'static str {
        "bedrock"
    }

    fn about(&self) -> &'static str {
        "Bedrock Converse; answers in one piece, so that no time to the first token is known"
    }

    fn path(&self, model: &str, stream: bool) -> String {
        let call = if stream {
            "converse-stream"
        } else {
            "converse"
        };
        format!("/model/{}/{call}", segment(model))
    }

    fn streams(&self) -> bool {
        false
    }

    fn family(&self) -> Family {
        Family::Bedrock
    }

    fn body(&self, prompt: &Prompt, params: &RequestParams) -> Body {
        let mut out = BodyWriter::new(params, prompt.bytes());
        if !prompt.tools.is_empty() && out.field("toolConfig") {
            tools(&mut out, prompt);
        }
        if !prompt.system.is_empty() && out.field("system") {
            out.place(Role::System);
            out.array();
            blocks(&mut out, &prompt.system);
            out.end_array();
        }
        if out.field("messages") {
            out.array();
            for turn in prompt.messages.chunk_by(|a, b| side(a) == side(b)) {
                out.object();
                out.pair("role", turn.first().map_or("user", side));
                out.key("content");
                out.array();
                for one in turn {
                    message(&mut out, one);
                }
                out.end_array();
                out.end_object();
            }
            out.end_array();
        }
        let config = format!(r#"{{"maxTokens":{}}}"#, params.max_tokens);
        out.json_field("inferenceConfig", &config);
        out.finish()
    }

    fn decoder(&self) -> Box<dyn Decoder> {
        Box::<Reading<BedrockReader>>::default()
    }
}

fn side(message: &Message) -> &'static str {
    if message.role == Role::Assistant {
        "assistant"
    } else {
        "user"
    }
}

fn cache_point(out: &mut BodyWriter<'_>, marker: Option<CacheMarker>) {
    let Some(marker) = marker else { return };
    out.mark(marker.ttl);
    out.object();
    out.pair_json(
        "cachePoint",
        match marker.ttl {
            Ttl::FiveMinutes => r#"{"type":"default"}"#,
            Ttl::Hour => r#"{"type":"default","ttl":"1h"}"#,
        },
    );
    out.end_object();
}

fn tools(out: &mut BodyWriter<'_>, prompt: &Prompt) {
    out.place(Role::Tools);
    out.object();
    out.key("tools");
    out.array();
    for tool in &prompt.tools {
        out.object();
        out.key("toolSpec");
        out.object();
        out.key("name");
        out.spans(Part::ToolName, &[body::tool_name(tool)]);
        out.key("description");
        out.spans(Part::Text, &tool.description);
        out.key("inputSchema");
        out.object();
        out.key("json");
        out.json(Part::ToolSchema, &tool.parameters);
        out.end_object();
        out.end_object();
        out.end_object();
        cache_point(out, tool.marker);
    }
    out.end_array();
    out.end_object();
}

fn message(out: &mut BodyWriter<'_>, message: &Message) {
    out.place(message.role);
    if message.role != Role::Tool {
        return blocks(out, &message.blocks);
    }
    out.object();
    out.key("toolResult");
    out.object();
    out.pair(
        "toolUseId",
        message.tool_call_id.as_deref().unwrap_or_default(),
    );
    out.key("content");
    out.array();
    message.blocks.iter().for_each(|one| block(out, one));
    out.end_array();
    out.end_object();
    out.end_object();
    // A cache point is a block beside the result, not inside it.
    cache_point(
        out,
        message.blocks.iter().rev().find_map(|block| block.marker),
    );
}

fn blocks(out: &mut BodyWriter<'_>, blocks: &[Block]) {
    for one in blocks {
        block(out, one);
        cache_point(out, one.marker);
    }
}

fn block(out: &mut BodyWriter<'_>, block: &Block) {
    out.object();
    match &block.content {
        Content::Text(spans) => {
            out.key("text");
            out.spans(Part::Text, spans);
        }
        Content::Image(image) => {
            let kind = image.media_type.rsplit('/').next().unwrap_or_default();
            out.key("image");
            out.object();
            out.pair("format", kind);
            out.key("source");
            out.object();
            out.key("bytes");
            out.spans(Part::Image, std::slice::from_ref(&image.data));
            out.end_object();
            out.end_object();
        }
        Content::Call(call) => {
            out.key("toolUse");
            out.object();
            out.pair("toolUseId", &call.id);
            out.key("name");
            out.spans(Part::CallName, std::slice::from_ref(&call.name));
            out.key("input");
            out.json(Part::CallArguments, &call.arguments);
            out.end_object();
        }
        Content::Reasoning(spans) => {
            out.key("reasoningContent");
            out.object();
            out.key("reasoningText");
            out.object();
            out.key("text");
            out.spans(Part::Reasoning, spans);
            out.end_object();
            out.end_object();
        }
    }
    out.end_object();
}

#[derive(Default)]
struct BedrockReader;

impl Reader for BedrockReader {
    fn event(&mut self, _name: &str, value: &Value, out: &mut Vec<ChatEvent>) {
        self.body(value, out);
    }

    fn body(&mut self, value: &Value, out: &mut Vec<ChatEvent>) {
        let Some(message) = field(value, "output").and_then(|output| field(output, "message"))
        else {
            return;
        };
        let mut calls = 0;
        for block in list(message, "content") {
            if let Some(piece) = text(block, "text") {
                out.push(ChatEvent::Text(piece.to_owned()));
            } else if let Some(call) = field(block, "toolUse") {
                out.push(ChatEvent::ToolCall {
                    index: calls,
                    id: text(call, "toolUseId").map(str::to_owned),
                    name: text(call, "name").map(str::to_owned),
                    arguments: arguments(field(call, "input")),
                });
                calls += 1;
            }
        }
        if let Some(reason) = text(value, "stopReason") {
            out.push(ChatEvent::Finish(finish(reason)));
        }
        out.extend(
            field(value, "usage")
                .and_then(usage::bedrock)
                .map(ChatEvent::Usage),
        );
    }
}

fn finish(reason: &str) -> FinishReason {
    match reason {
        "end_turn" | "stop_sequence" => FinishReason::Stop,
        "max_tokens" => FinishReason::Length,
        "tool_use" => FinishReason::ToolCalls,
        "guardrail_intervened" | "content_filtered" => FinishReason::ContentFilter,
        other => FinishReason::Other(other.to_owned()),
    }
}
