//! `OpenAI` Chat Completions, the format of most servers.
//!
//! Traps that the decoder knows: the usage chunk may have a non-empty `choices`
//! (`LiteLLM`), usage may ride on any chunk or inside `choices[0]` (Kimi), and only
//! the last of several is complete (vLLM's continuous usage); llama.cpp sends
//! `timings` where nobody asked for usage; `content` may be null or a list.

mod chunk;
mod read;

use super::reading::Reading;
use super::{Body, BodyWriter, Decoder, Dialect, RequestParams, body};
use crate::chat::{
    Block, CacheAsked, Content, Family, Image, Message, Part, Prompt, Role, Span, ToolCall, Ttl,
};
use read::OpenAiReader;
use serde_json::Value;

/// The dialect.
pub(super) struct OpenAiChat;

impl Dialect for OpenAiChat {
    fn name(&self) -> &'static str {
        "openai-chat"
    }

    fn about(&self) -> &'static str {
        "Chat Completions, as OpenAI, vLLM, llama.cpp, SGLang, LiteLLM and most others speak it"
    }

    fn path(&self, _model: &str, _stream: bool) -> String {
        "/chat/completions".to_owned()
    }

    fn family(&self) -> Family {
        Family::Compatible
    }

    fn body(&self, prompt: &Prompt, params: &RequestParams) -> Body {
        let mut out = BodyWriter::new(params, prompt.bytes());
        out.text_field("model", &params.model);
        let explicit = prompt.hints.explicit_cache;
        if !prompt.tools.is_empty() && out.field("tools") {
            tools(&mut out, prompt, explicit);
        }
        if out.field("messages") {
            out.array();
            if !prompt.system.is_empty() {
                out.place(Role::System);
                out.object();
                out.pair("role", "system");
                content(
                    &mut out,
                    &prompt.system.iter().collect::<Vec<_>>(),
                    explicit,
                );
                out.end_object();
            }
            for one in &prompt.messages {
                message(&mut out, one, explicit);
            }
            out.end_array();
            body::top_level_marker(&mut out, params);
        }
        out.json_field("max_tokens", &params.max_tokens.to_string());
        if params.stream {
            out.json_field("stream", "true");
            out.json_field("stream_options", r#"{"include_usage":true}"#);
        } else {
            out.json_field("stream", "false");
        }
        cache_fields(&mut out, prompt, params);
        out.finish()
    }

    fn decoder(&self) -> Box<dyn Decoder> {
        Box::<Reading<OpenAiReader>>::default()
    }
}

/// How a request speaks of its entries; from 5.6 on.
const OPTIONS: &str = "prompt_cache_options";
/// How it did before.
const RETENTION: &str = "prompt_cache_retention";
/// Only marked places are entries. They live for the one time that every model with
/// this field knows; it is the least, and counts anew whenever an entry is used.
///
/// Source: provider caching, section 1; turn context, section 3.4.
const EXPLICIT: &str = r#"{"mode":"explicit","ttl":"30m"}"#;

/// What the fields about caching ask, where the target's own replace ours as well.
fn asked(prompt: &Prompt, params: &RequestParams) -> CacheAsked {
    let own = prompt.hints.explicit_cache.then(|| EXPLICIT.parse().ok());
    let options = params.extra.get(OPTIONS).cloned().or(own.flatten());
    let named = |value: Option<&Value>, name: &str| {
        let value = value.and_then(|value| value.get(name));
        value.and_then(Value::as_str).map(str::to_owned)
    };
    let retention = params.extra.get(RETENTION).and_then(Value::as_str);
    let ttl = named(options.as_ref(), "ttl");
    CacheAsked {
        explicit: named(options.as_ref(), "mode").as_deref() == Some("explicit"),
        lifetime_ms: ttl.as_deref().or(retention).and_then(lifetime_ms),
    }
}

/// The lifetimes that `OpenAI` has names for.
fn lifetime_ms(name: &str) -> Option<u64> {
    let minutes = match name {
        "in_memory" => 10,
        "30m" => 30,
        "12h" => 12 * 60,
        "24h" => 24 * 60,
        _ => return None,
    };
    Some(minutes * 60_000)
}

/// The fields about caching that both of `OpenAI`'s formats have.
pub(super) fn cache_fields(out: &mut BodyWriter<'_>, prompt: &Prompt, params: &RequestParams) {
    if let Some(key) = &prompt.hints.prompt_cache_key {
        out.text_field("prompt_cache_key", key);
    }
    if prompt.hints.explicit_cache {
        out.json_field(OPTIONS, EXPLICIT);
    }
    out.asks(asked(prompt, params));
    if let Some(salt) = &params.salt {
        out.text_field("cache_salt", salt);
    }
}

/// The marker behind a block: `OpenAI`'s own where caching is explicit, else the
/// one that OpenRouter, `LiteLLM` and Qwen take.
pub(super) fn marker(out: &mut BodyWriter<'_>, ttl: Option<Ttl>, explicit: bool) {
    let Some(ttl) = ttl else { return };
    if explicit {
        out.pair_json("prompt_cache_breakpoint", r#"{"mode":"explicit"}"#);
        // How long all of them live stands once, in `prompt_cache_options`.
        return out.mark(Ttl::FiveMinutes);
    }
    out.pair_json("cache_control", cache_control(ttl));
    out.mark(ttl);
}

/// Anthropic's marker.
pub(super) fn cache_control(ttl: Ttl) -> &'static str {
    match ttl {
        Ttl::FiveMinutes => r#"{"type":"ephemeral"}"#,
        Ttl::Hour => r#"{"type":"ephemeral","ttl":"1h"}"#,
    }
}

fn tools(out: &mut BodyWriter<'_>, prompt: &Prompt, explicit: bool) {
    out.place(Role::Tools);
    out.array();
    for tool in &prompt.tools {
        out.object();
        out.pair("type", "function");
        out.key("function");
        out.object();
        out.key("name");
        out.spans(Part::ToolName, &[body::tool_name(tool)]);
        out.key("description");
        out.spans(Part::Text, &tool.description);
        out.key("parameters");
        out.json(Part::ToolSchema, &tool.parameters);
        out.end_object();
        // Explicit breakpoints stand on content blocks only.
        if !explicit {
            marker(out, tool.marker.map(|marker| marker.ttl), false);
        }
        out.end_object();
    }
    out.end_array();
}

fn message(out: &mut BodyWriter<'_>, message: &Message, explicit: bool) {
    out.place(message.role);
    out.object();
    out.pair("role", message.role.as_str());
    if let Some(id) = &message.tool_call_id {
        out.pair("tool_call_id", id);
    }
    let reasoning: Vec<Span> = body::reasoning(&message.blocks);
    if !reasoning.is_empty() {
        out.key("reasoning_content");
        out.spans(Part::Reasoning, &reasoning);
    }
    let shown: Vec<&Block> = message
        .blocks
        .iter()
        .filter(|block| matches!(block.content, Content::Text(_) | Content::Image(_)))
        .collect();
    content(out, &shown, explicit);
    let mut calls = body::calls(&message.blocks).peekable();
    if calls.peek().is_some() {
        out.key("tool_calls");
        out.array();
        calls.for_each(|made| call(out, made));
        out.end_array();
    }
    out.end_object();
}

/// The field `content`: a string where one unmarked text says it all, null where
/// there is nothing, else a list.
fn content(out: &mut BodyWriter<'_>, blocks: &[&Block], explicit: bool) {
    if blocks.is_empty() {
        return out.pair_json("content", "null");
    }
    out.key("content");
    if let Some(spans) = body::plain_text(blocks) {
        return out.spans(Part::Text, spans);
    }
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
                out.pair("type", "image_url");
                out.key("image_url");
                out.object();
                out.key("url");
                image_url(out, image);
                out.end_object();
            }
            Content::Call(_) | Content::Reasoning(_) => {}
        }
        marker(out, block.marker.map(|marker| marker.ttl), explicit);
        out.end_object();
    }
    out.end_array();
}

/// A picture as a `data:` URL.
pub(super) fn image_url(out: &mut BodyWriter<'_>, image: &Image) {
    let prefix = format!("data:{};base64,", image.media_type);
    out.prefixed(&prefix, Part::Image, std::slice::from_ref(&image.data));
}

fn call(out: &mut BodyWriter<'_>, call: &ToolCall) {
    out.object();
    out.pair("id", &call.id);
    out.pair("type", "function");
    out.key("function");
    out.object();
    out.key("name");
    out.spans(Part::CallName, std::slice::from_ref(&call.name));
    out.key("arguments");
    out.spans(Part::CallArguments, std::slice::from_ref(&call.arguments));
    out.end_object();
    out.end_object();
}
