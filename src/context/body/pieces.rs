//! The smaller pieces of a body.

use super::Object;
use crate::chat::{Block, CacheMarker, Class, Content, Image, Origin, Span, Tool, ToolCall, Ttl};
use serde_json::Value;
use std::sync::Arc;

pub(super) fn image(item: &Object, place: &str) -> Result<Image, String> {
    let (media_type, data) = if let Some(source) = item.get("source").and_then(Value::as_object) {
        let media_type = string(source, "media_type", place)?;
        (media_type, string(source, "data", place)?)
    } else {
        let url = item
            .get("image_url")
            .map_or(&Value::Null, |url| &url["url"]);
        url.as_str()
            .and_then(|url| url.strip_prefix("data:")?.split_once(";base64,"))
            .ok_or_else(|| format!("`{place}`: a picture that is not given as base64"))?
    };
    Ok(Image {
        media_type: Arc::from(media_type),
        data: Span::new("image", Class::Turn, data),
    })
}

pub(super) fn openai_call(call: &Object, place: &str) -> Result<Block, String> {
    let function = call.get("function").unwrap_or(&Value::Null);
    let function = object(function, &format!("{place}.function"))?;
    Ok(Block {
        content: Content::Call(ToolCall {
            id: Arc::from(string(call, "id", place)?),
            name: called(string(function, "name", place)?),
            arguments: called(string(function, "arguments", place)?),
        }),
        marker: None,
    })
}

pub(super) fn called(text: &str) -> Span {
    Span::new(Origin::TOOL_CALL, Class::Turn, text)
}

pub(super) fn tool(value: &Object, place: &str) -> Result<Tool, String> {
    let inner = value.get("function").and_then(Value::as_object);
    let definition = inner.unwrap_or(value);
    let schema = definition
        .get("parameters")
        .or_else(|| definition.get("input_schema"));
    let span = |text: String| Span::new(Origin::TOOLS, Class::Static, text);
    let description = definition.get("description").and_then(Value::as_str);
    let description = description.map(|text| span(text.to_owned()));
    Ok(Tool {
        name: Arc::from(string(definition, "name", place)?),
        description: description.into_iter().collect(),
        parameters: span(json_of(schema)),
        marker: marker(value),
    })
}

pub(super) fn marker(value: &Object) -> Option<CacheMarker> {
    let control = value
        .get("cache_control")
        .filter(|control| !control.is_null());
    let explicit = value.get("prompt_cache_breakpoint");
    let ttl = match control {
        Some(control) if control["ttl"] == "1h" => Ttl::Hour,
        _ => Ttl::FiveMinutes,
    };
    (control.is_some() || explicit.is_some()).then_some(CacheMarker { ttl })
}

/// Compact JSON of a value; an empty object where there is none.
pub(super) fn json_of(value: Option<&Value>) -> String {
    value.map_or_else(|| "{}".to_owned(), Value::to_string)
}

pub(super) fn object<'v>(value: &'v Value, place: &str) -> Result<&'v Object, String> {
    value
        .as_object()
        .ok_or_else(|| format!("`{place}`: not an object"))
}

pub(super) fn string<'v>(value: &'v Object, name: &str, place: &str) -> Result<&'v str, String> {
    let found = value.get(name).and_then(Value::as_str);
    found.ok_or_else(|| format!("`{place}`: no string `{name}`"))
}

pub(super) fn list<'v>(value: &'v Object, name: &str) -> Result<Option<&'v Vec<Value>>, String> {
    match value.get(name) {
        None | Some(Value::Null) => Ok(None),
        Some(Value::Array(items)) => Ok(Some(items)),
        Some(_) => Err(format!("`{name}`: not a list")),
    }
}
