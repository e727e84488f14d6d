//! A checked plan.

use super::super::error::{Mistake, ScenarioError};
use super::super::load::yaml::Source;
use crate::cache::{Model, Routing};
use crate::chat::Digest;
use crate::scenario::model::ConfigurationSpec;
use crate::units::Tokens;
use std::collections::BTreeMap;
use std::fmt;
use std::ops::Range;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

/// A checked plan.
#[derive(Clone)]
pub struct Plan {
    /// Its name.
    pub name: Arc<str>,
    /// What it shows.
    pub about: Arc<str>,
    /// The file it came from.
    pub path: PathBuf,
    /// SHA-256 over the file and every file of bodies that it names, in order.
    pub digest: Digest,
    /// Scenario files in the order given.
    pub scenarios: Vec<PlannedScenario>,
    /// Configurations that it defines, by name.
    pub configurations: BTreeMap<String, ConfigurationSpec>,
    /// The embedded server, where it is a target.
    pub embedded: Embedded,
    /// A run that would need more is not begun.
    pub limits: Limits,
    /// Rules as written.
    pub rules: Vec<String>,
    /// A fleet of servers.
    pub fleet: Option<Fleet>,
    /// What flags can say as well, as text, by the flag's name without its dashes.
    pub settings: BTreeMap<&'static str, Vec<String>>,
    pub(super) source: Source,
    pub(super) places: BTreeMap<&'static str, Vec<Range<usize>>>,
}

/// A scenario of a plan.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PlannedScenario {
    /// Its file, relative to the working folder.
    pub path: PathBuf,
    /// How many times as many conversations as a plain one, or as much time; at least 1.
    pub weight: u32,
}

/// How the embedded server behaves.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Embedded {
    /// Cache model in place of the profile's.
    pub cache: Option<Model>,
    /// Lifetime of cache entries in place of the profile's.
    pub lifetime: Option<Duration>,
}

/// Bounds within which a run must be planned to be begun; `None`: none.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Limits {
    /// Requests.
    pub requests: Option<u64>,
    /// Prompt tokens.
    pub tokens: Option<Tokens>,
}

/// A fleet of servers.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Fleet {
    /// Conversations at once over all servers; at least 1.
    pub sessions: u32,
    /// Tokens that one server's cache holds.
    pub capacity: Tokens,
    /// Servers; at least 1.
    pub replicas: u32,
    /// How requests find their server: at least one way, each once.
    pub routing: Vec<Routing>,
}

impl Plan {
    /// The values of a setting, empty where the plan does not name it.
    pub fn setting(&self, name: &str) -> &[String] {
        self.settings.get(name).map_or(&[], Vec::as_slice)
    }

    /// An error about the value number `index` of `key`, for what is known only
    /// where the plan is used (profiles, rules).
    pub fn error(&self, key: &str, index: usize, said: &str, help: String) -> ScenarioError {
        let places = self.places.get(key);
        let place = places.and_then(|places| places.get(index)).cloned();
        let value = Mistake::value(format_args!("`{key}`"), said).helped(help);
        self.source.error(place.unwrap_or(0..0), value)
    }
}

impl fmt::Debug for Plan {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Plan")
            .field("name", &self.name)
            .field("settings", &self.settings)
            .finish_non_exhaustive()
    }
}
