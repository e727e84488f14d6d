//! `/v1/responses`.

use super::parts::{Content, Tool, role, tools};
use super::{Ask, CacheFields, CacheOptions, Said, json};
use crate::chat::Role;
use crate::server::refusal::Refusal;
use serde::Deserialize;
use serde_json::value::RawValue;
use std::borrow::Cow;

#[derive(Deserialize)]
struct Body<'a> {
    #[serde(default)]
    model: Option<String>,
    #[serde(default)]
    instructions: Option<String>,
    #[serde(default, borrow)]
    input: Option<&'a RawValue>,
    #[serde(default, borrow)]
    tools: Option<Vec<Tool<'a>>>,
    #[serde(default)]
    stream: Option<bool>,
    #[serde(default)]
    max_output_tokens: Option<u32>,
    #[serde(default)]
    cache_salt: Option<String>,
    #[serde(default)]
    prompt_cache_options: Option<CacheOptions>,
    #[serde(default)]
    prompt_cache_retention: Option<String>,
}

#[derive(Deserialize)]
struct Item<'a> {
    #[serde(rename = "type", default, borrow)]
    kind: Cow<'a, str>,
    #[serde(default, borrow)]
    role: Cow<'a, str>,
    #[serde(default, borrow)]
    content: Option<&'a RawValue>,
    #[serde(default, borrow)]
    name: Cow<'a, str>,
    #[serde(default, borrow)]
    arguments: Cow<'a, str>,
    #[serde(default, borrow)]
    output: Option<&'a RawValue>,
}

impl Item<'_> {
    /// Adds the item; a call belongs to the assistant message before it.
    fn add_to(&self, all: &mut Vec<Said>) -> serde_json::Result<()> {
        match self.kind.as_ref() {
            "function_call" => {
                if all.last().is_none_or(|said| said.role != Role::Assistant) {
                    all.push(Said::new(Role::Assistant));
                }
                if let Some(said) = all.last_mut() {
                    said.add(&self.name, false);
                    said.add(&self.arguments, false);
                }
            }
            "function_call_output" => {
                let mut said = Said::new(Role::Tool);
                Content::read(self.output)?.add_to(&mut said);
                all.push(said);
            }
            _ => {
                let mut said = Said::new(role(&self.role));
                Content::read(self.content)?.add_to(&mut said);
                all.push(said);
            }
        }
        Ok(())
    }
}

pub(super) fn read(body: &[u8]) -> Result<Ask, Refusal> {
    let body: Body<'_> = json(body)?;
    let input = body.input.ok_or(Refusal::Missing { field: "input" })?;
    let mut said: Vec<Said> = tools(body.tools.as_deref().unwrap_or_default())
        .into_iter()
        .collect();
    if let Some(instructions) = &body.instructions {
        let mut system = Said::new(Role::System);
        system.add(instructions, false);
        said.push(system);
    }
    let broken = |error: serde_json::Error| Refusal::Body {
        at: 0,
        reason: format!("input: {error}"),
    };
    if input.get().starts_with('"') {
        let mut user = Said::new(Role::User);
        let text: String = serde_json::from_str(input.get()).map_err(broken)?;
        user.add(&text, false);
        said.push(user);
    } else {
        let items: Vec<Item<'_>> = serde_json::from_str(input.get()).map_err(broken)?;
        for item in &items {
            item.add_to(&mut said).map_err(broken)?;
        }
    }
    Ok(Ask {
        model: body.model,
        said,
        stream: body.stream.unwrap_or(false),
        usage: true,
        continuous: false,
        max_tokens: body.max_output_tokens,
        salt: body.cache_salt,
        cache: CacheFields {
            options: body.prompt_cache_options,
            retention: body.prompt_cache_retention,
            ..CacheFields::default()
        },
    })
}
