//! A message of a scenario as the releases see it.

use crate::context::layered::chatfile::{self, Names, SavedTurn, Sender};
use crate::context::layered::files::Files;
use crate::context::layered::turn::Item;
use crate::context::view::{Attachment, ChainKind, Note, UserTurn};
use std::sync::Arc;

/// The chain of a message: what the scenario says, else an agent where the
/// model calls tools, tools in front where there are outputs, the project's
/// where one is on, and the plain one.
pub(super) fn chain_kind(turn: &UserTurn) -> ChainKind {
    turn.chain.unwrap_or(if !turn.rounds.is_empty() {
        ChainKind::Agent
    } else if !turn.tool_outputs.is_empty() {
        ChainKind::Plus
    } else if turn.sample.project.is_some() {
        ChainKind::Project
    } else {
        ChainKind::Llm
    })
}

/// What is attached, in the releases' kinds. Pictures go with the message.
pub(super) fn items(turn: &UserTurn) -> Vec<Item> {
    let mut items: Vec<Item> = Vec::new();
    let mut tagged: Vec<Note> = Vec::new();
    for attachment in &turn.attachments {
        match attachment {
            Attachment::Tag { notes, .. } => {
                for note in notes {
                    if !tagged.iter().any(|known| known.path == note.path) {
                        tagged.push(note.clone());
                    }
                }
            }
            Attachment::Image { .. } => {}
            other => items.extend(item(other)),
        }
    }
    if !tagged.is_empty() {
        items.push(Item::Tagged(tagged));
    }
    if !turn.queued_files.is_empty() {
        items.push(Item::Queued(turn.queued_files.clone()));
    }
    items
}

fn item(attachment: &Attachment) -> Option<Item> {
    Some(match attachment {
        Attachment::Note { note, active } => Item::Note {
            note: note.clone(),
            active: *active,
        },
        Attachment::Url { url, text } => Item::Url {
            url: url.clone(),
            text: Some(text.clone()),
        },
        Attachment::Tab { url, text, active } => Item::Tab {
            title: url.to_string(),
            url: url.clone(),
            mode: None,
            text: text.clone(),
            active: *active,
        },
        Attachment::Selection {
            source,
            web: true,
            text,
            lines: _,
        } => Item::WebSelection {
            title: source.to_string(),
            url: source.clone(),
            text: text.clone(),
        },
        Attachment::Selection {
            source,
            lines,
            text,
            web: _,
        } => Item::Selection {
            title: title(source),
            path: source.clone(),
            lines: *lines,
            text: text.clone(),
        },
        Attachment::Folder { notes, .. } => Item::Folder(notes.clone()),
        Attachment::Tag { .. } | Attachment::Image { .. } => return None,
    })
}

fn title(path: &str) -> String {
    let name = path.rsplit('/').next().unwrap_or(path);
    name.rsplit_once('.')
        .map_or(name, |(stem, _)| stem)
        .to_owned()
}

/// Paths of the notes attached to a message, the open one last; for a loaded
/// message, those that the saved text brings back.
pub(super) fn saved_notes(turn: &UserTurn, files: &Files, loaded: bool) -> Vec<Arc<str>> {
    let of = |wanted: bool| {
        turn.attachments
            .iter()
            .filter_map(move |attachment| match attachment {
                Attachment::Note { note, active } if *active == wanted => Some(note.path.clone()),
                _ => None,
            })
    };
    let notes: Vec<Arc<str>> = of(false).chain(of(true)).collect();
    if !loaded {
        return notes;
    }
    let saved = chatfile::save(&[SavedTurn {
        sender: Sender::User,
        text: String::new(),
        names: Names {
            notes,
            ..Names::default()
        },
    }]);
    let loaded = chatfile::load(&saved, files).into_iter().next();
    loaded.map(|turn| turn.names.notes).unwrap_or_default()
}
