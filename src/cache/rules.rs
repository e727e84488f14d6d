//! What a request may read, and where it leaves entries, under each model
//! that can be read off a [`Walk`].

use super::model::Model;
use super::state::Query;
use super::tree::Walk;
use crate::chat::Role;

/// Message ends that a request of [`Model::MessageEnds`] lists before its last.
const EARLIER_ENDS: usize = 20;
/// Markers that a request of [`Model::MessageEnds`] writes beside its own end.
const WRITTEN_MARKERS: usize = 3;

/// What a model says of one request.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct Verdict {
    /// Tokens that can be read.
    pub(super) read: usize,
    /// Tokens newly written, where the server tells.
    pub(super) created: Option<usize>,
    /// Of these, the ones that live longer.
    pub(super) created_long: usize,
    /// Positions in the prompt at which entries are left behind, or refreshed
    /// by being read; 0 stands for none.
    pub(super) writes: Vec<usize>,
}

impl Verdict {
    fn read(read: usize) -> Self {
        Self {
            read,
            ..Self::default()
        }
    }
}

/// Reads the verdict of `model` off what `query` shares with earlier prompts.
///
/// [`Model::Slots`] and pools that can be full have a state of their own and
/// use only the common prefix.
pub(super) fn verdict(model: &Model, query: &Query<'_>, walk: &Walk) -> Verdict {
    let prompt = query.ids.len();
    let reusable = walk.common.min(prompt.saturating_sub(1));
    match *model {
        Model::Blocks { size, drop, .. } => {
            let size = size.get();
            let read = (reusable / size).saturating_sub(drop) * size;
            Verdict {
                created: Some((prompt / size * size).saturating_sub(read)),
                ..Verdict::read(read)
            }
        }
        Model::Align { size, drop } => {
            let size = size.get();
            let kept = walk.marks.iter().rev().find(|&&mark| mark <= reusable);
            let kept = kept.copied().unwrap_or(0);
            let read = (kept / size).saturating_sub(drop) * size;
            Verdict {
                created: Some((prompt / size * size).saturating_sub(read)),
                writes: vec![prompt / size * size, walk.common / size * size, kept],
                ..Verdict::read(read)
            }
        }
        Model::Radix { page } => Verdict::read(reusable / page.get() * page.get()),
        Model::Slots { .. } => Verdict::read(reusable),
        Model::Steps { size, min } => {
            let read = walk.common / size.get() * size.get();
            Verdict::read(if read >= min { read } else { 0 })
        }
        Model::MessageEnds { min } => message_ends(query, walk, min),
        Model::Breakpoints { min, lookback } => breakpoints(query, walk, min, lookback),
        Model::Units => {
            let read = walk.marks.last().copied().unwrap_or(0);
            Verdict {
                writes: vec![prompt, walk.common, read],
                ..Verdict::read(read)
            }
        }
    }
}

/// OpenAI 5.6 and later; source: its guide on prompt caching. In its mode `explicit`
/// only the markers count, and without any nothing is read or written.
fn message_ends(query: &Query<'_>, walk: &Walk, min: usize) -> Verdict {
    let (ends, initial) = if query.wishes.explicit {
        (Vec::new(), None)
    } else {
        eligible_ends(query)
    };
    let most_markers = if query.wishes.explicit {
        WRITTEN_MARKERS + 1
    } else {
        WRITTEN_MARKERS
    };
    let own = ends.last().copied();
    let mut listed: Vec<usize> = ends.iter().rev().take(EARLIER_ENDS + 1).copied().collect();
    listed.extend(initial);
    listed.extend_from_slice(query.markers);
    let read = largest(walk, min, |mark| listed.contains(&mark));
    let mut writes: Vec<usize> = own.into_iter().chain(initial).collect();
    writes.extend(query.markers.iter().rev().take(most_markers));
    writes.retain(|&position| position >= min);
    let last = writes.iter().max().copied().unwrap_or(0);
    writes.push(read);
    Verdict {
        created: Some(last.saturating_sub(read)),
        writes,
        ..Verdict::read(read)
    }
}

/// Ends of the messages that an entry may end behind, ascending, and the end
/// of the initial system messages.
///
/// Eligible are user messages and the last of consecutive tool results;
/// without roles, all.
fn eligible_ends(query: &Query<'_>) -> (Vec<usize>, Option<usize>) {
    if query.roles.len() != query.ends.len() {
        return (query.ends.to_vec(), None);
    }
    let initial = query
        .roles
        .iter()
        .take_while(|role| matches!(role, Role::Tools | Role::System))
        .count();
    let initial = initial.checked_sub(1).map(|last| query.ends[last]);
    let ends = query.ends.iter().zip(query.roles).enumerate();
    let eligible = ends.filter(|(index, (_, role))| match role {
        Role::User => true,
        Role::Tool => query.roles.get(index + 1) != Some(&Role::Tool),
        _ => false,
    });
    let mut eligible: Vec<usize> = eligible.map(|(_, (end, _))| *end).collect();
    if eligible.is_empty() {
        eligible.extend(initial);
    }
    (eligible, initial)
}

/// Anthropic; source: its documentation of prompt caching.
fn breakpoints(query: &Query<'_>, walk: &Walk, min: usize, lookback: usize) -> Verdict {
    // Blocks are what a marker can stand behind; a marker inside a message adds one.
    let mut blocks: Vec<usize> = query.ends.iter().chain(query.markers).copied().collect();
    blocks.sort_unstable();
    blocks.dedup();
    let near = |mark: usize| {
        query.markers.iter().any(|&marker| {
            let behind = blocks.iter().filter(|&&end| end > mark && end <= marker);
            mark <= marker && behind.count() < lookback
        })
    };
    let read = largest(walk, min, near);
    let mut writes = query.markers.to_vec();
    writes.retain(|&position| position >= min);
    let last = writes.iter().max().copied().unwrap_or(0);
    let long = query.wishes.long_markers.iter();
    let long = long.filter(|&&position| position >= min).max().copied();
    writes.push(read);
    Verdict {
        created: Some(last.saturating_sub(read)),
        created_long: long.unwrap_or(0).saturating_sub(read),
        writes,
        ..Verdict::read(read)
    }
}

fn largest(walk: &Walk, min: usize, allowed: impl Fn(usize) -> bool) -> usize {
    let mut marks = walk.marks.iter().rev().copied();
    marks
        .find(|&mark| mark >= min && allowed(mark))
        .unwrap_or(0)
}
