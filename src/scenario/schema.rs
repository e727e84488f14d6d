//! The grammar as a JSON schema, for editors.

use super::load::grammar::ScenarioFile;
use serde_json::Value;

/// JSON schema of scenario files: what `prefixbench schema` prints, and what
/// `scenarios/schema.json` holds.
pub fn schema() -> Value {
    titled(schemars::schema_for!(ScenarioFile).to_value())
}

/// The schema with what the file is in front, for a person who opens it.
pub(super) fn titled(mut schema: Value) -> Value {
    if let Value::Object(fields) = &mut schema {
        for key in ["title", "$schema"] {
            if let Some(value) = fields.shift_remove(key) {
                fields.shift_insert(0, key.to_owned(), value);
            }
        }
    }
    schema
}

/// The schema as `scenarios/schema.json` holds it: indented, with a line end.
pub fn schema_text() -> String {
    format!("{:#}\n", schema())
}

/// Kinds of steps and what each does, as the schema has them, for lists.
pub fn step_kinds() -> Vec<(String, String)> {
    let schema = schema();
    let kinds = schema
        .pointer("/$defs/Step/oneOf")
        .and_then(Value::as_array);
    kinds
        .into_iter()
        .flatten()
        .filter_map(|kind| {
            let name = kind.pointer("/required/0")?.as_str()?;
            let about = kind.get("description")?.as_str()?;
            Some((name.to_owned(), about.to_owned()))
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_kind_of_step_is_listed_with_what_it_does() {
        let kinds = step_kinds();
        let names: Vec<&str> = kinds.iter().map(|(name, _)| name.as_str()).collect();
        assert_eq!(
            names,
            [
                "user",
                "set",
                "memory",
                "note",
                "url",
                "tab",
                "wait",
                "idle",
                "compact",
                "regenerate",
                "edit",
                "branch",
                "approve",
                "system",
                "tools",
                "model",
                "configuration",
                "reload",
                "new_chat",
                "subagent",
            ]
        );
        assert!(kinds.iter().all(|(_, about)| !about.is_empty()));
    }
}
