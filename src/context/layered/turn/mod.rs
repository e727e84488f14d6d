//! Building one turn: question, library and context become an envelope.

mod context;
mod note;

pub(super) use note::note_block;

use super::autocompact;
use super::embed::Reading;
use super::envelope::{Envelope, LayerId, Metadata, Segment};
use super::files::Files;
use super::library::Library;
use super::parse::{self, metadata};
use super::release::Release;
use super::template::{self, Scope};
use super::units::{len16, trim};
use crate::chat::Text;
use crate::context::Phrases;
use crate::context::view::Note;
use context::Context;
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
pub(super) struct Turn<'a> {
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
    /// The fixed wording.
    pub phrases: &'a Phrases,
}

impl<'a> Turn<'a> {
    /// What its notes are read with.
    pub(super) fn reading(&self) -> Reading<'a> {
        Reading {
            files: self.files,
            plus: self.plus,
            phrases: self.phrases,
        }
    }
}

/// A turn that was built.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Built {
    /// Its envelope.
    pub envelope: Envelope,
    /// Question, library and context as one text: what release 3.1 keeps as
    /// the history.
    pub text: String,
}

/// Writes a summary of a block: title, path, content. `None`: it failed.
pub(super) type Summarise<'a> = dyn FnMut(&str) -> Option<String> + 'a;

/// Builds a turn of `release` on a library.
pub(super) fn build(
    release: Release,
    turn: Turn<'_>,
    library: &Library,
    summarise: &mut Summarise<'_>,
) -> Built {
    let scope = Scope {
        files: turn.files,
        editor: turn.editor,
        on: turn.templating,
        braces: true,
    };
    let question = template::expand(turn.question, scope, turn.phrases);
    let context = Context::collect(release, turn, &question.notes, library);
    let text = format!("{}{}{}", question.text, library.text, context.text());
    let mut segments = vec![(LayerId::User, user(turn.message_id, &question.text))];
    if !turn.instructions.is_empty() {
        segments.push((LayerId::System, system(turn.instructions)));
    }
    let compacted = (release == Release::V4 && len16(&text) > turn.threshold_tokens * 4)
        .then(|| {
            let merged = format!("{}{}", library.text, context.text());
            autocompact::compact(&merged, turn.phrases, summarise)
        })
        .flatten();
    let text = if let Some(compacted) = compacted {
        if !trim(&compacted).is_empty() {
            segments.push((LayerId::Turn, merged(&compacted, &context.paths)));
        }
        format!("{}{compacted}", question.text)
    } else {
        let known = parse::segments(release, &library.text, true);
        segments.extend(known.into_iter().map(|s| (LayerId::Previous, s)));
        let new = context.segments(release, turn.message_id);
        segments.extend(new.into_iter().map(|s| (LayerId::Turn, s)));
        text
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
