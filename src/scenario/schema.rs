//! The grammar as a JSON schema, for editors.

use super::load::grammar::ScenarioFile;
use serde_json::Value;

/// JSON schema of scenario files: what `prefixbench schema` prints, and what
/// `scenarios/schema.json` holds.
pub fn schema() -> Value {
    schemars::schema_for!(ScenarioFile).to_value()
}
