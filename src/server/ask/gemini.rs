//! `/v1beta/models/MODEL:generateContent` and `:streamGenerateContent`.

use super::parts::{Tool, tools};
use super::{Ask, CacheFields, Said, json};
use crate::chat::Role;
use crate::server::refusal::Refusal;
use serde::Deserialize;
use serde_json::value::RawValue;
use std::borrow::Cow;

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Body<'a> {
    #[serde(default, borrow, alias = "system_instruction")]
    system_instruction: Option<Content<'a>>,
    #[serde(default, borrow)]
    contents: Option<Vec<Content<'a>>>,
    #[serde(default, borrow)]
    tools: Option<Vec<Declared<'a>>>,
    #[serde(default)]
    generation_config: Option<Limits>,
    /// No field of the service: the embedded server knows salts on every path.
    #[serde(default, rename = "cache_salt")]
    salt: Option<String>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Limits {
    #[serde(default)]
    max_output_tokens: Option<u32>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Declared<'a> {
    #[serde(default, borrow)]
    function_declarations: Vec<Tool<'a>>,
}

#[derive(Deserialize)]
struct Content<'a> {
    #[serde(default, borrow)]
    role: Cow<'a, str>,
    #[serde(default, borrow)]
    parts: Vec<Part<'a>>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Part<'a> {
    #[serde(default, borrow)]
    text: Option<Cow<'a, str>>,
    #[serde(default, borrow)]
    function_call: Option<Call<'a>>,
    #[serde(default, borrow)]
    function_response: Option<Response<'a>>,
}

#[derive(Deserialize)]
struct Call<'a> {
    #[serde(borrow)]
    name: Cow<'a, str>,
    #[serde(default, borrow)]
    args: Option<&'a RawValue>,
}

#[derive(Deserialize)]
struct Response<'a> {
    #[serde(default, borrow)]
    response: Option<&'a RawValue>,
}

/// The wrapping that a result of plain text is given on this wire.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Wrapped<'a> {
    #[serde(borrow, alias = "output", alias = "content")]
    result: Cow<'a, str>,
}

impl Content<'_> {
    /// Adds the message; each function response in it becomes one of its own.
    fn add_to(&self, role: Role, all: &mut Vec<Said>) {
        let mut said = Said::new(role);
        let mut calls = String::new();
        let mut results = 0;
        for part in &self.parts {
            said.add(part.text.as_deref().unwrap_or_default(), false);
            if let Some(call) = &part.function_call {
                calls.push_str(&call.name);
                calls.push_str(call.args.map_or("", RawValue::get));
            }
            if let Some(response) = &part.function_response {
                let raw = response.response.map_or("", RawValue::get);
                let text = serde_json::from_str::<Wrapped<'_>>(raw);
                let mut result = Said::new(Role::Tool);
                result.add(text.as_ref().map_or(raw, |text| &text.result), false);
                all.push(result);
                results += 1;
            }
        }
        said.add(&calls, false);
        if results == 0 || !said.text.is_empty() {
            all.push(said);
        }
    }
}

/// Model and manner of answer stand in the path, so the caller fills them in.
pub(super) fn read(body: &[u8]) -> Result<Ask, Refusal> {
    let body: Body<'_> = json(body)?;
    let contents = body
        .contents
        .ok_or(Refusal::Missing { field: "contents" })?;
    let declared = body.tools.into_iter().flatten();
    let declared: Vec<_> = declared
        .flat_map(|tool| tool.function_declarations)
        .collect();
    let mut said: Vec<Said> = tools(&declared).into_iter().collect();
    if let Some(system) = &body.system_instruction {
        system.add_to(Role::System, &mut said);
    }
    for content in &contents {
        let role = match content.role.as_ref() {
            "model" => Role::Assistant,
            _ => Role::User,
        };
        content.add_to(role, &mut said);
    }
    Ok(Ask {
        model: None,
        said,
        stream: false,
        usage: true,
        continuous: false,
        max_tokens: body
            .generation_config
            .and_then(|limits| limits.max_output_tokens),
        salt: body.salt,
        cache: CacheFields::default(),
    })
}
