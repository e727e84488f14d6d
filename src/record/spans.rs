//! Span texts: as stored, and by hash.

use crate::chat::{Digest, Text};
use crate::units::{Bytes, Tokens};
use serde::{Deserialize, Serialize};
use std::collections::HashMap;

/// A distinct span text. One line of `spans.jsonl`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct StoredSpan {
    /// Hash of its text.
    pub sha256: Digest,
    /// Length of its text.
    pub bytes: Bytes,
    /// Length in tokens, where somebody counted.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tokens: Option<Tokens>,
    /// The text; left out with `--no-text`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub text: Option<Text>,
}

/// The span texts of a run, by hash.
#[derive(Clone, Debug, Default)]
pub struct SpanStore(HashMap<Digest, Text>);

impl SpanStore {
    /// The text of that hash; `None` where it was not kept.
    pub fn text(&self, sha256: Digest) -> Option<&Text> {
        self.0.get(&sha256)
    }

    /// Keeps `text`.
    pub fn insert(&mut self, text: Text) {
        self.0.insert(text.digest(), text);
    }

    /// Keeps what `other` has.
    pub fn merge(&mut self, other: Self) {
        self.0.extend(other.0);
    }

    /// How many texts there are.
    pub fn len(&self) -> usize {
        self.0.len()
    }

    /// Whether there is no text.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }
}

impl Extend<Text> for SpanStore {
    fn extend<I: IntoIterator<Item = Text>>(&mut self, texts: I) {
        texts.into_iter().for_each(|text| self.insert(text));
    }
}
