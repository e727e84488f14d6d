//! Building one turn: question, library and context become an envelope.

use super::autocompact;
use super::envelope::{Envelope, LayerId, Metadata, Segment};
use super::files::{Files, extension};
use super::library::Library;
use super::parse::{self, metadata};
use super::release::Release;
use super::template::{self, Scope};
use super::units::{escape, len16, trim};
use super::{embed, format};
use crate::chat::Text;
use crate::context::Phrases;
use crate::context::view::Note;
use serde_json::Value;
use std::sync::Arc;

/// Something attached to a question, as it is when the turn is built.
#[derive(Clone, Debug, PartialEq)]
pub enum Item {
    /// A note; one that is open in the editor comes first, under a tag of its own.
    Note {
        /// The note; without a text it cannot be read.
        note: Note,
        /// Whether it is the open one.
        active: bool,
    },
    /// An address; has an effect only where tools are.
    Url {
        /// The address.
        url: Arc<str>,
        /// What was fetched; `None` where that failed.
        text: Option<Text>,
    },
    /// A selection in a note.
    Selection {
        /// Title of the note.
        title: String,
        /// Its path.
        path: Arc<str>,
        /// First and last line.
        lines: Option<(u32, u32)>,
        /// The selected text.
        text: Text,
    },
    /// A selection in a page.
    WebSelection {
        /// Title of the page.
        title: String,
        /// Its address.
        url: Arc<str>,
        /// The selected text.
        text: Text,
    },
    /// A browser tab.
    Tab {
        /// Its title.
        title: String,
        /// Its address.
        url: Arc<str>,
        /// How it is shown.
        mode: Option<String>,
        /// Its text.
        text: Text,
        /// Whether it is in front.
        active: bool,
    },
    /// The notes with any of the attached tags.
    Tagged(Vec<Note>),
    /// The notes below an attached folder.
    Folder(Vec<Note>),
    /// Names of files staged for the sandbox.
    Queued(Vec<Arc<str>>),
}

/// What a turn is built from.
#[derive(Clone, Copy, Debug)]
pub struct Turn<'a> {
    /// Id of the message.
    pub message_id: &'a str,
    /// What was typed.
    pub question: &'a str,
    /// Text of L1, templates expanded; empty: none.
    pub instructions: &'a str,
    /// Notes that the instructions' templates read.
    pub instructed: &'a [Arc<str>],
    /// What is attached.
    pub items: &'a [Item],
    /// The vault.
    pub files: &'a Files,
    /// The note that is open in the editor.
    pub editor: Option<&'a Note>,
    /// Whether tools are there: only then are addresses fetched and PDFs read.
    pub plus: bool,
    /// Whether templates in the question are expanded.
    pub templating: bool,
    /// Length in tokens above which context is summarised.
    pub threshold_tokens: usize,
}

/// A turn that was built.
#[derive(Clone, Debug, PartialEq)]
pub struct Built {
    /// Its envelope.
    pub envelope: Envelope,
    /// Question, library and context as one text: what release 3.1 keeps as
    /// the history.
    pub text: String,
}

/// Writes a summary of a block: title, path, content. `None`: it failed.
pub type Summarise<'a> = dyn FnMut(&str) -> Option<String> + 'a;

/// Builds a turn of `release` on a library.
pub fn build(
    release: Release,
    turn: Turn<'_>,
    library: &Library,
    phrases: &Phrases,
    summarise: &mut Summarise<'_>,
) -> Built {
    let scope = Scope {
        files: turn.files,
        editor: turn.editor,
        on: turn.templating,
        braces: true,
    };
    let question = template::expand(turn.question, scope, phrases);
    let context = Context::collect(release, turn, &question.notes, library);
    let text = format!("{}{}{}", question.text, library.text, context.text());
    let mut segments = vec![(LayerId::User, user(turn.message_id, &question.text))];
    if !turn.instructions.is_empty() {
        segments.push((LayerId::System, system(turn.instructions)));
    }
    let compacted = (release == Release::V4 && len16(&text) > turn.threshold_tokens * 4)
        .then(|| autocompact::compact(&format!("{}{}", library.text, context.text()), summarise))
        .flatten();
    let text = match compacted {
        Some(compacted) => {
            let text = format!("{}{compacted}", question.text);
            if !trim(&compacted).is_empty() {
                segments.push((LayerId::Turn, merged(&compacted, &context.paths)));
            }
            text
        }
        None => {
            let known = parse::segments(release, &library.text, true);
            segments.extend(known.into_iter().map(|s| (LayerId::Previous, s)));
            let new = context.segments(release, turn.message_id);
            segments.extend(new.into_iter().map(|s| (LayerId::Turn, s)));
            text
        }
    };
    let envelope = Envelope::build(turn.message_id, segments);
    Built { envelope, text }
}

fn segment(id: &str, content: &str, stable: bool, metadata: Metadata) -> Segment {
    Segment {
        id: Arc::from(id),
        content: Text::from(content),
        stable,
        metadata: Some(metadata),
    }
}

fn system(text: &str) -> Segment {
    segment("system", text, true, metadata("system_prompt", None))
}

fn user(message_id: &str, text: &str) -> Segment {
    let id = format!("{message_id}-user");
    segment(&id, text, false, metadata("user_input", None))
}

/// The one segment of a turn whose context was summarised.
fn merged(text: &str, paths: &[Arc<str>]) -> Segment {
    let mut known = metadata("compacted", None);
    known.insert("wasCompacted".to_owned(), Value::from(true));
    known.insert("compactedPaths".to_owned(), values(paths));
    segment("compacted_context", text, false, known)
}

fn values(paths: &[Arc<str>]) -> Value {
    Value::Array(
        paths
            .iter()
            .map(|path| Value::from(path.as_ref()))
            .collect(),
    )
}

/// The context of a turn, a text for each kind of attachment.
#[derive(Default)]
struct Context {
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
    paths: Vec<Arc<str>>,
}

impl Context {
    fn collect(release: Release, turn: Turn<'_>, asked: &[Arc<str>], library: &Library) -> Self {
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
        context.tabs = tabs(turn.items);
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
                self.notes.push_str(&note_block(release, tag, note, turn));
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
                .push_str(&format::selection(title, path, *lines, text)),
            Item::WebSelection { title, url, text } => self
                .selections
                .push_str(&format::web_selection(title, url, text)),
            Item::Queued(names) => self.queued.push_str(&format::queued(names)),
            _ => {}
        }
    }

    fn text(&self) -> String {
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

    fn segments(&self, release: Release, message_id: &str) -> Vec<Segment> {
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
            text.push_str(&note_block(release, "note_context", note, turn));
        }
    }
    let paths = notes.iter().map(|note| note.path.clone()).collect();
    (text, paths)
}

/// The block of a note behind a blank line; empty for a kind of file that the
/// chain does not read.
fn note_block(release: Release, tag: &str, note: &Note, turn: Turn<'_>) -> String {
    written(release, tag, note, turn.files, turn.plus)
}

/// As [`note_block`], for the library of release 3.1.
pub fn written(release: Release, tag: &str, note: &Note, files: &Files, plus: bool) -> String {
    if !plus && !readable(release, extension(&note.path)) {
        return String::new();
    }
    if note.text.is_none() {
        return format::unreadable(tag, note);
    }
    let body = embed::body(note, files, plus);
    format!(
        "\n\n{}",
        format::note(tag, &escape(note.title()), note, &body)
    )
}

/// Whether a chain without tools reads files of this kind.
fn readable(release: Release, extension: &str) -> bool {
    const BINARY: [&str; 12] = [
        "pdf", "png", "jpg", "jpeg", "gif", "webp", "bmp", "svg", "mp3", "mp4", "docx", "epub",
    ];
    match release {
        Release::V31 => matches!(extension, "md" | "canvas"),
        Release::V4 => !BINARY.contains(&extension),
    }
}

/// Tabs, the one in front first, each address once.
fn tabs(items: &[Item]) -> String {
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
            out.push_str(&format::tab(active, title, url, mode.as_deref(), text));
        }
    }
    out
}
