//! Where a provider puts the two strings, the summary and the conversation.
//!
//! Source: turn context, sections 3.3, 3.4 and 9.

use super::assemble::Strings;
use super::history::Messages;
use crate::chat::{
    Block, Class, Family, MarkerRule, Message, Origin, Role, Span, SummaryPlace, TailPlace, Text,
    Wire,
};
use crate::context::configuration::Options;
use crate::context::phrases::Phrases;
use crate::context::render::{escape, join};

/// The wire as this family uses it.
#[derive(Clone, Copy, Debug)]
pub(super) struct Layout {
    /// The wire with the options applied.
    pub(super) wire: Wire,
    /// Anthropic and OpenRouter with caching on: what is not of the turn belongs
    /// to the stable string.
    pub(super) merge: bool,
}

impl Layout {
    /// How `options` change `wire`.
    ///
    /// A provider that takes the tail out of the system prompt does so for its
    /// cache only: with markers off, and no place asked for, the tail stays.
    pub(super) fn new(options: &Options, wire: Wire) -> Self {
        let mut wire = options.applied_to(wire);
        let caching = wire.markers != MarkerRule::None;
        if !caching && options.tail.is_none() {
            wire.tail = TailPlace::System;
        }
        let merges = matches!(wire.family, Family::Anthropic | Family::Openrouter);
        Self {
            wire,
            merge: caching && merges,
        }
    }
}

/// System prompt and messages in their places, without markers.
#[derive(Debug, Default)]
pub(super) struct Placed {
    /// Blocks of the system prompt.
    pub(super) system: Vec<Block>,
    /// Whether the first block of the system prompt is stable text.
    pub(super) stable: bool,
    /// The conversation.
    pub(super) messages: Vec<Message>,
    /// Index of the message that carries the tail.
    pub(super) tail: Option<usize>,
    /// Index of the newest human message.
    pub(super) newest: Option<usize>,
    /// The first so many messages are not part of the conversation.
    pub(super) synthetic: usize,
}

/// The summary as it stands in the tail.
pub(super) fn summary_in_tail(summary: &Text, phrases: &Phrases) -> Vec<Span> {
    let heading = format!("{}\n\n", phrases.get("turn.summary_heading"));
    vec![span(heading), span(summary.clone())]
}

/// The summary as a message at the head of the conversation.
pub(in crate::context) fn summary_at_head(summary: &Text, phrases: &Phrases) -> Message {
    let note = phrases.get("turn.summary_note");
    let spans = vec![
        span("<summary>\n"),
        span(escape(summary, "summary")),
        span(format!("\n</summary>\n\n{note}")),
    ];
    Message::text(Role::User, spans)
}

fn span(text: impl Into<Text>) -> Span {
    Span::new(Origin::SUMMARY, Class::Conversation, text)
}

/// Puts everything where `wire` wants it.
pub(super) fn place(
    strings: Strings,
    summary: Option<&Text>,
    messages: Messages,
    wire: Wire,
    phrases: &Phrases,
) -> Placed {
    let Strings { stable, mut tail } = strings;
    let mut placed = Placed {
        stable: !stable.is_empty(),
        messages: messages.list,
        newest: messages.newest,
        ..Placed::default()
    };
    match (summary, wire.summary) {
        (None, _) => {}
        (Some(summary), SummaryPlace::Tail) => {
            tail = join("\n\n", [tail, summary_in_tail(summary, phrases)]);
        }
        (Some(summary), SummaryPlace::Head) => {
            placed.put_first(summary_at_head(summary, phrases));
        }
    }
    // With nothing stable in front of it, the tail is plain system text anywhere.
    let own_place = if placed.stable {
        wire.tail
    } else {
        TailPlace::System
    };
    match own_place {
        TailPlace::System => placed.system(join("\n\n", [stable, tail])),
        TailPlace::SystemBlock => {
            placed.system(stable);
            placed.system(tail);
        }
        TailPlace::SecondSystem => {
            placed.system(stable);
            if !tail.is_empty() {
                placed.put_first(Message::text(Role::System, tail));
            }
        }
        TailPlace::BeforeNewest | TailPlace::BeforeNewestButFirst => {
            placed.system(stable);
            placed.put_tail(tail, own_place == TailPlace::BeforeNewestButFirst);
        }
    }
    placed
}

impl Placed {
    fn system(&mut self, spans: Vec<Span>) {
        if !spans.is_empty() {
            self.system.push(Block::text(spans));
        }
    }

    fn put_first(&mut self, message: Message) {
        self.messages.insert(0, message);
        self.synthetic += 1;
        self.newest = self.newest.map(|at| at + 1);
    }

    /// A message of its own right before the newest human one, so never between
    /// a tool call and its result; behind it, if that is asked for while it is
    /// the very first. Without any human message it comes last.
    fn put_tail(&mut self, tail: Vec<Span>, not_first: bool) {
        if tail.is_empty() {
            return;
        }
        let newest = self.newest.unwrap_or(self.messages.len());
        let behind = not_first && newest == 0 && !self.messages.is_empty();
        let at = if behind { 1 } else { newest };
        self.messages.insert(at, Message::text(Role::User, tail));
        self.tail = Some(at);
        if !behind {
            self.newest = self.newest.map(|newest| newest + 1);
        }
    }
}
