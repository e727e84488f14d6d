//! The messages of a conversation, as an arm of this family shows them.
//!
//! Rendered messages are remembered per node of the tree, so that a later turn
//! copies pointers instead of text.
//!
//! Source: turn context, sections 3.1, 4.4, 7 and 8.

use super::block::{TAG, block};
use super::produce::Producer;
use super::state::{self, Update};
use crate::chat::{Block, Class, Content, Message, Origin, Role, Span};
use crate::context::configuration::Reasoning;
use crate::context::registry::{self, key};
use crate::context::render::{answer, escape, file_context, images, join, round};
use crate::context::stored::Stored;
use crate::context::view::{Chain, Link, Moment, NodeId, UserTurn};
use std::collections::HashMap;
use std::sync::Arc;

/// What an arm adds to user messages.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Notes {
    /// Nothing: a message is what was typed and attached.
    None,
    /// The date, on the first message of a later one; derived at render time, so
    /// it depends on the zone then in force.
    Dates,
    /// What was planned and stored.
    Stored,
}

/// How messages are to be shown in one request.
#[derive(Clone, Copy)]
pub(super) struct Manner<'a> {
    /// What is added to user messages.
    pub(super) notes: Notes,
    /// Stamp every user message with its send time, in this zone.
    pub(super) stamps: Option<&'a jiff::tz::TimeZone>,
    /// Memory is off: nothing of it is shown.
    pub(super) withheld: bool,
    /// Whether reasoning goes back.
    pub(super) reasoning: Reasoning,
}

/// What one user message's text depends on beside the message.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Look {
    note: Option<String>,
    stamp: Option<String>,
    withheld: bool,
    rounds: usize,
}

struct Remembered {
    turn: Arc<UserTurn>,
    look: Look,
    messages: Vec<Message>,
}

/// The messages of a chain.
#[derive(Debug, Default)]
pub(super) struct Messages {
    /// In order.
    pub(super) list: Vec<Message>,
    /// Index of the newest human message.
    pub(super) newest: Option<usize>,
}

/// Renders messages and remembers them.
#[derive(Default)]
pub(super) struct History {
    remembered: HashMap<NodeId, Remembered>,
}

impl History {
    /// Every message that `chain` still shows word for word.
    pub(super) fn messages(
        &mut self,
        chain: &Chain<'_>,
        manner: Manner<'_>,
        producer: Producer<'_>,
    ) -> Messages {
        let visible = chain.visible();
        let mut dates = Dates::new(chain);
        let mut out = Messages::default();
        for (at, link) in visible.iter().enumerate() {
            match link {
                Link::User(turn) => {
                    let newest = at + 1 == visible.len();
                    let look = Look {
                        note: (manner.notes == Notes::Dates)
                            .then(|| dates.note(turn))
                            .flatten(),
                        stamp: manner.stamps.map(|zone| stamp(turn, zone)),
                        withheld: manner.withheld,
                        rounds: if newest {
                            chain.rounds
                        } else {
                            turn.rounds.len()
                        },
                    };
                    out.newest = Some(out.list.len());
                    let messages = self.user(turn, look, manner.notes, producer);
                    out.list.extend(messages.iter().cloned());
                }
                Link::Assistant(turn) => out.list.extend(answer(turn, manner.reasoning)),
                Link::Compaction(_) => {}
            }
        }
        out
    }

    fn user(
        &mut self,
        turn: &Arc<UserTurn>,
        look: Look,
        notes: Notes,
        producer: Producer<'_>,
    ) -> &[Message] {
        let entry = self.remembered.entry(turn.id);
        let render = |look: Look| Remembered {
            messages: user(turn, &look, notes, producer),
            turn: Arc::clone(turn),
            look,
        };
        let kept = match entry {
            std::collections::hash_map::Entry::Vacant(vacant) => vacant.insert(render(look)),
            std::collections::hash_map::Entry::Occupied(occupied) => {
                let kept = occupied.into_mut();
                if !Arc::ptr_eq(&kept.turn, turn) || kept.look != look {
                    *kept = render(look);
                }
                kept
            }
        };
        &kept.messages
    }
}

/// A user message, and the rounds of its tool loop that have happened.
fn user(turn: &UserTurn, look: &Look, notes: Notes, producer: Producer<'_>) -> Vec<Message> {
    let front = match notes {
        Notes::None => Vec::new(),
        Notes::Dates => look.note.as_ref().map_or_else(Vec::new, |date| {
            let update = Update {
                version: state::VERSION,
                date: Some(date.clone()),
                ..Update::default()
            };
            block(&update, producer, false)
        }),
        Notes::Stored => {
            update_of(turn).map_or_else(Vec::new, |it| block(it, producer, look.withheld))
        }
    };
    let stamp = look.stamp.iter();
    let stamp = stamp.map(|at| registry::span(key::SEND_TIME, format!("[{at}]")));
    let mut files = file_context(&turn.attachments, producer.phrases);
    let mut typed = Span::new(Origin::USER, Class::Turn, turn.text.clone());
    if notes != Notes::None {
        for span in files.iter_mut().chain([&mut typed]) {
            span.text = escape(&span.text, TAG);
        }
    }
    let stamped = join(
        "\n",
        [stamp.collect(), join("\n\n", [files, vec![typed.clone()]])],
    );
    let mut text = join("\n\n", [front, stamped]);
    if text.is_empty() {
        text.push(typed);
    }
    let message = Message {
        role: Role::User,
        blocks: std::iter::once(Block::text(text))
            .chain(images(&turn.attachments))
            .collect(),
        tool_call_id: None,
    };
    let rounds = turn.rounds.iter().take(look.rounds).flat_map(round);
    std::iter::once(without_blank_text(message))
        .chain(rounds)
        .collect()
}

/// A picture sent without a word needs no empty text beside it.
fn without_blank_text(mut message: Message) -> Message {
    if message.blocks.len() > 1 {
        message.blocks.retain(|block| match &block.content {
            Content::Text(spans) => spans.iter().any(|span| !span.text.is_empty()),
            _ => true,
        });
    }
    message
}

/// What this family stored on `turn`, if anything.
pub(super) fn update_of(turn: &UserTurn) -> Option<&Update> {
    match &turn.stored {
        Some(Stored::TurnUpdate(update)) => Some(update),
        _ => None,
    }
}

fn stamp(turn: &UserTurn, zone: &jiff::tz::TimeZone) -> String {
    let at = turn.sent.at;
    Moment {
        at,
        zone: zone.clone(),
    }
    .minute()
}

/// Notes of later dates, derived from send times in the zone now in force. The
/// system prompt states the start of the conversation, so that is the first
/// date seen, also behind a compaction.
struct Dates {
    zone: jiff::tz::TimeZone,
    seen: String,
}

impl Dates {
    fn new(chain: &Chain<'_>) -> Self {
        let zone = chain.live.at.zone.clone();
        let at = chain.live.started.at;
        let seen = Moment {
            at,
            zone: zone.clone(),
        }
        .date();
        Self { zone, seen }
    }

    fn note(&mut self, turn: &UserTurn) -> Option<String> {
        let (at, zone) = (turn.sent.at, self.zone.clone());
        let date = Moment { at, zone }.date();
        // `2026-10-17 (Saturday)` sorts by time.
        if date <= self.seen {
            return None;
        }
        self.seen.clone_from(&date);
        Some(date)
    }
}
