//! Planning at send time, and the system prompt of a segment.
//!
//! What the model knows at a message is the anchor of its segment and what the
//! user messages between the segment's opening and the message have told since:
//! a fold along the parent chain, so that branches know nothing of each other.
//!
//! Source: turn context, sections 4 to 9.

use super::assemble::{self, Piece, Strings};
use super::fold::State;
use super::history::update_of;
use super::live::agent_piece;
use super::produce::{Clock, Producer};
use super::state::{self, Anchor, Output, To, Update, Value};
use crate::chat::{Class, Origin};
use crate::context::registry::{self, key};
use crate::context::stored::Stored;
use crate::context::strategy::Plan;
use crate::context::view::{Chain, Link, Purpose, Sample, UserTurn};
use std::sync::Arc;

/// Whether a change of the source of that key is planned: then it is told in a message
/// and the anchor stays. What no sample holds is read anew: agent instructions, what
/// their author wrote, and keys that no registry knows.
pub(super) fn tells(key: &str) -> bool {
    match key {
        key::AGENT | key::TEMPORAL_AGENT | key::CONFIGURED | key::AGENT_FILES => false,
        Origin::TOOLS | Origin::MODEL => false,
        _ => registry::knows(key),
    }
}

fn as_anchor(stored: Option<&Stored>) -> Option<&Anchor> {
    match stored {
        Some(Stored::TurnAnchor(anchor)) => Some(anchor),
        _ => None,
    }
}

/// The anchor of the segment that the chain's end is in, if it has one yet.
fn anchor<'a>(chain: &Chain<'a>) -> Option<&'a Anchor> {
    match chain.boundary() {
        Some((_, compaction)) => as_anchor(compaction.stored.as_ref()),
        None => as_anchor(chain.anchor),
    }
}

/// The newest anchor of an earlier segment of the chain.
fn previous_anchor<'a>(chain: &Chain<'a>) -> Option<&'a Anchor> {
    let (boundary, _) = chain.boundary()?;
    let earlier = chain.links.iter().take(boundary).rev();
    let mut earlier = earlier.filter_map(|link| match link {
        Link::Compaction(compaction) => as_anchor(compaction.stored.as_ref()),
        Link::User(_) | Link::Assistant(_) => None,
    });
    earlier.next().or_else(|| as_anchor(chain.anchor))
}

/// User messages of the segment, oldest first. Older ones that a compaction kept
/// are not among them: the anchor already holds what they told.
fn segment<'a>(chain: &Chain<'a>) -> impl DoubleEndedIterator<Item = &'a Arc<UserTurn>> {
    let first = chain.boundary().map_or(0, |(at, _)| at + 1);
    chain
        .links
        .iter()
        .skip(first)
        .filter_map(|link| match link {
            Link::User(turn) => Some(turn),
            Link::Assistant(_) | Link::Compaction(_) => None,
        })
}

/// What the model knows: the fold of everything that the segment's user messages
/// told, `but` one, over its anchor. `None` before the segment has an anchor.
pub(super) fn known(chain: &Chain<'_>, but: Option<&Arc<UserTurn>>) -> Option<State> {
    let mut known = State::of_anchor(anchor(chain)?);
    segment(chain)
        .filter(|turn| but.is_none_or(|but| turn.id != but.id))
        .filter_map(|turn| update_of(turn))
        .for_each(|update| known.learn(update));
    Some(known)
}

/// What is to be stored for the newest message of `chain`.
pub(super) fn plan(chain: &Chain<'_>, producer: Producer<'_>, stamps: bool) -> Plan {
    let Some(newest) = chain.newest() else {
        return Plan::default();
    };
    let now = producer.state(&newest.sample);
    let mut plan = Plan::default();
    let known = known(chain, Some(newest)).unwrap_or_else(|| {
        let opening = Anchor::opening(previous_anchor(chain), &now);
        plan.anchor = Some(Stored::TurnAnchor(opening));
        now.clone()
    });
    if now.date < known.date {
        plan.warnings.push(format!(
            "the local date went back from `{}` to `{}`, which is not announced",
            known.date, now.date
        ));
    }
    let update = update(newest, &known, &now, stamps);
    plan.message = (!update.is_empty()).then_some(Stored::TurnUpdate(update));
    plan
}

fn update(turn: &UserTurn, known: &State, now: &State, stamps: bool) -> Update {
    Update {
        version: state::VERSION,
        date: (now.date > known.date).then(|| now.date.clone()),
        changes: known.changes_to(now),
        sent: stamps.then(|| turn.sent.minute()),
        retrieved: turn.retrieved.clone(),
        outputs: turn
            .tool_outputs
            .iter()
            .map(|output| Output {
                tool: Arc::clone(&output.tool),
                text: output.output.clone(),
            })
            .collect(),
        files: turn.queued_files.clone(),
    }
}

/// Whether memory is off, and so left out of the whole request: by what was
/// planned up to the newest message, or by the user's wish since then.
pub(super) fn withheld(chain: &Chain<'_>) -> bool {
    let told = segment(chain).rev().find_map(|turn| {
        let changes = &update_of(turn)?.changes;
        let memory = changes.iter().find(|change| &*change.key == key::MEMORY)?;
        Some(memory.to == To::Off)
    });
    let anchored = || {
        let parts = &anchor(chain)?.parts;
        let memory = parts.iter().find(|part| &*part.key == key::MEMORY)?;
        Some(memory.value == Value::Off)
    };
    !chain.live.memory.on || told.or_else(anchored).unwrap_or(false)
}

/// The sample that configuration (agent instructions, tools, model) is read
/// from: a resumed turn goes on with what it was paused with.
pub(super) fn configured<'a>(chain: &Chain<'a>) -> &'a Sample {
    match (chain.purpose, chain.newest()) {
        (Purpose::Resume, Some(turn)) => &turn.sample,
        _ => chain.live,
    }
}

/// The system prompt's strings: the anchored sources in the anchor's order, and
/// what no anchor holds.
///
/// Before a chat's first send with this layout there is no anchor; then a
/// request is built as if it were opened by the newest message's sample.
pub(super) fn strings(
    chain: &Chain<'_>,
    producer: Producer<'_>,
    others: Vec<Piece>,
    merge: bool,
) -> Strings {
    let opened;
    let anchor = if let Some(anchor) = anchor(chain) {
        anchor
    } else {
        let sample = chain.newest().map_or(chain.live, |turn| &turn.sample);
        opened = Anchor::opening(previous_anchor(chain), &producer.state(sample));
        &opened
    };
    let withheld = withheld(chain);
    let shown = anchor.parts.iter();
    let shown = shown.filter(|part| !(withheld && &*part.key == key::MEMORY));
    let mut pieces: Vec<Piece> = shown
        .map(|part| Piece::new(&part.key, producer.part(part)))
        .map(|piece| match piece.class {
            Class::Turn => piece.classed(Class::Conversation),
            Class::Static | Class::Conversation => piece,
        })
        .collect();
    let sample = configured(chain);
    pieces.extend(date(anchor, sample, producer));
    let agent = agent_piece(&sample.system, sample, Clock::Start);
    pieces.extend(agent.map(|piece| match piece.class {
        Class::Turn => piece.classed(Class::Conversation),
        Class::Static | Class::Conversation => piece,
    }));
    pieces.extend(others);
    assemble::lever_on(pieces, merge)
}

/// The date of a segment that did not open on the day the conversation began:
/// what older messages said of it may be gone.
fn date(anchor: &Anchor, sample: &Sample, producer: Producer<'_>) -> Option<Piece> {
    (anchor.date != sample.started.date()).then(|| {
        let text = format!("{}{}", producer.phrases.get("turn.date"), anchor.date);
        Piece::new(key::DATE, vec![registry::span(key::DATE, text)])
    })
}
