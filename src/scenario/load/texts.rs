//! TEXT as types: a string, a file, generated text, or a switch beside them.

use super::yaml::{At, Entries, EntriesVisitor};
use crate::scenario::generate::Kind;
use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::Deserialize;
use serde::de::value::MapAccessDeserializer;
use serde::de::{Deserializer, Error, MapAccess, Visitor};
use std::borrow::Cow;
use std::fmt;
use std::marker::PhantomData;

/// How a text is made.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(in crate::scenario) struct GenerateFile {
    /// Number of tokens in `o200k_base`.
    pub(in crate::scenario) tokens: At<u64>,
    /// Texts of different seeds have nothing in common.
    #[serde(default)]
    pub(in crate::scenario) seed: u64,
    /// What it looks like.
    #[serde(default)]
    pub(in crate::scenario) kind: Kind,
}

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(in crate::scenario) struct TextMap {
    /// A file beside the scenario.
    pub(in crate::scenario) file: Option<At<String>>,
    /// Generated text.
    pub(in crate::scenario) generate: Option<GenerateFile>,
}

/// A text, or where it comes from.
#[derive(Debug)]
pub(in crate::scenario) enum TextFile {
    /// As it stands.
    Literal(String),
    /// As it stands in the source, where YAML reads a number or a switch.
    Plain,
    /// By a file or generated.
    Map(TextMap),
}

/// Of a source: on, off, or a text.
#[derive(Debug)]
pub(in crate::scenario) enum SwitchFile {
    /// On or off.
    Switch(bool),
    /// A text.
    Text(TextFile),
}

/// On, off, or texts by key.
#[derive(Debug)]
pub(in crate::scenario) enum SwitchOrEntries {
    /// On or off.
    Switch(bool),
    /// Texts by key.
    Entries(Entries<At<TextFile>>),
}

/// A note: a text, or a map of its text and tags.
#[derive(Debug)]
pub(in crate::scenario) enum NoteFile {
    /// Only a text.
    Text(TextFile),
    /// With tags.
    Map(NoteMap),
}

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(in crate::scenario) struct NoteMap {
    /// The text.
    pub(in crate::scenario) text: Option<At<TextFile>>,
    /// A file beside the scenario.
    pub(in crate::scenario) file: Option<At<String>>,
    /// Generated text.
    pub(in crate::scenario) generate: Option<GenerateFile>,
    /// Tags, without `#`.
    #[serde(default)]
    pub(in crate::scenario) tags: Vec<At<String>>,
}

const TEXT: &str = "a text, `{file: ...}` or `{generate: ...}`";

/// Visits what is a text in YAML's eyes or only in the writer's (a number).
macro_rules! scalars {
    ($plain:expr, $literal:expr) => {
        fn visit_i64<E: Error>(self, _: i64) -> Result<Self::Value, E> {
            Ok($plain)
        }
        fn visit_u64<E: Error>(self, _: u64) -> Result<Self::Value, E> {
            Ok($plain)
        }
        fn visit_f64<E: Error>(self, _: f64) -> Result<Self::Value, E> {
            Ok($plain)
        }
        fn visit_str<E: Error>(self, text: &str) -> Result<Self::Value, E> {
            Ok($literal(text))
        }
    };
}

struct TextVisitor;

impl<'de> Visitor<'de> for TextVisitor {
    type Value = TextFile;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(TEXT)
    }

    scalars!(TextFile::Plain, |text: &str| TextFile::Literal(
        text.to_owned()
    ));

    fn visit_bool<E: Error>(self, _: bool) -> Result<Self::Value, E> {
        Ok(TextFile::Plain)
    }

    fn visit_map<A: MapAccess<'de>>(self, map: A) -> Result<Self::Value, A::Error> {
        TextMap::deserialize(MapAccessDeserializer::new(map)).map(TextFile::Map)
    }
}

struct SwitchVisitor;

impl<'de> Visitor<'de> for SwitchVisitor {
    type Value = SwitchFile;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "on, off, {TEXT}")
    }

    scalars!(SwitchFile::Text(TextFile::Plain), |text: &str| match text {
        // Quoted by a writer who is wary of YAML's switches.
        "on" => SwitchFile::Switch(true),
        "off" => SwitchFile::Switch(false),
        _ => SwitchFile::Text(TextFile::Literal(text.to_owned())),
    });

    fn visit_bool<E: Error>(self, on: bool) -> Result<Self::Value, E> {
        Ok(SwitchFile::Switch(on))
    }

    fn visit_map<A: MapAccess<'de>>(self, map: A) -> Result<Self::Value, A::Error> {
        TextVisitor.visit_map(map).map(SwitchFile::Text)
    }
}

struct SwitchOrEntriesVisitor;

impl<'de> Visitor<'de> for SwitchOrEntriesVisitor {
    type Value = SwitchOrEntries;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("on, off, or a map of texts")
    }

    fn visit_bool<E: Error>(self, on: bool) -> Result<Self::Value, E> {
        Ok(SwitchOrEntries::Switch(on))
    }

    fn visit_map<A: MapAccess<'de>>(self, map: A) -> Result<Self::Value, A::Error> {
        EntriesVisitor(PhantomData)
            .visit_map(map)
            .map(SwitchOrEntries::Entries)
    }
}

struct NoteVisitor;

impl<'de> Visitor<'de> for NoteVisitor {
    type Value = NoteFile;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(TEXT)
    }

    scalars!(NoteFile::Text(TextFile::Plain), |text: &str| {
        NoteFile::Text(TextFile::Literal(text.to_owned()))
    });

    fn visit_bool<E: Error>(self, _: bool) -> Result<Self::Value, E> {
        Ok(NoteFile::Text(TextFile::Plain))
    }

    fn visit_map<A: MapAccess<'de>>(self, map: A) -> Result<Self::Value, A::Error> {
        NoteMap::deserialize(MapAccessDeserializer::new(map)).map(NoteFile::Map)
    }
}

/// A type that is read by a visitor over whatever stands there, with its schema.
macro_rules! by_visitor {
    ($name:ident, $visitor:expr, $title:literal, $schema:expr) => {
        impl<'de> Deserialize<'de> for $name {
            fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
                deserializer.deserialize_any($visitor)
            }
        }

        impl JsonSchema for $name {
            fn schema_name() -> Cow<'static, str> {
                $title.into()
            }

            fn json_schema(generator: &mut SchemaGenerator) -> Schema {
                let schema: fn(&mut SchemaGenerator) -> Schema = $schema;
                schema(generator)
            }
        }
    };
}

by_visitor!(TextFile, TextVisitor, "Text", |generator| {
    let map = generator.subschema_for::<TextMap>();
    json_schema!({"anyOf": [{"type": ["string", "number", "boolean"]}, map]})
});
by_visitor!(SwitchFile, SwitchVisitor, "SwitchOrText", |generator| {
    let map = generator.subschema_for::<TextMap>();
    json_schema!({"anyOf": [{"type": ["boolean", "string", "number"]}, map]})
});
by_visitor!(
    SwitchOrEntries,
    SwitchOrEntriesVisitor,
    "SwitchOrTexts",
    |generator| {
        let map = generator.subschema_for::<Entries<At<TextFile>>>();
        json_schema!({"anyOf": [{"type": "boolean"}, {"enum": ["on", "off"]}, map]})
    }
);
by_visitor!(NoteFile, NoteVisitor, "Note", |generator| {
    let map = generator.subschema_for::<NoteMap>();
    json_schema!({"anyOf": [{"type": ["string", "number", "boolean"]}, map]})
});
