//! Notes, pages and tabs: those at the start, and the steps that change them.

use super::Check;
use super::label::Label;
use crate::chat::Text;
use crate::context::view::{Moment, Note, Vault};
use crate::scenario::error::{Mistake, ScenarioError};
use crate::scenario::load::grammar::ScenarioFile;
use crate::scenario::load::texts::TextFile;
use crate::scenario::load::values::{NoteEditFile, NoteEditMap};
use crate::scenario::load::yaml::{At, Entries};
use crate::scenario::model::{Action, NoteEdit};
use std::collections::BTreeMap;
use std::ops::Range;
use std::sync::Arc;

impl Check {
    pub(super) fn vault(
        &mut self,
        file: &ScenarioFile,
        clock: &Moment,
    ) -> Result<Vault, ScenarioError> {
        let mut vault = Vault::new();
        for (path, note) in &file.notes.0 {
            let path = self.note_path(path)?;
            let (text, tags) = self.texts.note(note)?;
            let tags = tags
                .iter()
                .map(|tag| self.tag(tag))
                .collect::<Result<Vec<_>, _>>()?;
            self.world
                .notes
                .insert(Arc::clone(&path), (text.clone(), tags.clone()));
            let note = Note {
                path: Arc::clone(&path),
                text: Some(text),
                created: clock.at,
                modified: clock.at,
                tags,
            };
            vault.insert(path, note);
        }
        Ok(vault)
    }

    pub(super) fn tag(&self, at: &At<String>) -> Result<Arc<str>, ScenarioError> {
        let tag = at.value.trim().trim_start_matches('#');
        if tag.is_empty() || tag.contains(char::is_whitespace) {
            let mistake = Mistake::value("`tag`", "is empty or holds a blank");
            return Err(self.error(&at.place, mistake));
        }
        Ok(Arc::from(tag))
    }

    /// A path within the vault: relative, with `/`, without `.` and `..`.
    pub(super) fn note_path(&self, at: &At<String>) -> Result<Arc<str>, ScenarioError> {
        let odd = |part: &str| part.is_empty() || part == "." || part == "..";
        let path = at.value.as_str();
        if path.split('/').any(odd) || path.contains('\\') || path.chars().any(char::is_control) {
            let mistake = Mistake::value(format_args!("`{path}`"), "is no path of a note")
                .helped("write it like `folder/note.md`, relative to the vault");
            return Err(self.error(&at.place, mistake));
        }
        Ok(Arc::from(path))
    }

    pub(super) fn pages(
        &mut self,
        entries: &Entries<At<TextFile>>,
    ) -> Result<BTreeMap<Arc<str>, Text>, ScenarioError> {
        let mut pages = BTreeMap::new();
        for (url, text) in &entries.0 {
            pages.insert(self.filled(url, "the address")?, self.texts.text(text)?);
        }
        Ok(pages)
    }

    pub(super) fn note(
        &mut self,
        edits: &Entries<At<NoteEditFile>>,
        place: &Range<usize>,
    ) -> Result<(Action, Label), ScenarioError> {
        if edits.0.is_empty() {
            return Err(self.error(place, Mistake::value("`note`", "edits nothing")));
        }
        let mut done = Vec::with_capacity(edits.0.len());
        let mut label = Label::default();
        for (path, edit) in &edits.0 {
            let (path, edit) = self.note_edit(path, edit)?;
            label.add(&match &edit {
                NoteEdit::Write(_) => format!("note {path} written"),
                NoteEdit::Touch => format!("note {path} touched"),
                NoteEdit::Delete => format!("note {path} deleted"),
                NoteEdit::Move(to) => format!("note {path} moved to {to}"),
            });
            done.push((path, edit));
        }
        Ok((Action::Note(done), label))
    }

    fn note_edit(
        &mut self,
        path: &At<String>,
        edit: &At<NoteEditFile>,
    ) -> Result<(Arc<str>, NoteEdit), ScenarioError> {
        match &edit.value {
            NoteEditFile::Touch => Ok((self.existing_note(path)?, NoteEdit::Touch)),
            NoteEditFile::Delete => {
                let path = self.existing_note(path)?;
                self.world.notes.remove(&path);
                Ok((path, NoteEdit::Delete))
            }
            NoteEditFile::Map(NoteEditMap {
                write: Some(text),
                to: None,
            }) => {
                let path = self.note_path(path)?;
                let text = self.texts.text(text)?;
                let note = self.world.notes.entry(Arc::clone(&path)).or_default();
                note.0 = text.clone();
                Ok((path, NoteEdit::Write(text)))
            }
            NoteEditFile::Map(NoteEditMap {
                write: None,
                to: Some(to),
            }) => self.move_note(path, to),
            NoteEditFile::Map(_) => {
                let mistake = Mistake::value("the edit", "needs exactly one of `write` and `move`");
                Err(self.error(&edit.place, mistake))
            }
        }
    }

    fn move_note(
        &mut self,
        path: &At<String>,
        target: &At<String>,
    ) -> Result<(Arc<str>, NoteEdit), ScenarioError> {
        let path = self.existing_note(path)?;
        let to = self.note_path(target)?;
        if self.world.notes.contains_key(&to) {
            let mistake = Mistake::Exists {
                what: "note",
                name: to.to_string(),
                help: "a note cannot be moved over another",
            };
            return Err(self.error(&target.place, mistake));
        }
        if let Some(note) = self.world.notes.remove(&path) {
            self.world.notes.insert(Arc::clone(&to), note);
        }
        Ok((path, NoteEdit::Move(to)))
    }

    pub(super) fn page_step(
        &mut self,
        entries: &Entries<At<TextFile>>,
        tab: bool,
        place: &Range<usize>,
    ) -> Result<(Action, Label), ScenarioError> {
        let what = if tab { "tab" } else { "url" };
        if entries.0.is_empty() {
            return Err(self.error(
                place,
                Mistake::value(format_args!("`{what}`"), "names no address"),
            ));
        }
        let pages: Vec<_> = self.pages(entries)?.into_iter().collect();
        let known = if tab {
            &mut self.world.tabs
        } else {
            &mut self.world.urls
        };
        known.extend(pages.iter().map(|(url, _)| Arc::clone(url)));
        let mut label = Label::default();
        for (url, _) in &pages {
            label.add(&format!("{what} {url} changed"));
        }
        let action = if tab {
            Action::Tab(pages)
        } else {
            Action::Url(pages)
        };
        Ok((action, label))
    }
}
