//! Values of plan files that are written in more than one way.

use crate::scenario::load::yaml::At;
use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::Deserialize;
use serde::de::value::{MapAccessDeserializer, SeqAccessDeserializer};
use serde::de::{Deserializer, Error, IntoDeserializer, MapAccess, SeqAccess, Visitor};
use std::borrow::Cow;
use std::fmt;
use std::marker::PhantomData;
use std::ops::Range;

/// A scenario: a file, or a map of it and its weight.
#[derive(Debug)]
pub(super) enum ScenarioEntry {
    /// Only the file.
    File(String),
    /// With a weight.
    Map(ScenarioMap),
}

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct ScenarioMap {
    /// The scenario file, relative to the plan.
    pub(super) file: At<String>,
    /// How many times as many conversations as `repeat` says, or as much time as `duration`; 1.
    pub(super) weight: Option<At<u32>>,
}

struct ScenarioVisitor;

impl<'de> Visitor<'de> for ScenarioVisitor {
    type Value = ScenarioEntry;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a scenario file or `{file: ..., weight: ...}`")
    }

    fn visit_str<E: Error>(self, file: &str) -> Result<Self::Value, E> {
        Ok(ScenarioEntry::File(file.to_owned()))
    }

    fn visit_map<A: MapAccess<'de>>(self, map: A) -> Result<Self::Value, A::Error> {
        ScenarioMap::deserialize(MapAccessDeserializer::new(map)).map(ScenarioEntry::Map)
    }
}

impl<'de> Deserialize<'de> for ScenarioEntry {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(ScenarioVisitor)
    }
}

impl JsonSchema for ScenarioEntry {
    fn schema_name() -> Cow<'static, str> {
        "ScenarioEntry".into()
    }

    fn json_schema(generator: &mut SchemaGenerator) -> Schema {
        let map = generator.subschema_for::<ScenarioMap>();
        json_schema!({"anyOf": [{"type": "string"}, map]})
    }
}

/// One value, or a list of them.
#[derive(Debug)]
pub(super) enum Several<T> {
    /// One, which stands where the whole stands.
    One(T),
    /// A list.
    List(Vec<At<T>>),
}

impl<T: Copy> At<Several<T>> {
    /// Every value with the place where it stands.
    pub(super) fn entries(&self) -> Vec<(T, &Range<usize>)> {
        match &self.value {
            Several::One(value) => vec![(*value, &self.place)],
            Several::List(list) => list.iter().map(|at| (at.value, &at.place)).collect(),
        }
    }
}

impl At<Several<String>> {
    /// Every text as a value of its own.
    pub(super) fn texts(&self) -> Vec<At<String>> {
        match &self.value {
            Several::One(text) => vec![At {
                value: text.clone(),
                place: self.place.clone(),
                line: self.line,
            }],
            Several::List(list) => list
                .iter()
                .map(|at| At {
                    value: at.value.clone(),
                    place: at.place.clone(),
                    line: at.line,
                })
                .collect(),
        }
    }
}

struct SeveralVisitor<T>(PhantomData<T>);

impl<'de, T: Deserialize<'de>> Visitor<'de> for SeveralVisitor<T> {
    type Value = Several<T>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("one value or a list")
    }

    fn visit_u64<E: Error>(self, number: u64) -> Result<Self::Value, E> {
        T::deserialize(number.into_deserializer()).map(Several::One)
    }

    fn visit_str<E: Error>(self, word: &str) -> Result<Self::Value, E> {
        T::deserialize(word.into_deserializer()).map(Several::One)
    }

    fn visit_seq<A: SeqAccess<'de>>(self, list: A) -> Result<Self::Value, A::Error> {
        Vec::deserialize(SeqAccessDeserializer::new(list)).map(Several::List)
    }
}

impl<'de, T: Deserialize<'de>> Deserialize<'de> for Several<T> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(SeveralVisitor(PhantomData))
    }
}

impl<T: JsonSchema> JsonSchema for Several<T> {
    fn schema_name() -> Cow<'static, str> {
        format!("Several_of_{}", T::schema_name()).into()
    }

    fn json_schema(generator: &mut SchemaGenerator) -> Schema {
        let one = generator.subschema_for::<T>();
        json_schema!({"anyOf": [one, {"type": "array", "items": one, "minItems": 1}]})
    }
}
