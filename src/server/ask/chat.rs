//! `/v1/chat/completions`.

use super::parts::{Content, Tool, role, tools};
use super::{Ask, CacheFields, CacheOptions, Said, json};
use crate::server::refusal::Refusal;
use serde::Deserialize;
use serde_json::value::RawValue;
use std::borrow::Cow;

#[derive(Deserialize)]
struct Body<'a> {
    #[serde(default)]
    model: Option<String>,
    #[serde(default, borrow)]
    messages: Option<Vec<Message<'a>>>,
    #[serde(default, borrow)]
    tools: Option<Vec<Tool<'a>>>,
    #[serde(default)]
    stream: Option<bool>,
    #[serde(default)]
    stream_options: Option<StreamOptions>,
    #[serde(default)]
    max_tokens: Option<u32>,
    #[serde(default)]
    max_completion_tokens: Option<u32>,
    #[serde(default)]
    cache_salt: Option<String>,
    #[serde(default)]
    prompt_cache_options: Option<CacheOptions>,
    #[serde(default)]
    prompt_cache_retention: Option<String>,
    #[serde(default)]
    id_slot: Option<i64>,
    #[serde(default)]
    cache_prompt: Option<bool>,
}

#[derive(Default, Deserialize)]
struct StreamOptions {
    #[serde(default)]
    include_usage: bool,
    #[serde(default)]
    continuous_usage_stats: bool,
}

#[derive(Deserialize)]
struct Message<'a> {
    #[serde(borrow)]
    role: Cow<'a, str>,
    #[serde(default, borrow)]
    content: Option<&'a RawValue>,
    #[serde(default, borrow)]
    reasoning_content: Option<Cow<'a, str>>,
    #[serde(default, borrow)]
    tool_calls: Option<Vec<Call<'a>>>,
}

#[derive(Deserialize)]
struct Call<'a> {
    #[serde(borrow)]
    function: Function<'a>,
}

#[derive(Deserialize)]
struct Function<'a> {
    #[serde(borrow)]
    name: Cow<'a, str>,
    #[serde(default, borrow)]
    arguments: Cow<'a, str>,
}

impl Message<'_> {
    fn said(&self) -> serde_json::Result<Said> {
        let mut said = Said::new(role(&self.role));
        if let Some(reasoning) = &self.reasoning_content {
            said.add(reasoning, false);
            said.reasoning = said.text.len();
        }
        Content::read(self.content)?.add_to(&mut said);
        for Call { function } in self.tool_calls.iter().flatten() {
            said.add(&function.name, false);
            said.add(&function.arguments, false);
        }
        Ok(said)
    }
}

pub(super) fn read(body: &[u8]) -> Result<Ask, Refusal> {
    let body: Body<'_> = json(body)?;
    let messages = body
        .messages
        .ok_or(Refusal::Missing { field: "messages" })?;
    let mut said: Vec<Said> = tools(body.tools.as_deref().unwrap_or_default())
        .into_iter()
        .collect();
    for (index, message) in messages.iter().enumerate() {
        said.push(message.said().map_err(|error| Refusal::Body {
            at: index,
            reason: format!("messages[{index}].content: {error}"),
        })?);
    }
    let options = body.stream_options.unwrap_or_default();
    Ok(Ask {
        model: body.model,
        said,
        stream: body.stream.unwrap_or(false),
        usage: options.include_usage,
        continuous: options.continuous_usage_stats,
        max_tokens: body.max_completion_tokens.or(body.max_tokens),
        salt: body.cache_salt,
        cache: CacheFields {
            options: body.prompt_cache_options,
            retention: body.prompt_cache_retention,
            // -1 is any.
            slot: body.id_slot.and_then(|slot| usize::try_from(slot).ok()),
            cold: body.cache_prompt == Some(false),
        },
    })
}
