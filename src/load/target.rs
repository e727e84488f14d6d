//! Where requests go, as resolved facts.

use crate::cache::Model;
use crate::chat::Wire;
use crate::provider::Dialect;
use crate::transport::Header;
use serde_json::{Map, Value};
use std::fmt;
use std::sync::Arc;
use std::time::Duration;

/// A key. Shown as `***` wherever it would be printed.
#[derive(Clone, PartialEq, Eq)]
pub struct Secret(String);

impl Secret {
    /// Wraps a key; blanks around it are cut off, as they come from files and shells.
    pub fn new(key: &str) -> Self {
        Self(key.trim().to_owned())
    }

    /// The key itself, for the one place that puts it into a header.
    pub fn reveal(&self) -> &str {
        &self.0
    }
}

impl fmt::Debug for Secret {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("***")
    }
}

/// Software that answers, as far as it decides how to measure.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Engine {
    /// The embedded server.
    Embedded,
    /// vLLM: has salts, `/tokenize` and counters.
    Vllm,
    /// llama.cpp: has `/tokenize`, `/apply-template` and counters.
    LlamaCpp,
    /// Anything else.
    Other,
}

/// Where requests go.
#[derive(Clone)]
pub struct Target {
    /// Name in records.
    pub name: Arc<str>,
    /// Base URL, version part included, without a slash at its end.
    pub url: String,
    /// Wire format.
    pub dialect: &'static dyn Dialect,
    /// Model asked for.
    pub model: Arc<str>,
    /// Key, where one is needed.
    pub key: Option<Secret>,
    /// Further body fields.
    pub extra: Map<String, Value>,
    /// What strategies may know.
    pub wire: Wire,
    /// Software that answers.
    pub engine: Engine,
    /// Whether the server separates caches by `cache_salt`.
    pub salted: bool,
    /// Whether the chat template renders tool definitions in front of everything.
    pub tools_first: bool,
    /// How its cache works, where that is known.
    pub cache: Option<Model>,
    /// How long an entry lives, where that is known.
    pub lifetime: Option<Duration>,
}

impl Target {
    /// Whether answers come from the embedded server and not from a model.
    pub fn simulated(&self) -> bool {
        self.engine == Engine::Embedded
    }

    /// Headers that carry the key, in every form that servers of this dialect take.
    pub fn headers(&self) -> Vec<Header> {
        let Some(key) = &self.key else {
            return Vec::new();
        };
        let forms = self.dialect.key_headers().iter();
        forms
            .map(|(name, prefix)| Header::secret(*name, format!("{prefix}{}", key.reveal())))
            .collect()
    }

    /// The address of one request.
    pub fn endpoint(&self, stream: bool) -> String {
        format!("{}{}", self.url, self.dialect.path(&self.model, stream))
    }

    /// The address of a path outside the versioned part (`/metrics`).
    pub fn at_root(&self, path: &str) -> String {
        let versionless = self
            .url
            .rsplit_once("/v1")
            .map_or(self.url.as_str(), |(root, _)| root);
        format!("{}{path}", versionless.trim_end_matches('/'))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_key_is_never_shown() {
        assert_eq!(
            format!("{:?}", Some(Secret::new(" sk-planted \n"))),
            "Some(***)"
        );
        assert_eq!(Secret::new(" sk-planted \n").reveal(), "sk-planted");
    }
}
