//! `/v1/messages`.

use super::parts::{Content, Marker, Part, Tool, role, tools};
use super::{Ask, CacheFields, Said, json};
use crate::chat::Role;
use crate::server::refusal::Refusal;
use serde::Deserialize;
use serde_json::value::RawValue;
use std::borrow::Cow;

#[derive(Deserialize)]
struct Body<'a> {
    #[serde(default)]
    model: Option<String>,
    #[serde(default, borrow)]
    system: Option<&'a RawValue>,
    #[serde(default, borrow)]
    messages: Option<Vec<Message<'a>>>,
    #[serde(default, borrow)]
    tools: Option<Vec<Tool<'a>>>,
    #[serde(default)]
    stream: Option<bool>,
    #[serde(default)]
    max_tokens: Option<u32>,
    #[serde(default)]
    cache_salt: Option<String>,
    /// At the top: a marker behind the last block.
    #[serde(default, borrow)]
    cache_control: Option<Marker<'a>>,
}

#[derive(Deserialize)]
struct Message<'a> {
    #[serde(borrow)]
    role: Cow<'a, str>,
    #[serde(default, borrow)]
    content: Option<&'a RawValue>,
}

impl Message<'_> {
    /// Adds the message; each tool result in it becomes one of its own.
    fn add_to(&self, all: &mut Vec<Said>) -> serde_json::Result<()> {
        let role = role(&self.role);
        let mut said = Said::new(role);
        let parts = match Content::read(self.content)? {
            Content::Text(text) => {
                said.add(&text, false);
                all.push(said);
                return Ok(());
            }
            Content::Parts(parts) => parts,
        };
        let mut calls = Said::new(role);
        let mut results = 0;
        for part in &parts {
            match part.kind.as_ref() {
                "tool_result" => {
                    if !said.text.is_empty() {
                        all.push(std::mem::replace(&mut said, Said::new(role)));
                    }
                    all.push(result(part)?);
                    results += 1;
                }
                "tool_use" => {
                    calls.add(part.name.as_deref().unwrap_or_default(), false);
                    calls.add(part.input.map_or("", RawValue::get), part.mark());
                }
                _ => said.add(part.said(), part.mark()),
            }
        }
        let behind = said.text.len();
        said.text.push_str(&calls.text);
        let moved = |marks: &[usize]| marks.iter().map(|mark| behind + mark).collect::<Vec<_>>();
        said.marks.extend(moved(&calls.marks));
        said.long_marks.extend(moved(&calls.long_marks));
        if results == 0 || !said.text.is_empty() {
            all.push(said);
        }
        Ok(())
    }
}

fn result(part: &Part<'_>) -> serde_json::Result<Said> {
    let mut said = Said::new(Role::Tool);
    Content::read(part.content)?.add_to(&mut said);
    said.mark(part.mark());
    Ok(said)
}

pub(super) fn read(body: &[u8]) -> Result<Ask, Refusal> {
    let body: Body<'_> = json(body)?;
    let messages = body
        .messages
        .ok_or(Refusal::Missing { field: "messages" })?;
    let max_tokens = body.max_tokens.ok_or(Refusal::Missing {
        field: "max_tokens",
    })?;
    let broken = |at: usize, place: &str, error: serde_json::Error| Refusal::Body {
        at,
        reason: format!("{place}: {error}"),
    };
    let mut said: Vec<Said> = tools(body.tools.as_deref().unwrap_or_default())
        .into_iter()
        .collect();
    if body.system.is_some() {
        let mut system = Said::new(Role::System);
        let content = Content::read(body.system);
        content
            .map_err(|error| broken(0, "system", error))?
            .add_to(&mut system);
        said.push(system);
    }
    for (index, message) in messages.iter().enumerate() {
        message
            .add_to(&mut said)
            .map_err(|error| broken(index, &format!("messages[{index}].content"), error))?;
    }
    if let Some(last) = said.last_mut() {
        last.mark(Marker::of(body.cache_control.as_ref()));
    }
    Ok(Ask {
        model: body.model,
        said,
        stream: body.stream.unwrap_or(false),
        usage: true,
        continuous: false,
        max_tokens: Some(max_tokens),
        salt: body.cache_salt,
        cache: CacheFields::default(),
    })
}
