//! `copilot-3.1` and `copilot-4`: the releases as strategies.
//!
//! The turn is built when it is sent, by the same code that the expected
//! outputs of the original are compared with, and its envelope is stored on the
//! message. A request is the stored envelope, the window of history, and the
//! question.
//!
//! What a scenario has and the releases do not (unknown keys, artifacts, skills)
//! goes where they put the nearest thing that they have: into L1.

use super::chains::{self, Output};
use super::convert;
use super::envelope::{Envelope, LayerId};
use super::files::Files;
use super::frame::{Frame, Marks, foreign, refuse, user};
use super::library::Library;
use super::reduce;
use super::release::Release;
use super::shipped_turn::{chain_kind, items, saved_notes};
use super::sources::{self, in_layer};
use super::template::{self, Expanded, Scope};
use super::turn::{self, Built, Item, Turn};
use super::units::trim;
use crate::chat::{Block, Class, Family, Message, Origin, Prompt, Role, Span, Text};
use crate::context::Phrases;
use crate::context::configuration::{Options, Reasoning};
use crate::context::registry::key;
use crate::context::render;
use crate::context::stored::Stored;
use crate::context::strategy::{ContextError, Plan, Setup, Strategy, StrategyKind};
use crate::context::turn::produce::Producer;
use crate::context::view::{Chain, ChainKind, Link, Note, Purpose, Sample, Subagent, UserTurn};
use serde::{Deserialize, Serialize};
use std::sync::Arc;

/// Exchanges that the history shows, as both releases set it by default.
const EXCHANGES: usize = 30;
/// Length in tokens above which context is summarised.
const THRESHOLD: u64 = 128_000;

/// The lines of the registry.
pub(in crate::context) const COPILOT_3_1: StrategyKind = StrategyKind {
    name: "copilot-3.1",
    about: "Five layers as release 3.1.1 ships them: library re-read, context kept in the history",
    start: |setup| Copilot::start(Release::V31, setup),
};
pub(in crate::context) const COPILOT_4: StrategyKind = StrategyKind {
    name: "copilot-4",
    about: "Five layers as release 4.0.2 ships them: library of frozen previews, known notes left out",
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
    fn start(release: Release, setup: Setup) -> Result<Box<dyn Strategy>, ContextError> {
        let Setup {
            options, phrases, ..
        } = setup;
        let name = name(release);
        refuse(name, &foreign(&options))?;
        let dropped = options.drop_current_from_library.is_some();
        let windowed = options.window.is_some() && release == Release::V31;
        refuse(
            name,
            &[("drop_current_from_library", dropped), ("window", windowed)],
        )?;
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

    /// Agent instructions with their variables and, in release 4, templates.
    fn system(&self, sample: &Sample, files: &Files, editor: Option<&Note>) -> Expanded {
        let text = sources::dated(sample);
        if self.release == Release::V31 || text.is_empty() {
            return Expanded {
                text: text.to_string(),
                notes: Vec::new(),
            };
        }
        let scope = Scope {
            files,
            editor,
            on: true,
            braces: false,
        };
        template::expand(&text, scope, &self.phrases)
    }

    fn instructions(&self, sample: &Sample, system: &Expanded) -> Vec<Span> {
        let expanded = trim(&system.text);
        let text = if expanded == trim(&sample.system) {
            sample.system.clone()
        } else {
            Text::from(expanded)
        };
        sources::shipped_instructions(self.release, sample, &text, self.producer())
    }

    /// The library in front of the newest message.
    fn library(&self, chain: &Chain<'_>, files: &Files, plus: bool) -> Library {
        let users: Vec<&Arc<UserTurn>> = chain.users().collect();
        let earlier = &users[..users.len().saturating_sub(1)];
        match self.release {
            Release::V4 => {
                let built = earlier.iter().enumerate();
                let built = built.filter_map(|(index, turn)| self.built(chain, index, turn));
                Library::stored(
                    built.map(|b| b.envelope.layer(LayerId::Turn)),
                    &self.phrases,
                )
            }
            Release::V31 => {
                let notes: Vec<Arc<str>> = earlier
                    .iter()
                    .enumerate()
                    .flat_map(|(index, turn)| saved_notes(turn, files, index < chain.reloaded))
                    .collect();
                Library::read_again(notes.iter(), files, plus)
            }
        }
    }

    /// Builds the newest message's turn.
    fn build(&self, chain: &Chain<'_>, newest: &UserTurn) -> (BuiltTurn, Vec<String>) {
        let files = Files::from(chain.vault);
        let items = items(newest);
        let editor = items.iter().find_map(|item| match item {
            Item::Note { note, active: true } => Some(note),
            _ => None,
        });
        // A scenario that attaches an address means it to be read, so addresses
        // count as the chain that reads them.
        let urls = items.iter().any(|item| matches!(item, Item::Url { .. }));
        let plus = urls || matches!(chain_kind(newest), ChainKind::Plus | ChainKind::Agent);
        let system = self.system(&newest.sample, &files, editor);
        let l1 = self.instructions(&newest.sample, &system);
        let instructions = convert::concat(&l1);
        let question = self.question(newest);
        let mut summarised = 0;
        let Built { mut envelope, text } = turn::build(
            self.release,
            Turn {
                message_id: &format!("m{}", newest.id.0),
                question: &question,
                instructions: &instructions,
                instructed: &system.notes,
                items: &items,
                files: &files,
                editor,
                plus,
                templating: true,
                threshold_tokens: self.threshold(),
            },
            &self.library(chain, &files, plus),
            &self.phrases,
            &mut |body| {
                summarised += 1;
                Some(reduce::preview(body, &self.phrases))
            },
        );
        let users: Vec<&Arc<UserTurn>> = chain.users().collect();
        if let [.., before, _] = users.as_slice()
            && let Some(before) = self.built(chain, users.len() - 2, before)
        {
            envelope.share(&before.envelope);
        }
        let remembered = match self.release {
            Release::V4 => envelope.layer(LayerId::User).text(),
            Release::V31 => Text::from(text),
        };
        let built = BuiltTurn {
            release: self.release,
            envelope,
            remembered,
            instructions: l1
                .into_iter()
                .map(|span| (Arc::from(span.origin.as_str()), span.text))
                .collect(),
        };
        let warning = (summarised > 0).then(|| {
            format!("{summarised} long attachments were summarised by their openings: no summariser is asked")
        });
        (built, warning.into_iter().collect())
    }

    fn threshold(&self) -> usize {
        let tokens = self.options.window.unwrap_or(THRESHOLD);
        usize::try_from(tokens).unwrap_or(usize::MAX / 4)
    }

    /// What was typed, with its stamp.
    fn question(&self, turn: &UserTurn) -> String {
        let stamped = self.options.timestamps.unwrap_or(turn.sample.timestamps);
        let stamp = stamped.then(|| sources::stamp(turn).text.to_string());
        format!("{}{}", stamp.unwrap_or_default(), turn.text)
    }

    /// The window of history: questions with an answer that follows directly.
    fn history(&self, chain: &Chain<'_>) -> Vec<Message> {
        let indices: Vec<_> = chain.users().map(|turn| turn.id).collect();
        let links = chain.visible();
        let pairs: Vec<(&Arc<UserTurn>, &Link)> = links
            .iter()
            .zip(links.iter().skip(1))
            .filter_map(|(question, answer)| match (question, answer) {
                (Link::User(turn), Link::Assistant(_)) => Some((turn, *answer)),
                _ => None,
            })
            .collect();
        let from = pairs.len().saturating_sub(EXCHANGES);
        let mut messages = Vec::new();
        for (turn, answer) in &pairs[from..] {
            let index = indices.iter().position(|id| *id == turn.id).unwrap_or(0);
            let asked = self.remembered(chain, index, turn);
            let asked = Span::new(Origin::USER, Class::Turn, asked);
            messages.push(Message::text(Role::User, vec![asked]));
            if let Link::Assistant(answer) = answer {
                let said = self.answered(chain, index, turn, answer);
                messages.extend(render::answer(&said, self.reasoning()));
            }
        }
        messages
    }

    fn reasoning(&self) -> Reasoning {
        self.options.reasoning.unwrap_or(Reasoning::Drop)
    }

    /// How a question stands in the history: as it entered live, or from what
    /// is shown where the history was rebuilt.
    fn remembered(&self, chain: &Chain<'_>, index: usize, turn: &UserTurn) -> Text {
        if index < chain.reloaded {
            return Text::from(trim(&turn.text));
        }
        match self.built(chain, index, turn) {
            Some(built) if index >= chain.rebuilt => built.remembered.clone(),
            _ => turn.text.clone(),
        }
    }

    /// How an answer stands in the history. Release 4 puts a comment in front of
    /// an agent's and shortens tool results; what is rebuilt keeps the comment,
    /// what is loaded has neither.
    fn answered(
        &self,
        chain: &Chain<'_>,
        index: usize,
        turn: &UserTurn,
        answer: &crate::context::view::AssistantTurn,
    ) -> crate::context::view::AssistantTurn {
        let mut said = answer.clone();
        if index < chain.reloaded {
            said.text = Text::from(trim(&answer.text));
            return said;
        }
        if self.release == Release::V31 {
            return said;
        }
        let comment = self.phrases.get("agent_reasoning");
        let agent = chain_kind(turn) == ChainKind::Agent && !answer.text.is_empty();
        if agent {
            said.text = Text::from(format!("{comment}\n\n{}", answer.text));
        }
        if index >= chain.rebuilt {
            let kept = reduce::answer(&said.text, &self.phrases);
            if kept != *said.text {
                said.text = Text::from(kept);
            }
        }
        said
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
        let converted =
            convert::convert(&built.envelope, &self.phrases, convert::Options::default());
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

    /// Fixed guidance of the tool loop, behind the library.
    fn guidance(&self, frame: &Frame) -> Vec<Span> {
        let spans = chains::agent_system(None, &[], &self.phrases);
        if frame.instructions.is_empty() {
            return spans;
        }
        let gap = Span::new("L1/agent_guidance", Class::Static, "\n\n");
        std::iter::once(gap).chain(spans).collect()
    }

    /// The question and the rounds of its loop.
    fn asked(
        &self,
        chain: &Chain<'_>,
        newest: &UserTurn,
        built: &BuiltTurn,
        spans: Vec<Span>,
    ) -> Vec<Message> {
        let question = match self.release {
            Release::V4 => chains::question(&built.envelope),
            Release::V31 => built.remembered.clone(),
        };
        let outputs = outputs(newest);
        let kind = chain_kind(newest);
        let spans = if kind == ChainKind::Plus || !newest.tool_outputs.is_empty() {
            chains::with_tools(spans, &question, &outputs, false, &self.phrases)
        } else if let Some(text) = &newest.retrieved {
            let guidance = self.phrases.get("retrieved_guidance");
            let documents = [
                Span::new(
                    "L3/retrieved_guidance",
                    Class::Static,
                    format!("{guidance}\n\n"),
                ),
                Span::new(format!("L3/{}", key::RETRIEVED), Class::Turn, text.clone()),
            ];
            render::join("\n\n", [documents.to_vec(), spans])
        } else {
            spans
        };
        let mut messages = vec![user(spans, render::images(&newest.attachments))];
        let asked = chains::question(&built.envelope);
        for round in newest.rounds.iter().take(chain.rounds) {
            messages.extend(
                render::round(round)
                    .into_iter()
                    .map(|message| self.with_question(message, round, &asked)),
            );
        }
        messages
    }

    /// A search's result with the question behind it.
    fn with_question(
        &self,
        mut message: Message,
        round: &crate::context::view::Round,
        question: &str,
    ) -> Message {
        let call = round
            .calls
            .iter()
            .find(|call| Some(&call.id) == message.tool_call_id.as_ref());
        if let Some(call) = call {
            let result = chains::tool_result(&call.name, &call.result, question, &self.phrases);
            if result != *call.result {
                let span = Span::new(Origin::TOOL_RESULT, Class::Turn, result);
                message.blocks = vec![Block::text(vec![span])];
            }
        }
        message
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
            newest: vec![super::documented::ask_summary(&self.phrases)],
            ..Frame::default()
        }
    }

    /// As shipped, one marker for one router and none elsewhere, unless a
    /// configuration asks for more.
    fn marks(&self, chain: &Chain<'_>) -> Marks {
        match self.options.markers {
            Some(rule) => Marks::of(rule),
            None if chain.wire.family == Family::Openrouter => Marks::Last,
            None => Marks::None,
        }
    }
}

fn name(release: Release) -> &'static str {
    match release {
        Release::V31 => COPILOT_3_1.name,
        Release::V4 => COPILOT_4.name,
    }
}

/// L1 as spans again.
fn sourced(instructions: &[(Arc<str>, Text)]) -> Vec<Span> {
    let class = |origin: &str| {
        let key = origin.strip_prefix("L1/").unwrap_or(origin);
        crate::context::registry::class(key)
    };
    instructions
        .iter()
        .map(|(origin, text)| Span::new(origin.as_ref(), class(origin), text.clone()))
        .collect()
}

/// What tools gave, retrieval first.
fn outputs(turn: &UserTurn) -> Vec<Output> {
    let retrieved = turn.retrieved.iter().map(|text| Output {
        tool: "localSearch".to_owned(),
        text: text.to_string(),
    });
    let given = turn.tool_outputs.iter().map(|output| Output {
        tool: output.tool.to_string(),
        text: output.output.to_string(),
    });
    retrieved.chain(given).collect()
}

impl Strategy for Copilot {
    fn plan(&mut self, chain: &Chain<'_>) -> Result<Plan, ContextError> {
        let Some(newest) = chain.newest() else {
            return Ok(Plan::default());
        };
        let (built, warnings) = self.build(chain, newest);
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
        Ok(frame.prompt(chain, self.marks(chain), &self.options, &self.phrases))
    }
}

#[cfg(test)]
#[path = "shipped_tests.rs"]
mod tests;
