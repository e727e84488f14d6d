//! What a server says that a request used.
//!
//! Invariants: a number that the server did not send is `None`, never 0; the
//! parts are disjoint whatever the provider's own convention; the server's own
//! object is kept beside them.

use crate::units::{Bytes, Tokens};
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
    #[must_use]
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

/// Tokens that a request may have that nobody sent or asked for: text that a service
/// puts around every prompt, and reasoning that no limit bounds. The longest outputs
/// that services allow are below it.
const HIDDEN: u64 = 200_000;

impl Usage {
    /// Flags counts that the request cannot have had: more prompt tokens than its body
    /// has bytes, or more generated than were allowed, either with much room for what is
    /// hidden. No tokenizer makes more than one token of a byte.
    pub fn hold_to(&mut self, sent: Bytes, max_tokens: u32) {
        let above = |count: Option<Tokens>, bound: u64| {
            count.is_some_and(|count| count.0 > bound.saturating_add(HIDDEN))
        };
        let allowed = u64::from(max_tokens) + self.reasoning.unwrap_or_default().0;
        if above(self.total, sent.0) || above(self.output, allowed) {
            self.origin = UsageOrigin::Contradictory;
        }
    }

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

    /// Whether the server said anything that is or should have been a count.
    pub fn says_anything(&self) -> bool {
        let parts = [self.total, self.read, self.write, self.write_long];
        let counts = parts.into_iter().chain([self.output]);
        self.origin != UsageOrigin::Absent || counts.flatten().next().is_some()
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

    #[test]
    fn counts_that_no_request_of_that_size_can_have_are_contradictory() {
        // (prompt, output, reasoning, whether it can be) for 6,800 bytes and 16 tokens.
        for (total, output, reasoning, possible) in [
            (1_700, 16, None, true),
            (6_800, 16, None, true),
            // A service's hidden text, and reasoning that nothing bounded.
            (30_000, 64_000, None, true),
            (30_000, 250_000, Some(250_000), true),
            (100_000_000_000, 1, None, false),
            (1_000_000, 1, None, false),
            (1_700, 100_000_000_000, None, false),
            (1_700, 250_000, Some(10), false),
        ] {
            let mut usage = Usage {
                total: Some(Tokens(total)),
                read: Some(Tokens(0)),
                output: Some(Tokens(output)),
                reasoning: reasoning.map(Tokens),
                origin: UsageOrigin::Reported,
                ..Usage::default()
            };
            usage.hold_to(Bytes(6_800), 16);
            let found = usage.origin == UsageOrigin::Reported;
            assert_eq!(found, possible, "{total} in, {output} out");
        }
        let mut nothing = Usage::default();
        nothing.hold_to(Bytes(0), 0);
        assert_eq!(
            nothing,
            Usage::default(),
            "what was not said cannot be wrong"
        );
    }
}
