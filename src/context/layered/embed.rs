//! Notes and PDFs embedded in a note: `![[name]]`.
//!
//! Embedding goes one level deep. The block belongs to the outer note, so its
//! path is not known to the library.

use super::files::{Files, extension, text_of};
use crate::context::Phrases;
use crate::context::view::Note;

/// What a note is read with.
#[derive(Clone, Copy, Debug)]
pub(super) struct Reading<'a> {
    /// The vault, for what the note embeds.
    pub files: &'a Files,
    /// Whether tools are there: only then are PDFs read.
    pub plus: bool,
    /// What is said of a part that is not there.
    pub phrases: &'a Phrases,
}

/// The text of `note` with what it embeds written out.
pub(super) fn body(note: &Note, reading: Reading<'_>) -> String {
    let text = text_of(note);
    if extension(&note.path) != "md" {
        return text.to_string();
    }
    with_pdfs(embedded_notes(&text, note, reading), reading)
}

fn embedded_notes(text: &str, source: &Note, reading: Reading<'_>) -> String {
    let mut out = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(at) = rest.find("![[") {
        let inner = &rest[at + 3..];
        let name = inner
            .find(']')
            .filter(|&end| end > 0 && inner[end..].starts_with("]]"));
        let Some(end) = name else {
            out.push_str(&rest[..at + 3]);
            rest = inner;
            continue;
        };
        out.push_str(&rest[..at]);
        let raw = &rest[at..at + 3 + end + 2];
        let block = block(inner[..end].trim(), source, reading);
        out.push_str(block.as_deref().unwrap_or(raw));
        rest = &inner[end + 2..];
    }
    out.push_str(rest);
    out
}

/// What a link names: a path (`None`: the note itself), a heading, a block.
#[derive(Debug, PartialEq, Eq)]
struct Target<'a> {
    path: Option<&'a str>,
    heading: Option<&'a str>,
    block: Option<&'a str>,
}

fn target(link: &str) -> Target<'_> {
    let link = link.split_once('|').map_or(link, |(name, _)| name).trim();
    let (link, block) = match link.split_once("#^") {
        Some((name, block)) => (name, filled(block.trim())),
        None => (link, None),
    };
    let (path, heading) = match link.split_once('#') {
        Some((name, heading)) => (name, filled(heading.trim())),
        None => (link, None),
    };
    Target {
        path: filled(path),
        heading,
        block,
    }
}

fn filled(text: &str) -> Option<&str> {
    Some(text).filter(|text| !text.is_empty())
}

/// The block for a link; `None` where the link stays as it is.
fn block(link: &str, source: &Note, reading: Reading<'_>) -> Option<String> {
    if link.is_empty() {
        return None;
    }
    let target = target(link);
    let found = match target.path {
        Some(path) => reading.files.linked(path),
        None => Some(source),
    };
    let Some(note) = found else {
        let name = target.path.unwrap_or(&source.path);
        let why = reading.phrases.get("embedded_note_missing").to_owned();
        return Some(written(name, name, &target, Err(why)));
    };
    if extension(&note.path) != "md" {
        return None;
    }
    let text = text_of(note);
    let body = part(&text, &target, &note.path, reading.phrases)
        .map(|text| with_pdfs(text.to_owned(), reading));
    Some(written(note.title(), &note.path, &target, body))
}

/// The part of a note that a link names.
///
/// Blocks are never found: the modelled program looks them up in an index of its
/// editor, and a text alone has none.
fn part<'a>(
    text: &'a str,
    target: &Target<'_>,
    path: &str,
    phrases: &Phrases,
) -> Result<&'a str, String> {
    if let Some(block) = target.block {
        let values = [("block", block), ("path", path)];
        return Err(phrases.fill("embedded_block_missing", &values));
    }
    let Some(heading) = target.heading else {
        return Ok(text);
    };
    section(text, heading).ok_or_else(|| {
        let values = [("heading", heading), ("path", path)];
        phrases.fill("embedded_heading_missing", &values)
    })
}

/// From a heading to the next one of its level or above.
fn section<'a>(text: &'a str, wanted: &str) -> Option<&'a str> {
    let headings = headings(text);
    let at = headings
        .iter()
        .position(|heading| normalised(heading.title) == normalised(wanted))?;
    let first = &headings[at];
    let end = headings[at + 1..]
        .iter()
        .find(|heading| heading.level <= first.level)
        .map_or(text.len(), |heading| heading.start);
    Some(&text[first.start..end])
}

struct Heading<'a> {
    start: usize,
    level: usize,
    title: &'a str,
}

fn headings(text: &str) -> Vec<Heading<'_>> {
    let mut start = 0;
    let mut out = Vec::new();
    for line in text.split_inclusive('\n') {
        let title = line.trim_start_matches('#');
        let level = line.len() - title.len();
        if (1..=6).contains(&level) && title.starts_with([' ', '\t']) {
            out.push(Heading {
                start,
                level,
                title,
            });
        }
        start += line.len();
    }
    out
}

fn normalised(heading: &str) -> String {
    let words: Vec<&str> = heading.split_whitespace().collect();
    words.join(" ").to_lowercase()
}

fn written(title: &str, path: &str, target: &Target<'_>, body: Result<String, String>) -> String {
    let heading = target.heading.map(|h| format!("\n<heading>{h}</heading>"));
    let block = target.block.map(|b| format!("\n<block_id>{b}</block_id>"));
    let inner = match body {
        Ok(text) => format!("\n<content>\n{text}\n</content>"),
        Err(why) => format!("\n<error>{why}</error>"),
    };
    format!(
        "\n\n<embedded_note>\n<title>{title}</title>\n<path>{path}</path>{}{}{inner}\n</embedded_note>\n\n",
        heading.unwrap_or_default(),
        block.unwrap_or_default()
    )
}

/// The text with embedded PDFs written out, where tools are.
fn with_pdfs(text: String, reading: Reading<'_>) -> String {
    if reading.plus {
        pdfs(text, reading.files)
    } else {
        text
    }
}

/// Replaces embedded PDFs, the first link of a name for each of its links.
fn pdfs(text: String, files: &Files) -> String {
    let mut names = Vec::new();
    let mut rest = text.as_str();
    while let Some((_, inner)) = rest.split_once("![[") {
        let line = inner
            .split(['\n', '\r', '\u{2028}', '\u{2029}'])
            .next()
            .unwrap_or(inner);
        match line.find(".pdf]]") {
            Some(at) => {
                names.push(inner[..at + 4].to_owned());
                rest = &inner[at + 6..];
            }
            None => rest = inner,
        }
    }
    names.into_iter().fold(text, |text, name| match files.get(&name) {
        Some(pdf) => {
            let block = format!(
                "\n\n<embedded_pdf>\n<name>{name}</name>\n<content>\n{}\n</content>\n</embedded_pdf>\n\n",
                text_of(pdf)
            );
            replace_first(&text, &format!("![[{name}]]"), &block)
        }
        None => text,
    })
}

/// Replaces the first `wanted`, reading `$$`, `$&`, `` $` `` and `$'` in the new
/// text as ECMAScript's `replace` does.
fn replace_first(text: &str, wanted: &str, new: &str) -> String {
    let Some((before, after)) = text.split_once(wanted) else {
        return text.to_owned();
    };
    let mut out = before.to_owned();
    let mut rest = new;
    while let Some((plain, special)) = rest.split_once('$') {
        out.push_str(plain);
        let (insert, used) = match special.chars().next() {
            Some('$') => ("$", 1),
            Some('&') => (wanted, 1),
            Some('`') => (before, 1),
            Some('\'') => (after, 1),
            _ => ("$", 0),
        };
        out.push_str(insert);
        rest = &special[used..];
    }
    out.push_str(rest);
    out.push_str(after);
    out
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::chat::Text;
    use jiff::Timestamp;
    use std::sync::Arc;

    fn note(path: &str, text: &str) -> Note {
        Note {
            path: Arc::from(path),
            text: Some(Text::from(text)),
            created: Timestamp::UNIX_EPOCH,
            modified: Timestamp::UNIX_EPOCH,
            tags: Vec::new(),
        }
    }

    fn files() -> Files {
        let mut files = Files::default();
        files.write(note("d/in.md", "# One\na\n## Two\nb\n# Three\n![[deep]]"));
        files.write(note("p.pdf", "[$&] [$$] [$1]"));
        files.write(note("pic.png", ""));
        files
    }

    fn written_out(text: &str, plus: bool) -> String {
        let book = r#"{
            "embedded_note_missing": "GONE", "embedded_block_missing": "NO {block} IN {path}",
            "embedded_heading_missing": "NO {heading} IN {path}"
        }"#;
        let reading = Reading {
            files: &files(),
            plus,
            phrases: &Phrases::with(book).unwrap(),
        };
        body(&note("out.md", text), reading)
    }

    #[test]
    fn a_link_names_a_path_a_heading_a_block_and_an_alias() {
        let parts = |path, heading, block| Target {
            path,
            heading,
            block,
        };
        assert_eq!(target("a b|c"), parts(Some("a b"), None, None));
        assert_eq!(target("a# h "), parts(Some("a"), Some("h"), None));
        assert_eq!(target("#h"), parts(None, Some("h"), None));
        assert_eq!(target("a#^b1"), parts(Some("a"), None, Some("b1")));
    }

    #[test]
    fn an_embedded_note_is_written_out_one_level_deep() {
        assert_eq!(
            written_out("x ![[in#two]] y", false),
            "x \n\n<embedded_note>\n<title>in</title>\n<path>d/in.md</path>\n\
             <heading>two</heading>\n<content>\n## Two\nb\n\n</content>\n</embedded_note>\n\n y"
        );
        assert!(written_out("![[in]]", false).contains("![[deep]]"));
    }

    #[test]
    fn what_is_missing_is_an_error_and_what_is_no_note_stays() {
        let missing = [
            ("![[gone]]", "<path>gone</path>\n<error>GONE</error>"),
            (
                "![[in#Nine]]",
                "<heading>Nine</heading>\n<error>NO Nine IN d/in.md</error>",
            ),
            (
                "![[in#^b1]]",
                "<block_id>b1</block_id>\n<error>NO b1 IN d/in.md</error>",
            ),
        ];
        for (text, expected) in missing {
            assert!(written_out(text, false).contains(expected), "{text}");
        }
        assert_eq!(
            written_out("![[pic.png]] ![[]] ![[a", false),
            "![[pic.png]] ![[]] ![[a"
        );
    }

    #[test]
    fn a_pdf_is_read_where_tools_are_and_its_dollars_are_interpreted() {
        assert_eq!(written_out("![[p.pdf]]", false), "![[p.pdf]]");
        assert_eq!(
            written_out("![[p.pdf]]", true),
            "\n\n<embedded_pdf>\n<name>p.pdf</name>\n<content>\n[![[p.pdf]]] [$] [$1]\n</content>\n</embedded_pdf>\n\n"
        );
    }
}
