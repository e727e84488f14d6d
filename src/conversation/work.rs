//! What a conversation still has to do.

use crate::chat::Text;
use crate::context::view::{NodeId, Purpose, Sample};
use crate::scenario::model::{Action, CompactStep, Step, TurnRef};
use std::collections::VecDeque;
use std::sync::Arc;

/// A turn that has begun.
#[derive(Clone, Debug)]
pub(super) struct Turn {
    /// Index of its chat.
    pub(super) chat: usize,
    /// Its user message.
    pub(super) user: NodeId,
    /// Its answer, once it is there.
    pub(super) answer: Option<NodeId>,
    /// The scripted answer.
    pub(super) reply: Text,
    /// Words that a live answer should hold.
    pub(super) expect: Vec<String>,
}

/// What follows an answer.
#[derive(Clone, Debug)]
pub(super) enum Then {
    /// The tool loop goes on: the round's calls and results are scripted.
    GoOn,
    /// It is the turn's answer.
    Answer,
    /// It is the summary of a compaction.
    Compact(CompactStep),
    /// It is nobody's business.
    Nothing,
}

/// A request that is to be built.
#[derive(Clone, Debug)]
pub(super) struct Ask {
    /// The turn that it counts with.
    pub(super) turn: u32,
    /// Index of its chat.
    pub(super) chat: usize,
    /// Last message of the path that it shows.
    pub(super) leaf: Option<NodeId>,
    /// Why it is built.
    pub(super) purpose: Purpose,
    /// Rounds of the tool loop that have happened.
    pub(super) rounds: usize,
    /// The state that counts as live; the state when it is built where `None`.
    pub(super) live: Option<Arc<Sample>>,
    /// What follows its answer.
    pub(super) then: Then,
}

/// One thing to do.
#[derive(Clone, Debug)]
pub(super) enum Work {
    /// The scenario's step of that index happens.
    Scripted(usize),
    /// Something happens within another step.
    Step(Step),
    /// Something is asked.
    Ask(Ask),
    /// The paused tool loop of a turn goes on.
    Resume(u32),
}

/// Whether the tool loop of the turn that begins now pauses before its last
/// request: a later step approves it.
///
/// `last` means the newest turn, so it names this one only while no other turn
/// has begun.
pub(super) fn is_approved_later(queue: &VecDeque<Work>, script: &[Step], turn: u32) -> bool {
    let mut newest = true;
    let steps = queue.iter().filter_map(|work| match work {
        Work::Scripted(at) => script.get(*at),
        Work::Step(step) => Some(step),
        Work::Ask(_) | Work::Resume(_) => None,
    });
    for step in steps {
        match &step.action {
            Action::Approve {
                turn: TurnRef::Last,
                ..
            } if newest => return true,
            Action::Approve {
                turn: TurnRef::Number(number),
                ..
            } if *number == turn => return true,
            Action::User(_) | Action::Edit { .. } | Action::Regenerate { .. } => newest = false,
            _ => {}
        }
    }
    false
}
