//! `user` steps: what is typed, attached, retrieved, called and answered.

use super::Check;
use crate::chat::Text;
use crate::context::view::{Call, Round, ToolOutput};
use crate::scenario::error::{Mistake, ScenarioError};
use crate::scenario::generate::Kind;
use crate::scenario::image;
use crate::scenario::load::steps::{AttachFile, CallFile, RoundFile, SelectionFile, UserFile};
use crate::scenario::load::yaml::At;
use crate::scenario::model::{Attach, USER_STEP, UserStep};
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

    pub(super) fn reply(
        &mut self,
        at: &At<crate::scenario::load::grammar::TextFile>,
    ) -> Result<Text, ScenarioError> {
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
        match value {
            Some(value @ Value::Object(_)) => Ok(value.to_string()),
            _ => {
                let mistake = Mistake::value("`args`", "are neither a map nor a JSON object");
                Err(self.error(&at.place, mistake))
            }
        }
    }

    fn attach(&mut self, at: &At<AttachFile>) -> Result<Attach, ScenarioError> {
        let AttachFile {
            note,
            url,
            tab,
            active,
            selection,
            tag,
            folder,
            image,
        } = &at.value;
        let kinds = [
            note.is_some(),
            url.is_some(),
            tab.is_some(),
            selection.is_some(),
            tag.is_some(),
            folder.is_some(),
            image.is_some(),
        ];
        if kinds.iter().filter(|is| **is).count() != 1 {
            let mistake = Mistake::value("an attachment", "needs exactly one kind")
                .helped("kinds: note, url, tab, selection, tag, folder, image");
            return Err(self.error(&at.place, mistake));
        }
        if let (Some(active), None, None) = (active, note, tab) {
            let mistake = Mistake::value("`active`", "is for notes and tabs only");
            return Err(self.error(&active.place, mistake));
        }
        let active = active.as_ref().is_some_and(|active| active.value);
        if let Some(path) = note {
            let path = self.existing_note(path)?;
            return Ok(Attach::Note { path, active });
        }
        if let Some(url) = tab {
            let url = self.page(url, true)?;
            return Ok(Attach::Tab { url, active });
        }
        if let Some(url) = url {
            return self.page(url, false).map(Attach::Url);
        }
        if let Some(selection) = selection {
            return self.selection(selection);
        }
        if let Some(tag) = tag {
            return self.tagged(tag);
        }
        match (folder, image) {
            (Some(folder), _) => self.folder(folder),
            (_, Some(image)) => self.image(image),
            (None, None) => Err(self.error(&at.place, Mistake::Missing { name: "note" })),
        }
    }

    /// The path of a note that can be read now.
    pub(super) fn existing_note(&self, at: &At<String>) -> Result<Arc<str>, ScenarioError> {
        let notes = &self.world.notes;
        if let Some((path, _)) = notes.get_key_value(at.value.as_str()) {
            return Ok(Arc::clone(path));
        }
        let help = if notes.is_empty() {
            "write it under `notes`, or by a `note` step before this one".to_owned()
        } else {
            let known: Vec<&str> = notes.keys().take(8).map(|path| &**path).collect();
            format!("notes at this point: {}", known.join(", "))
        };
        let mistake = Mistake::UnknownName {
            what: "note",
            name: at.value.clone(),
            nearest: nearest(&at.value, notes.keys().map(|path| &**path)).map(str::to_owned),
            help,
        };
        Err(self.error(&at.place, mistake))
    }

    fn page(&self, at: &At<String>, tab: bool) -> Result<Arc<str>, ScenarioError> {
        let (known, what, help) = if tab {
            (
                &self.world.tabs,
                "tab",
                "give its text under `tabs` or by a `tab` step",
            )
        } else {
            (
                &self.world.urls,
                "page",
                "give its text under `urls` or by a `url` step",
            )
        };
        if let Some(url) = known.get(at.value.as_str()) {
            return Ok(Arc::clone(url));
        }
        let mistake = Mistake::UnknownName {
            what,
            name: at.value.clone(),
            nearest: nearest(&at.value, known.iter().map(|url| &**url)).map(str::to_owned),
            help: help.to_owned(),
        };
        Err(self.error(&at.place, mistake))
    }

    fn selection(&mut self, at: &At<SelectionFile>) -> Result<Attach, ScenarioError> {
        let SelectionFile {
            note,
            url,
            lines,
            text,
        } = &at.value;
        let (source, web) = match (note, url) {
            (Some(note), None) => (self.existing_note(note)?, false),
            (None, Some(url)) => (self.filled(url, "`url`")?, true),
            _ => {
                let mistake =
                    Mistake::value("a selection", "needs exactly one of `note` and `url`");
                return Err(self.error(&at.place, mistake));
            }
        };
        if let Some(lines) = lines
            && (lines.value.0 == 0 || lines.value.0 > lines.value.1)
        {
            let mistake = Mistake::value(
                "`lines`",
                "must begin at 1 or later and not end before that",
            );
            return Err(self.error(&lines.place, mistake));
        }
        let lines_of = lines.as_ref().map(|lines| (lines.value.0, lines.value.1));
        let text = match (text, lines_of) {
            (Some(text), _) => self.texts.text(text)?,
            (None, Some(lines)) if !web => self.lines(&source, lines, &at.place)?,
            (None, _) => return Err(self.error(&at.place, Mistake::Missing { name: "text" })),
        };
        Ok(Attach::Selection {
            source,
            web,
            lines: lines_of,
            text,
        })
    }

    /// Lines of a note as it is now.
    fn lines(
        &mut self,
        note: &str,
        (first, last): (u32, u32),
        place: &Range<usize>,
    ) -> Result<Text, ScenarioError> {
        let text = self
            .world
            .notes
            .get(note)
            .map(|(text, _)| text.clone())
            .unwrap_or_default();
        let wanted: Vec<&str> = text
            .lines()
            .skip(first as usize - 1)
            .take((last - first) as usize + 1)
            .collect();
        if wanted.len() != (last - first) as usize + 1 {
            let mistake = Mistake::value(
                format_args!("`{note}`"),
                format!(
                    "has no line {last}: it ends at line {}",
                    text.lines().count()
                ),
            );
            return Err(self.error(place, mistake));
        }
        let selected = wanted.join("\n");
        self.texts.count(selected.len(), place)?;
        Ok(Text::from(selected))
    }

    fn tagged(&self, at: &At<String>) -> Result<Attach, ScenarioError> {
        let tag = self.tag(at)?;
        let known: Vec<&Arc<str>> = self
            .world
            .notes
            .values()
            .flat_map(|(_, tags)| tags)
            .collect();
        if known.contains(&&tag) {
            return Ok(Attach::Tag(tag));
        }
        let mistake = Mistake::UnknownName {
            what: "tag",
            name: tag.to_string(),
            nearest: nearest(&tag, known.iter().map(|tag| &***tag)).map(str::to_owned),
            help: "give it to a note: `notes: {a.md: {text: ..., tags: [...]}}`".to_owned(),
        };
        Err(self.error(&at.place, mistake))
    }

    fn folder(&self, at: &At<String>) -> Result<Attach, ScenarioError> {
        let folder = at.value.trim_end_matches('/');
        let within = |path: &str| {
            path.strip_prefix(folder)
                .is_some_and(|rest| rest.starts_with('/'))
        };
        if !folder.is_empty() && self.world.notes.keys().any(|path| within(path)) {
            return Ok(Attach::Folder(Arc::from(folder)));
        }
        let folders = self
            .world
            .notes
            .keys()
            .filter_map(|path| Some(path.rsplit_once('/')?.0));
        let mistake = Mistake::UnknownName {
            what: "folder",
            name: at.value.clone(),
            nearest: nearest(folder, folders).map(str::to_owned),
            help: "no note lies in it".to_owned(),
        };
        Err(self.error(&at.place, mistake))
    }

    fn image(&mut self, at: &At<String>) -> Result<Attach, ScenarioError> {
        let bytes = self
            .texts
            .files
            .bytes(&at.value)
            .map_err(|mistake| self.error(&at.place, mistake))?;
        let Some(media_type) = image::media_type(&bytes) else {
            let mistake = Mistake::value(
                format_args!("`{}`", at.value),
                "is no PNG, JPEG, GIF or WebP",
            );
            return Err(self.error(&at.place, mistake));
        };
        let data = image::base64(&bytes);
        self.texts.count(data.len(), &at.place)?;
        let name = at.value.rsplit(['/', '\\']).next().unwrap_or(&at.value);
        Ok(Attach::Image {
            name: Arc::from(name),
            media_type: Arc::from(media_type),
            data: Text::from(data),
        })
    }
}

/// The clock has left the calendar.
pub(super) fn beyond() -> Mistake {
    Mistake::value("the scenario's clock", "runs beyond the year 9999")
}
