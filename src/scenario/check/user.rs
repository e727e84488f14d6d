//! `user` steps: what is typed, retrieved, called and answered.

use super::Check;
use crate::chat::Text;
use crate::context::view::{Call, Round, ToolOutput};
use crate::scenario::error::{Mistake, ScenarioError};
use crate::scenario::generate::Kind;
use crate::scenario::load::steps::{CallFile, RoundFile, UserFile};
use crate::scenario::load::texts::TextFile;
use crate::scenario::load::yaml::At;
use crate::scenario::model::{USER_STEP, UserStep};
use crate::scenario::names::nearest;
use crate::scenario::texts::filler;
use serde_json::Value;
use std::ops::Range;
use std::sync::Arc;

impl Check {
    /// A send; counts as the next turn.
    pub(super) fn user(&mut self, file: &UserFile) -> Result<UserStep, ScenarioError> {
        let text = self.texts.text(&file.text)?;
        if text.trim().is_empty() {
            return Err(self.error(&file.text.place, Mistake::value("`text`", "is empty")));
        }
        let number = self.world.turns.len();
        let reply = match &file.reply {
            Some(reply) => self.reply(reply)?,
            None => self.texts.filler(
                "reply",
                number,
                filler::REPLY,
                Kind::Prose,
                &file.text.place,
            )?,
        };
        let step = UserStep {
            text,
            attach: self.each(&file.attach, Self::attach)?,
            retrieved: self.texts.optional(file.retrieved.as_ref())?,
            queued_files: self.each(&file.queued_files, |check, name| {
                check.filled(name, "the file's name")
            })?,
            tool_outputs: self.each(&file.tool_outputs, |check, file| {
                Ok(ToolOutput {
                    tool: check.filled(&file.tool, "`tool`")?,
                    output: check.texts.text(&file.output)?,
                })
            })?,
            rounds: self.each(&file.tool_calls, Self::round)?,
            reply,
            chain: file.chain,
            expect: self.each(&file.expect, |check, word| {
                check.filled(word, "the word").map(|word| word.to_string())
            })?,
        };
        self.turn(!step.rounds.is_empty(), &file.text.place)?;
        Ok(step)
    }

    fn each<T, U>(
        &mut self,
        items: &[T],
        mut checked: impl FnMut(&mut Self, &T) -> Result<U, ScenarioError>,
    ) -> Result<Vec<U>, ScenarioError> {
        items.iter().map(|item| checked(self, item)).collect()
    }

    /// Counts a turn and moves the clock.
    pub(super) fn turn(&mut self, rounds: bool, place: &Range<usize>) -> Result<(), ScenarioError> {
        self.world.turns.push(rounds);
        if self.world.passes(USER_STEP) {
            Ok(())
        } else {
            Err(self.error(place, beyond()))
        }
    }

    pub(super) fn reply(&mut self, at: &At<TextFile>) -> Result<Text, ScenarioError> {
        let reply = self.texts.text(at)?;
        if reply.trim().is_empty() {
            return Err(self.error(&at.place, Mistake::value("`reply`", "is empty")));
        }
        Ok(reply)
    }

    fn round(&mut self, at: &At<RoundFile>) -> Result<Round, ScenarioError> {
        if at.value.calls.is_empty() {
            let mistake = Mistake::value("`calls`", "are empty")
                .helped("a round without a call is the answer itself: write it as `reply`");
            return Err(self.error(&at.place, mistake));
        }
        Ok(Round {
            text: self
                .texts
                .optional(at.value.text.as_ref())?
                .unwrap_or_default(),
            calls: self.each(&at.value.calls, Self::call)?,
        })
    }

    fn call(&mut self, file: &CallFile) -> Result<Call, ScenarioError> {
        let name = self.filled(&file.name, "`name`")?;
        let tools = &self.world.tools;
        if !tools.is_empty() && !tools.contains(&name) {
            let mistake = Mistake::UnknownName {
                what: "tool",
                name: name.to_string(),
                nearest: nearest(&name, tools.iter().map(|tool| &**tool)).map(str::to_owned),
                help: format!("defined are: {}", tools.join(", ")),
            };
            return Err(self.error(&file.name.place, mistake));
        }
        let arguments = match &file.args {
            None => "{}".to_owned(),
            Some(args) => self.arguments(args)?,
        };
        self.world.calls += 1;
        Ok(Call {
            id: Arc::from(format!("call_{:08}", self.world.calls)),
            name,
            arguments: Text::from(arguments),
            result: self.texts.text(&file.result)?,
        })
    }

    /// Arguments as compact JSON.
    fn arguments(&self, at: &At<Value>) -> Result<String, ScenarioError> {
        let value = match &at.value {
            Value::String(json) => serde_json::from_str(json).ok(),
            Value::Null => Some(Value::Object(serde_json::Map::new())),
            other => Some(other.clone()),
        };
        if let Some(value @ Value::Object(_)) = value {
            return Ok(value.to_string());
        }
        let mistake = Mistake::value("`args`", "are neither a map nor a JSON object");
        Err(self.error(&at.place, mistake))
    }
}

/// The clock has left the calendar.
pub(super) fn beyond() -> Mistake {
    Mistake::value("the scenario's clock", "runs beyond the year 9999")
}
