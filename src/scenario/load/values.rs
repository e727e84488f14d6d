//! Values of steps that are written in more than one way.

use super::texts::TextFile;
use super::yaml::At;
use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::Deserialize;
use serde::de::value::MapAccessDeserializer;
use serde::de::{Deserializer, Error, MapAccess, SeqAccess, Unexpected, Visitor};
use std::borrow::Cow;
use std::fmt;

/// Nothing to say: `{}`, or nothing at all.
#[derive(Debug)]
pub(in crate::scenario) struct NothingFile;

struct NothingVisitor;

impl<'de> Visitor<'de> for NothingVisitor {
    type Value = NothingFile;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("`{}`")
    }

    fn visit_unit<E: Error>(self) -> Result<Self::Value, E> {
        Ok(NothingFile)
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Self::Value, A::Error> {
        match map.next_key::<String>()? {
            None => Ok(NothingFile),
            Some(key) => Err(A::Error::unknown_field(&key, &[])),
        }
    }
}

impl<'de> Deserialize<'de> for NothingFile {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(NothingVisitor)
    }
}

impl JsonSchema for NothingFile {
    fn schema_name() -> Cow<'static, str> {
        "Nothing".into()
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        json_schema!({"type": ["object", "null"], "maxProperties": 0})
    }
}

/// An edit of one note: `touch`, `delete`, or a map of one of the others.
#[derive(Debug)]
pub(in crate::scenario) enum NoteEditFile {
    /// Only the modification time changes.
    Touch,
    /// The note goes.
    Delete,
    /// One of the others.
    Map(NoteEditMap),
}

/// Exactly one of `write` and `move`.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(in crate::scenario) struct NoteEditMap {
    /// New text; creates the note where it does not exist.
    pub(in crate::scenario) write: Option<At<TextFile>>,
    /// The note gets another path.
    #[serde(rename = "move")]
    pub(in crate::scenario) to: Option<At<String>>,
}

struct NoteEditVisitor;

impl<'de> Visitor<'de> for NoteEditVisitor {
    type Value = NoteEditFile;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("`touch`, `delete`, `{write: ...}` or `{move: ...}`")
    }

    fn visit_str<E: Error>(self, word: &str) -> Result<Self::Value, E> {
        match word {
            "touch" => Ok(NoteEditFile::Touch),
            "delete" => Ok(NoteEditFile::Delete),
            _ => Err(E::unknown_variant(word, &["touch", "delete"])),
        }
    }

    fn visit_map<A: MapAccess<'de>>(self, map: A) -> Result<Self::Value, A::Error> {
        NoteEditMap::deserialize(MapAccessDeserializer::new(map)).map(NoteEditFile::Map)
    }
}

impl<'de> Deserialize<'de> for NoteEditFile {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(NoteEditVisitor)
    }
}

impl JsonSchema for NoteEditFile {
    fn schema_name() -> Cow<'static, str> {
        "NoteEdit".into()
    }

    fn json_schema(generator: &mut SchemaGenerator) -> Schema {
        let map = generator.subschema_for::<NoteEditMap>();
        json_schema!({"anyOf": [{"enum": ["touch", "delete"]}, map]})
    }
}

/// A turn by its number, or `last`.
#[derive(Clone, Copy, Debug)]
pub(in crate::scenario) enum TurnFile {
    /// Counted from 1.
    Number(u64),
    /// The newest.
    Last,
}

struct TurnVisitor;

impl Visitor<'_> for TurnVisitor {
    type Value = TurnFile;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("the number of a turn, or `last`")
    }

    fn visit_u64<E: Error>(self, number: u64) -> Result<Self::Value, E> {
        Ok(TurnFile::Number(number))
    }

    fn visit_str<E: Error>(self, text: &str) -> Result<Self::Value, E> {
        match text {
            "last" => Ok(TurnFile::Last),
            _ => Err(E::invalid_value(Unexpected::Str(text), &self)),
        }
    }
}

impl<'de> Deserialize<'de> for TurnFile {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(TurnVisitor)
    }
}

impl JsonSchema for TurnFile {
    fn schema_name() -> Cow<'static, str> {
        "Turn".into()
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        json_schema!({"anyOf": [{"type": "integer", "minimum": 1}, {"const": "last"}]})
    }
}

struct LinesVisitor;

impl<'de> Visitor<'de> for LinesVisitor {
    type Value = LinesFile;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("lines like `[3, 9]`, `3-9` or `3`")
    }

    fn visit_u64<E: Error>(self, line: u64) -> Result<Self::Value, E> {
        u32::try_from(line)
            .map(|line| LinesFile(line, line))
            .map_err(|_| E::invalid_value(Unexpected::Unsigned(line), &self))
    }

    fn visit_str<E: Error>(self, text: &str) -> Result<Self::Value, E> {
        text.split_once('-')
            .and_then(|(first, last)| {
                let lines = (first.trim().parse().ok()?, last.trim().parse().ok()?);
                Some(LinesFile(lines.0, lines.1))
            })
            .ok_or_else(|| E::invalid_value(Unexpected::Str(text), &self))
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut list: A) -> Result<Self::Value, A::Error> {
        let first = list.next_element()?;
        let last = list.next_element()?;
        let more: Option<u32> = list.next_element()?;
        match (first, last, more) {
            (Some(first), Some(last), None) => Ok(LinesFile(first, last)),
            _ => Err(A::Error::invalid_value(Unexpected::Seq, &self)),
        }
    }
}

impl<'de> Deserialize<'de> for LinesFile {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(LinesVisitor)
    }
}

impl JsonSchema for LinesFile {
    fn schema_name() -> Cow<'static, str> {
        "Lines".into()
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        json_schema!({"anyOf": [
            {"type": "integer", "minimum": 1},
            {"type": "string", "pattern": "^ *[0-9]+ *- *[0-9]+ *$"},
            {"type": "array", "items": {"type": "integer", "minimum": 1}, "minItems": 2, "maxItems": 2},
        ]})
    }
}

/// First and last line.
#[derive(Clone, Copy, Debug)]
pub(in crate::scenario) struct LinesFile(pub(in crate::scenario) u32, pub(in crate::scenario) u32);
