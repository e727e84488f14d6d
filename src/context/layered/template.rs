//! Templates in questions and instructions: `{[[title]]}`, `{folder}`,
//! `{#tag}`, `{activeNote}` and `{}`.
//!
//! What they name is appended behind the text, so in a question it stays in the
//! history for ever, and the library does not know of it.

use super::files::{Files, text_of};
use super::format;
use crate::context::Phrases;
use crate::context::view::Note;
use std::sync::Arc;

/// A text with what its templates name.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Expanded {
    /// The text and what was appended; ends with a blank line where that is nothing.
    pub text: String,
    /// Paths of the notes that were read for it.
    pub notes: Vec<Arc<str>>,
}

/// Where and how a text is expanded.
#[derive(Clone, Copy, Debug)]
pub(super) struct Scope<'a> {
    /// The vault.
    pub files: &'a Files,
    /// The note that is open in the editor.
    pub editor: Option<&'a Note>,
    /// Whether templates are expanded at all.
    pub on: bool,
    /// Whether `{}` is one: in questions it is, in instructions it is not.
    pub braces: bool,
}

/// Expands `text`.
pub(super) fn expand(text: &str, scope: Scope<'_>, phrases: &Phrases) -> Expanded {
    if !scope.on {
        let read = scope.braces && text.contains("{}");
        return Expanded {
            text: format!("{text}\n\n"),
            notes: scope
                .editor
                .filter(|_| read)
                .map(|note| note.path.clone())
                .into_iter()
                .collect(),
        };
    }
    let mut state = State {
        scope,
        added: Vec::new(),
        notes: Vec::new(),
    };
    let variables = state.variables(text);
    let text = state.selection(text, phrases);
    let editor_shown = state
        .added
        .first()
        .is_some_and(|first| first.starts_with(ACTIVE));
    for (name, content) in variables {
        if !(editor_shown && name.eq_ignore_ascii_case("activenote")) {
            state.added.push(format!(
                "<variable name=\"{name}\">\n{content}\n</variable>"
            ));
        }
    }
    state.links(&text);
    Expanded {
        text: format!("{text}\n\n{}", state.added.join("\n\n")),
        notes: state.notes,
    }
}

const ACTIVE: &str = "<selected_text type=\"active_note\">";

struct State<'a> {
    scope: Scope<'a>,
    added: Vec<String>,
    notes: Vec<Arc<str>>,
}

impl State<'_> {
    fn include(&mut self, path: &Arc<str>) {
        if !self.notes.contains(path) {
            self.notes.push(path.clone());
        }
    }

    /// Variables with what they name, in order of first appearance; those that
    /// name nothing are left out.
    fn variables(&mut self, text: &str) -> Vec<(String, String)> {
        let mut out: Vec<(String, String)> = Vec::new();
        for name in names(text) {
            let named = self.named(name);
            let contents: Vec<String> = named.iter().map(variable_note).collect();
            if contents.is_empty() {
                continue;
            }
            for note in &named {
                self.include(&note.path);
            }
            let content = contents.join("\n\n");
            match out.iter_mut().find(|(known, _)| known == name) {
                Some(entry) => entry.1 = content,
                None => out.push((name.to_owned(), content)),
            }
        }
        out
    }

    /// The notes with a text that a variable names.
    fn named(&self, name: &str) -> Vec<Note> {
        let files = self.scope.files;
        let lower = name.to_lowercase();
        let found: Vec<&Note> = if lower == "activenote" {
            self.scope.editor.into_iter().collect()
        } else if lower == "activewebtab" {
            Vec::new()
        } else if let Some(tags) = name.strip_prefix('#') {
            let tags: Vec<&str> = tags.split(',').map(str::trim).collect();
            files.tagged(&tags)
        } else {
            files.below(name)
        };
        let readable = found.into_iter().filter(|note| !text_of(note).is_empty());
        readable.cloned().collect()
    }

    /// Writes `{}` as `{selected_text}` and appends what it stands for.
    fn selection(&mut self, text: &str, phrases: &Phrases) -> String {
        if !self.scope.braces || !text.contains("{}") {
            return text.to_owned();
        }
        let block = match self.scope.editor {
            Some(note) => {
                let path = note.path.clone();
                self.include(&path);
                format!("{ACTIVE}\n{}\n</selected_text>", text_of(note))
            }
            None => format!(
                "<selected_text>\n{}\n</selected_text>",
                phrases.get("no_selection")
            ),
        };
        self.added.push(block);
        text.replace("{}", "{selected_text}")
    }

    /// Appends the notes that `{[[title]]}` names and no variable did.
    fn links(&mut self, text: &str) {
        let mut seen = Vec::new();
        for title in linked_titles(text) {
            let Some(note) = self.scope.files.titled(title) else {
                continue;
            };
            if seen.contains(&note.path) || self.notes.contains(&note.path) {
                continue;
            }
            seen.push(note.path.clone());
            let body = text_of(note);
            if !body.is_empty() {
                self.added
                    .push(format::note("note_context", note.title(), note, &body));
                self.include(&note.path);
            }
        }
    }
}

fn variable_note(note: &Note) -> String {
    format!(
        "<variable_note>\n<path>{}</path>\n## {}\n\n{}\n</variable_note>",
        note.path,
        note.title(),
        text_of(note)
    )
}

/// The names between braces, trimmed: not empty, not `{[[…]]}`, and not the
/// placeholder of old commands.
fn names(text: &str) -> Vec<&str> {
    let mut out = Vec::new();
    let mut rest = text;
    while let Some((_, inner)) = rest.split_once('{') {
        let end = inner.find('}').filter(|&end| end > 0);
        match end {
            Some(end) if !inner.starts_with("[[") && &inner[..end] != "copilot-selection" => {
                out.push(inner[..end].trim());
                rest = &inner[end + 1..];
            }
            _ => rest = inner,
        }
    }
    out
}

/// The titles in `{[[title]]}`, on one line each.
fn linked_titles(text: &str) -> Vec<&str> {
    let mut out = Vec::new();
    let mut rest = text;
    while let Some((_, inner)) = rest.split_once("{[[") {
        match inner
            .find("]]}")
            .filter(|&end| !inner[..end].contains('\n'))
        {
            Some(end) => {
                out.push(&inner[..end]);
                rest = &inner[end + 3..];
            }
            None => rest = inner,
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::chat::Text;
    use jiff::Timestamp;

    fn note(path: &str, text: &str, tags: &[&str]) -> Note {
        Note {
            path: Arc::from(path),
            text: Some(Text::from(text)),
            created: Timestamp::UNIX_EPOCH,
            modified: Timestamp::UNIX_EPOCH,
            tags: tags.iter().map(|tag| Arc::from(*tag)).collect(),
        }
    }

    fn expanded(text: &str, editor: Option<&str>, on: bool) -> (String, Vec<String>) {
        let mut files = Files::default();
        files.write(note("g/a.md", "Alpha", &["t"]));
        files.write(note("b.md", "Beta", &["t", "u"]));
        files.write(note("e.md", "", &["u"]));
        let scope = Scope {
            files: &files,
            editor: editor.and_then(|path| files.get(path)),
            on,
            braces: true,
        };
        let out = expand(
            text,
            scope,
            &Phrases::with(r#"{"no_selection": "none"}"#).unwrap(),
        );
        (
            out.text,
            out.notes.iter().map(ToString::to_string).collect(),
        )
    }

    #[test]
    fn what_templates_name_is_appended_in_order() {
        let a = "<variable_note>\n<path>g/a.md</path>\n## a\n\nAlpha\n</variable_note>";
        let b = "<variable_note>\n<path>b.md</path>\n## b\n\nBeta\n</variable_note>";
        let stat =
            "<ctime>1970-01-01T00:00:00.000Z</ctime>\n<mtime>1970-01-01T00:00:00.000Z</mtime>";
        let cases = [
            ("hi", None, "hi\n\n".to_owned()),
            (
                "{g}",
                None,
                format!("{{g}}\n\n<variable name=\"g\">\n{a}\n</variable>"),
            ),
            (
                "{#t, u}",
                None,
                format!("{{#t, u}}\n\n<variable name=\"#t, u\">\n{a}\n\n{b}\n</variable>"),
            ),
            (
                "{[[a]]}{[[a]]}",
                None,
                format!(
                    "{{[[a]]}}{{[[a]]}}\n\n<note_context>\n<title>a</title>\n<path>g/a.md</path>\n{stat}\n<content>\nAlpha\n</content>\n</note_context>"
                ),
            ),
            (
                "{}",
                None,
                "{selected_text}\n\n<selected_text>\nnone\n</selected_text>".to_owned(),
            ),
            (
                "{} {ActiveNote}",
                Some("b.md"),
                format!("{{selected_text}} {{ActiveNote}}\n\n{ACTIVE}\nBeta\n</selected_text>"),
            ),
            (
                "{nope} {\"json\": 1} {activeNote}",
                None,
                "{nope} {\"json\": 1} {activeNote}\n\n".to_owned(),
            ),
            ("{e.md}", None, "{e.md}\n\n".to_owned()),
        ];
        for (text, editor, expected) in cases {
            assert_eq!(expanded(text, editor, true).0, expected, "{text}");
        }
    }

    #[test]
    fn a_note_that_a_variable_read_is_not_linked_again() {
        let (text, notes) = expanded("{g} {[[a]]}", None, true);
        assert!(!text.contains("note_context"));
        assert_eq!(notes, ["g/a.md"]);
    }

    #[test]
    fn with_templates_off_the_text_stays_and_braces_still_count_as_reading() {
        assert_eq!(
            expanded("{g} {}", Some("b.md"), false),
            ("{g} {}\n\n".to_owned(), vec!["b.md".to_owned()])
        );
    }
}
