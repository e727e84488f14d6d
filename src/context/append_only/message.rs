//! What belongs to one message: attachments, retrieved context, tool outputs,
//! queued files and its stamp.

use super::entry::{Entries, code, quoted};
use super::ledger::{Ledger, Terms, write_empty, write_text};
use crate::chat::{Class, Text};
use crate::context::view::{Attachment, Moment, Note, Sample, Subagent, UserTurn};
use std::fmt::Write as _;

impl Ledger {
    /// What came with `turn` beside what was typed: attachments, retrieved text,
    /// tool outputs, staged files, the stamp.
    pub(super) fn brought(&mut self, out: &mut Entries, turn: &UserTurn, terms: Terms<'_>) {
        let start = out.spans.len();
        for attachment in &turn.attachments {
            self.attachment(out, attachment);
        }
        if let Some(text) = &turn.retrieved {
            self.content(out, "retrieved_context", "retrieved", text);
        }
        for output in &turn.tool_outputs {
            let head = format!("tool {}", quoted(&output.tool));
            self.content(out, "tool_outputs", &head, &output.output);
        }
        if !turn.queued_files.is_empty() {
            let names: Vec<&str> = turn.queued_files.iter().map(|name| &**name).collect();
            let names = Text::from(names.join("\n"));
            write_text(
                out,
                "queued_code_files",
                Class::Turn,
                "queued_files",
                &names,
            );
        }
        self.introduce(out, start, terms);
        if turn.sample.timestamps {
            stamp(out, &turn.sent);
        }
    }

    /// Everything that an isolated helper is told beside its task.
    pub(super) fn helper(
        &mut self,
        out: &mut Entries,
        live: &Sample,
        helper: &Subagent,
        terms: Terms<'_>,
    ) {
        self.state(out, live, terms);
        let start = out.spans.len();
        for (name, body) in &helper.skills {
            let head = format!("skill {}", quoted(name));
            self.known_or_new(out, ("always_apply_skill", Class::Static), &head, body);
        }
        if let Some(text) = &helper.retrieved {
            self.content(out, "retrieved_context", "retrieved", text);
        }
        self.introduce(out, start, terms);
        if live.timestamps {
            stamp(out, &live.at);
        }
    }

    fn attachment(&mut self, out: &mut Entries, attachment: &Attachment) {
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
                self.notes(out, notes);
            }
            Attachment::Folder { path, notes } => {
                let head = format!("folder {}", quoted(path));
                write_empty(out, &format!("folders/{path}"), class, &head);
                self.notes(out, notes);
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

    fn notes(&mut self, out: &mut Entries, notes: &[Note]) {
        for note in notes {
            self.note(out, note, false);
        }
    }

    fn note(&mut self, out: &mut Entries, note: &Note, active: bool) {
        let head = format!("note {}{}", quoted(&note.path), flag(active));
        let origin = format!("notes/{}", note.path);
        match &note.text {
            Some(text) => self.content(out, &origin, &head, text),
            None => write_empty(out, &origin, Class::Turn, &format!("{head} missing")),
        }
    }

    /// Content that belongs to one message.
    fn content(&mut self, out: &mut Entries, origin: &str, head: &str, text: &Text) {
        self.known_or_new(out, (origin, Class::Turn), head, text);
    }
}

fn flag(active: bool) -> &'static str {
    if active { " active" } else { "" }
}

/// The time at which a message was sent: a line of its own right in front of what
/// was typed. It is no entry, since it needs no explaining.
fn stamp(out: &mut Entries, sent: &Moment) {
    let zoned = sent.at.to_zoned_datetime(sent.zone.clone());
    let line = zoned.strftime("[%Y-%m-%d %H:%M %:z (%A)]\n").to_string();
    out.plain("send_time", Class::Turn, line);
}
