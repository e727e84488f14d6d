//! The one place that names the YAML crate.
//!
//! Invariants: every value that a later check may refuse carries the place where
//! it stands; no error of the YAML crate leaves this file untranslated.

use super::steps::SECOND_KIND;
use crate::scenario::error::{Mistake, ScenarioError};
use miette::{NamedSource, SourceSpan};
use schemars::{JsonSchema, Schema, SchemaGenerator};
use serde::de::{Deserialize, DeserializeOwned, Deserializer, MapAccess, Visitor};
use serde_saphyr::{Error as YamlError, Location, Spanned};
use std::borrow::Cow;
use std::fmt;
use std::marker::PhantomData;
use std::ops::Range;
use std::sync::Arc;

/// A scenario's text, shared with every error about it.
#[derive(Clone)]
pub(in crate::scenario) struct Source {
    named: Arc<NamedSource<String>>,
}

impl Source {
    /// `name` is what error messages call the file.
    pub(in crate::scenario) fn new(name: &str, text: String) -> Self {
        Self {
            named: Arc::new(NamedSource::new(name, text)),
        }
    }

    /// The whole text.
    pub(in crate::scenario) fn text(&self) -> &str {
        self.named.inner()
    }

    /// The text at `place`; empty where that is no place of it.
    pub(in crate::scenario) fn slice(&self, place: &Range<usize>) -> &str {
        self.text().get(place.clone()).unwrap_or_default()
    }

    /// An error about `place`.
    pub(in crate::scenario) fn error(
        &self,
        place: Range<usize>,
        mistake: Mistake,
    ) -> ScenarioError {
        ScenarioError::Mistake {
            mistake: Box::new(mistake),
            text: Arc::clone(&self.named),
            at: SourceSpan::from(place),
        }
    }
}

/// A value and where it stands.
#[derive(Clone, Debug)]
pub(in crate::scenario) struct At<T> {
    /// The value.
    pub(in crate::scenario) value: T,
    /// Bytes of the source; of a map or list, of its beginning.
    pub(in crate::scenario) place: Range<usize>,
    /// Line, counted from 1. Of an alias: where it is used.
    pub(in crate::scenario) line: usize,
}

impl<'de, T: Deserialize<'de>> Deserialize<'de> for At<T> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let Spanned {
            value,
            referenced,
            defined,
        } = Spanned::deserialize(deserializer)?;
        Ok(Self {
            value,
            place: place(&defined).unwrap_or(0..0),
            line: usize::try_from(referenced.line()).unwrap_or_default(),
        })
    }
}

impl<T: JsonSchema> JsonSchema for At<T> {
    fn inline_schema() -> bool {
        T::inline_schema()
    }

    fn schema_name() -> Cow<'static, str> {
        T::schema_name()
    }

    fn schema_id() -> Cow<'static, str> {
        T::schema_id()
    }

    fn json_schema(generator: &mut SchemaGenerator) -> Schema {
        T::json_schema(generator)
    }
}

/// A map with keys of the writer's own, in the order in which they stand.
#[derive(Clone, Debug)]
pub(in crate::scenario) struct Entries<T>(pub(in crate::scenario) Vec<(At<String>, T)>);

impl<T> Default for Entries<T> {
    fn default() -> Self {
        Self(Vec::new())
    }
}

impl<'de, T: Deserialize<'de>> Deserialize<'de> for Entries<T> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_map(EntriesVisitor(PhantomData))
    }
}

pub(super) struct EntriesVisitor<T>(pub(super) PhantomData<T>);

impl<'de, T: Deserialize<'de>> Visitor<'de> for EntriesVisitor<T> {
    type Value = Entries<T>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a map")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Self::Value, A::Error> {
        let mut entries = Vec::new();
        while let Some(entry) = map.next_entry()? {
            entries.push(entry);
        }
        Ok(Entries(entries))
    }
}

impl<T: JsonSchema> JsonSchema for Entries<T> {
    fn inline_schema() -> bool {
        true
    }

    fn schema_name() -> Cow<'static, str> {
        format!("Entries_of_{}", T::schema_name()).into()
    }

    fn json_schema(generator: &mut SchemaGenerator) -> Schema {
        let value = generator.subschema_for::<T>();
        schemars::json_schema!({"type": "object", "additionalProperties": value})
    }
}

/// Reads one YAML document.
///
/// # Errors
///
/// [`ScenarioError::Mistake`] with the place where the text is not YAML or not a
/// `T`.
pub(in crate::scenario) fn read<T: DeserializeOwned>(source: &Source) -> Result<T, ScenarioError> {
    let options = serde_saphyr::options! {
        budget: serde_saphyr::budget! {
            max_documents: 2,
            max_events: 4_000_000,
            max_nodes: 1_000_000,
        },
        non_finite_float_policy: serde_saphyr::options::NonFiniteFloatPolicy::AsString,
        with_snippet: false,
    };
    serde_saphyr::from_str_with_options(source.text(), options).map_err(|error| {
        let error = error.without_snippet();
        let place = error
            .location()
            .and_then(|location| place(&location).or_else(|| line_and_column(&location, source)))
            .unwrap_or(0..0);
        let mistake = translate(error, source.slice(&place));
        source.error(clamped(place, source.text()), mistake)
    })
}

/// An empty place is shown as one character, and none reaches beyond the text.
fn clamped(place: Range<usize>, text: &str) -> Range<usize> {
    let start = place.start.min(text.len());
    let end = place.end.clamp(start, text.len());
    start..end
}

fn place(location: &Location) -> Option<Range<usize>> {
    let span = location.span();
    let start = usize::try_from(span.byte_offset()?).ok()?;
    let length = usize::try_from(span.byte_len()?).ok()?;
    Some(start..start.saturating_add(length))
}

/// Where the parser says only line and column, in characters from 1.
fn line_and_column(location: &Location, source: &Source) -> Option<Range<usize>> {
    let line = usize::try_from(location.line()).ok()?.checked_sub(1)?;
    let column = usize::try_from(location.column()).ok()?.checked_sub(1)?;
    let text = source.text();
    let start: usize = text.split_inclusive('\n').take(line).map(str::len).sum();
    let behind = text.get(start..)?.lines().next().unwrap_or_default();
    let within = behind.char_indices().nth(column);
    let at = start + within.map_or(behind.len(), |(at, _)| at);
    Some(at..at)
}

/// What an error of the YAML crate means to the writer of a scenario; `found` is
/// the text that it points at.
fn translate(error: &YamlError, found: &str) -> Mistake {
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
