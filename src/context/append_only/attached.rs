//! Attachments as entries.

use super::entry::{Entries, code, quoted};
use super::ledger::{Ledger, write_empty};
use crate::chat::{Class, Text};
use crate::context::view::{Attachment, Note};
use std::fmt::Write as _;

impl Ledger {
    /// What the person attached.
    pub(super) fn attachment(&mut self, out: &mut Entries, attachment: &Attachment) {
        let class = Class::Turn;
        match attachment {
            Attachment::Note { note, active } => self.note(out, note, *active),
            Attachment::Url { url, text } => {
                let head = format!("url {}", quoted(url));
                self.content(out, &format!("urls/{url}"), &head, text);
            }
            Attachment::Tab { url, text, active } => {
                let head = format!("tab {}{}", quoted(url), flag(*active));
                self.content(out, &format!("tabs/{url}"), &head, text);
            }
            Attachment::Selection {
                source,
                lines,
                text,
                ..
            } => {
                let mut head = format!("selection {}", quoted(source));
                if let Some((first, last)) = lines {
                    let _infallible = write!(head, " {first}-{last}");
                }
                self.content(out, &format!("selections/{source}"), &head, text);
            }
            Attachment::Tag { tag, notes } => {
                let head = format!("tag {}", quoted(tag));
                write_empty(out, &format!("tags/{tag}"), class, &head);
                notes.iter().for_each(|note| self.note(out, note, false));
            }
            Attachment::Folder { path, notes } => {
                let head = format!("folder {}", quoted(path));
                write_empty(out, &format!("folders/{path}"), class, &head);
                notes.iter().for_each(|note| self.note(out, note, false));
            }
            Attachment::Image { name, data, .. } => {
                let head = format!("image {}", quoted(name));
                let code = code(data).map(|code| format!(" {code}"));
                let head = head + code.as_deref().unwrap_or_default();
                write_empty(out, &format!("images/{name}"), class, &head);
            }
        }
    }

    /// Whether a picture must go out; once it has, its code is known.
    pub(super) fn is_new_image(&mut self, data: &Text) -> bool {
        code(data).is_none_or(|code| self.codes.insert(code))
    }

    fn note(&mut self, out: &mut Entries, note: &Note, active: bool) {
        let head = format!("note {}{}", quoted(&note.path), flag(active));
        let origin = format!("notes/{}", note.path);
        match &note.text {
            Some(text) => self.content(out, &origin, &head, text),
            None => write_empty(out, &origin, Class::Turn, &format!("{head} missing")),
        }
    }
}

fn flag(active: bool) -> &'static str {
    if active { " active" } else { "" }
}
