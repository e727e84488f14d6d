//! The grammar of targets files as types. Names, numbers and addresses are
//! checked later, in `check`.

use crate::scenario::load::yaml::{At, Entries};
use serde::Deserialize;
use serde::de::value::MapAccessDeserializer;
use serde::de::{Deserializer, Error, MapAccess, Visitor};
use serde_json::{Map, Value};
use std::fmt;
use std::path::PathBuf;

/// Targets by name.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct TargetsFile {
    pub(super) targets: Entries<At<EntryFile>>,
}

/// One target. Whatever is left out comes from the preset, else from the server.
#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub(super) struct EntryFile {
    pub(super) preset: Option<At<String>>,
    pub(super) url: Option<At<String>>,
    pub(super) model: Option<At<String>>,
    pub(super) dialect: Option<At<String>>,
    pub(super) wire: Option<At<String>>,
    pub(super) key_env: Option<At<String>>,
    pub(super) key_command: Option<At<String>>,
    pub(super) key_ttl_s: Option<At<u64>>,
    pub(super) headers: Entries<At<HeaderFile>>,
    pub(super) body: Map<String, Value>,
    pub(super) ca: Option<At<PathBuf>>,
    pub(super) proxy: Option<At<HeaderFile>>,
    pub(super) cache_model: Option<At<String>>,
    pub(super) lifetime: Option<At<String>>,
    pub(super) prices: Option<At<PricesFile>>,
    pub(super) limits: LimitsFile,
    pub(super) metrics: Vec<At<String>>,
    pub(super) tools_first: Option<At<bool>>,
    pub(super) salt: Option<At<bool>>,
    pub(super) affinity: Option<At<AffinityFile>>,
    pub(super) tolerance: Option<At<u64>>,
    pub(super) unreliable: Option<At<String>>,
    pub(super) absent_means_zero: Option<At<bool>>,
    pub(super) evidence: Option<At<String>>,
}

/// What an account may send in a minute.
#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub(super) struct LimitsFile {
    pub(super) requests_per_minute: Option<At<u32>>,
    pub(super) tokens_per_minute: Option<At<u64>>,
}

/// What keeps a conversation on one server; `off` sends nothing, whatever the preset does.
#[derive(Debug, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum AffinityFile {
    Header(String),
    Field(String),
    Off,
}

/// A text, or the name of the environment variable that holds it.
#[derive(Debug)]
pub(super) enum HeaderFile {
    Text(String),
    Env(At<String>),
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct EnvFile {
    env: At<String>,
}

struct HeaderVisitor;

impl<'de> Visitor<'de> for HeaderVisitor {
    type Value = HeaderFile;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a text or `{env: NAME}`")
    }

    fn visit_str<E: Error>(self, text: &str) -> Result<Self::Value, E> {
        Ok(HeaderFile::Text(text.to_owned()))
    }

    fn visit_bool<E: Error>(self, value: bool) -> Result<Self::Value, E> {
        Ok(HeaderFile::Text(value.to_string()))
    }

    fn visit_u64<E: Error>(self, value: u64) -> Result<Self::Value, E> {
        Ok(HeaderFile::Text(value.to_string()))
    }

    fn visit_map<A: MapAccess<'de>>(self, map: A) -> Result<Self::Value, A::Error> {
        EnvFile::deserialize(MapAccessDeserializer::new(map)).map(|file| HeaderFile::Env(file.env))
    }
}

impl<'de> Deserialize<'de> for HeaderFile {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(HeaderVisitor)
    }
}

/// A model of the price list, or amounts of dollars per million tokens.
#[derive(Debug)]
pub(super) enum PricesFile {
    Model(String),
    Amounts(AmountsFile),
}

/// Dollars per million tokens, as decimal text.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct AmountsFile {
    pub(super) input: String,
    pub(super) read: Option<String>,
    pub(super) write: Option<String>,
    pub(super) write_long: Option<String>,
    pub(super) output: String,
}

struct PricesVisitor;

impl<'de> Visitor<'de> for PricesVisitor {
    type Value = PricesFile;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a model of the price list, or `{input, read, write, write_long, output}`")
    }

    fn visit_str<E: Error>(self, model: &str) -> Result<Self::Value, E> {
        Ok(PricesFile::Model(model.to_owned()))
    }

    fn visit_map<A: MapAccess<'de>>(self, map: A) -> Result<Self::Value, A::Error> {
        AmountsFile::deserialize(MapAccessDeserializer::new(map)).map(PricesFile::Amounts)
    }
}

impl<'de> Deserialize<'de> for PricesFile {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(PricesVisitor)
    }
}
