//! What a server says that a request used.
//!
//! Invariants: a number that the server did not send is `None`, never 0; the
//! parts are disjoint whatever the provider's own convention; the server's own
//! object is kept beside them.

use crate::units::Tokens;
use serde::{Deserialize, Serialize};
use serde_json::Value;

/// Where the count of cached tokens comes from.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum UsageOrigin {
    /// The server said it.
    Reported,
    /// The server said nothing: not the same as 0.
    #[default]
    Absent,
    /// The server said something that cannot be (more read than the prompt
    /// holds, a negative part).
    Contradictory,
    /// Known to be wrong on this route.
    Unreliable,
}

impl UsageOrigin {
    /// The name as written in records.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Reported => "reported",
            Self::Absent => "absent",
            Self::Contradictory => "contradictory",
            Self::Unreliable => "unreliable",
        }
    }
}

/// Token counts of one answer, normalised.
///
/// `total` is the whole prompt, cached or not. `read`, `write` and `write_long`
/// are parts of it and do not overlap; what is left is plain input.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Usage {
    /// The whole prompt.
    pub total: Option<Tokens>,
    /// Taken from the cache.
    pub read: Option<Tokens>,
    /// Newly put into the cache, billed or not (of Anthropic's two lifetimes: the short one, or
    /// both where the server does not tell them apart).
    pub write: Option<Tokens>,
    /// Newly put into the cache for the long lifetime.
    pub write_long: Option<Tokens>,
    /// Generated, reasoning included.
    pub output: Option<Tokens>,
    /// Of the generated tokens: reasoning.
    pub reasoning: Option<Tokens>,
    /// Origin of `read`.
    pub origin: UsageOrigin,
    /// The server's own object, word for word.
    pub raw: Option<Value>,
}

impl Usage {
    /// All that was newly cached; `None` where the server said nothing of it.
    pub fn written(&self) -> Option<Tokens> {
        match (self.write, self.write_long) {
            (None, None) => None,
            (short, long) => Some(short.unwrap_or_default() + long.unwrap_or_default()),
        }
    }

    /// What prefill had to do: `total - read`; `None` where either is unknown
    /// or the difference is negative.
    pub fn computed(&self) -> Option<Tokens> {
        self.total?.checked_sub(self.read?)
    }
}
