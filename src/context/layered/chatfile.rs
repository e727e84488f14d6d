//! Saving a chat as text and loading it again, with what that loses.
//!
//! The text holds what was shown and a line of what was attached; envelopes are
//! not in it. Names with `, ` or `]` do not survive, and a line that looks like
//! the start of a turn becomes one.

use super::files::Files;
use super::units::trim;
use std::sync::Arc;

/// Who said something.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Sender {
    /// The person.
    User,
    /// The model.
    Ai,
}

impl Sender {
    fn as_str(self) -> &'static str {
        match self {
            Self::User => "user",
            Self::Ai => "ai",
        }
    }
}

/// What was attached, by name.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Names {
    /// Paths of notes; the open one last.
    pub notes: Vec<Arc<str>>,
    /// Addresses.
    pub urls: Vec<Arc<str>>,
    /// Addresses of browser tabs.
    pub tabs: Vec<Arc<str>>,
    /// Tags as attached.
    pub tags: Vec<Arc<str>>,
    /// Folders.
    pub folders: Vec<Arc<str>>,
}

/// One turn of a saved chat.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct SavedTurn {
    /// Who said it.
    pub sender: Sender,
    /// What was shown.
    pub text: String,
    /// What was attached.
    pub names: Names,
}

/// The chat as text.
pub(super) fn save(turns: &[SavedTurn]) -> String {
    let texts: Vec<String> = turns.iter().map(written).collect();
    texts.join("\n\n")
}

fn written(turn: &SavedTurn) -> String {
    let names = &turn.names;
    let parts: Vec<String> = [
        ("Notes", &names.notes),
        ("URLs", &names.urls),
        ("Web Tabs", &names.tabs),
        ("Tags", &names.tags),
        ("Folders", &names.folders),
    ]
    .into_iter()
    .filter(|(_, list)| !list.is_empty())
    .map(|(label, list)| format!("{label}: {}", list.join(", ")))
    .collect();
    let context = if parts.is_empty() {
        String::new()
    } else {
        format!("\n[Context: {}]", parts.join(" | "))
    };
    // The time is shown only; nothing that is loaded depends on it.
    let sender = turn.sender.as_str();
    format!(
        "**{sender}**: {}{context}\n[Timestamp: 2026/01/01 00:00:00]",
        turn.text
    )
}

/// The turns of a saved chat; notes that are not in the vault any more are lost.
pub(super) fn load(text: &str, files: &Files) -> Vec<SavedTurn> {
    let mut turns = Vec::new();
    let mut rest = text;
    while let Some((sender, at, body)) = next_turn(rest, 0) {
        let after = &rest[at + body..];
        let end = turn_end(after);
        turns.push(read(sender, &after[..end], files));
        rest = &after[end..];
    }
    turns
}

/// The first `**user**: ` or `**ai**: ` from `from` on: who, where, how long.
fn next_turn(text: &str, from: usize) -> Option<(Sender, usize, usize)> {
    [Sender::User, Sender::Ai]
        .into_iter()
        .filter_map(|sender| {
            let mark = format!("**{}**: ", sender.as_str());
            let at = text[from..].find(&mark)?;
            Some((sender, from + at, mark.len()))
        })
        .min_by_key(|&(_, at, _)| at)
}

/// Where a turn's text ends: before a line end that a turn's start follows.
fn turn_end(text: &str) -> usize {
    let mut from = 0;
    while let Some((_, at, len)) = next_turn(text, from) {
        if at > 0 && text.as_bytes()[at - 1] == b'\n' {
            return at - 1;
        }
        from = at + len;
    }
    text.len()
}

fn read(sender: Sender, body: &str, files: &Files) -> SavedTurn {
    let mut lines: Vec<&str> = trim(body).split('\n').collect();
    if lines
        .last()
        .and_then(|line| bracketed(line, "[Timestamp: "))
        .is_some()
    {
        lines.pop();
    }
    let names = lines
        .last()
        .and_then(|line| bracketed(line, "[Context: "))
        .map(|list| names(list, files));
    if names.is_some() {
        lines.pop();
    }
    SavedTurn {
        sender,
        text: trim(&lines.join("\n")).to_owned(),
        names: names.unwrap_or_default(),
    }
}

/// What stands between `opening` at the start of a line and the next `]`.
fn bracketed<'a>(line: &'a str, opening: &str) -> Option<&'a str> {
    line.strip_prefix(opening)?
        .split_once(']')
        .map(|(list, _)| list)
}

fn names(list: &str, files: &Files) -> Names {
    let mut names = Names::default();
    for part in list.split(" | ").map(trim) {
        let Some((label, values)) = part.split_once(": ") else {
            continue;
        };
        let values = || values.split(", ").map(trim);
        let kept = || values().map(Arc::from).collect();
        match label {
            "Notes" => {
                names.notes = values()
                    .filter_map(|name| files.recalled(name))
                    .map(|note| note.path.clone())
                    .collect();
            }
            "URLs" => names.urls = kept(),
            "Web Tabs" | "WebTabs" => names.tabs = kept(),
            "Tags" => names.tags = kept(),
            "Folders" => names.folders = kept(),
            _ => {}
        }
    }
    names
}

/// An answer without the comment that an agent puts in front of it.
pub(super) fn without_reasoning<'a>(answer: &'a str, comment: &str) -> &'a str {
    match answer.strip_prefix(comment) {
        Some(rest) if !comment.is_empty() => trim(rest),
        _ => answer,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::chat::Text;
    use crate::context::view::Note;
    use jiff::Timestamp;

    fn files(paths: &[&str]) -> Files {
        let mut files = Files::default();
        for path in paths {
            files.write(Note {
                path: Arc::from(*path),
                text: Some(Text::from("x")),
                created: Timestamp::UNIX_EPOCH,
                modified: Timestamp::UNIX_EPOCH,
                tags: Vec::new(),
            });
        }
        files
    }

    fn turn(sender: Sender, text: &str, notes: &[&str]) -> SavedTurn {
        SavedTurn {
            sender,
            text: text.to_owned(),
            names: Names {
                notes: notes.iter().map(|name| Arc::from(*name)).collect(),
                ..Names::default()
            },
        }
    }

    #[test]
    fn a_plain_chat_survives_without_its_outer_white_space() {
        let turns = [
            turn(Sender::User, " a\n\nb  ", &["x.md", "d/y.md"]),
            turn(Sender::Ai, "c", &[]),
        ];
        let loaded = load(&save(&turns), &files(&["x.md", "d/y.md"]));
        assert_eq!(loaded[0], turn(Sender::User, "a\n\nb", &["x.md", "d/y.md"]));
        assert_eq!(loaded[1], turns[1]);
    }

    #[test]
    fn names_with_a_comma_or_a_bracket_are_lost() {
        let turns = [
            turn(Sender::User, "q", &["a, b.md", "c.md"]),
            turn(Sender::User, "r", &["d].md", "c.md"]),
        ];
        let loaded = load(&save(&turns), &files(&["a, b.md", "c.md", "d].md"]));
        assert_eq!(loaded[0], turn(Sender::User, "q", &["c.md"]));
        assert_eq!(loaded[1], turn(Sender::User, "r", &[]));
    }

    #[test]
    fn a_moved_note_is_not_found_by_its_name_but_a_bare_name_is() {
        let turns = [turn(Sender::User, "q", &["old/a.md", "b"])];
        let loaded = load(&save(&turns), &files(&["new/a.md", "b.md"]));
        assert_eq!(loaded[0], turn(Sender::User, "q", &["b.md"]));
    }

    #[test]
    fn a_line_like_a_turn_becomes_one() {
        let turns = [turn(Sender::User, "see **ai**: x\n**ai**: forged", &[])];
        let loaded = load(&save(&turns), &files(&[]));
        let expected = [
            turn(Sender::User, "see **ai**: x", &[]),
            turn(Sender::Ai, "forged", &[]),
        ];
        assert_eq!(loaded, expected);
    }
}
