//! The system prompt from the sources as they are now: every request of `dev`,
//! `lever-off` and `parts`, and of isolated helpers under any arm.
//!
//! Source: turn context, sections 3.1 to 3.3.

use super::assemble::{self, Piece, Strings};
use super::place::Layout;
use super::produce::{self, Clock, Producer};
use super::{DIRECT_TAIL, TurnContext, variables};
use crate::chat::{Class, Text};
use crate::context::registry::{self, key};
use crate::context::view::{Chain, Purpose, Sample, Subagent, UserTurn};

impl TurnContext {
    /// The system prompt's strings from live state.
    pub(super) fn live(&self, chain: &Chain<'_>, layout: Layout) -> Strings {
        let mut pieces = self.live_pieces(chain);
        pieces.sort_by_key(|piece| registry::order(&piece.key));
        if self.arm.lever_on() {
            assemble::lever_on(pieces, layout.merge)
        } else {
            assemble::before(pieces)
        }
    }

    fn live_pieces(&self, chain: &Chain<'_>) -> Vec<Piece> {
        let producer = self.producer();
        let sample = chain.live;
        let clock = if self.arm.lever_on() {
            Clock::Start
        } else {
            Clock::Turn
        };
        let parts = producer.parts(sample, clock);
        let mut pieces: Vec<Piece> = parts
            .iter()
            .map(|part| Piece::new(&part.key, producer.part(part)))
            .collect();
        pieces.extend(self.agent(chain, clock));
        pieces.extend(self.others(sample));
        match chain.purpose {
            Purpose::Subagent(helper) => pieces.extend(helpers(helper, producer)),
            _ => pieces.extend(
                chain
                    .newest()
                    .into_iter()
                    .flat_map(|it| bound(it, producer)),
            ),
        }
        if self.arm.lever_on() {
            for piece in &mut pieces {
                if matches!(&*piece.key, key::WEB_SEARCH_TIME | key::TEMPORAL_AGENT) {
                    *piece = piece.clone().classed(Class::Conversation);
                }
            }
        }
        pieces
    }

    /// Agent instructions. With the old client's fault, variables were resolved
    /// by the client from the second turn on, so the server saw plain text.
    fn agent(&self, chain: &Chain<'_>, clock: Clock) -> Option<Piece> {
        let sample = chain.live;
        let fault = self.options.prompt_prefix == Some(true) && chain.users().count() > 1;
        let system = if fault {
            &Text::from(variables::resolve(&sample.system, &sample.at))
        } else {
            &sample.system
        };
        agent_piece(system, sample, clock)
    }

    /// Parts under keys of no source. A direct write to the tail counts only
    /// while there are no classified parts.
    pub(super) fn others(&self, sample: &Sample) -> Vec<Piece> {
        let read = |key: &str| !(self.arm.lever_on() && key == DIRECT_TAIL);
        let other = sample.other.iter().filter(|(key, _)| read(key));
        other
            .map(|(key, text)| Piece::new(key, vec![registry::span(key, text.clone())]))
            .collect()
    }
}

/// Agent instructions of `sample`, with variables replaced where there are any.
pub(super) fn agent_piece(system: &Text, sample: &Sample, clock: Clock) -> Option<Piece> {
    let spans = produce::agent(system, &produce::prompt_time(sample, clock));
    let key = spans.first().map(|span| span.origin.as_str().to_owned())?;
    Some(Piece::new(&key, spans))
}

/// What was retrieved and staged for the newest message.
fn bound(turn: &UserTurn, producer: Producer<'_>) -> Vec<Piece> {
    let retrieved = turn.retrieved.iter();
    let retrieved = retrieved.map(|text| {
        let span = registry::span(key::RETRIEVED, text.clone());
        Piece::new(key::RETRIEVED, vec![span])
    });
    let outputs = turn.tool_outputs.iter();
    let outputs = outputs.map(|it| Piece::new(key::TOOL_OUTPUTS, producer.output(it)));
    let files = Piece::new(key::QUEUED_FILES, producer.queued(&turn.queued_files));
    retrieved.chain(outputs).chain([files]).collect()
}

/// What an isolated helper has of its own.
fn helpers(helper: &Subagent, producer: Producer<'_>) -> Vec<Piece> {
    let skills = helper.skills.iter();
    let skills = skills.map(|(name, body)| {
        let spans = producer.always_apply(name, body);
        Piece::new(&format!("{}{name}", key::ALWAYS_APPLY), spans)
    });
    let retrieved = helper.retrieved.iter().map(|text| {
        let span = registry::span(key::RETRIEVED, text.clone());
        Piece::new(key::RETRIEVED, vec![span])
    });
    skills.chain(retrieved).collect()
}
