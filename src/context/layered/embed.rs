//! Notes and PDFs embedded in a note: `![[name]]`.
//!
//! Embedding goes one level deep. The block belongs to the outer note, so its
//! path is not known to the library.

use super::files::{Files, extension, text_of};
use crate::context::view::Note;

/// The text of `note` with what it embeds written out. PDFs only where `plus`.
pub(super) fn body(note: &Note, files: &Files, plus: bool) -> String {
    let text = text_of(note);
    if extension(&note.path) != "md" {
        return text.to_string();
    }
    let notes = embedded_notes(&text, note, files, plus);
    if plus { pdfs(notes, files) } else { notes }
}

fn embedded_notes(text: &str, source: &Note, files: &Files, plus: bool) -> String {
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
        out.push_str(
            &block(inner[..end].trim(), source, files, plus).unwrap_or_else(|| raw.to_owned()),
        );
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
fn block(link: &str, source: &Note, files: &Files, plus: bool) -> Option<String> {
    if link.is_empty() {
        return None;
    }
    let target = target(link);
    let found = match target.path {
        Some(path) => files.linked(path),
        None => Some(source),
    };
    let Some(note) = found else {
        let name = target.path.unwrap_or(&source.path);
        return Some(written(
            name,
            name,
            &target,
            Err("Embedded note not found".to_owned()),
        ));
    };
    if extension(&note.path) != "md" {
        return None;
    }
    let text = text_of(note);
    let part = part(&text, &target, &note.path).map(str::to_owned);
    let body = part.map(|text| if plus { pdfs(text, files) } else { text });
    Some(written(note.title(), &note.path, &target, body))
}

/// The part of a note that a link names.
fn part<'a>(text: &'a str, target: &Target<'_>, path: &str) -> Result<&'a str, String> {
    if let Some(block) = target.block {
        return Err(format!(
            "Embedded note block reference \"{block}\" not found in {path}"
        ));
    }
    let Some(wanted) = target.heading else {
        return Ok(text);
    };
    section(text, wanted)
        .ok_or_else(|| format!("Embedded note heading \"{wanted}\" not found in {path}"))
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
        body(&note("out.md", text), &files(), plus)
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
        assert!(
            written_out("![[gone]]", false)
                .contains("<path>gone</path>\n<error>Embedded note not found</error>")
        );
        assert!(
            written_out("![[in#Nine]]", false)
                .contains("heading \"Nine\" not found in d/in.md</error>")
        );
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
