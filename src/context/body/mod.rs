//! Finished bodies and builders' answers, read into prompts.
//!
//! Understood are the `OpenAI` chat form and the Anthropic form, told apart by
//! each field rather than by a flag: `system` at the top or as messages, tools
//! with or without a `function` around them, calls as `tool_calls` or as
//! `tool_use` blocks, results as messages of role `tool` or as `tool_result`
//! blocks. A block's `origin` and `class` name the span, where a builder gives
//! them.
//!
//! Errors are sentences that begin with the place (`messages[3].content[0]`).

mod pieces;

use self::pieces::{called, image, json_of, list, marker, object, openai_call, string, tool};
use crate::chat::{Block, Class, Content, Message, Origin, Prompt, Role, Span, ToolCall};
use serde_json::{Map, Value};
use std::sync::Arc;

type Object = Map<String, Value>;

/// Reads one body.
pub(super) fn read(body: &str) -> Result<Prompt, String> {
    let value: Value = serde_json::from_str(body).map_err(|error| format!("not JSON: {error}"))?;
    let body = value.as_object().ok_or("not a JSON object")?;
    prompt(body)
}

/// Reads a body that is already parsed.
pub(super) fn prompt(body: &Object) -> Result<Prompt, String> {
    let mut prompt = Prompt::default();
    if let Some(tools) = list(body, "tools")? {
        for (at, value) in tools.iter().enumerate() {
            let place = format!("tools[{at}]");
            prompt.tools.push(tool(object(value, &place)?, &place)?);
        }
    }
    if let Some(system) = body.get("system").filter(|value| !value.is_null()) {
        let defaults = Defaults::of(Role::System);
        prompt.system = blocks(system, "system", &defaults)?;
    }
    let messages = list(body, "messages")?.ok_or_else(|| no_messages(body))?;
    for (at, value) in messages.iter().enumerate() {
        let place = format!("messages[{at}]");
        message(&mut prompt, object(value, &place)?, &place)?;
    }
    let cache_key = body.get("prompt_cache_key").and_then(Value::as_str);
    prompt.hints.prompt_cache_key = cache_key.map(str::to_owned);
    prompt.hints.explicit_cache = body
        .get("prompt_cache_options")
        .is_some_and(|options| options["mode"] == "explicit");
    Ok(prompt)
}

fn no_messages(body: &Object) -> &'static str {
    if body.contains_key("input") || body.contains_key("contents") {
        "`messages`: missing (of the finished forms, OpenAI chat and Anthropic are read)"
    } else {
        "`messages`: missing"
    }
}

fn message(prompt: &mut Prompt, value: &Object, place: &str) -> Result<(), String> {
    let role = match string(value, "role", place)? {
        "system" | "developer" => Role::System,
        "user" => Role::User,
        "assistant" => Role::Assistant,
        "tool" => Role::Tool,
        other => return Err(format!("`{place}`: unknown role `{other}`")),
    };
    let mut parts = match value.get("content") {
        None | Some(Value::Null) => Parts::default(),
        Some(content) => parts(content, &format!("{place}.content"), &Defaults::of(role))?,
    };
    if let Some(calls) = list(value, "tool_calls")? {
        // `content: ""` beside calls says nothing.
        parts.blocks.retain(|block| !is_empty(block));
        for (at, call) in calls.iter().enumerate() {
            let place = format!("{place}.tool_calls[{at}]");
            parts
                .blocks
                .push(openai_call(object(call, &place)?, &place)?);
        }
    }
    prompt.messages.append(&mut parts.results);
    // The system prompt is what stands in front of the conversation.
    if role == Role::System && prompt.messages.is_empty() {
        prompt.system.append(&mut parts.blocks);
    } else if !parts.blocks.is_empty() || !parts.had_results {
        let answers = value.get("tool_call_id").and_then(Value::as_str);
        prompt.messages.push(Message {
            role,
            blocks: parts.blocks,
            tool_call_id: answers.map(Arc::from),
        });
    }
    Ok(())
}

fn is_empty(block: &Block) -> bool {
    matches!(&block.content, Content::Text(spans) if spans.iter().all(|span| span.text.is_empty()))
}

/// What a message's content comes to: its blocks, and tool results, which are
/// messages of their own and stand in front.
#[derive(Default)]
struct Parts {
    blocks: Vec<Block>,
    results: Vec<Message>,
    had_results: bool,
}

/// Origin and class of a text that names none itself.
struct Defaults {
    origin: &'static str,
    class: Class,
}

impl Defaults {
    fn of(role: Role) -> Self {
        let (origin, class) = match role {
            Role::Tools => (Origin::TOOLS, Class::Static),
            Role::System => ("system", Class::Static),
            Role::User => (Origin::USER, Class::Turn),
            Role::Assistant => (Origin::REPLY, Class::Turn),
            Role::Tool => (Origin::TOOL_RESULT, Class::Turn),
        };
        Self { origin, class }
    }

    fn span(&self, text: &str, given: Option<&Object>, place: &str) -> Result<Span, String> {
        let field = |name: &str| given.and_then(|given| given.get(name));
        let origin = match field("origin") {
            None => self.origin,
            Some(value) => value
                .as_str()
                .ok_or_else(|| format!("`{place}`: `origin` is not a string"))?,
        };
        let class = match field("class").map(|value| value.as_str().unwrap_or_default()) {
            None => self.class,
            Some("static") => Class::Static,
            Some("conversation") => Class::Conversation,
            Some("turn") => Class::Turn,
            Some(_) => {
                return Err(format!(
                    "`{place}`: `class` is not static, conversation or turn"
                ));
            }
        };
        Ok(Span::new(origin, class, text))
    }
}

fn blocks(content: &Value, place: &str, defaults: &Defaults) -> Result<Vec<Block>, String> {
    let parts = parts(content, place, defaults)?;
    if parts.had_results {
        return Err(format!("`{place}`: no place for a tool result"));
    }
    Ok(parts.blocks)
}

fn parts(content: &Value, place: &str, defaults: &Defaults) -> Result<Parts, String> {
    let mut parts = Parts::default();
    match content {
        Value::String(text) => {
            let span = defaults.span(text, None, place)?;
            parts.blocks.push(Block::text(vec![span]));
        }
        Value::Array(items) => {
            for (at, item) in items.iter().enumerate() {
                let place = format!("{place}[{at}]");
                part(&mut parts, object(item, &place)?, &place, defaults)?;
            }
        }
        _ => return Err(format!("`{place}`: neither a string nor a list")),
    }
    Ok(parts)
}

fn part(parts: &mut Parts, item: &Object, place: &str, defaults: &Defaults) -> Result<(), String> {
    let content = match string(item, "type", place)? {
        "text" | "input_text" | "output_text" => Content::Text(text_spans(item, place, defaults)?),
        "thinking" => {
            let text = string(item, "thinking", place)?;
            Content::Reasoning(vec![defaults.span(text, Some(item), place)?])
        }
        "image_url" | "image" => Content::Image(image(item, place)?),
        "tool_use" => Content::Call(ToolCall {
            id: Arc::from(string(item, "id", place)?),
            name: called(string(item, "name", place)?),
            arguments: called(&json_of(item.get("input"))),
        }),
        "tool_result" => {
            let inner = match item.get("content") {
                None | Some(Value::Null) => Vec::new(),
                Some(content) => {
                    let place = format!("{place}.content");
                    blocks(content, &place, &Defaults::of(Role::Tool))?
                }
            };
            let mut result = Message {
                role: Role::Tool,
                blocks: inner,
                tool_call_id: Some(Arc::from(string(item, "tool_use_id", place)?)),
            };
            if let Some(last) = result.blocks.last_mut() {
                last.marker = marker(item).or(last.marker);
            }
            parts.results.push(result);
            parts.had_results = true;
            return Ok(());
        }
        other => return Err(format!("`{place}`: unknown block `{other}`")),
    };
    parts.blocks.push(Block {
        content,
        marker: marker(item),
    });
    Ok(())
}

/// The text of a block, in one span or, where a builder says so, in `spans`.
fn text_spans(item: &Object, place: &str, defaults: &Defaults) -> Result<Vec<Span>, String> {
    let Some(spans) = list(item, "spans")? else {
        let text = string(item, "text", place)?;
        return Ok(vec![defaults.span(text, Some(item), place)?]);
    };
    let spans = spans.iter().enumerate().map(|(at, value)| {
        let place = format!("{place}.spans[{at}]");
        let value = object(value, &place)?;
        defaults.span(string(value, "text", &place)?, Some(value), &place)
    });
    spans.collect()
}

#[cfg(test)]
mod tests;
