//! The ledger: in which state of the cache things began, and how they ended.
//!
//! A count from a cache means something only where it is known what the cache held
//! before. The ledger keeps what was done to know it, and what showed whether it
//! worked. It also says which conversations came to their end, so that a run that was
//! killed can be gone on with.
//!
//! Invariants: lines are in the order in which things happened; a conversation's line
//! follows all of its records; a later line about a conversation goes before an
//! earlier one.

use crate::units::{Micros, Tokens};
use serde::{Deserialize, Serialize};
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

/// Newest version of [`LedgerLine`]. A line is written in the oldest that has its fact:
/// all facts but [`Fact::Time`] are of version 1.
pub const LEDGER_VERSION: u32 = 2;

/// One line of `ledger.jsonl`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct LedgerLine {
    /// Version of this format.
    pub v: u32,
    /// When, from the run's start.
    pub at_us: Micros,
    /// What happened.
    pub fact: Fact,
}

impl LedgerLine {
    /// A line about what happened then.
    pub fn new(at_us: Micros, fact: Fact) -> Self {
        let v = match &fact {
            Fact::Time(_) => 2,
            _ => 1,
        };
        Self { v, at_us, fact }
    }
}

/// What a line of the ledger says.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Fact {
    /// The cache of a target was emptied.
    Reset(Reset),
    /// Requests were sent before those that are measured.
    WarmUp(WarmUp),
    /// A conversation ended.
    Conversation(Box<ConversationFact>),
    /// Conversations will be run again: what was recorded of them counts nowhere.
    Superseded(Superseded),
    /// A cell ended, and its first prompt was asked again.
    Probe(Probe),
    /// The time of a cell that ends by time began to pass, or stands still.
    Time(CellTime),
}

/// A cache was emptied.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Reset {
    /// The target.
    pub target: Arc<str>,
    /// For what: a conversation, a cell, or the run.
    pub unit: Arc<str>,
    /// The epoch that begins with it.
    pub epoch: u32,
    /// What was called, without the host: `POST /reset_prefix_cache`.
    pub call: Arc<str>,
    /// HTTP status of the answer.
    pub status: u16,
    /// The answer, cut to a few hundred characters.
    pub answer: String,
    /// How often it was asked; a server that still runs a request refuses.
    pub tries: u32,
}

/// Requests before those that are measured.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct WarmUp {
    /// The cell whose first prompt was sent.
    pub cell: Arc<str>,
    /// `prime` (under the nonce of what follows) or `isolate` (under one of its own).
    pub mode: Arc<str>,
    /// Nonce in the prompt.
    pub nonce: Arc<str>,
    /// Salt beside it.
    pub salt: Option<Arc<str>>,
    /// Requests sent, one after the other.
    pub requests: u32,
    /// Tokens that the last one read; `None` where the server did not say.
    pub read: Option<Tokens>,
    /// Whether the entry was seen to be readable; `None` where that was not to be
    /// seen, or not wanted.
    pub readable: Option<bool>,
}

/// The state of the cache that a conversation was meant to begin on.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Start {
    /// Nothing of it is cached.
    Cold,
    /// Its first prompt was primed.
    Warm,
    /// Others may have left something in the cache that it shares.
    Shared,
    /// Nothing was done: whatever the server holds.
    Unknown,
}

/// How a conversation ended.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Ended {
    /// It was run to its end.
    Complete,
    /// It was given up, or the run was.
    Early(String),
}

/// A conversation that ended.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ConversationFact {
    /// The conversation.
    pub conversation: Arc<str>,
    /// Which of the run's sessions ran it: 0, and one more each time it was gone on with.
    pub session: u32,
    /// The how-manieth of that session it was to begin, from 1.
    pub order: u64,
    /// Salt that kept it apart.
    pub salt: Option<Arc<str>>,
    /// Nonce that kept it apart.
    pub nonce: Arc<str>,
    /// Resets of the cache before it.
    pub epoch: u32,
    /// When it began.
    pub began_us: Micros,
    /// Attempts recorded.
    pub attempts: u32,
    /// The longest time between an answer's end and the next request: what is longer
    /// than the cache's lifetime lets entries go.
    pub idle_us: Micros,
    /// How long the target keeps an unused entry, where that is known.
    pub lifetime_us: Option<Micros>,
    /// What its first request was to find.
    pub start: Start,
    /// What its first request read; `None` where the server did not say.
    pub read: Option<Tokens>,
    /// Whether that is what it was to find; `None` where it cannot be told.
    pub as_expected: Option<bool>,
    /// How it ended.
    pub ended: Ended,
}

/// Conversations that will be run again.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Superseded {
    /// The session that runs them again.
    pub session: u32,
    /// Their names.
    pub conversations: Vec<Arc<str>>,
}

/// Whether a cell's first prompt was still cached at its end.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Held {
    /// As much of it as the cache can return.
    Whole,
    /// Some of it.
    Part,
    /// Nothing of it, though it was sent before.
    Nothing,
    /// The server did not say, or did not answer.
    Untold,
}

/// A cell's first prompt, asked again at its end.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Probe {
    /// The cell.
    pub cell: Arc<str>,
    /// The conversation whose first prompt it was.
    pub conversation: Arc<str>,
    /// Whether it was still there.
    pub held: Held,
    /// Tokens of the prompt.
    pub total: Option<Tokens>,
    /// Of these, read from the cache.
    pub read: Option<Tokens>,
    /// Time since the conversation began that sent it.
    pub after_us: Micros,
}

/// How much of its time a closed cell that ends by time has had.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct CellTime {
    /// The cell.
    pub cell: Arc<str>,
    /// Time that has passed before this line.
    pub passed_us: Micros,
    /// From now on it passes, at most up to here; `None`: it stands still.
    pub until_us: Option<Micros>,
}

/// How much of its time each cell has had, by its name. Where time still passed when its
/// session was killed, it passed up to the last that was recorded of that session:
/// `last_of` says when that was, of the session that an instant lies in.
pub fn passed(
    lines: &[LedgerLine],
    last_of: impl Fn(Micros) -> Micros,
) -> BTreeMap<Arc<str>, Micros> {
    let mut passed = BTreeMap::new();
    for line in lines {
        let Fact::Time(time) = &line.fact else {
            continue;
        };
        let now = match time.until_us {
            None => time.passed_us,
            Some(until) => {
                let more = last_of(line.at_us).0.saturating_sub(line.at_us.0);
                Micros(time.passed_us.0.saturating_add(more)).min(until)
            }
        };
        passed.insert(Arc::clone(&time.cell), now);
    }
    passed
}

/// Conversations that came to their end and were not given up since.
pub fn finished(lines: &[LedgerLine]) -> BTreeSet<Arc<str>> {
    let mut finished = BTreeSet::new();
    for line in lines {
        match &line.fact {
            Fact::Conversation(fact) if fact.ended == Ended::Complete => {
                finished.insert(Arc::clone(&fact.conversation));
            }
            Fact::Conversation(fact) => {
                finished.remove(&fact.conversation);
            }
            Fact::Superseded(superseded) => {
                for conversation in &superseded.conversations {
                    finished.remove(conversation);
                }
            }
            Fact::Reset(_) | Fact::WarmUp(_) | Fact::Probe(_) | Fact::Time(_) => {}
        }
    }
    finished
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ended(conversation: &str, ended: Ended) -> LedgerLine {
        let fact = ConversationFact {
            conversation: Arc::from(conversation),
            session: 0,
            order: 1,
            salt: None,
            nonce: Arc::from("0"),
            epoch: 0,
            began_us: Micros(0),
            attempts: 3,
            idle_us: Micros(0),
            lifetime_us: None,
            start: Start::Cold,
            read: Some(Tokens(0)),
            as_expected: Some(true),
            ended,
        };
        LedgerLine::new(Micros(1), Fact::Conversation(Box::new(fact)))
    }

    #[test]
    fn the_last_word_about_a_conversation_counts() {
        let superseded = Superseded {
            session: 1,
            conversations: vec![Arc::from("c")],
        };
        let lines = [
            ended("a", Ended::Complete),
            ended("b", Ended::Early("interrupted".to_owned())),
            ended("c", Ended::Complete),
            LedgerLine::new(Micros(2), Fact::Superseded(superseded)),
            ended("b", Ended::Complete),
        ];
        let names: Vec<String> = finished(&lines).iter().map(ToString::to_string).collect();
        assert_eq!(names, ["a", "b"]);
    }

    fn time(at: u64, cell: &str, passed: u64, until: Option<u64>) -> LedgerLine {
        let fact = CellTime {
            cell: Arc::from(cell),
            passed_us: Micros(passed),
            until_us: until.map(Micros),
        };
        LedgerLine::new(Micros(at), Fact::Time(fact))
    }

    #[test]
    fn time_that_passed_when_a_session_was_killed_is_counted_up_to_its_last_record() {
        // Sessions end at 90 and at 300.
        let last_of = |at: Micros| Micros(if at.0 < 100 { 90 } else { 300 });
        let lines = [
            time(0, "ended", 0, Some(50)),
            time(50, "ended", 50, None),
            time(60, "killed once", 0, Some(1_000)),
            time(70, "killed late", 0, Some(10)),
            time(80, "killed twice", 0, Some(1_000)),
            time(200, "killed twice", 10, Some(1_000)),
        ];
        let found: Vec<(String, u64)> = passed(&lines, last_of)
            .into_iter()
            .map(|(cell, passed)| (cell.to_string(), passed.0))
            .collect();
        let expected = [
            ("ended", 50),
            ("killed late", 10),
            ("killed once", 30),
            ("killed twice", 110),
        ];
        assert_eq!(found, expected.map(|(cell, us)| (cell.to_owned(), us)));
        assert_eq!((lines[0].v, ended("a", Ended::Complete).v), (2, 1));
    }

    #[test]
    fn a_line_reads_back_as_it_was_written() {
        let line = ended("a", Ended::Early("refused".to_owned()));
        let text = serde_json::to_string(&line).expect("serializes");
        assert!(
            text.contains(r#""conversation":{"conversation":"a""#),
            "{text}"
        );
        let back: LedgerLine = serde_json::from_str(&text).expect("reads");
        assert_eq!(back, line);
    }
}
