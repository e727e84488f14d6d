//! Sources: their state at the start, and `set` and `memory` steps.

use super::Check;
use super::label::Label;
use crate::chat::{Origin, Text};
use crate::context::registry;
use crate::context::view::{Memory, Moment};
use crate::scenario::error::{Mistake, ScenarioError};
use crate::scenario::generate::Kind;
use crate::scenario::load::steps::{MemoryFile, SetFile};
use crate::scenario::load::texts::{SwitchFile, SwitchOrEntries, TextFile};
use crate::scenario::load::yaml::{At, Entries};
use crate::scenario::model::{Action, MemoryStep, SetStep};
use crate::scenario::names::nearest;
use crate::scenario::texts::filler;
use std::collections::BTreeSet;
use std::ops::Range;
use std::sync::Arc;

/// Of a source that may be left out: nothing said, off, or its text.
type Switched = Option<Option<Text>>;

/// Texts by a name of the writer's own, in order.
type Named<T> = Vec<(Arc<str>, T)>;

/// What keys `other` is for.
const OWN_KEYS: &str = "`other` is for keys that no registry knows, and for `configured_additional` \
                        and `agent_context_files`; `prefixbench list sources` shows the rest";

/// Whether `key` is that of a source that has a word of its own, or what spans of a
/// conversation are called.
fn is_taken(key: &str) -> bool {
    const SPOKEN: &[&str] = &[
        Origin::NONCE,
        Origin::MODEL,
        Origin::USER,
        Origin::REPLY,
        Origin::TOOL_CALL,
        Origin::TOOL_RESULT,
    ];
    match key {
        registry::key::CONFIGURED | registry::key::AGENT_FILES => false,
        _ => registry::knows(key) || SPOKEN.contains(&key),
    }
}

impl Check {
    /// `on` means filler of `tokens` tokens.
    fn switch(
        &mut self,
        at: Option<&At<SwitchFile>>,
        purpose: &str,
        tokens: usize,
        kind: Kind,
    ) -> Result<Switched, ScenarioError> {
        let Some(at) = at else { return Ok(None) };
        Ok(Some(match &at.value {
            SwitchFile::Switch(false) => None,
            SwitchFile::Switch(true) => {
                Some(self.texts.filler(purpose, 0, tokens, kind, &at.place)?)
            }
            SwitchFile::Text(text) => self.source_text(text, &at.place)?,
        }))
    }

    /// A text that is empty switches its source off.
    fn source_text(
        &mut self,
        text: &TextFile,
        place: &Range<usize>,
    ) -> Result<Option<Text>, ScenarioError> {
        let text = self.texts.text_at(text, place)?;
        Ok((!text.is_empty()).then_some(text))
    }

    pub(super) fn artifacts(
        &mut self,
        at: Option<&At<SwitchFile>>,
    ) -> Result<Switched, ScenarioError> {
        self.switch(at, "artifacts", filler::ARTIFACTS, Kind::Markdown)
    }

    pub(super) fn web_search(
        &mut self,
        at: Option<&At<SwitchFile>>,
    ) -> Result<Switched, ScenarioError> {
        self.switch(at, "web search", filler::WEB_SEARCH, Kind::Prose)
    }

    pub(super) fn memory_guard(
        &mut self,
        at: Option<&At<SwitchFile>>,
    ) -> Result<Switched, ScenarioError> {
        self.switch(at, "memory guard", filler::MEMORY_GUARD, Kind::Prose)
    }

    pub(super) fn project(
        &mut self,
        at: Option<&At<SwitchFile>>,
    ) -> Result<Switched, ScenarioError> {
        self.text_or_off(at, "`project`")
    }

    fn text_or_off(
        &mut self,
        at: Option<&At<SwitchFile>>,
        what: &str,
    ) -> Result<Switched, ScenarioError> {
        let Some(at) = at else { return Ok(None) };
        match &at.value {
            SwitchFile::Switch(false) => Ok(Some(None)),
            SwitchFile::Switch(true) => {
                let mistake = Mistake::value(what, "cannot be just `on`")
                    .helped("give a text, `{file: ...}` or `{generate: ...}`");
                Err(self.error(&at.place, mistake))
            }
            SwitchFile::Text(text) => Ok(Some(self.source_text(text, &at.place)?)),
        }
    }

    pub(super) fn other(
        &mut self,
        entries: &Entries<At<SwitchFile>>,
    ) -> Result<Named<Option<Text>>, ScenarioError> {
        let mut parts = Vec::with_capacity(entries.0.len());
        for (key, text) in &entries.0 {
            let place = &key.place.clone();
            let key = self.filled(key, "the key")?;
            let what = format!("`{key}`");
            if is_taken(&key) {
                let mistake =
                    Mistake::value(&what, "is no key of its own: it names something else")
                        .helped(OWN_KEYS);
                return Err(self.error(place, mistake));
            }
            parts.push((key, self.text_or_off(Some(text), &what)?.flatten()));
        }
        Ok(parts)
    }

    pub(super) fn skills(
        &mut self,
        at: Option<&At<SwitchOrEntries>>,
    ) -> Result<Option<Named<Text>>, ScenarioError> {
        let Some(at) = at else { return Ok(None) };
        match &at.value {
            SwitchOrEntries::Switch(false) => Ok(Some(Vec::new())),
            SwitchOrEntries::Switch(true) => {
                let mistake = Mistake::value("`skills`", "cannot be just `on`")
                    .helped("give descriptions by name: `{name: text}`");
                Err(self.error(&at.place, mistake))
            }
            SwitchOrEntries::Entries(entries) => self.named(entries).map(Some),
        }
    }

    pub(super) fn named(
        &mut self,
        entries: &Entries<At<TextFile>>,
    ) -> Result<Named<Text>, ScenarioError> {
        entries
            .0
            .iter()
            .map(|(key, text)| self.entry(key, text))
            .collect()
    }

    pub(super) fn memory(
        &mut self,
        at: Option<&At<SwitchOrEntries>>,
        clock: &Moment,
    ) -> Result<Memory, ScenarioError> {
        match at.map(|at| &at.value) {
            None => self.remembered(&Entries::default(), clock),
            Some(SwitchOrEntries::Entries(entries)) => self.remembered(entries, clock),
            Some(SwitchOrEntries::Switch(on)) => Ok(Memory {
                on: *on,
                entries: Vec::new(),
            }),
        }
    }

    pub(super) fn set(
        &mut self,
        file: &SetFile,
        place: &Range<usize>,
    ) -> Result<(Action, Label), ScenarioError> {
        let step = SetStep {
            artifacts: self.artifacts(file.artifacts.as_ref())?,
            web_search: self.web_search(file.web_search.as_ref())?,
            memory_guard: self.memory_guard(file.memory_guard.as_ref())?,
            timestamps: file.timestamps,
            memory: file.memory,
            project: self.project(file.project.as_ref())?,
            skills: self.skills(file.skills.as_ref())?,
            zone: file.zone.as_ref().map(|zone| self.zone(zone)).transpose()?,
            other: self.other(&file.other)?,
        };
        if step == SetStep::default() {
            return Err(self.error(place, Mistake::value("`set`", "names no source")));
        }
        let label = self.set_label(&step, file);
        Ok((Action::Set(Box::new(step)), label))
    }

    /// Says what changed, and remembers it.
    fn set_label(&mut self, step: &SetStep, file: &SetFile) -> Label {
        let mut label = Label::default();
        let world = &mut self.world;
        let sources = [
            ("project", &step.project, &mut world.project),
            ("artifacts", &step.artifacts, &mut world.artifacts),
            ("web search", &step.web_search, &mut world.web_search),
            ("memory guard", &step.memory_guard, &mut world.memory_guard),
        ];
        for (name, new, now) in sources {
            if let Some(new) = new {
                label.switched(name, now.as_ref(), new.as_ref());
                now.clone_from(new);
            }
        }
        let on = |on: bool| if on { "on" } else { "off" };
        if let Some(memory) = step.memory {
            label.add(&format!("memory {}", on(memory)));
        }
        if let Some(timestamps) = step.timestamps {
            label.add(&format!("timestamps {}", on(timestamps)));
        }
        if let Some(skills) = &step.skills {
            label.add(match (world.skills, skills.is_empty()) {
                (_, true) => "skills off",
                (false, false) => "skills on",
                (true, false) => "skills changed",
            });
            world.skills = !skills.is_empty();
        }
        if let Some(zone) = &file.zone {
            label.add(&format!("zone {}", zone.value.trim()));
        }
        for (key, text) in &step.other {
            label.switched(key, world.other.get(key), text.as_ref());
            match text {
                Some(text) => world.other.insert(Arc::clone(key), text.clone()),
                None => world.other.remove(key),
            };
        }
        label
    }

    pub(super) fn memory_step(
        &mut self,
        file: &MemoryFile,
        place: &Range<usize>,
    ) -> Result<(Action, Label), ScenarioError> {
        let mut touched = BTreeSet::new();
        let keys = file.add.0.iter().map(|(key, _)| key);
        let keys = keys.chain(file.change.0.iter().map(|(key, _)| key));
        for key in keys.chain(&file.remove) {
            if !touched.insert(key.value.as_str()) {
                let mistake = Mistake::value(
                    format_args!("memory `{}`", key.value),
                    "is edited twice in one step",
                );
                return Err(self.error(&key.place, mistake));
            }
        }
        if touched.is_empty() {
            return Err(self.error(place, Mistake::value("`memory`", "edits nothing")));
        }
        for (key, _) in &file.change.0 {
            self.remembers(key)?;
        }
        for key in &file.remove {
            self.remembers(key)?;
            self.world.memory.remove(key.value.as_str());
        }
        for (key, _) in &file.add.0 {
            if !self.world.memory.insert(Arc::from(key.value.as_str())) {
                let mistake = Mistake::Exists {
                    what: "memory entry",
                    name: key.value.clone(),
                    help: "use `change` for an entry that is there already",
                };
                return Err(self.error(&key.place, mistake));
            }
        }
        let step = MemoryStep {
            add: self.named(&file.add)?,
            change: self.named(&file.change)?,
            remove: file
                .remove
                .iter()
                .map(|key| Arc::from(key.value.as_str()))
                .collect(),
        };
        let mut parts = Label::default();
        parts.add_names("added", step.add.iter().map(|(key, _)| &**key));
        parts.add_names("changed", step.change.iter().map(|(key, _)| &**key));
        parts.add_names("removed", step.remove.iter().map(|key| &**key));
        let label = Label::of(format!("memory {}", parts.done()));
        Ok((Action::Memory(step), label))
    }

    fn remembers(&self, key: &At<String>) -> Result<(), ScenarioError> {
        let known = &self.world.memory;
        if known.contains(key.value.as_str()) {
            return Ok(());
        }
        let mistake = Mistake::UnknownName {
            what: "memory entry",
            name: key.value.clone(),
            nearest: nearest(&key.value, known.iter().map(|key| &**key)).map(str::to_owned),
            help: "use `add` for a new entry".to_owned(),
        };
        Err(self.error(&key.place, mistake))
    }
}
