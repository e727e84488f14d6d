//! Results as JSON: `summary.json`.

use crate::analysis::Results;

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
