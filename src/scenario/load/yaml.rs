//! Reads YAML, and knows where each value stands.
//!
//! Invariants: every value that a later check may refuse carries the place where
//! it stands; no error of the YAML crate leaves this module untranslated.

use super::translate::translate;
use crate::scenario::error::{Mistake, ScenarioError};
use miette::{NamedSource, SourceSpan};
use schemars::{JsonSchema, Schema, SchemaGenerator};
use serde::de::{Deserialize, DeserializeOwned, Deserializer, MapAccess, Visitor};
use serde_saphyr::{Location, Spanned};
use std::borrow::Cow;
use std::fmt;
use std::marker::PhantomData;
use std::ops::Range;
use std::sync::Arc;

/// A scenario's text, shared with every error about it.
#[derive(Clone)]
pub(crate) struct Source {
    named: Arc<NamedSource<String>>,
}

impl Source {
    /// `name` is what error messages call the file.
    pub(crate) fn new(name: &str, text: String) -> Self {
        Self {
            named: Arc::new(NamedSource::new(name, text)),
        }
    }

    /// The whole text.
    pub(crate) fn text(&self) -> &str {
        self.named.inner()
    }

    /// The text at `place`; empty where that is no place of it.
    pub(crate) fn slice(&self, place: &Range<usize>) -> &str {
        self.text().get(place.clone()).unwrap_or_default()
    }

    /// An error about `place`.
    pub(crate) fn error(&self, place: Range<usize>, mistake: Mistake) -> ScenarioError {
        ScenarioError::Mistake {
            mistake: Box::new(mistake),
            text: Arc::clone(&self.named),
            at: SourceSpan::from(place),
        }
    }
}

/// A value and where it stands.
#[derive(Clone, Debug)]
pub(crate) struct At<T> {
    /// The value.
    pub(crate) value: T,
    /// Bytes of the source; of a map or list, of its beginning.
    pub(crate) place: Range<usize>,
    /// Line, counted from 1. Of an alias: where it is used.
    pub(crate) line: usize,
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
pub(crate) struct Entries<T>(pub(crate) Vec<(At<String>, T)>);

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
pub(crate) fn read<T: DeserializeOwned>(source: &Source) -> Result<T, ScenarioError> {
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
