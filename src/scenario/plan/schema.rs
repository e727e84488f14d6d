//! The grammar of plans as a JSON schema, for editors.

use super::grammar::PlanFile;
use crate::scenario::schema::titled;
use serde_json::Value;

/// JSON schema of plan files: what `prefixbench schema --plan` prints, and what
/// `scenarios/plans/schema.json` holds.
pub fn schema() -> Value {
    titled(schemars::schema_for!(PlanFile).to_value())
}

/// The schema as `scenarios/plans/schema.json` holds it: indented, with a line end.
pub fn schema_text() -> String {
    format!("{:#}\n", schema())
}
