//! The state of everything that a message can be sampled from: sources, notes,
//! pages, tabs and the scenario's clock.
//!
//! Invariants: the clock moves only by steps, never by the machine's time; what
//! was sampled or attached is a copy, so that later changes cannot reach it.

use super::setup::Served;
use crate::chat::Text;
use crate::context::view::{Attachment, Memory, MemoryEntry, Moment, Note, Sample, Vault};
use crate::scenario::model::{Attach, MemoryStep, NoteEdit, Scenario, SetStep, Start};
use jiff::Timestamp;
use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

/// The world of one conversation.
#[derive(Clone, Debug)]
pub(super) struct World {
    /// The sources as they are now, in the form of the scenario's start.
    pub(super) sources: Start,
    /// The scenario's clock, in the zone in force.
    pub(super) now: Moment,
    /// The notes as they are now.
    pub(super) vault: Vault,
    urls: BTreeMap<Arc<str>, Text>,
    tabs: BTreeMap<Arc<str>, Text>,
}

impl World {
    /// The world before the first step.
    pub(super) fn new(scenario: &Scenario) -> Self {
        Self {
            sources: scenario.start.clone(),
            now: scenario.clock.clone(),
            vault: scenario.vault.clone(),
            urls: scenario.urls.clone(),
            tabs: scenario.tabs.clone(),
        }
    }

    /// Moves the clock on; it stops at the end of representable time.
    pub(super) fn pass(&mut self, time: Duration) {
        self.now.at = self.now.at.checked_add(time).unwrap_or(Timestamp::MAX);
    }

    /// The sources as they are now, for a chat that started at `started`.
    pub(super) fn sample(
        &self,
        started: &Moment,
        timestamps: Option<bool>,
        served: &Served,
    ) -> Sample {
        let sources = &self.sources;
        Sample {
            at: self.now.clone(),
            started: started.clone(),
            system: sources.system.clone(),
            tools: Arc::clone(&sources.tools),
            model: served.model(sources.model.as_ref()),
            project: sources.project.clone(),
            artifacts: sources.artifacts.clone(),
            memory_guard: sources.memory_guard.clone(),
            skills: sources.skills.clone(),
            web_search: sources.web_search.clone(),
            memory: sources.memory.clone(),
            timestamps: timestamps.unwrap_or(sources.timestamps),
            other: sources.other.clone(),
        }
    }

    /// A `set` step.
    pub(super) fn set(&mut self, step: &SetStep) {
        let sources = &mut self.sources;
        replace(&mut sources.artifacts, step.artifacts.as_ref());
        replace(&mut sources.web_search, step.web_search.as_ref());
        replace(&mut sources.memory_guard, step.memory_guard.as_ref());
        replace(&mut sources.project, step.project.as_ref());
        replace(&mut sources.timestamps, step.timestamps.as_ref());
        replace(&mut sources.memory.on, step.memory.as_ref());
        replace(&mut sources.skills, step.skills.as_ref());
        replace(&mut self.now.zone, step.zone.as_ref());
        for (key, text) in &step.other {
            set_other(&mut sources.other, key, text.as_ref());
        }
    }

    /// A `memory` step: a changed entry moves to the end, as it is the newest.
    ///
    /// Adding a key that exists changes it, changing one that does not adds it,
    /// and removing one that does not does nothing.
    pub(super) fn memory(&mut self, step: &MemoryStep) {
        let memory = &mut self.sources.memory;
        for key in &step.remove {
            forget(memory, key);
        }
        for (key, value) in step.change.iter().chain(&step.add) {
            forget(memory, key);
            memory.entries.push(MemoryEntry {
                key: Arc::clone(key),
                value: value.clone(),
                updated: self.now.clone(),
            });
        }
    }

    /// A `note` step.
    pub(super) fn edit_note(&mut self, path: &Arc<str>, edit: &NoteEdit) {
        let now = self.now.at;
        match edit {
            NoteEdit::Write(text) => {
                let note = self
                    .vault
                    .entry(Arc::clone(path))
                    .or_insert_with(|| new_note(path, now));
                note.text = Some(text.clone());
                note.modified = now;
            }
            NoteEdit::Touch => {
                if let Some(note) = self.vault.get_mut(path) {
                    note.modified = now;
                }
            }
            NoteEdit::Delete => {
                self.vault.remove(path);
            }
            NoteEdit::Move(to) => {
                if let Some(mut note) = self.vault.remove(path) {
                    note.path = Arc::clone(to);
                    self.vault.insert(Arc::clone(to), note);
                }
            }
        }
    }

    /// A `url` step.
    pub(super) fn edit_url(&mut self, url: &Arc<str>, text: &Text) {
        self.urls.insert(Arc::clone(url), text.clone());
    }

    /// A `tab` step.
    pub(super) fn edit_tab(&mut self, url: &Arc<str>, text: &Text) {
        self.tabs.insert(Arc::clone(url), text.clone());
    }

    /// What a message attaches, as it is now. A note that does not exist (any
    /// more) has no text; a page or tab that nothing is known of is empty.
    pub(super) fn freeze(&self, attach: &Attach) -> Attachment {
        match attach {
            Attach::Note { path, active } => Attachment::Note {
                note: self.note(path),
                active: *active,
            },
            Attach::Url(url) => Attachment::Url {
                url: Arc::clone(url),
                text: self.urls.get(url).cloned().unwrap_or_default(),
            },
            Attach::Tab { url, active } => Attachment::Tab {
                url: Arc::clone(url),
                text: self.tabs.get(url).cloned().unwrap_or_default(),
                active: *active,
            },
            Attach::Selection {
                source,
                web,
                lines,
                text,
            } => Attachment::Selection {
                source: Arc::clone(source),
                web: *web,
                lines: *lines,
                text: text.clone(),
            },
            Attach::Tag(tag) => Attachment::Tag {
                tag: Arc::clone(tag),
                notes: self.notes(|note| note.tags.contains(tag)),
            },
            Attach::Folder(path) => Attachment::Folder {
                path: Arc::clone(path),
                notes: self.notes(|note| is_below(&note.path, path)),
            },
            Attach::Image {
                name,
                media_type,
                data,
            } => Attachment::Image {
                name: Arc::clone(name),
                media_type: Arc::clone(media_type),
                data: data.clone(),
            },
        }
    }

    fn note(&self, path: &Arc<str>) -> Note {
        let known = self.vault.get(path).cloned();
        known.unwrap_or_else(|| new_note(path, self.now.at))
    }

    fn notes(&self, wanted: impl Fn(&Note) -> bool) -> Vec<Note> {
        self.vault
            .values()
            .filter(|note| wanted(note))
            .cloned()
            .collect()
    }
}

fn replace<T: Clone>(old: &mut T, new: Option<&T>) {
    if let Some(new) = new {
        *old = new.clone();
    }
}

/// Keeps the place of a key that is set again.
fn set_other(all: &mut Vec<(Arc<str>, Text)>, key: &Arc<str>, text: Option<&Text>) {
    let at = all.iter().position(|(known, _)| known == key);
    match (at, text) {
        (Some(at), Some(text)) => all[at].1 = text.clone(),
        (None, Some(text)) => all.push((Arc::clone(key), text.clone())),
        (Some(at), None) => {
            all.remove(at);
        }
        (None, None) => {}
    }
}

fn forget(memory: &mut Memory, key: &Arc<str>) {
    memory.entries.retain(|entry| entry.key != *key);
}

fn new_note(path: &Arc<str>, now: Timestamp) -> Note {
    Note {
        path: Arc::clone(path),
        text: None,
        created: now,
        modified: now,
        tags: Vec::new(),
    }
}

/// Whether `path` lies in `folder` or in a folder of it.
fn is_below(path: &str, folder: &str) -> bool {
    let folder = folder.trim_end_matches('/');
    folder.is_empty()
        || path
            .strip_prefix(folder)
            .is_some_and(|rest| rest.starts_with('/'))
}
