//! What the bodies of all dialects are made of.

use super::{Mark, Said};
use crate::chat::Role;
use serde::Deserialize;
use serde_json::value::RawValue;
use std::borrow::Cow;

/// A content part or block of any dialect; what it does not have is absent.
#[derive(Deserialize)]
pub(super) struct Part<'a> {
    #[serde(rename = "type", default, borrow)]
    pub(super) kind: Cow<'a, str>,
    #[serde(default, borrow)]
    pub(super) text: Option<Cow<'a, str>>,
    #[serde(default, borrow)]
    pub(super) thinking: Option<Cow<'a, str>>,
    #[serde(default, borrow)]
    pub(super) refusal: Option<Cow<'a, str>>,
    #[serde(default, borrow)]
    pub(super) name: Option<Cow<'a, str>>,
    #[serde(default, borrow)]
    pub(super) input: Option<&'a RawValue>,
    #[serde(default, borrow)]
    pub(super) content: Option<&'a RawValue>,
    #[serde(default, borrow)]
    cache_control: Option<Marker<'a>>,
    #[serde(default, borrow)]
    prompt_cache_breakpoint: Option<Marker<'a>>,
}

/// A cache marker of any dialect.
#[derive(Deserialize)]
pub(super) struct Marker<'a> {
    #[serde(default, borrow)]
    ttl: Option<Cow<'a, str>>,
}

impl Marker<'_> {
    /// What the marker asks for; nothing where there is none.
    pub(super) fn of(marker: Option<&Self>) -> Mark {
        match marker.map(|marker| marker.ttl.as_deref()) {
            None => Mark::None,
            Some(Some("1h")) => Mark::Long,
            Some(_) => Mark::Usual,
        }
    }
}

impl Part<'_> {
    pub(super) fn mark(&self) -> Mark {
        let own = self.cache_control.as_ref();
        Marker::of(own.or(self.prompt_cache_breakpoint.as_ref()))
    }

    /// Its text, if it is one of text, thought or refusal.
    pub(super) fn said(&self) -> &str {
        let text = self.text.as_ref().or(self.thinking.as_ref());
        text.or(self.refusal.as_ref()).map_or("", Cow::as_ref)
    }
}

/// Content that is a string, a list of parts, null or absent.
pub(super) enum Content<'a> {
    Text(Cow<'a, str>),
    Parts(Vec<Part<'a>>),
}

impl<'a> Content<'a> {
    pub(super) fn read(raw: Option<&'a RawValue>) -> serde_json::Result<Self> {
        let raw = raw.map_or("null", RawValue::get);
        match raw.as_bytes().first() {
            Some(b'"') => serde_json::from_str(raw).map(Self::Text),
            Some(b'n') => Ok(Self::Parts(Vec::new())),
            _ => serde_json::from_str(raw).map(Self::Parts),
        }
    }

    /// Adds all text, and marks, to a message.
    pub(super) fn add_to(&self, said: &mut Said) {
        match self {
            Self::Text(text) => said.add(text, false),
            Self::Parts(parts) => {
                for part in parts {
                    said.add(part.said(), part.mark());
                }
            }
        }
    }
}

/// A tool definition of any dialect.
#[derive(Deserialize)]
pub(super) struct Tool<'a> {
    /// Chat nests the definition; the others do not.
    #[serde(default, borrow)]
    pub(super) function: Option<Box<Self>>,
    #[serde(default, borrow)]
    name: Cow<'a, str>,
    #[serde(default, borrow)]
    description: Option<Cow<'a, str>>,
    /// Gemini has two fields, one for a schema of its own and one for JSON Schema.
    #[serde(default, borrow, alias = "parametersJsonSchema")]
    parameters: Option<&'a RawValue>,
    #[serde(default, borrow)]
    input_schema: Option<&'a RawValue>,
    #[serde(default, borrow)]
    cache_control: Option<Marker<'a>>,
}

impl<'a> Tool<'a> {
    /// A definition that was read elsewhere.
    pub(super) fn new(
        name: &'a str,
        description: &'a str,
        parameters: Option<&'a RawValue>,
    ) -> Self {
        Self {
            function: None,
            name: Cow::Borrowed(name),
            description: Some(Cow::Borrowed(description)),
            parameters,
            input_schema: None,
            cache_control: None,
        }
    }
}

/// The first message of a conversation with tools; `None` without any.
pub(super) fn tools(tools: &[Tool<'_>]) -> Option<Said> {
    let mut said = Said::new(Role::Tools);
    for tool in tools {
        let inner = tool.function.as_deref().unwrap_or(tool);
        said.add(&inner.name, false);
        said.add(inner.description.as_deref().unwrap_or_default(), false);
        let schema = inner.parameters.or(inner.input_schema);
        let marker = tool.cache_control.as_ref().or(inner.cache_control.as_ref());
        said.add(schema.map_or("", RawValue::get), Marker::of(marker));
    }
    (!tools.is_empty()).then_some(said)
}

/// The role of a message; an unknown one is rendered as the person's.
pub(super) fn role(name: &str) -> Role {
    match name {
        "system" | "developer" => Role::System,
        "assistant" => Role::Assistant,
        "tool" | "function" => Role::Tool,
        _ => Role::User,
    }
}
