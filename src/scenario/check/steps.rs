//! Steps, in order.

use super::Check;
use super::label::Label;
use super::turns::{name_of, number_of};
use super::user::beyond;
use crate::scenario::duration;
use crate::scenario::error::{Mistake, ScenarioError};
use crate::scenario::generate::Kind;
use crate::scenario::load::steps::{
    ApproveFile, CompactFile, RegenerateFile, StepEntry, StepFile, SubagentFile,
};
use crate::scenario::load::yaml::At;
use crate::scenario::model::{Action, CompactStep, Step, SubagentStep, TurnRef};
use crate::scenario::texts::filler;
use std::ops::Range;
use std::sync::Arc;
use std::time::Duration;

impl Check {
    /// Checks steps; `paused`: those that happen while a turn waits for approval.
    pub(super) fn steps(
        &mut self,
        files: &[At<StepEntry>],
        paused: bool,
    ) -> Result<Vec<Step>, ScenarioError> {
        let mut steps = Vec::new();
        for file in files {
            self.world.steps += 1;
            if self.world.steps > self.limits.steps {
                let mistake = Mistake::TooLarge {
                    what: "the list of steps".to_owned(),
                    limit: format!("{} steps", self.limits.steps),
                };
                return Err(self.error(&file.place, mistake));
            }
            if paused && !happens_while_paused(&file.value.0) {
                let mistake = Mistake::value(
                    "this step",
                    "cannot happen while a turn waits for approval",
                )
                .helped(
                    "only sources, notes, pages, the clock, tools and the model can change then",
                );
                return Err(self.error(&file.place, mistake));
            }
            let (action, label) = self.step(&file.value.0, &file.place)?;
            steps.push(Step {
                action,
                label: label.done(),
                line: file.line,
            });
        }
        Ok(steps)
    }

    fn step(
        &mut self,
        file: &StepFile,
        place: &Range<usize>,
    ) -> Result<(Action, Label), ScenarioError> {
        match file {
            StepFile::User(file) => {
                Ok((Action::User(Box::new(self.user(file)?)), Label::of("user")))
            }
            StepFile::Set(file) => self.set(file, place),
            StepFile::Memory(file) => self.memory_step(file, place),
            StepFile::Note(edits) => self.note(edits, place),
            StepFile::Url(entries) => self.page_step(entries, false, place),
            StepFile::Tab(entries) => self.page_step(entries, true, place),
            StepFile::Wait(at) => Ok((Action::Wait(self.duration(at)?), timed("wait", at))),
            StepFile::Idle(at) => Ok((Action::Idle(self.duration(at)?), timed("idle", at))),
            StepFile::Compact(file) => self.compact(file, place),
            StepFile::Regenerate(file) => self.regenerate(file, place),
            StepFile::Edit(file) => {
                let (turn, _) = self.turn_ref(&file.turn.value, &file.turn.place)?;
                let label = Label::of(format!("edit {}", name_of(turn)));
                let user = Box::new(self.user(&file.user)?);
                Ok((Action::Edit { turn, user }, label))
            }
            StepFile::Branch(file) => {
                let (from, _) = self.turn_ref(&file.from.value, &file.from.place)?;
                Ok((
                    Action::Branch { from },
                    Label::of(format!("branch from {}", name_of(from))),
                ))
            }
            StepFile::Approve(file) => self.approve(file, place),
            StepFile::System(text) => Ok((
                Action::System(self.texts.text(text)?),
                Label::of("system changed"),
            )),
            StepFile::Tools(text) => {
                let tools = self.tools(text)?;
                self.world.set_tools(&tools);
                Ok((Action::Tools(tools), Label::of("tools changed")))
            }
            StepFile::Model(at) => {
                let model = self.filled(at, "`model`")?;
                let label = Label::of(format!("model {model}"));
                Ok((Action::Model(model), label))
            }
            StepFile::Configuration(at) => {
                self.known_configuration(at)?;
                let label = Label::of(format!("configuration {}", at.value));
                Ok((Action::Configuration(Arc::from(at.value.as_str())), label))
            }
            StepFile::Reload(_) => Ok((Action::Reload, Label::of("reload"))),
            StepFile::NewChat(_) => {
                self.world.before_chat = self.world.turns.len();
                Ok((Action::NewChat, Label::of("new chat")))
            }
            StepFile::Subagent(file) => self.subagent(file, place),
        }
    }

    fn duration(&mut self, at: &At<String>) -> Result<Duration, ScenarioError> {
        let time = duration::parse(&at.value).map_err(|said| {
            let mistake = Mistake::value(format_args!("the duration `{}`", at.value), said)
                .helped("write it like `26h`, `90m`, `30s` or `1h 30m`");
            self.error(&at.place, mistake)
        })?;
        if self.world.passes(time) {
            Ok(time)
        } else {
            Err(self.error(&at.place, beyond()))
        }
    }

    fn compact(
        &mut self,
        file: &CompactFile,
        place: &Range<usize>,
    ) -> Result<(Action, Label), ScenarioError> {
        if self.world.turns_of_chat() == 0 {
            let mistake = Mistake::value("`compact`", "comes before the chat's first send");
            return Err(self.error(place, mistake));
        }
        let summary = match &file.summary {
            Some(summary) => self.texts.text(summary)?,
            None => self.texts.filler(
                "summary",
                self.world.compactions,
                filler::SUMMARY,
                Kind::Prose,
                place,
            )?,
        };
        self.world.compactions += 1;
        let keep = file.keep_turns.as_ref().map_or(2, |keep| keep.value);
        let step = CompactStep {
            keep_turns: keep as usize,
            summary,
            mode: file.mode,
            call: file.call,
        };
        Ok((Action::Compact(step), Label::of("compact")))
    }

    fn regenerate(
        &mut self,
        file: &RegenerateFile,
        place: &Range<usize>,
    ) -> Result<(Action, Label), ScenarioError> {
        let (turn, rounds) = self.turn_or_last(file.turn.as_ref(), place)?;
        let reply = file
            .reply
            .as_ref()
            .map(|reply| self.reply(reply))
            .transpose()?;
        // The person waits for an answer again, but types nothing: the clock stands.
        self.world.turns.push(rounds);
        Ok((
            Action::Regenerate { turn, reply },
            Label::of(format!("regenerate {}", name_of(turn))),
        ))
    }

    fn approve(
        &mut self,
        file: &ApproveFile,
        place: &Range<usize>,
    ) -> Result<(Action, Label), ScenarioError> {
        let (turn, rounds) = self.turn_or_last(file.turn.as_ref(), place)?;
        let at = file.turn.as_ref().map_or(place, |turn| &turn.place);
        let why = match turn {
            TurnRef::Number(number) if number as usize != self.world.turns.len() => {
                Some("is not the newest, so its tool loop has ended")
            }
            _ if !rounds => Some("has no `tool_calls` that could wait for approval"),
            _ => None,
        };
        if let Some(why) = why {
            let mistake = Mistake::NoSuchTurn {
                turn: number_of(turn),
                why: why.to_owned(),
            };
            return Err(self.error(at, mistake));
        }
        let during = self.steps(&file.during, true)?;
        let label = Label::of(format!("approve {}", name_of(turn)));
        Ok((Action::Approve { turn, during }, label))
    }

    fn subagent(
        &mut self,
        file: &SubagentFile,
        place: &Range<usize>,
    ) -> Result<(Action, Label), ScenarioError> {
        let number = self.world.subagents;
        self.world.subagents += 1;
        let task = match &file.task {
            Some(task) => self.texts.text(task)?,
            None => self
                .texts
                .filler("task", number, filler::TASK, Kind::Prose, place)?,
        };
        let reply = match &file.reply {
            Some(reply) => self.reply(reply)?,
            None => {
                self.texts
                    .filler("subagent reply", number, filler::REPLY, Kind::Prose, place)?
            }
        };
        let step = SubagentStep {
            task,
            skills: self.named(&file.skills)?,
            retrieved: self.texts.optional(file.retrieved.as_ref())?,
            reply,
        };
        Ok((Action::Subagent(Box::new(step)), Label::of("subagent")))
    }
}

/// What can change without a message being sent.
fn happens_while_paused(step: &StepFile) -> bool {
    matches!(
        step,
        StepFile::Set(_)
            | StepFile::Memory(_)
            | StepFile::Note(_)
            | StepFile::Url(_)
            | StepFile::Tab(_)
            | StepFile::Wait(_)
            | StepFile::Idle(_)
            | StepFile::System(_)
            | StepFile::Tools(_)
            | StepFile::Model(_)
    )
}

fn timed(what: &str, at: &At<String>) -> Label {
    Label::of(format!("{what} {}", at.value.trim()))
}
