//! Results as JSON: `summary.json`, and its schema.

use crate::analysis::Results;
use schemars::generate::SchemaSettings;

/// The results as indented JSON that ends with a line end. `schema` names the
/// form and its version.
///
/// # Errors
///
/// What the serializer says; results as they are made can always be written.
pub fn summary_json(results: &Results) -> serde_json::Result<String> {
    let mut text = serde_json::to_string_pretty(results)?;
    text.push('\n');
    Ok(text)
}

/// The JSON schema of `summary.json`, indented, with a line end: what
/// `prefixbench schema --summary` prints, and what `docs/summary.schema.json` holds.
pub fn summary_schema() -> String {
    let settings = SchemaSettings::draft2020_12().for_serialize();
    let schema = settings.into_generator().into_root_schema_for::<Results>();
    format!("{:#}\n", schema.to_value())
}
