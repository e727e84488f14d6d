//! What to change so that a prefix would not have broken.
//!
//! Where a source that can stand elsewhere broke the prefix, the two prompts are
//! compared once more without it: what they then have in common beyond the break
//! would have been kept, had the source been placed behind it.
//!
//! Invariants: every number is counted from the two prompts, in tokens where
//! something counts as the target does and in bytes else; what a person or the
//! model said is never advised to be moved; no time is given without a fit.

mod advised;
mod counterfactual;
mod latency;
mod look;
#[cfg(test)]
mod tests;

pub use advised::{Advised, advised};
pub use counterfactual::{Kept, Prompts};
pub use latency::{Slope, slope};
pub use look::{Finding, look, look_into};

use super::breaks::{source, spoken};
use crate::chat::Origin;
use crate::record::Break;
use crate::units::{Tokens, grouped};
use std::borrow::Borrow;
use std::cmp::Reverse;
use std::fmt;

/// A length of prompt text.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Size {
    /// In bytes, where nothing counts tokens.
    Bytes(u64),
    /// In tokens.
    Tokens(Tokens),
}

impl Size {
    /// The number, whatever it counts.
    pub fn number(self) -> u64 {
        match self {
            Self::Bytes(bytes) => bytes,
            Self::Tokens(tokens) => tokens.0,
        }
    }
}

impl fmt::Display for Size {
    /// `3,100 tokens`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (number, noun) = match self {
            Self::Bytes(bytes) => (*bytes, "byte"),
            Self::Tokens(tokens) => (tokens.0, "token"),
        };
        let plural = if number == 1 { "" } else { "s" };
        write!(f, "{} {noun}{plural}", grouped(number))
    }
}

/// What to change, in a sentence or two. `found` is what [`look`] made of it.
///
/// Never empty: where nothing can be moved, or that is not known, it says why.
pub fn sentence(broke: &Break, found: &Finding) -> String {
    let unknown = match found {
        Finding::Kept(kept) => return movable(kept),
        Finding::Little => {
            let otherwise = || {
                format!(
                    "Moving `{}` behind what follows would keep hardly more than is kept now.",
                    source(broke.origin.as_str())
                )
            };
            return in_general(&broke.origin, &broke.cause).map_or_else(otherwise, str::to_owned);
        }
        Finding::Fixed => {
            let said = in_general(&broke.origin, &broke.cause);
            return said
                .unwrap_or("Nothing stands here that a layout could move.")
                .to_owned();
        }
        Finding::Textless => {
            "What a move would keep is not known: the run keeps no texts of it (`--no-text`)."
        }
        Finding::Alone => {
            "What a move would keep is not known: the request that it parts from is not at hand."
        }
    };
    match in_general(&broke.origin, &broke.cause) {
        Some(said) => format!("{said} {unknown}"),
        None => unknown.to_owned(),
    }
}

fn movable(kept: &Kept) -> String {
    let one = kept.moved.len() == 1;
    let (stand, it) = if one {
        ("stands", "it")
    } else {
        ("stand", "they")
    };
    let front = match &kept.before {
        Some(before) => format!("`{before}` and what follows, {}", kept.size),
        None => kept.size.to_string(),
    };
    format!(
        "{} {stand} in front of {front} that did not change; moved behind, {it} would have kept \
         these.",
        listed(&kept.moved)
    )
}

/// What is true of every break of that kind, whatever its prompts say.
fn in_general(origin: &Origin, cause: &str) -> Option<&'static str> {
    let begins = |words: &[&str]| words.iter().any(|word| cause.starts_with(word));
    let said = if source(origin.as_str()) == Origin::TOOLS {
        "Tool definitions stand in front of everything: keep the list the same for a whole conversation."
    } else if begins(&["compact"]) {
        "A compaction rewrites the history; fewer, larger ones break the prefix less often."
    } else if begins(&["first request"]) {
        "Two conversations part here; what they share has to stand in front of what is theirs alone."
    } else if begins(&["edit", "regenerate", "branch"]) {
        "The conversation itself went back to an earlier turn; no layout keeps what was said behind it."
    } else if begins(&["configuration", "system", "model"]) {
        "The prompt was replaced in mid-chat; nothing behind the place repeats."
    } else if spoken(origin.as_str()) {
        "History that was sent before is rewritten here; send it again as it was."
    } else {
        return None;
    };
    Some(said)
}

/// "`memory`", "`date` and `memory`".
fn listed(origins: &[Origin]) -> String {
    let names: Vec<String> = origins.iter().map(|origin| format!("`{origin}`")).collect();
    match names.as_slice() {
        [front @ .., last] if !front.is_empty() => format!("{} and {last}", front.join(", ")),
        names => names.concat(),
    }
}

/// What to change in a configuration: the breaks of one source, together.
#[derive(Clone, Debug, PartialEq)]
pub struct Change {
    /// Sources to be moved, in the order in which they stand.
    pub moved: Vec<Origin>,
    /// Breaks that it is about.
    pub breaks: u64,
    /// What would have been kept in all of them.
    pub kept: Size,
}

impl Change {
    /// The change in a sentence.
    pub fn sentence(&self) -> String {
        let breaks = if self.breaks == 1 { "break" } else { "breaks" };
        let each = match self.breaks {
            0 | 1 => String::new(),
            breaks => format!(", {} each", self.kept.over(breaks)),
        };
        format!(
            "Move {} behind what did not change: keeps {} in {} {breaks}{each}.",
            listed(&self.moved),
            self.kept,
            grouped(self.breaks)
        )
    }
}

impl Size {
    fn over(self, parts: u64) -> String {
        grouped((self.number() + parts / 2) / parts.max(1))
    }

    /// The sum of two lengths in the same unit; `None` in different ones.
    fn plus(self, other: Self) -> Option<Self> {
        match (self, other) {
            (Self::Tokens(a), Self::Tokens(b)) => Some(Self::Tokens(a + b)),
            (Self::Bytes(a), Self::Bytes(b)) => Some(Self::Bytes(a + b)),
            _ => None,
        }
    }
}

/// The changes that follow from many breaks, the one that keeps most first. What was
/// counted in tokens and what was counted in bytes are two.
pub fn changes<K: Borrow<Kept>>(breaks: impl IntoIterator<Item = K>) -> Vec<Change> {
    let mut found: Vec<Change> = Vec::new();
    for kept in breaks {
        let kept = kept.borrow();
        let known = found.iter_mut().find_map(|change| {
            let sum = change.kept.plus(kept.size)?;
            (change.moved == kept.moved).then_some((change, sum))
        });
        match known {
            Some((change, sum)) => {
                change.breaks += 1;
                change.kept = sum;
            }
            None => found.push(Change {
                moved: kept.moved.clone(),
                breaks: 1,
                kept: kept.size,
            }),
        }
    }
    // Tokens in front of bytes: the larger variant.
    found.sort_by_key(|change| Reverse(change.kept));
    found
}
