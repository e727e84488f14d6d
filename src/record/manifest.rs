//! The manifest: what was run, on what, with which settings and why.
//!
//! Invariants: no key is ever part of it (a URL loses its user, password, query
//! and fragment when it becomes a [`PublicUrl`]), and the two instants in it are
//! the only wall times of a run.

use super::calibration::Calibration;
use super::price::Price;
use super::wall::WallTime;
use crate::chat::Digest;
use crate::units::{Micros, Tokens};
use serde::{Deserialize, Deserializer, Serialize};
use serde_json::Value;
use std::collections::BTreeMap;
use std::fmt;
use std::sync::Arc;

/// Current version of the run folder's format. Version 1, which is read as well,
/// had no invocation, resumptions and shards.
pub const MANIFEST_VERSION: u32 = 2;

/// A base URL without anything that could be a secret.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
#[serde(transparent)]
pub struct PublicUrl(String);

impl PublicUrl {
    /// Strips user, password, query and fragment.
    pub fn new(url: &str) -> Self {
        let bare = url.split(['?', '#']).next().unwrap_or_default();
        let Some((scheme, rest)) = bare.split_once("://") else {
            return Self(bare.rsplit('@').next().unwrap_or_default().to_owned());
        };
        let (authority, path) = match rest.find('/') {
            Some(at) => rest.split_at(at),
            None => (rest, ""),
        };
        let host = authority.rsplit('@').next().unwrap_or_default();
        Self(format!("{scheme}://{host}{path}"))
    }

    /// The URL that may be shown.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl fmt::Display for PublicUrl {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(&self.0)
    }
}

impl<'de> Deserialize<'de> for PublicUrl {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        String::deserialize(deserializer).map(|url| Self::new(&url))
    }
}

/// Who chose a setting.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum SettingOrigin {
    /// A flag of the command line.
    Flag,
    /// An environment variable.
    Env,
    /// A plan file.
    Plan,
    /// Nobody.
    Default,
}

/// A resolved setting.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Setting {
    /// What holds.
    pub value: Value,
    /// Who chose it.
    pub origin: SettingOrigin,
}

/// A scenario that was run.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ScenarioFacts {
    /// Its name.
    pub name: Arc<str>,
    /// Its group.
    pub group: Arc<str>,
    /// Hash of its file.
    pub sha256: Digest,
}

/// A configuration that was run.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ConfigurationFacts {
    /// Its name.
    pub name: Arc<str>,
    /// The strategy.
    pub base: Arc<str>,
    /// Its options, those with their default left out.
    pub options: Value,
}

/// Where requests went. Never holds a key.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct TargetFacts {
    /// Name in records.
    pub name: Arc<str>,
    /// Base URL.
    pub url: PublicUrl,
    /// Dialect.
    pub dialect: Arc<str>,
    /// Model asked for.
    pub model: Arc<str>,
    /// Cache model that bounds are computed with (`blocks:16`).
    pub cache_model: Option<Arc<str>>,
    /// Whether it is the embedded server.
    pub simulated: bool,
    /// What tokens are counted with.
    pub tokenizer: Option<Arc<str>>,
    /// How long the cache keeps an unused entry, in milliseconds; `None`: not known or for ever.
    pub lifetime_ms: Option<u64>,
    /// Tokens by which a count may exceed its bound (hidden text, private tokenizers).
    pub tolerance: Tokens,
    /// The same in thousandths of the prompt; the larger of both holds.
    pub tolerance_permille: u32,
    /// What it costs.
    pub price: Option<Price>,
}

/// The machine that sent.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Host {
    /// Cores that the program may use; 0 where the system does not tell.
    pub cores: usize,
    /// Operating system.
    pub os: Arc<str>,
    /// Processor architecture.
    pub arch: Arc<str>,
}

impl Host {
    /// This machine.
    pub fn here() -> Self {
        Self {
            cores: std::thread::available_parallelism().map_or(0, Into::into),
            os: Arc::from(std::env::consts::OS),
            arch: Arc::from(std::env::consts::ARCH),
        }
    }
}

/// How a run ended.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Ending {
    /// Every conversation was run.
    Complete,
    /// A person stopped it.
    Interrupted,
    /// It came to its end, but not all of its cells did; why the first of those did not.
    Partial(String),
    /// A limit that was set for it ended it; which one.
    Limited(String),
    /// It could not go on, or nothing in it was answered.
    Failed(String),
}

/// What a run was begun with, so that it can be gone on with. Never holds a key.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Invocation {
    /// Arguments behind `run`, those left out that say where and how loudly.
    pub arguments: Vec<String>,
    /// From the run's folder to the one it was begun in (`../..`); `None` where
    /// that does not lie above it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub folder: Option<String>,
    /// Hashes of files that flags name and that decide what is sent or counted,
    /// by the flag (`--phrases`).
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub files: BTreeMap<String, Digest>,
}

/// A time at which an unfinished run was gone on with.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Resumption {
    /// When, by the calendar.
    pub at: WallTime,
    /// When, from the run's start: no stamp of an earlier session is later.
    pub from_us: Micros,
}

/// A part of a run that several processes do.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Shard {
    /// Which one, from 1.
    pub index: u32,
    /// Of how many.
    pub count: u32,
}

impl fmt::Display for Shard {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}/{}", self.index, self.count)
    }
}

impl std::str::FromStr for Shard {
    type Err = String;

    /// Reads `3/16`.
    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let number = |text: &str| text.trim().parse::<u32>().ok();
        let parts = text.split_once('/');
        let parts = parts.and_then(|(index, count)| Some((number(index)?, number(count)?)));
        match parts {
            Some((index, count)) if index >= 1 && index <= count => Ok(Self { index, count }),
            Some((index, count)) => Err(format!(
                "there is no shard {index} of {count}: shards are counted from 1"
            )),
            None => Err("a shard is written as its number and how many there are: 3/16".to_owned()),
        }
    }
}

/// A shard that a merged run was made of.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct MergedShard {
    /// Which part it was.
    pub shard: Shard,
    /// When it began.
    pub started: WallTime,
    /// When it ended.
    pub ended: Option<WallTime>,
    /// The machine that sent it.
    pub host: Host,
}

/// What was run. `manifest.json`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Manifest {
    /// Version of the folder's format.
    pub format: u32,
    /// Version of the program.
    pub program: Arc<str>,
    /// When the run began.
    pub started: WallTime,
    /// When it ended; `None` while it runs, or where it was killed.
    pub ended: Option<WallTime>,
    /// How it ended.
    pub ending: Option<Ending>,
    /// Seed of everything drawn.
    pub seed: u64,
    /// The run's nonce.
    pub nonce: Arc<str>,
    /// Hash of the plan file.
    pub plan_sha256: Option<Digest>,
    /// Settings by name.
    pub settings: BTreeMap<String, Setting>,
    /// Scenarios in the order given.
    pub scenarios: Vec<ScenarioFacts>,
    /// Configurations in the order given, which is the order of every table.
    pub configurations: Vec<ConfigurationFacts>,
    /// Targets in the order given.
    pub targets: Vec<TargetFacts>,
    /// The machine that sent.
    pub host: Host,
    /// What the client adds on it, where that was measured before the run.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub calibration: Option<Calibration>,
    /// What it was begun with; `None` in a merged run and in one of format 1.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub invocation: Option<Invocation>,
    /// When it was gone on with, in order.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub resumed: Vec<Resumption>,
    /// Which part of a run this is, where it is one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub shard: Option<Shard>,
    /// What it was merged from, in the order of the shards.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub merged: Vec<MergedShard>,
}

impl Manifest {
    /// A manifest of a run that begins now and has nothing in it yet.
    pub fn begin(seed: u64, nonce: &str) -> Self {
        Self {
            format: MANIFEST_VERSION,
            program: Arc::from(env!("CARGO_PKG_VERSION")),
            started: WallTime::now(),
            ended: None,
            ending: None,
            seed,
            nonce: Arc::from(nonce),
            plan_sha256: None,
            settings: BTreeMap::new(),
            scenarios: Vec::new(),
            configurations: Vec::new(),
            targets: Vec::new(),
            host: Host::here(),
            calibration: None,
            invocation: None,
            resumed: Vec::new(),
            shard: None,
            merged: Vec::new(),
        }
    }

    /// The target of that name.
    pub fn target(&self, name: &str) -> Option<&TargetFacts> {
        self.targets.iter().find(|target| &*target.name == name)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_url_loses_everything_that_could_be_a_secret() {
        let cases = [
            ("http://h:1/v1", "http://h:1/v1"),
            ("https://me:pass@h/v1?key=K#f", "https://h/v1"),
            ("https://h?key=K", "https://h"),
            ("me:pass@h/v1", "h/v1"),
            ("", ""),
            ("https://a@b@c/v1/@x", "https://c/v1/@x"),
        ];
        for (url, shown) in cases {
            assert_eq!(PublicUrl::new(url).as_str(), shown, "{url}");
        }
    }

    #[test]
    fn a_manifest_reads_back_as_it_was_written() {
        let mut manifest = Manifest::begin(7, "1 2 3 4 5 6 7 8");
        manifest.ending = Some(Ending::Failed("no space left".to_owned()));
        manifest.ended = Some(manifest.started);
        manifest.targets.push(TargetFacts::default());
        let text = serde_json::to_string(&manifest).expect("serializes");
        let back: Manifest = serde_json::from_str(&text).expect("reads");
        assert_eq!(back, manifest);
    }
}
