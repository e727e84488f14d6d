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
mod fold;
mod history;
mod live;
mod markers;
pub(super) mod place;
mod planned;
pub(super) mod produce;
pub mod state;
pub(super) mod variables;

use super::configuration::{MemoryForm, Options, Reasoning};
use super::phrases::Phrases;
use super::registry;
use super::render::hints;
use super::strategy::{ContextError, Plan, Setup, Strategy, StrategyKind};
use super::view::{Chain, Purpose, Sample};
use crate::chat::{Class, Message, Origin, Prompt, Role, Span};
use history::{History, Manner, Messages, Notes};
use place::Layout;
use produce::Producer;
use std::sync::Arc;

/// A key under which someone writes to the tail directly.
const DIRECT_TAIL: &str = "additional_instructions";

/// Options that the arms before the lever read.
const BEFORE: &[&str] = &[
    "markers",
    "marker_ttl",
    "tail",
    "summary",
    "timestamps",
    "memory_form",
    "prompt_cache_key",
    "affinity_header",
    "reasoning",
    "window",
    "prompt_prefix",
];
/// Options that the other arms read: all but the last.
const READ: &[&str] = match BEFORE.split_last() {
    Some((_, read)) => read,
    None => &[],
};

/// The lines of the registry.
pub(super) const DEV: StrategyKind = StrategyKind {
    name: "dev",
    about: "Context re-read on every request and written into the system prompt, volatile text in front",
    options: BEFORE,
    compacts: false,
    tells: Some(|_| false),
    start: |setup| TurnContext::start(Arm::Dev, setup),
};
pub(super) const LEVER_OFF: StrategyKind = StrategyKind {
    name: "lever-off",
    about: "The same as dev, with the stable-context lever present and off",
    options: BEFORE,
    compacts: false,
    tells: Some(|_| false),
    start: |setup| TurnContext::start(Arm::Off, setup),
};
pub(super) const PARTS: StrategyKind = StrategyKind {
    name: "parts",
    about: "Lever on, first half: classified parts, time anchored to the start of the conversation",
    options: READ,
    compacts: false,
    tells: Some(|_| false),
    start: |setup| TurnContext::start(Arm::Parts, setup),
};
pub(super) const TURN_CONTEXT: StrategyKind = StrategyKind {
    name: "turn-context",
    about: "Lever on: changes planned at send time, one block per message, system prompt frozen per segment",
    options: READ,
    compacts: false,
    tells: Some(planned::tells),
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
    #[expect(
        clippy::unnecessary_wraps,
        reason = "the registry starts every strategy in one way"
    )]
    fn start(arm: Arm, setup: Setup) -> Result<Box<dyn Strategy>, ContextError> {
        Ok(Box::new(Self {
            arm,
            options: setup.options,
            phrases: setup.phrases,
            history: History::default(),
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
        let configured = match self.arm {
            Arm::Planned => planned::configured(chain),
            Arm::Dev | Arm::Off | Arm::Parts => chain.live,
        };
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
            hints: hints(layout.wire.markers),
            warnings: self.warnings(configured),
        };
        let model = chain.live.model.as_deref();
        markers::mark(&mut prompt, &placed, layout.wire, &self.options, model);
        Ok(prompt)
    }
}

#[cfg(test)]
mod properties;
#[cfg(test)]
mod tests;
