//! Compactions: what they replace, and what they keep.

use super::drive::Conversation;
use super::work::{Ask, Then, Work};
use crate::context::view::{Compaction, CompactionMode, Link, NodeId, Purpose};
use crate::scenario::model::CompactStep;
use std::sync::Arc;

impl Conversation {
    /// A `compact` step: asks for a summary where the scenario says so, and puts
    /// it into the tree.
    pub(super) fn compact(&mut self, step: &CompactStep) {
        if !step.call {
            return self.close_segment(self.chat, step);
        }
        if self.kept_by(self.chat, step).is_some() {
            let ask = Ask {
                purpose: Purpose::Summarise,
                then: Then::Compact(step.clone()),
                ..self.looking_at(self.chat)
            };
            self.queue.push_front(Work::Ask(ask));
        }
    }

    /// Puts a summary under the leaf of `chat`, unless it would replace nothing.
    pub(super) fn close_segment(&mut self, chat: usize, step: &CompactStep) {
        let Some(Kept(retained_from)) = self.kept_by(chat, step) else {
            return;
        };
        let chat = &mut self.chats[chat];
        let compaction = Compaction {
            id: chat.next_id(),
            summary: step.summary.clone(),
            mode: step.mode,
            keep_turns: step.keep_turns,
            retained_from,
            stored: None,
        };
        chat.add(chat.leaf, Link::Compaction(Arc::new(compaction)));
    }

    /// What a compaction would keep; `None` where there is nothing to summarise.
    fn kept_by(&mut self, chat: usize, step: &CompactStep) -> Option<Kept> {
        let ask = self.looking_at(chat);
        let live = self.sample(chat);
        let users: Vec<_> = self.with_chain(&ask, &live, |_, chain| {
            let visible = chain.visible().into_iter();
            visible
                .filter_map(|link| match link {
                    Link::User(turn) => Some(turn.id),
                    Link::Assistant(_) | Link::Compaction(_) => None,
                })
                .collect()
        });
        let kept = match step.mode {
            CompactionMode::Coverage => step.keep_turns,
            CompactionMode::Positional => 0,
        };
        let first = users.len().checked_sub(kept).filter(|head| *head > 0)?;
        Some(Kept(users.get(first).copied()))
    }
}

/// The first message that a compaction keeps word for word; `None` where it
/// keeps none.
struct Kept(Option<NodeId>);
