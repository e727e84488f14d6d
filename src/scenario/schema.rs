//! The grammar as a JSON schema, for editors.

use super::load::grammar::ScenarioFile;
use serde_json::Value;

/// JSON schema of scenario files: what `prefixbench schema` prints, and what
/// `scenarios/schema.json` holds.
pub fn schema() -> Value {
    let mut schema = schemars::schema_for!(ScenarioFile).to_value();
    // What the file is comes first, for a person who opens it.
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
