//! Tool definitions: from a JSON array to checked tools.
//!
//! Two forms are read, also mixed: OpenAI's (`{type: function, function: {...}}`)
//! and the flat one (`{name, description, parameters}`, or `input_schema` as
//! Anthropic has it). The order of keys within a schema is kept: it is part of
//! the prompt.

use super::names::nearest;
use crate::chat::{Class, Origin, Span, Tool};
use serde_json::{Map, Value};
use std::collections::BTreeSet;
use std::sync::Arc;

/// Schema of a tool that takes nothing.
const NO_PARAMETERS: &str = r#"{"type":"object","properties":{}}"#;

/// Keys of a definition. `strict` and `cache_control` are read over: they belong
/// to a request's options and markers, which a configuration decides.
const KEYS: &[&str] = &[
    "name",
    "description",
    "parameters",
    "input_schema",
    "type",
    "strict",
    "cache_control",
];

/// Reads the tools of a JSON text.
///
/// # Errors
///
/// A fragment that says what is wrong, with the number and name of the tool.
pub(super) fn parse(json: &str) -> Result<Arc<[Tool]>, String> {
    let value: Value =
        serde_json::from_str(json).map_err(|error| format!("are no JSON: {error}"))?;
    let Value::Array(items) = value else {
        return Err("are no JSON array".to_owned());
    };
    let mut names = BTreeSet::new();
    let mut tools = Vec::with_capacity(items.len());
    for (index, item) in items.into_iter().enumerate() {
        let number = index + 1;
        let tool = tool(item).map_err(|(name, said)| match name {
            Some(name) => format!("have a faulty entry: tool {number} `{name}` {said}"),
            None => format!("have a faulty entry: tool {number} {said}"),
        })?;
        if !names.insert(Arc::clone(&tool.name)) {
            return Err(format!("name `{}` twice", tool.name));
        }
        tools.push(tool);
    }
    Ok(tools.into())
}

type Fault = (Option<String>, String);

fn tool(item: Value) -> Result<Tool, Fault> {
    let mut fields = function(item).map_err(|said| (None, said))?;
    let name = match fields.remove("name") {
        Some(Value::String(name)) if is_name(&name) => name,
        Some(Value::String(name)) => {
            return Err((
                Some(name),
                "has a name that is not 1 to 64 letters, digits, `_` or `-`".to_owned(),
            ));
        }
        Some(_) => return Err((None, "has a name that is no string".to_owned())),
        None => return Err((None, "has no `name`".to_owned())),
    };
    rest(&name, fields).map_err(|said| (Some(name), said))
}

fn rest(name: &str, mut fields: Map<String, Value>) -> Result<Tool, String> {
    if let Some(unknown) = fields.keys().find(|key| !KEYS.contains(&key.as_str())) {
        let hint = nearest(unknown, KEYS.iter().copied())
            .map(|known| format!("; did you mean `{known}`?"))
            .unwrap_or_default();
        return Err(format!("has an unknown key `{unknown}`{hint}"));
    }
    let description = match fields.remove("description") {
        None | Some(Value::Null) => Vec::new(),
        Some(Value::String(text)) if text.is_empty() => Vec::new(),
        Some(Value::String(text)) => vec![Span::new(Origin::TOOLS, Class::Static, text)],
        Some(_) => return Err("has a `description` that is no string".to_owned()),
    };
    let parameters = match (fields.remove("parameters"), fields.remove("input_schema")) {
        (Some(_), Some(_)) => return Err("has both `parameters` and `input_schema`".to_owned()),
        (None, None) => NO_PARAMETERS.to_owned(),
        (Some(schema @ Value::Object(_)), None) | (None, Some(schema @ Value::Object(_))) => {
            schema.to_string()
        }
        _ => return Err("has parameters that are no JSON object".to_owned()),
    };
    Ok(Tool {
        name: Arc::from(name),
        description,
        parameters: Span::new(Origin::TOOLS, Class::Static, parameters),
        marker: None,
    })
}

/// The fields of the definition itself, whichever form it has.
fn function(item: Value) -> Result<Map<String, Value>, String> {
    let Value::Object(mut fields) = item else {
        return Err("is no JSON object".to_owned());
    };
    match fields.remove("function") {
        None => Ok(fields),
        Some(Value::Object(function)) => match fields.keys().find(|key| *key != "type") {
            Some(key) if key != "cache_control" => Err(format!("has `{key}` beside `function`")),
            _ => Ok(function),
        },
        Some(_) => Err("has a `function` that is no JSON object".to_owned()),
    }
}

/// What every provider takes as a tool's name.
fn is_name(name: &str) -> bool {
    (1..=64).contains(&name.len())
        && name
            .bytes()
            .all(|byte| byte.is_ascii_alphanumeric() || byte == b'_' || byte == b'-')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn both_forms_are_read_and_the_order_of_keys_is_kept() {
        let tools = parse(
            r#"[
                {"type": "function", "function": {"name": "search", "description": "Finds.",
                 "strict": true, "parameters": {"type": "object", "b": 1, "a": [1, 2]}}},
                {"name": "read-note", "input_schema": {"type": "object"}},
                {"name": "now"}
            ]"#,
        )
        .expect("tools");
        let read: Vec<_> = tools
            .iter()
            .map(|tool| (&*tool.name, tool.parameters.text.as_str()))
            .collect();
        assert_eq!(
            read,
            [
                ("search", r#"{"type":"object","b":1,"a":[1,2]}"#),
                ("read-note", r#"{"type":"object"}"#),
                ("now", NO_PARAMETERS),
            ]
        );
        assert_eq!(tools[0].description[0].text.as_str(), "Finds.");
        assert!(tools[1].description.is_empty());
    }

    #[test]
    fn faulty_tools_are_named() {
        let cases = [
            (
                "[",
                "are no JSON: EOF while parsing a list at line 1 column 1",
            ),
            ("{}", "are no JSON array"),
            ("[1]", "have a faulty entry: tool 1 is no JSON object"),
            ("[{}]", "have a faulty entry: tool 1 has no `name`"),
            (
                r#"[{"name":"a b"}]"#,
                "have a faulty entry: tool 1 `a b` has a name that is not 1 to 64 letters, digits, `_` or `-`",
            ),
            (
                r#"[{"name":"a"},{"name":"b","parametrs":{}}]"#,
                "have a faulty entry: tool 2 `b` has an unknown key `parametrs`; did you mean `parameters`?",
            ),
            (
                r#"[{"name":"a","parameters":[]}]"#,
                "have a faulty entry: tool 1 `a` has parameters that are no JSON object",
            ),
            (
                r#"[{"function":{"name":"a"},"name":"a"}]"#,
                "have a faulty entry: tool 1 has `name` beside `function`",
            ),
            (r#"[{"name":"a"},{"name":"a"}]"#, "name `a` twice"),
        ];
        for (json, expected) in cases {
            assert_eq!(parse(json), Err(expected.to_owned()), "{json}");
        }
    }
}
