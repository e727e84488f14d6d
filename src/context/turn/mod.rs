//! The turn-context family: `dev`, `lever-off`, `parts` and `turn-context`.
//!
//! One strategy with four arms. `dev` re-reads every source on each request and
//! writes it into the system prompt, volatile text in front. `lever-off` is the
//! same by construction. `parts` classes the sources and fixes the prompt's
//! time. `turn-context` samples the sources when a message is sent, stores the
//! net difference from what the model knows on that message, and freezes the
//! system prompt from one compaction to the next.
//!
//! Invariants of `turn-context`: what was stored renders to the same bytes
//! whatever the clock and zone, unless memory is off; regenerating and resuming
//! write nothing; within a segment the system prompt changes only with what no
//! sample holds (agent instructions, keys that no registry knows).

mod assemble;
mod block;
mod history;
mod markers;
pub(super) mod place;
mod planned;
pub(super) mod produce;
pub(crate) mod state;
pub(super) mod variables;

use super::configuration::{MemoryForm, Options, Reasoning};
use super::phrases::Phrases;
use super::registry::{self, key};
use super::render::hints;
use super::strategy::{ContextError, Plan, Setup, Strategy, StrategyKind};
use super::view::{Chain, Purpose, Sample, Subagent, UserTurn};
use crate::chat::{Class, Message, Origin, Prompt, Role, Span, Text, Ttl};
use assemble::{Piece, Strings};
use history::{History, Manner, Messages, Notes};
use place::Layout;
use produce::{Clock, Producer};
use std::sync::Arc;

/// A key under which someone writes to the tail directly.
const DIRECT_TAIL: &str = "additional_instructions";

/// The lines of the registry.
pub(super) const DEV: StrategyKind = StrategyKind {
    name: "dev",
    about: "Context re-read on every request and written into the system prompt, volatile text in front",
    start: |setup| TurnContext::start(Arm::Dev, setup),
};
pub(super) const LEVER_OFF: StrategyKind = StrategyKind {
    name: "lever-off",
    about: "The same as dev, with the stable-context lever present and off",
    start: |setup| TurnContext::start(Arm::Off, setup),
};
pub(super) const PARTS: StrategyKind = StrategyKind {
    name: "parts",
    about: "Lever on, first half: classified parts, time anchored to the start of the conversation",
    start: |setup| TurnContext::start(Arm::Parts, setup),
};
pub(super) const TURN_CONTEXT: StrategyKind = StrategyKind {
    name: "turn-context",
    about: "Lever on: changes planned at send time, one block per message, system prompt frozen per segment",
    start: |setup| TurnContext::start(Arm::Planned, setup),
};

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Arm {
    Dev,
    Off,
    Parts,
    Planned,
}

impl Arm {
    fn name(self) -> &'static str {
        match self {
            Self::Dev => DEV.name,
            Self::Off => LEVER_OFF.name,
            Self::Parts => PARTS.name,
            Self::Planned => TURN_CONTEXT.name,
        }
    }

    fn lever_on(self) -> bool {
        matches!(self, Self::Parts | Self::Planned)
    }
}

struct TurnContext {
    arm: Arm,
    options: Options,
    phrases: Arc<Phrases>,
    history: History,
}

impl TurnContext {
    fn start(arm: Arm, setup: Setup) -> Result<Box<dyn Strategy>, ContextError> {
        let Setup {
            options, phrases, ..
        } = setup;
        let unread = [
            ("window", options.window.is_some()),
            (
                "prompt_prefix",
                options.prompt_prefix.is_some() && arm.lever_on(),
            ),
            (
                "drop_current_from_library",
                options.drop_current_from_library.is_some(),
            ),
            ("external", options.external.is_some()),
            ("raw", options.raw.is_some()),
        ];
        if let Some((name, _)) = unread.into_iter().find(|(_, given)| *given) {
            return Err(ContextError::Unsupported {
                strategy: arm.name(),
                what: format!("the option `{name}`"),
            });
        }
        let history = History::default();
        Ok(Box::new(Self {
            arm,
            options,
            phrases,
            history,
        }))
    }

    fn producer(&self) -> Producer<'_> {
        Producer {
            phrases: &self.phrases,
            form: self.options.memory_form.unwrap_or_default(),
        }
    }

    fn stamps(&self, sample: &Sample) -> bool {
        self.options.timestamps.unwrap_or(sample.timestamps)
    }

    /// The system prompt's strings from live state.
    fn live(&self, chain: &Chain<'_>, layout: Layout) -> Strings {
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
    fn others(&self, sample: &Sample) -> Vec<Piece> {
        let read = |key: &str| !(self.arm.lever_on() && key == DIRECT_TAIL);
        let other = sample.other.iter().filter(|(key, _)| read(key));
        other
            .map(|(key, text)| Piece::new(key, vec![registry::span(key, text.clone())]))
            .collect()
    }

    fn warnings(&self, sample: &Sample) -> Vec<String> {
        let writes = sample.other.iter().any(|(key, _)| &**key == DIRECT_TAIL);
        let ignored = self.arm.lever_on() && writes;
        ignored
            .then(|| {
                format!(
                    "`{DIRECT_TAIL}` is written directly and ignored: contribute a part instead"
                )
            })
            .into_iter()
            .collect()
    }

    fn messages(&mut self, chain: &Chain<'_>) -> Messages {
        if let Purpose::Subagent(helper) = chain.purpose {
            let task = Span::new(Origin::USER, Class::Turn, helper.task.clone());
            return Messages {
                list: vec![Message::text(Role::User, vec![task])],
                newest: Some(0),
            };
        }
        let notes = match self.arm {
            Arm::Dev | Arm::Off => Notes::None,
            Arm::Parts => Notes::Dates,
            Arm::Planned => Notes::Stored,
        };
        let stamped = notes != Notes::Stored && self.stamps(chain.live);
        let manner = Manner {
            notes,
            stamps: stamped.then_some(&chain.live.at.zone),
            withheld: notes == Notes::Stored && planned::withheld(chain),
            reasoning: self.options.reasoning.unwrap_or(Reasoning::Drop),
        };
        let phrases = Arc::clone(&self.phrases);
        let producer = Producer {
            phrases: &phrases,
            form: self.options.memory_form.unwrap_or(MemoryForm::Values),
        };
        let mut messages = self.history.messages(chain, manner, producer);
        if *chain.purpose == Purpose::Summarise {
            let ask = registry::span(Origin::SUMMARY, self.phrases.get("turn.summarise"));
            messages.newest = Some(messages.list.len());
            messages.list.push(Message::text(Role::User, vec![ask]));
        }
        messages
    }
}

/// Agent instructions of `sample`, with variables replaced where there are any.
fn agent_piece(system: &Text, sample: &Sample, clock: Clock) -> Option<Piece> {
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

impl Strategy for TurnContext {
    fn plan(&mut self, chain: &Chain<'_>) -> Result<Plan, ContextError> {
        if self.arm != Arm::Planned {
            return Ok(Plan::default());
        }
        let stamps = chain.newest().is_some_and(|turn| self.stamps(&turn.sample));
        Ok(planned::plan(chain, self.producer(), stamps))
    }

    fn render(&mut self, chain: &Chain<'_>) -> Result<Prompt, ContextError> {
        let layout = Layout::new(&self.options, chain.wire);
        let isolated = matches!(chain.purpose, Purpose::Subagent(_));
        let configured = planned::configured(chain);
        let strings = if self.arm == Arm::Planned && !isolated {
            let others = self.others(configured);
            planned::strings(chain, self.producer(), others, layout.merge)
        } else {
            self.live(chain, layout)
        };
        let summary = chain.boundary().filter(|_| !isolated);
        let summary = summary.map(|(_, compaction)| &compaction.summary);
        let messages = self.messages(chain);
        let mut placed = place::place(strings, summary, messages, layout.wire, &self.phrases);
        let mut prompt = Prompt {
            tools: configured.tools.to_vec(),
            system: std::mem::take(&mut placed.system),
            messages: std::mem::take(&mut placed.messages),
            hints: hints(&self.options, layout.wire.markers),
            warnings: self.warnings(configured),
        };
        let ttl = self.options.marker_ttl.unwrap_or(Ttl::Hour);
        let model = configured.model.as_deref();
        markers::mark(&mut prompt, &placed, layout.wire, ttl, model);
        Ok(prompt)
    }
}

#[cfg(test)]
mod properties;
#[cfg(test)]
mod tests;
