//! Errors of the YAML crate in the words of a scenario's writer.

use super::steps::SECOND_KIND;
use crate::scenario::error::Mistake;
use serde_saphyr::Error as YamlError;

/// What an error of the YAML crate means to the writer of a scenario; `found` is
/// the text that it points at.
pub(super) fn translate(error: &YamlError, found: &str) -> Mistake {
    match error {
        YamlError::SerdeUnknownField { expected, .. } if expected == SECOND_KIND => {
            Mistake::TwoKinds
        }
        YamlError::SerdeUnknownField {
            field, expected, ..
        } => Mistake::UnknownKey {
            name: field.clone(),
            known: expected.clone(),
        },
        YamlError::SerdeUnknownVariant {
            variant, expected, ..
        } => {
            let (name, known) = (variant.clone(), expected.clone());
            if found.is_empty() {
                Mistake::WrongType {
                    expected: "a name".to_owned(),
                    found: Some("nothing".to_owned()),
                }
            } else if known.contains(&"regenerate") {
                Mistake::UnknownStep { name, known }
            } else {
                Mistake::UnknownWord { name, known }
            }
        }
        YamlError::SerdeMissingField { field, .. } => Mistake::Missing { name: field },
        YamlError::DuplicateMappingKey { key, .. } => Mistake::DuplicateKey {
            name: key.clone().unwrap_or_else(|| found.to_owned()),
        },
        YamlError::SerdeInvalidType {
            unexpected,
            expected,
            ..
        }
        | YamlError::SerdeInvalidValue {
            unexpected,
            expected,
            ..
        } => Mistake::WrongType {
            expected: expected.clone(),
            found: Some(node(unexpected).to_owned()),
        },
        YamlError::InvalidScalar { ty, .. } => Mistake::WrongType {
            expected: scalar(ty).to_owned(),
            found: short(found),
        },
        YamlError::NullIntoString { .. } => Mistake::WrongType {
            expected: "a text".to_owned(),
            found: Some("nothing".to_owned()),
        },
        YamlError::Unexpected { expected, .. } => Mistake::WrongType {
            expected: node(expected).to_owned(),
            found: short(found),
        },
        YamlError::ExternallyTaggedEnumExpectedScalarOrMapping { .. }
        | YamlError::UnexpectedValueForUnitEnumVariant { .. } => Mistake::WrongType {
            expected: "a map with one key".to_owned(),
            found: short(found),
        },
        YamlError::AliasError { error, .. } => translate(error, found),
        YamlError::Budget { .. } => Mistake::TooLarge {
            what: "the document".to_owned(),
            limit: "a million values, 64 levels deep".to_owned(),
        },
        YamlError::MultipleDocuments { .. } => Mistake::Yaml {
            said: "a second document; a file holds one scenario".to_owned(),
        },
        YamlError::Eof { .. } => Mistake::Yaml {
            said: "the file is empty or ends in the middle".to_owned(),
        },
        YamlError::Message { msg, .. } => Mistake::Yaml { said: msg.clone() },
        other => Mistake::Yaml {
            said: plain(&other.to_string()),
        },
    }
}

fn scalar(ty: &str) -> &str {
    match ty {
        "boolean" => "on or off",
        "floating point" => "a number",
        "enum variant" => "a name",
        _ => "a whole number",
    }
}

fn node(expected: &str) -> &str {
    match expected {
        "mapping start" | "mapping" | "map" => "a map",
        "sequence start" | "sequence" => "a list",
        "unit value" => "nothing",
        "string scalar" | "scalar" => "a single value",
        other => other,
    }
}

/// What stands there, for a message; `None` where nothing does.
fn short(found: &str) -> Option<String> {
    match found.chars().next()? {
        '{' => return Some("a map".to_owned()),
        '[' | '-' => return Some("a list".to_owned()),
        _ => {}
    }
    let line = found.lines().next().unwrap_or_default().trim();
    let cut: String = line.chars().take(40).collect();
    (!cut.is_empty()).then(|| format!("`{cut}`"))
}

/// The message without its place, which the picture shows.
fn plain(message: &str) -> String {
    let line = message.lines().next().unwrap_or_default();
    let cut = line.find(" at line ").map_or(line, |at| &line[..at]);
    cut.trim_start_matches("error: ").to_owned()
}
