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

mod piece;
mod read;

use super::openai_chat::cache_control;
use super::reading::Reading;
use super::{Body, BodyWriter, Decoder, Dialect, RequestParams, body};
use crate::chat::{Block, Content, Family, Message, Part, Prompt, Role, ToolCall, Ttl};
use read::AnthropicReader;

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

    fn headers(&self) -> &'static [(&'static str, &'static str)] {
        &[("anthropic-version", "2023-06-01")]
    }

    /// Both: vLLM takes only the second, also for this dialect.
    fn key_headers(&self) -> &'static [(&'static str, &'static str)] {
        &[("x-api-key", ""), ("authorization", "Bearer ")]
    }

    fn family(&self) -> Family {
        Family::Anthropic
    }

    fn body(&self, prompt: &Prompt, params: &RequestParams) -> Body {
        let mut out = BodyWriter::new(params, prompt.bytes());
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
            body::top_level_marker(&mut out, params);
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

/// A marker behind the block that is being written.
fn mark(out: &mut BodyWriter<'_>, ttl: Ttl) {
    out.pair_json("cache_control", cache_control(ttl));
    out.mark(ttl);
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
            mark(out, marker.ttl);
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
        mark(out, marker.ttl);
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
            mark(out, marker.ttl);
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
