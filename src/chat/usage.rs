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

    /// What becomes of it beside these counts: parts of a prompt that are more than the
    /// whole are contradictory, whoever says that they were reported.
    pub fn beside(self, total: Option<Tokens>, read: Option<Tokens>, written: Tokens) -> Self {
        let parts = read.unwrap_or_default().0.checked_add(written.0);
        let fits = total.is_none_or(|total| parts.is_some_and(|parts| parts <= total.0));
        match self {
            Self::Reported if !fits => Self::Contradictory,
            origin => origin,
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

    /// Its origin, as far as the counts bear it out.
    pub fn settled_origin(&self) -> UsageOrigin {
        let written = self.write.unwrap_or_default().0;
        let written = written.saturating_add(self.write_long.unwrap_or_default().0);
        self.origin.beside(self.total, self.read, Tokens(written))
    }

    /// What prefill had to do: `total - read`; `None` where either is unknown
    /// or the difference is negative.
    pub fn computed(&self) -> Option<Tokens> {
        self.total?.checked_sub(self.read?)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn counts_that_cannot_be_are_contradictory_whoever_says_that_they_were_reported() {
        use UsageOrigin::{Absent, Contradictory, Reported, Unreliable};
        let cases = [
            (Reported, Some(100), Some(100), None, Reported),
            (Reported, Some(100), Some(101), None, Contradictory),
            (Reported, Some(100), Some(60), Some(40), Reported),
            (Reported, Some(100), Some(60), Some(41), Contradictory),
            (Reported, Some(100), Some(1), Some(u64::MAX), Contradictory),
            (Reported, None, Some(60), None, Reported),
            (Absent, Some(1), None, Some(2), Absent),
            (Unreliable, Some(1), Some(2), None, Unreliable),
        ];
        for (origin, total, read, write, expected) in cases {
            let usage = Usage {
                total: total.map(Tokens),
                read: read.map(Tokens),
                write: write.map(Tokens),
                origin,
                ..Usage::default()
            };
            assert_eq!(usage.settled_origin(), expected, "{usage:?}");
        }
    }
}
