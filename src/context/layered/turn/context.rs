//! The context of a turn: attachments as texts and segments.

use super::note::note_block;
use super::{Item, Turn, segment, values};
use crate::context::Phrases;
use crate::context::layered::envelope::{Metadata, Segment};
use crate::context::layered::format;
use crate::context::layered::library::Library;
use crate::context::layered::parse::{self, metadata};
use crate::context::layered::release::Release;
use crate::context::layered::units::trim;
use crate::context::view::Note;
use serde_json::Value;
use std::sync::Arc;

/// The context of a turn, a text for each kind of attachment.
#[derive(Default)]
pub(super) struct Context {
    notes: String,
    tags: String,
    tag_paths: Vec<Arc<str>>,
    folders: String,
    folder_paths: Vec<Arc<str>>,
    urls: String,
    selections: String,
    tabs: String,
    queued: String,
    /// Paths of all notes that were read for the context.
    pub(super) paths: Vec<Arc<str>>,
}

impl Context {
    pub(super) fn collect(
        release: Release,
        turn: Turn<'_>,
        asked: &[Arc<str>],
        library: &Library,
    ) -> Self {
        let mut context = Self::default();
        let mut seen: Vec<Arc<str>> = asked.to_vec();
        if release == Release::V4 {
            seen.extend(turn.instructed.iter().cloned());
            seen.extend(library.known.iter().cloned());
        }
        context.notes(release, turn, &mut seen, library);
        context.groups(release, turn, &mut seen);
        for item in turn.items {
            context.other(release, turn.plus, item);
        }
        context.tabs = tabs(turn.items, turn.phrases);
        context
    }

    fn notes(
        &mut self,
        release: Release,
        turn: Turn<'_>,
        seen: &mut Vec<Arc<str>>,
        library: &Library,
    ) {
        let notes = || {
            turn.items.iter().filter_map(|item| match item {
                Item::Note { note, active } => Some((note, *active)),
                _ => None,
            })
        };
        let open = notes().find(|(_, active)| *active).map(|(note, _)| note);
        let in_order = open
            .map(|note| ("active_note", note))
            .into_iter()
            .chain(notes().map(|(note, _)| ("note_context", note)));
        let mut written: Vec<Arc<str>> = Vec::new();
        for (tag, note) in in_order {
            if written.contains(&note.path) {
                continue;
            }
            written.push(note.path.clone());
            if !seen.contains(&note.path) {
                self.notes
                    .push_str(&note_block(release, tag, note, turn.reading()));
            }
        }
        let attached = notes()
            .filter(|(_, active)| !active)
            .chain(notes().filter(|(_, a)| *a));
        for (note, _) in attached {
            let known = release == Release::V4 && library.known.contains(&note.path);
            if !known && !self.paths.contains(&note.path) {
                self.paths.push(note.path.clone());
            }
        }
        seen.extend(self.paths.iter().cloned());
    }

    /// Tags, then folders.
    fn groups(&mut self, release: Release, turn: Turn<'_>, seen: &mut Vec<Arc<str>>) {
        let tagged: Vec<&Note> = turn
            .items
            .iter()
            .filter_map(|item| match item {
                Item::Tagged(notes) => Some(notes),
                _ => None,
            })
            .flatten()
            .filter(|note| !seen.contains(&note.path))
            .collect();
        (self.tags, self.tag_paths) = group(release, &tagged, turn);
        self.add_paths(&tagged, seen);
        let below: Vec<&Note> = turn
            .items
            .iter()
            .filter_map(|item| match item {
                Item::Folder(notes) => Some(notes),
                _ => None,
            })
            .flatten()
            .filter(|note| !seen.contains(&note.path))
            .collect();
        (self.folders, self.folder_paths) = group(release, &below, turn);
        self.add_paths(&below, seen);
    }

    fn add_paths(&mut self, notes: &[&Note], seen: &mut Vec<Arc<str>>) {
        for note in notes {
            if !self.paths.contains(&note.path) {
                self.paths.push(note.path.clone());
            }
            seen.push(note.path.clone());
        }
    }

    fn other(&mut self, release: Release, plus: bool, item: &Item) {
        match item {
            Item::Url { url, text } if plus => {
                let block = format::url(release, url, text.as_deref());
                self.urls.push_str(&block.unwrap_or_default());
            }
            Item::Selection {
                title,
                path,
                lines,
                text,
            } => self
                .selections
                .push_str(&format::selection(release, title, path, *lines, text)),
            Item::WebSelection { title, url, text } => self
                .selections
                .push_str(&format::web_selection(title, url, text)),
            Item::Queued(names) => self.queued.push_str(&format::queued(names)),
            _ => {}
        }
    }

    pub(super) fn text(&self) -> String {
        [
            &self.notes,
            &self.tags,
            &self.folders,
            &self.urls,
            &self.selections,
            &self.tabs,
            &self.queued,
        ]
        .map(String::as_str)
        .concat()
    }

    pub(super) fn segments(&self, release: Release, message_id: &str) -> Vec<Segment> {
        let mut out = parse::segments(release, &self.notes, false);
        let parts: [(&str, &str, &[Arc<str>]); 6] = [
            ("tags", &self.tags, &self.tag_paths),
            ("folders", &self.folders, &self.folder_paths),
            ("urls", &self.urls, &[]),
            ("selected_text", &self.selections, &[]),
            ("web_tabs", &self.tabs, &[]),
            ("queued_files", &self.queued, &[]),
        ];
        for (name, text, paths) in parts {
            let text = trim(text);
            if text.is_empty() {
                continue;
            }
            match release {
                Release::V31 => out.push(segment(name, text, false, metadata(name, None))),
                Release::V4 => out.extend(parsed(name, text, paths, message_id)),
            }
        }
        out
    }
}

/// The segments of one kind of attachment; the whole text as one where none is
/// found in it. Its id names the message, where the original names its clock.
fn parsed(name: &str, text: &str, paths: &[Arc<str>], message_id: &str) -> Vec<Segment> {
    let mut extra = Metadata::new();
    if matches!(name, "tags" | "folders") {
        extra.insert("source".to_owned(), Value::from(name));
        extra.insert("notePaths".to_owned(), values(paths));
    }
    let mut found = parse::segments(Release::V4, text, false);
    if found.is_empty() {
        let id = format!("unparsed-{message_id}-{name}");
        found.push(segment(&id, text, false, metadata("unparsed", None)));
    }
    for segment in &mut found {
        let known = segment.metadata.get_or_insert_default();
        known.extend(extra.clone());
    }
    found
}

/// The blocks of a group of notes, and all their paths.
fn group(release: Release, notes: &[&Note], turn: Turn<'_>) -> (String, Vec<Arc<str>>) {
    let mut written: Vec<&Arc<str>> = Vec::new();
    let mut text = String::new();
    for note in notes {
        if !written.contains(&&note.path) {
            written.push(&note.path);
            text.push_str(&note_block(release, "note_context", note, turn.reading()));
        }
    }
    let paths = notes.iter().map(|note| note.path.clone()).collect();
    (text, paths)
}

/// Tabs, the one in front first, each address once.
fn tabs(items: &[Item], phrases: &Phrases) -> String {
    let tabs = || {
        items.iter().filter_map(|item| match item {
            Item::Tab {
                title,
                url,
                mode,
                text,
                active,
            } => Some((title, url, mode, text, *active)),
            _ => None,
        })
    };
    let front = tabs().find(|tab| tab.4);
    let mut seen: Vec<&Arc<str>> = Vec::new();
    let mut out = String::new();
    let others = tabs().map(|(title, url, mode, text, _)| (title, url, mode, text, false));
    for (title, url, mode, text, active) in front.into_iter().chain(others) {
        if !seen.contains(&url) {
            seen.push(url);
            let title = Some(title.as_str()).filter(|title| !title.is_empty());
            let title = title.unwrap_or_else(|| phrases.get("untitled"));
            out.push_str(&format::tab(active, title, url, mode.as_deref(), text));
        }
    }
    out
}
