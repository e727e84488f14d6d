//! Gemini's native format, `generateContent` and its stream.
//!
//! The model stands in the path. There is no role `system` in a conversation, so
//! such a message goes out as the user's; the result of a tool names the tool,
//! not the call, so the name is looked up in the calls before it. Streams have
//! no end marker: the answer ends with the chunk that has a `finishReason`.

use super::fields::{arguments, field, list, text};
use super::path::segment;
use super::reading::{Reader, Reading};
use super::{Body, BodyWriter, Decoder, Dialect, RequestParams, body, usage};
use crate::chat::{Block, ChatEvent, Content, Family, FinishReason, Message, Part, Prompt, Role};
use serde_json::Value;
use std::collections::HashMap;

/// The dialect.
pub(super) struct Gemini;

impl Dialect for Gemini {
    fn name(&self) -> &'static str {
        "gemini"
    }

    fn about(&self) -> &'static str {
        "Gemini's own generateContent, streamed as server-sent events"
    }

    fn path(&self, model: &str, stream: bool) -> String {
        let model = place(model);
        if stream {
            format!("/{model}:streamGenerateContent?alt=sse")
        } else {
            format!("/{model}:generateContent")
        }
    }

    fn key_headers(&self) -> &'static [(&'static str, &'static str)] {
        &[("x-goog-api-key", "")]
    }

    fn family(&self) -> Family {
        Family::Google
    }

    fn body(&self, prompt: &Prompt, params: &RequestParams) -> Body {
        let mut out = BodyWriter::new(params, prompt.bytes());
        if !prompt.tools.is_empty() && out.field("tools") {
            tools(&mut out, prompt);
        }
        if !prompt.system.is_empty() && out.field("systemInstruction") {
            out.place(Role::System);
            out.object();
            out.key("parts");
            parts(&mut out, &prompt.system);
            out.end_object();
        }
        if out.field("contents") {
            out.array();
            let mut names = HashMap::new();
            for one in &prompt.messages {
                message(&mut out, one, &mut names);
            }
            out.end_array();
        }
        let config = format!(r#"{{"maxOutputTokens":{}}}"#, params.max_tokens);
        out.json_field("generationConfig", &config);
        if let Some(salt) = &params.salt {
            out.text_field("cache_salt", salt);
        }
        out.finish()
    }

    fn decoder(&self) -> Box<dyn Decoder> {
        Box::<Reading<GeminiReader>>::default()
    }
}

/// The place of a model: a resource's name as it is written, else below `models`.
fn place(model: &str) -> String {
    const RESOURCES: [&str; 4] = ["models/", "tunedModels/", "publishers/", "endpoints/"];
    if RESOURCES.iter().any(|start| model.starts_with(start)) {
        let segments: Vec<String> = model.split('/').map(segment).collect();
        return segments.join("/");
    }
    format!("models/{}", segment(model))
}

fn tools(out: &mut BodyWriter<'_>, prompt: &Prompt) {
    out.place(Role::Tools);
    out.array();
    out.object();
    out.key("functionDeclarations");
    out.array();
    for tool in &prompt.tools {
        out.object();
        out.key("name");
        out.spans(Part::ToolName, &[body::tool_name(tool)]);
        out.key("description");
        out.spans(Part::Text, &tool.description);
        out.key("parametersJsonSchema");
        out.json(Part::ToolSchema, &tool.parameters);
        out.end_object();
    }
    out.end_array();
    out.end_object();
    out.end_array();
}

fn message<'p>(
    out: &mut BodyWriter<'_>,
    message: &'p Message,
    names: &mut HashMap<&'p str, &'p str>,
) {
    out.place(message.role);
    out.object();
    out.pair(
        "role",
        if message.role == Role::Assistant {
            "model"
        } else {
            "user"
        },
    );
    out.key("parts");
    for call in body::calls(&message.blocks) {
        names.insert(&call.id, &call.name.text);
    }
    match (message.role, message.tool_call_id.as_deref()) {
        (Role::Tool, id) => {
            let id = id.unwrap_or_default();
            tool_result(out, message, names.get(id).copied().unwrap_or(id));
        }
        _ => parts(out, &message.blocks),
    }
    out.end_object();
}

fn tool_result(out: &mut BodyWriter<'_>, message: &Message, name: &str) {
    let texts: Vec<_> = message
        .blocks
        .iter()
        .filter_map(|block| match &block.content {
            Content::Text(spans) => Some(spans.clone()),
            _ => None,
        })
        .flatten()
        .collect();
    out.array();
    out.object();
    out.key("functionResponse");
    out.object();
    out.pair("name", name);
    out.key("response");
    out.object();
    out.key("result");
    out.spans(Part::Text, &texts);
    out.end_object();
    out.end_object();
    out.end_object();
    out.end_array();
}

/// Markers have no form here: Gemini caches by itself.
fn parts(out: &mut BodyWriter<'_>, blocks: &[Block]) {
    out.array();
    for block in blocks {
        out.object();
        match &block.content {
            Content::Text(spans) => {
                out.key("text");
                out.spans(Part::Text, spans);
            }
            Content::Reasoning(spans) => {
                out.key("text");
                out.spans(Part::Reasoning, spans);
                out.pair_json("thought", "true");
            }
            Content::Image(image) => {
                out.key("inlineData");
                out.object();
                out.pair("mimeType", &image.media_type);
                out.key("data");
                out.spans(Part::Image, std::slice::from_ref(&image.data));
                out.end_object();
            }
            Content::Call(call) => {
                out.key("functionCall");
                out.object();
                out.key("name");
                out.spans(Part::CallName, std::slice::from_ref(&call.name));
                out.key("args");
                out.json(Part::CallArguments, &call.arguments);
                out.end_object();
            }
        }
        out.end_object();
    }
    out.end_array();
}

#[derive(Default)]
struct GeminiReader {
    calls: usize,
}

impl Reader for GeminiReader {
    fn event(&mut self, _name: &str, value: &Value, out: &mut Vec<ChatEvent>) {
        if let Some(candidate) = list(value, "candidates").first() {
            self.candidate(candidate, out);
        }
        let feedback = field(value, "promptFeedback").unwrap_or(&Value::Null);
        if text(feedback, "blockReason").is_some() {
            out.push(ChatEvent::Finish(FinishReason::ContentFilter));
        }
        out.extend(
            field(value, "usageMetadata")
                .and_then(usage::gemini)
                .map(ChatEvent::Usage),
        );
    }

    fn body(&mut self, value: &Value, out: &mut Vec<ChatEvent>) {
        self.event("", value, out);
    }
}

impl GeminiReader {
    fn candidate(&mut self, candidate: &Value, out: &mut Vec<ChatEvent>) {
        for part in list(field(candidate, "content").unwrap_or(&Value::Null), "parts") {
            let thought = field(part, "thought").and_then(Value::as_bool) == Some(true);
            if let Some(piece) = text(part, "text") {
                out.push(if thought {
                    ChatEvent::Reasoning(piece.to_owned())
                } else {
                    ChatEvent::Text(piece.to_owned())
                });
            }
            if let Some(call) = field(part, "functionCall") {
                out.push(ChatEvent::ToolCall {
                    index: self.calls,
                    id: text(call, "id").map(str::to_owned),
                    name: text(call, "name").map(str::to_owned),
                    arguments: arguments(field(call, "args")),
                });
                self.calls += 1;
            }
        }
        if let Some(reason) = text(candidate, "finishReason") {
            out.push(ChatEvent::Finish(self.finish(reason)));
        }
    }

    /// A turn that calls tools ends with `STOP` here.
    fn finish(&self, reason: &str) -> FinishReason {
        match reason {
            "STOP" if self.calls > 0 => FinishReason::ToolCalls,
            "STOP" => FinishReason::Stop,
            "MAX_TOKENS" => FinishReason::Length,
            "SAFETY" | "RECITATION" | "BLOCKLIST" | "PROHIBITED_CONTENT" | "SPII" => {
                FinishReason::ContentFilter
            }
            other => FinishReason::Other(other.to_owned()),
        }
    }
}
