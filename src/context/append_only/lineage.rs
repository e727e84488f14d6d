//! Whose state the head holds, and which messages tell what changed since.
//!
//! Tools stand in front of everything and a model has a cache of its own, so a
//! prompt with other tools or for another model shares nothing with the one
//! before. Each set of them has a lineage: its head is the state at the first
//! message that was sent with them, and messages before that one say nothing of
//! the state. When earlier tools come back, so does the earlier head, and with
//! it every byte that was sent below it.
//!
//! A compaction drops the history but not the head: what was told in messages
//! up to it is folded into an end of the head, where the next compaction finds
//! it unchanged.
//!
//! Invariant: a function of the chain alone, so that branches, regenerations and
//! reloads need no rule of their own.

use super::entry::Entries;
use super::ledger::{Ledger, Terms};
use crate::context::view::{Chain, Link, NodeId, Sample, UserTurn};
use std::sync::Arc;

/// A head, as the chain determines it.
pub(super) struct Lineage<'a> {
    /// The state that opened it.
    opened: &'a Sample,
    /// The state at every compaction since.
    extended: Vec<&'a Sample>,
    /// The first message that tells what changed; `None` where none does.
    tells_from: Option<NodeId>,
}

impl<'a> Lineage<'a> {
    /// The lineage of a prompt that is built for `now`, at the end of `chain`.
    pub(super) fn of(chain: &Chain<'a>, now: &'a Sample) -> Self {
        let opening = chain.links.iter().enumerate().find_map(|(at, link)| {
            let turn = user(link)?;
            shares(&turn.sample, now).then_some((at, turn))
        });
        let Some((at, first)) = opening else {
            return Self {
                opened: now,
                extended: Vec::new(),
                tells_from: None,
            };
        };
        let mut extended = Vec::new();
        let mut newest = first;
        let mut tells_from = Some(first.id);
        for link in chain.links.iter().skip(at + 1) {
            match link {
                Link::User(turn) => {
                    newest = turn;
                    tells_from = tells_from.or(Some(turn.id));
                }
                Link::Compaction(_) => {
                    extended.push(&*newest.sample);
                    tells_from = None;
                }
                Link::Assistant(_) => {}
            }
        }
        Self {
            opened: &first.sample,
            extended,
            tells_from,
        }
    }

    /// The system text, after which `ledger` knows what it tells: the head itself
    /// and an end for each compaction that had something to add.
    pub(super) fn head(&self, ledger: &mut Ledger, terms: Terms<'_>) -> Vec<Entries> {
        let mut head = vec![ledger.head(self.opened, terms)];
        for sample in &self.extended {
            let mut told = Entries::default();
            ledger.state(&mut told, sample, terms);
            head.push(told);
        }
        head.retain(|entries| !entries.spans.is_empty());
        head
    }

    /// Whether `turn` tells what changed: those in front of the lineage and those
    /// that a compaction kept do not, since the head holds it.
    pub(super) fn tells(&self, turn: &UserTurn) -> bool {
        self.tells_from.is_some_and(|first| turn.id >= first)
    }
}

fn user(link: &Link) -> Option<&Arc<UserTurn>> {
    match link {
        Link::User(turn) => Some(turn),
        Link::Assistant(_) | Link::Compaction(_) => None,
    }
}

/// Whether prompts for both can share a beginning.
fn shares(one: &Sample, other: &Sample) -> bool {
    let same_tools = Arc::ptr_eq(&one.tools, &other.tools) || one.tools == other.tools;
    same_tools && one.model == other.model
}
