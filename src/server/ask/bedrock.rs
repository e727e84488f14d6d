//! `/model/MODEL/converse` of Bedrock.

use super::parts::{Marker, Tool};
use super::{Ask, CacheFields, Mark, Said, json, parts};
use crate::chat::Role;
use crate::server::refusal::Refusal;
use serde::Deserialize;
use serde_json::value::RawValue;
use std::borrow::Cow;

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Body<'a> {
    #[serde(default, borrow)]
    system: Vec<Block<'a>>,
    #[serde(default, borrow)]
    messages: Option<Vec<Message<'a>>>,
    #[serde(default, borrow)]
    tool_config: Option<ToolConfig<'a>>,
    #[serde(default)]
    inference_config: Option<Limits>,
    /// No field of the service: the embedded server knows salts on every path.
    #[serde(default, rename = "cache_salt")]
    salt: Option<String>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Limits {
    #[serde(default)]
    max_tokens: Option<u32>,
}

#[derive(Deserialize)]
struct ToolConfig<'a> {
    #[serde(default, borrow)]
    tools: Vec<Declared<'a>>,
}

/// A tool, or a cache point behind the ones before it.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Declared<'a> {
    #[serde(default, borrow)]
    tool_spec: Option<Spec<'a>>,
    #[serde(default, borrow)]
    cache_point: Option<Marker<'a>>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Spec<'a> {
    #[serde(borrow)]
    name: Cow<'a, str>,
    #[serde(default, borrow)]
    description: Cow<'a, str>,
    #[serde(default, borrow)]
    input_schema: Option<Schema<'a>>,
}

#[derive(Deserialize)]
struct Schema<'a> {
    #[serde(borrow)]
    json: &'a RawValue,
}

#[derive(Deserialize)]
struct Message<'a> {
    #[serde(borrow)]
    role: Cow<'a, str>,
    #[serde(default, borrow)]
    content: Vec<Block<'a>>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Block<'a> {
    #[serde(default, borrow)]
    text: Option<Cow<'a, str>>,
    #[serde(default, borrow)]
    tool_use: Option<Call<'a>>,
    #[serde(default, borrow)]
    tool_result: Option<Outcome<'a>>,
    #[serde(default, borrow)]
    cache_point: Option<Marker<'a>>,
}

#[derive(Deserialize)]
struct Call<'a> {
    #[serde(borrow)]
    name: Cow<'a, str>,
    #[serde(default, borrow)]
    input: Option<&'a RawValue>,
}

#[derive(Deserialize)]
struct Outcome<'a> {
    #[serde(default, borrow)]
    content: Vec<Block<'a>>,
}

impl Block<'_> {
    /// Adds the block to the messages so far. A cache point stands behind what was
    /// said last, and each tool result is a message of its own.
    fn add_to(&self, role: Role, all: &mut Vec<Said>) {
        if let Some(result) = &self.tool_result {
            let mut said = Said::new(Role::Tool);
            for block in &result.content {
                said.add(block.text.as_deref().unwrap_or_default(), false);
            }
            all.push(said);
            return;
        }
        let mark = Marker::of(self.cache_point.as_ref());
        if mark != Mark::None {
            if let Some(last) = all.last_mut() {
                last.mark(mark);
            }
            return;
        }
        if all.last().is_none_or(|last| last.role != role) {
            all.push(Said::new(role));
        }
        let Some(said) = all.last_mut() else { return };
        said.add(self.text.as_deref().unwrap_or_default(), false);
        if let Some(call) = &self.tool_use {
            said.add(&call.name, false);
            said.add(call.input.map_or("", RawValue::get), false);
        }
    }
}

/// Definitions as one first message, as on the other paths.
fn tools(config: &ToolConfig<'_>) -> Option<Said> {
    let mut said: Option<Said> = None;
    for declared in &config.tools {
        if let Some(spec) = &declared.tool_spec {
            let schema = spec.input_schema.as_ref().map(|schema| schema.json);
            let tool = Tool::new(&spec.name, &spec.description, schema);
            let more = parts::tools(&[tool]);
            match (&mut said, more) {
                (Some(said), Some(more)) => said.add(&more.text, false),
                (said, more) => *said = more,
            }
        }
        if let Some(said) = &mut said {
            said.mark(Marker::of(declared.cache_point.as_ref()));
        }
    }
    said
}

/// The model stands in the path, so the caller fills it in.
pub(super) fn read(body: &[u8]) -> Result<Ask, Refusal> {
    let body: Body<'_> = json(body)?;
    let messages = body
        .messages
        .ok_or(Refusal::Missing { field: "messages" })?;
    let mut said: Vec<Said> = body.tool_config.iter().filter_map(tools).collect();
    for block in &body.system {
        block.add_to(Role::System, &mut said);
    }
    for message in &messages {
        let role = match message.role.as_ref() {
            "assistant" => Role::Assistant,
            _ => Role::User,
        };
        for block in &message.content {
            block.add_to(role, &mut said);
        }
    }
    Ok(Ask {
        model: None,
        said,
        stream: false,
        usage: true,
        continuous: false,
        max_tokens: body.inference_config.and_then(|limits| limits.max_tokens),
        salt: body.salt,
        cache: CacheFields::default(),
    })
}
