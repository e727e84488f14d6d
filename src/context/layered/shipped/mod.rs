//! `copilot-3.1` and `copilot-4`: the releases as strategies.
//!
//! The turn is built when it is sent, by the same code that the expected
//! outputs of the original are compared with, and its envelope is stored on the
//! message. A request is the stored envelope, the window of history, and the
//! question.
//!
//! What a scenario has and the releases do not (unknown keys, artifacts, skills)
//! goes where they put the nearest thing that they have: into L1.

mod asked;
mod build;
mod history;
mod message;

use super::convert::{self, Options as ConvertOptions};
use super::documented;
use super::envelope::{Envelope, LayerId};
use super::files::Files;
use super::frame::{Frame, Marks, user};
use super::release::Release;
use super::sources::in_layer;
use crate::chat::{Class, Family, Message, Origin, Prompt, Role, Span, Text};
use crate::context::Phrases;
use crate::context::configuration::{Options, Reasoning};
use crate::context::registry::{self, key};
use crate::context::render;
use crate::context::stored::Stored;
use crate::context::strategy::{ContextError, Plan, Setup, Strategy, StrategyKind};
use crate::context::turn::produce::Producer;
use crate::context::view::{Chain, ChainKind, Purpose, Subagent, UserTurn};
use message::chain_kind;
use serde::{Deserialize, Serialize};
use std::sync::Arc;

/// Options that both releases read.
const OPTIONS: &[&str] = &[
    "markers",
    "marker_ttl",
    "timestamps",
    "memory_form",
    "prompt_cache_key",
    "affinity_header",
    "reasoning",
    "window",
];

/// The lines of the registry.
pub(in crate::context) const COPILOT_3_1: StrategyKind = StrategyKind {
    name: "copilot-3.1",
    about: "Five layers as release 3.1.1 ships them: library re-read, context kept in the history",
    options: OPTIONS,
    compacts: false,
    tells: Some(|_| false),
    start: |setup| Copilot::start(Release::V31, setup),
};
pub(in crate::context) const COPILOT_4: StrategyKind = StrategyKind {
    name: "copilot-4",
    about: "Five layers as release 4.0.2 ships them: library of frozen previews, known notes left out",
    options: OPTIONS,
    compacts: true,
    tells: Some(|_| false),
    start: |setup| Copilot::start(Release::V4, setup),
};

/// A turn as it was built, stored on its message.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct BuiltTurn {
    /// By which release: another one does not read it.
    pub release: Release,
    /// The envelope.
    pub envelope: Envelope,
    /// What enters the history for the question.
    pub remembered: Text,
    /// L1 by source; together they are the text of the layer.
    pub instructions: Vec<(Arc<str>, Text)>,
}

struct Copilot {
    release: Release,
    options: Options,
    phrases: Arc<Phrases>,
}

impl Copilot {
    #[expect(
        clippy::unnecessary_wraps,
        reason = "the registry starts every strategy in one way"
    )]
    fn start(release: Release, setup: Setup) -> Result<Box<dyn Strategy>, ContextError> {
        let Setup {
            options, phrases, ..
        } = setup;
        Ok(Box::new(Self {
            release,
            options,
            phrases,
        }))
    }

    fn producer(&self) -> Producer<'_> {
        Producer {
            phrases: &self.phrases,
            form: self.options.memory_form.unwrap_or_default(),
        }
    }

    /// The turn that is stored on a message, if this release built it and the
    /// message was not loaded from a saved chat, which keeps no envelopes.
    fn built<'a>(
        &self,
        chain: &Chain<'a>,
        index: usize,
        turn: &'a UserTurn,
    ) -> Option<&'a BuiltTurn> {
        match &turn.stored {
            Some(Stored::Copilot(built))
                if built.release == self.release
                    && built.envelope.is_whole()
                    && index >= chain.reloaded =>
            {
                Some(built)
            }
            _ => None,
        }
    }

    fn reasoning(&self) -> Reasoning {
        self.options.reasoning.unwrap_or(Reasoning::Drop)
    }

    fn frame(&self, chain: &Chain<'_>) -> Frame {
        let Some(newest) = chain.newest() else {
            return Frame::default();
        };
        let last = chain.users().count() - 1;
        let (fresh, mut warnings);
        let built = if let Some(built) = self.built(chain, last, newest) {
            warnings = Vec::new();
            built
        } else {
            (fresh, warnings) = self.build(chain, newest);
            if self.release == Release::V31 && chain.reloaded > 0 {
                warnings.push("release 3.1 refuses to answer a loaded question again".to_owned());
            }
            &fresh
        };
        let converted = convert::convert(&built.envelope, &self.phrases, ConvertOptions::default());
        let library = converted.system.map_or(Vec::new(), |spans| {
            spans
                .into_iter()
                .skip_while(|span| !span.origin.as_str().starts_with("L2"))
                .collect()
        });
        let user = converted.users.into_iter().next().unwrap_or_default();
        let mut frame = Frame {
            instructions: sourced(&built.instructions),
            library,
            history: self.history(chain),
            warnings,
            ..Frame::default()
        };
        if chain_kind(newest) == ChainKind::Agent {
            frame.behind = self.guidance(&frame);
        }
        frame.newest = self.asked(chain, newest, built, user);
        frame
    }

    /// Release 4, with a model that takes no system message.
    fn speaks_as_human(&self, chain: &Chain<'_>) -> bool {
        let chains =
            |turn: &UserTurn| matches!(chain_kind(turn), ChainKind::Plus | ChainKind::VaultQa);
        let asks = matches!(
            chain.purpose,
            Purpose::Send | Purpose::Regenerate | Purpose::Resume
        );
        self.release == Release::V4
            && asks
            && chain.live.model.as_deref().is_some_and(takes_no_system)
            && chain.newest().is_some_and(|turn| chains(turn))
    }

    /// A helper gets the instructions and its task, and nothing of the chat.
    fn helper(&self, chain: &Chain<'_>, helper: &Subagent) -> Frame {
        let system = self.system(chain.live, &Files::from(chain.vault), None);
        let skills = helper.skills.iter();
        let skills = skills.map(|(name, body)| self.producer().always_apply(name, body));
        let skills = in_layer("L1", render::join("\n\n", skills));
        let retrieved = helper.retrieved.iter();
        let retrieved = retrieved
            .map(|text| Span::new(format!("L3/{}", key::RETRIEVED), Class::Turn, text.clone()));
        let task = Span::new(Origin::USER, Class::Turn, helper.task.clone());
        let user_text = render::join("\n\n", [retrieved.collect(), vec![task]]);
        Frame {
            instructions: render::join("\n\n", [self.instructions(chain.live, &system), skills]),
            newest: vec![user(user_text, std::iter::empty())],
            ..Frame::default()
        }
    }

    /// The chat so far with the request for its summary: no context of a turn.
    fn summary(&self, chain: &Chain<'_>) -> Frame {
        let system = self.system(chain.live, &Files::from(chain.vault), None);
        Frame {
            instructions: self.instructions(chain.live, &system),
            history: self.history(chain),
            newest: vec![documented::ask_summary(&self.phrases)],
            ..Frame::default()
        }
    }

    /// As shipped, one marker for one router from release 4 on and none elsewhere,
    /// unless a configuration asks for more.
    fn marks(&self, chain: &Chain<'_>) -> Marks {
        match self.options.markers {
            Some(rule) => Marks::of(rule),
            None if self.release == Release::V4 && chain.wire.family == Family::Openrouter => {
                Marks::Last
            }
            None => Marks::None,
        }
    }
}

/// Whether a model takes no system message from the chains that put documents
/// and tool outputs in front of the question.
fn takes_no_system(model: &str) -> bool {
    let name = model.rsplit('/').next().unwrap_or(model);
    ["o1", "o3", "o4"].iter().any(|family| {
        let rest = name.strip_prefix(family);
        rest.is_some_and(|rest| rest.is_empty() || rest.starts_with('-'))
    })
}

/// The system message in the person's name.
fn as_human(prompt: &mut Prompt) {
    let blocks = std::mem::take(&mut prompt.system);
    if !blocks.is_empty() {
        let system = Message {
            role: Role::User,
            blocks,
            tool_call_id: None,
        };
        prompt.messages.insert(0, system);
    }
}

/// L1 as spans again.
fn sourced(instructions: &[(Arc<str>, Text)]) -> Vec<Span> {
    let class = |origin: &str| {
        let key = origin.strip_prefix("L1/").unwrap_or(origin);
        registry::class(key)
    };
    instructions
        .iter()
        .map(|(origin, text)| Span::new(origin.as_ref(), class(origin), text.clone()))
        .collect()
}

impl Strategy for Copilot {
    fn plan(&mut self, chain: &Chain<'_>) -> Result<Plan, ContextError> {
        let Some(newest) = chain.newest() else {
            return Ok(Plan::default());
        };
        let (built, mut warnings) = self.build(chain, newest);
        let layers = built.envelope.control_characters().map(LayerId::as_str);
        warnings.extend(layers.map(|layer| {
            let values = [("layer", layer)];
            self.phrases.fill("control_characters_warning", &values)
        }));
        Ok(Plan {
            message: Some(Stored::Copilot(Box::new(built))),
            anchor: None,
            warnings,
        })
    }

    fn render(&mut self, chain: &Chain<'_>) -> Result<Prompt, ContextError> {
        let mut frame = match chain.purpose {
            Purpose::Subagent(helper) => self.helper(chain, helper),
            Purpose::Summarise => self.summary(chain),
            _ => self.frame(chain),
        };
        if !matches!(chain.purpose, Purpose::Subagent(_)) {
            let boundary = chain.boundary();
            frame.summary = boundary.map(|(_, compaction)| compaction.summary.clone());
        }
        let mut prompt = frame.prompt(chain, self.marks(chain), &self.options, &self.phrases);
        if self.speaks_as_human(chain) {
            as_human(&mut prompt);
        }
        Ok(prompt)
    }
}

#[cfg(test)]
mod tests;
