//! `OpenAI` Responses.
//!
//! A system prompt of one unmarked text goes out as `instructions`, any other as
//! an input message. `store` is false: a benchmark leaves nothing behind. Usage
//! and the finish reason stand in the last event (`response.completed`,
//! `response.incomplete`); what counts is the response's own `status`, as vLLM
//! names the event `completed` either way.

mod read;

use super::openai_chat::{cache_fields, image_url, marker};
use super::reading::Reading;
use super::{Body, BodyWriter, Decoder, Dialect, RequestParams, body};
use crate::chat::{Block, Content, Family, Message, Part, Prompt, Role, ToolCall};
use read::ResponsesReader;

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
        let mut out = BodyWriter::new(params, prompt.bytes());
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
