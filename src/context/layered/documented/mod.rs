//! `layered`: the layers as the design behind the releases is documented.
//!
//! Segments are data from end to end: nothing looks into a rendered text. The
//! library grows in order of first appearance and never changes; something
//! attached again unchanged is a reference, and something changed comes as a
//! new version with the question that brought it, before the library takes it.
//! The history is what was typed and answered, the same live and after a
//! rebuild.
//!
//! Invariants: a request is a function of the chain alone; between sends the
//! system prompt grows at its end only, unless a source of L1 changes, the chat
//! is cut back, or a loaded chat is recovered.

mod layout;
mod pieces;
mod reload;
mod shelf;

pub use pieces::{Kind, Piece};

use super::convert;
use super::frame::{Frame, Marks};
use super::sources;
use crate::chat::{Digest, Message, Origin, Prompt, Role, Span};
use crate::context::Phrases;
use crate::context::configuration::Options;
use crate::context::registry;
use crate::context::stored::Stored;
use crate::context::strategy::{ContextError, Plan, Setup, Strategy, StrategyKind};
use crate::context::turn::produce::Producer;
use crate::context::view::{Chain, Purpose, Sample, UserTurn};
use serde::{Deserialize, Serialize};
use shelf::Shelf;
use std::sync::Arc;

/// The line of the registry.
pub(in crate::context) const LAYERED: StrategyKind = StrategyKind {
    name: NAME,
    about: "Five layers as documented: a library that only grows, references by id, raw history",
    options: &[
        "markers",
        "marker_ttl",
        "timestamps",
        "memory_form",
        "prompt_cache_key",
        "affinity_header",
        "reasoning",
        "window",
        "drop_current_from_library",
    ],
    compacts: false,
    tells: Some(sources::goes_with_the_question),
    start: Layered::start,
};

const NAME: &str = "layered";

/// What is kept with a user message: hashes to watch the layers by, and the
/// recovered library of a loaded chat.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Kept {
    /// Hash of L1.
    pub instructions: Digest,
    /// Number of entries in L2.
    pub entries: usize,
    /// Hash of L2.
    pub library: Digest,
    /// Set on the first message behind a load.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub recovered: Option<Base>,
}

/// The library that stands for the messages of a loaded chat.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Base {
    /// Number of user messages that it stands for.
    pub messages: usize,
    /// What they brought, as recovered.
    pub pieces: Vec<Piece>,
}

struct Layered {
    options: Options,
    phrases: Arc<Phrases>,
}

impl Layered {
    #[expect(
        clippy::unnecessary_wraps,
        reason = "the registry starts every strategy in one way"
    )]
    fn start(setup: Setup) -> Result<Box<dyn Strategy>, ContextError> {
        let Setup {
            options, phrases, ..
        } = setup;
        Ok(Box::new(Self { options, phrases }))
    }

    fn producer(&self) -> Producer<'_> {
        Producer {
            phrases: &self.phrases,
            form: self.options.memory_form.unwrap_or_default(),
        }
    }

    fn stamped(&self, sample: &Sample) -> bool {
        self.options.timestamps.unwrap_or(sample.timestamps)
    }

    /// L1 as sampled for the newest message, so that asking again sends the
    /// same; memory that is off by now is withheld all the same.
    fn instructions(&self, chain: &Chain<'_>) -> Vec<Span> {
        let sample = match chain.purpose {
            Purpose::Summarise | Purpose::Subagent(_) => chain.live,
            _ => chain.newest().map_or(chain.live, |turn| &turn.sample),
        };
        if sample.memory.on && !chain.live.memory.on {
            let mut sample = sample.clone();
            sample.memory.on = false;
            return sources::instructions(&sample, self.producer());
        }
        sources::instructions(sample, self.producer())
    }

    /// The library in front of user message `count`.
    fn shelf(&self, chain: &Chain<'_>, count: usize) -> Shelf {
        let turns: Vec<&Arc<UserTurn>> = chain.users().take(count).collect();
        let base = chain
            .users()
            .take(count + 1)
            .filter_map(|turn| match &turn.stored {
                Some(Stored::Layered(kept)) => kept.recovered.as_ref(),
                _ => None,
            });
        let mut shelf = Shelf::default();
        let base = base.last();
        let from = match base {
            Some(base) => {
                base.pieces
                    .iter()
                    .for_each(|piece| shelf.add(piece.clone()));
                base.messages
            }
            None if chain.reloaded > 0 => {
                let loaded = &turns[..chain.reloaded.min(turns.len())];
                let found = reload::recover(loaded, chain.vault, &self.phrases);
                found.pieces.into_iter().for_each(|piece| shelf.add(piece));
                loaded.len()
            }
            None => 0,
        };
        for turn in turns.iter().skip(from) {
            for piece in pieces::pieces(turn, &self.phrases) {
                shelf.add(piece);
            }
        }
        shelf
    }

    /// The library that a request with the newest message shows.
    fn shown(&self, chain: &Chain<'_>) -> Shelf {
        let users = chain.users().count();
        match (chain.purpose, chain.newest()) {
            (Purpose::Summarise, _) | (_, None) => self.shelf(chain, users),
            (_, Some(newest)) => {
                let shelf = self.shelf(chain, users - 1);
                if self.options.drop_current_from_library == Some(true) {
                    shelf.without(&pieces::pieces(newest, &self.phrases))
                } else {
                    shelf
                }
            }
        }
    }
}

/// What of the layers is not what the message before left, without a reason.
fn watch(chain: &Chain<'_>, instructions: Digest, shelf: &Shelf) -> Vec<String> {
    let users: Vec<&Arc<UserTurn>> = chain.users().collect();
    let [.., before, now] = users.as_slice() else {
        return Vec::new();
    };
    let Some(Stored::Layered(kept)) = &before.stored else {
        return Vec::new();
    };
    let mut warnings = Vec::new();
    if kept.instructions != instructions && same_settings(&before.sample, &now.sample) {
        warnings.push("L1 has changed although no source of it has".to_owned());
    }
    let loaded = chain.reloaded > 0 && chain.reloaded + 1 == users.len();
    if !loaded && shelf.hash(kept.entries) != Some(kept.library) {
        warnings.push("L2 has changed although nothing was added or recovered".to_owned());
    }
    warnings
}

/// Whether two samples have the same sources of L1.
fn same_settings(a: &Sample, b: &Sample) -> bool {
    a.system == b.system
        && a.project == b.project
        && a.artifacts == b.artifacts
        && a.memory_guard == b.memory_guard
        && a.skills == b.skills
        && a.web_search == b.web_search
        && a.memory == b.memory
        && sources::same_known(a, b)
}

/// The user message that asks for a summary.
pub(super) fn ask_summary(phrases: &Phrases) -> Message {
    let ask = registry::span(Origin::SUMMARY, phrases.get("turn.summarise"));
    Message::text(Role::User, vec![ask])
}

impl Strategy for Layered {
    fn plan(&mut self, chain: &Chain<'_>) -> Result<Plan, ContextError> {
        let users: Vec<&Arc<UserTurn>> = chain.users().collect();
        let Some(newest) = users.last() else {
            return Ok(Plan::default());
        };
        let mut warnings = Vec::new();
        let known = users.iter().any(|turn| match &turn.stored {
            Some(Stored::Layered(kept)) => kept
                .recovered
                .as_ref()
                .is_some_and(|base| base.messages == chain.reloaded),
            _ => false,
        });
        let recovered = (chain.reloaded > 0 && !known).then(|| {
            let loaded = &users[..chain.reloaded.min(users.len() - 1)];
            let found = reload::recover(loaded, chain.vault, &self.phrases);
            warnings.extend(found.warnings);
            Base {
                messages: loaded.len(),
                pieces: found.pieces,
            }
        });
        let l1 = sources::instructions(&newest.sample, self.producer());
        let instructions = Digest::of(convert::concat(&l1).as_bytes());
        let shelf = self.shown(chain);
        warnings.extend(watch(chain, instructions, &shelf));
        let entries = shelf.entries().len();
        let kept = Kept {
            instructions,
            entries,
            library: shelf.hash(entries).unwrap_or(instructions),
            recovered,
        };
        Ok(Plan {
            message: Some(Stored::Layered(kept)),
            anchor: None,
            warnings,
        })
    }

    fn render(&mut self, chain: &Chain<'_>) -> Result<Prompt, ContextError> {
        let frame = if let Purpose::Subagent(helper) = chain.purpose {
            self.helper(chain, helper)
        } else {
            let shelf = self.shown(chain);
            let newest = match (chain.purpose, chain.newest()) {
                (Purpose::Summarise, _) => vec![ask_summary(&self.phrases)],
                (_, Some(turn)) => self.newest(turn, &shelf, chain.rounds),
                (_, None) => Vec::new(),
            };
            let instructions = self.instructions(chain);
            let mut library = self.library(&shelf);
            if let (true, Some(heading)) = (instructions.is_empty(), library.first_mut()) {
                heading.text = heading.text.trim_start().into();
            }
            Frame {
                instructions,
                library,
                summary: chain
                    .boundary()
                    .map(|(_, compaction)| compaction.summary.clone()),
                history: self.history(chain),
                newest,
                ..Frame::default()
            }
        };
        let marks = Marks::of(self.options.applied_to(chain.wire).markers);
        Ok(frame.prompt(chain, marks, &self.options, &self.phrases))
    }
}

#[cfg(test)]
mod tests;
