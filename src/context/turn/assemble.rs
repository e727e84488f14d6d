//! The two strings of a system prompt: the stable one and the tail.
//!
//! Producers contribute keyed pieces; the registry orders and classes them; the
//! functions here join them as one arm or another does.
//!
//! Source: turn context, section 3.

use crate::chat::{Class, Span};
use crate::context::registry::{self, key};
use crate::context::render::{append, join, reclass, trim};
use std::sync::Arc;

/// What one source contributes to the system prompt.
#[derive(Clone, Debug)]
pub(super) struct Piece {
    /// The source.
    pub(super) key: Arc<str>,
    /// Class by which it is laid out; that of the registry unless an arm knows better.
    pub(super) class: Class,
    /// Its text with heading.
    pub(super) spans: Vec<Span>,
}

impl Piece {
    /// A piece of the registry's class.
    pub(super) fn new(key: &str, spans: Vec<Span>) -> Self {
        let class = registry::class(key);
        Self {
            key: Arc::from(key),
            class,
            spans,
        }
    }

    /// The same piece, laid out as `class`; its spans say so too.
    pub(super) fn classed(mut self, class: Class) -> Self {
        self.class = class;
        self.spans = reclass(self.spans, class);
        self
    }

    /// Whether it goes in front of the agent instructions.
    fn is_front(&self) -> bool {
        self.key.starts_with("tool_context.") || &*self.key == key::AGENT
    }

    fn is_runtime(&self) -> bool {
        self.key.starts_with("tool_runtime.")
    }

    fn is_always_apply(&self) -> bool {
        self.key.starts_with(key::ALWAYS_APPLY)
    }

    /// Where it stands among those of its class with the lever on: what the agent's
    /// author wrote, what is additional to it, a helper's skills, the tool runtime, and
    /// the date of the segment.
    fn rank(&self) -> u8 {
        match &*self.key {
            key::CONFIGURED => 0,
            key::DATE => 4,
            _ if self.is_runtime() => 3,
            _ if self.is_always_apply() => 2,
            _ => 1,
        }
    }
}

/// The two strings. Both are trimmed; either may be empty.
#[derive(Clone, Debug, Default)]
pub(super) struct Strings {
    /// What should stay the same.
    pub(super) stable: Vec<Span>,
    /// What may change.
    pub(super) tail: Vec<Span>,
}

fn spans(pieces: Vec<Piece>) -> impl Iterator<Item = Vec<Span>> {
    pieces.into_iter().map(|piece| piece.spans)
}

/// As it was before the lever: the tool runtime, with its time, in front of the
/// additional instructions; a helper's skills at the very end.
///
/// `pieces` in any order; those of one key keep theirs.
pub(super) fn before(mut pieces: Vec<Piece>) -> Strings {
    pieces.sort_by_key(|piece| registry::order(&piece.key));
    let (front, rest): (Vec<_>, Vec<_>) = pieces.into_iter().partition(Piece::is_front);
    let (runtime, rest): (Vec<_>, Vec<_>) = rest.into_iter().partition(Piece::is_runtime);
    let (skills, additional): (Vec<_>, Vec<_>) = rest.into_iter().partition(Piece::is_always_apply);
    let runtime = join("\n", spans(runtime));
    let additional = join("\n\n", spans(additional));
    let tail = join("\n", [runtime, additional]);
    let tail = join("\n\n", std::iter::once(tail).chain(spans(skills)));
    Strings {
        stable: trim(join("\n", spans(front))),
        tail: trim(tail),
    }
}

/// With the lever on: what may change within a turn comes last, and in either class
/// the tool runtime behind what is additional to it.
///
/// `pieces` in the order in which those of one kind are to stand. With `merge` (Anthropic and OpenRouter, caching on) everything that is not of the
/// turn is part of the stable string.
pub(super) fn lever_on(pieces: Vec<Piece>, merge: bool) -> Strings {
    let (mut front, mut rest): (Vec<_>, Vec<_>) = pieces.into_iter().partition(Piece::is_front);
    front.sort_by_key(|piece| registry::order(&piece.key));
    rest.sort_by_key(Piece::rank);
    let (turn, conversation): (Vec<_>, Vec<_>) = rest
        .into_iter()
        .partition(|piece| piece.class == Class::Turn);
    let stable = join("\n", spans(front));
    let (conversation, turn) = (additional(conversation), additional(turn));
    if merge {
        let stable = trim(join("\n\n", [stable, conversation]));
        return Strings {
            stable,
            tail: trim(turn),
        };
    }
    let tail = trim(join("\n\n", [conversation, turn]));
    Strings {
        stable: trim(stable),
        tail,
    }
}

fn additional(pieces: Vec<Piece>) -> Vec<Span> {
    let mut out = Vec::new();
    for piece in pieces {
        let separator = if piece.is_runtime() { "\n" } else { "\n\n" };
        append(&mut out, separator, piece.spans);
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    fn piece(key: &str) -> Piece {
        let text = key.rsplit('.').next().unwrap_or(key);
        Piece::new(key, vec![registry::span(key, text)])
    }

    fn text(spans: &[Span]) -> String {
        spans.iter().map(|span| &*span.text).collect()
    }

    /// One of each, out of order.
    fn all() -> Vec<Piece> {
        [
            "weather",
            key::QUEUED_FILES,
            key::WEB_SEARCH_TIME,
            "agent_context_files",
            key::MEMORY,
            "always_apply_skill.review",
            key::RETRIEVED,
            key::SKILLS,
            key::ARTIFACTS,
            key::MEMORY_GUARD,
            key::PROJECT,
            key::CONFIGURED,
            key::AGENT,
            key::WEB_SEARCH_NOTES,
        ]
        .map(piece)
        .to_vec()
    }

    #[test]
    fn before_the_lever_the_runtime_stands_in_front_and_a_helpers_skills_last() {
        let strings = before(all());
        assert_eq!(text(&strings.stable), "web_search\nagent_instructions");
        assert_eq!(
            text(&strings.tail),
            "web_search\nqueued_code_files\nconfigured_additional\n\nproject\n\n\
             memory_guard\n\nartifacts\n\nskills_catalog\n\nretrieved_context\n\n\
             memory\n\nagent_context_files\n\nweather\n\nreview"
        );
    }

    #[test]
    fn with_the_lever_what_is_of_the_turn_stands_last_and_the_rest_can_be_merged() {
        let mut pieces = all();
        pieces.sort_by_key(|piece| registry::order(&piece.key));
        let pieces: Vec<Piece> = pieces
            .into_iter()
            .map(|piece| match &*piece.key {
                key::WEB_SEARCH_TIME => piece.classed(Class::Conversation),
                _ => piece,
            })
            .collect();
        let conversation = "configured_additional\n\nproject\n\nmemory_guard\n\n\
                            artifacts\n\nskills_catalog\n\nagent_context_files\n\n\
                            review\nweb_search";
        let turn = "retrieved_context\n\nmemory\n\nweather\nqueued_code_files";

        let apart = lever_on(pieces.clone(), false);
        assert_eq!(text(&apart.stable), "web_search\nagent_instructions");
        assert_eq!(text(&apart.tail), format!("{conversation}\n\n{turn}"));

        let merged = lever_on(pieces, true);
        let stable = format!("web_search\nagent_instructions\n\n{conversation}");
        assert_eq!(text(&merged.stable), stable);
        assert_eq!(text(&merged.tail), turn);
    }
}
