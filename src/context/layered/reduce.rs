//! Shrinking blocks: on their way into the library, and in answers.

use super::blocks::{self, Attributes, KINDS, PREVIEW, PREVIEW_HINT};
use super::units::{escape, head16, is_space, len16, trim};
use crate::context::Phrases;

/// Longest block, and longest body, that stays whole.
const WHOLE: usize = 5_000;
/// Length of a section's preview.
const SECTION: usize = 500;
/// Sections that a preview shows.
const SECTIONS: usize = 20;

/// What of a segment's text goes into the library: every block in it reduced,
/// trimmed. Empty where nothing is left.
pub(super) fn for_library(content: &str, phrases: &Phrases) -> String {
    let tags: Vec<&'static str> = KINDS
        .iter()
        .map(|kind| kind.tag)
        .chain([PREVIEW, PREVIEW_HINT])
        .collect();
    let reduced = replaced(
        content,
        &tags,
        Attributes::Allowed,
        |block, tag| match blocks::kind_of(tag) {
            Some(kind) if kind.refetchable => self::block(block, tag, phrases),
            None if tag == PREVIEW => block.to_owned(),
            _ => String::new(),
        },
    );
    trim(&reduced).to_owned()
}

/// `text` with every block of one of `tags` replaced by what `new` makes of it.
fn replaced(
    text: &str,
    tags: &[&'static str],
    attributes: Attributes,
    new: impl Fn(&str, &'static str) -> String,
) -> String {
    let mut out = String::with_capacity(text.len());
    let mut copied = 0;
    for found in blocks::scan(text, tags, attributes) {
        out.push_str(&text[copied..found.start]);
        out.push_str(&new(found.block, found.tag));
        copied = found.end();
    }
    out.push_str(&text[copied..]);
    out
}

/// One block as the library keeps it: whole up to 5000 units, else a preview.
///
/// A block that is longer than that only by its frame loses its tags: the bare
/// body is returned, which the parse of the library then drops.
pub fn block(block: &str, tag: &str, phrases: &Phrases) -> String {
    if len16(block) <= WHOLE {
        return block.to_owned();
    }
    let body = blocks::content(block).unwrap_or(block);
    if len16(body) <= WHOLE {
        return body.to_owned();
    }
    preview_block(block, tag, body, phrases)
}

fn preview_block(block: &str, tag: &str, body: &str, phrases: &Phrases) -> String {
    let kind = blocks::kind_of(tag);
    let source = kind
        .and_then(|kind| kind.id)
        .and_then(|id| blocks::child(block, id))
        .unwrap_or("");
    let name = kind.map_or("unknown", |kind| kind.source);
    wrapped(&escape(source), name, &preview(body, phrases))
}

fn wrapped(source: &str, kind: &str, text: &str) -> String {
    format!("<{PREVIEW} source=\"{source}\" type=\"{kind}\">\n{text}\n</{PREVIEW}>")
}

/// The start of each of the first sections of a Markdown text.
pub(super) fn preview(body: &str, phrases: &Phrases) -> String {
    let sections: Vec<&str> = sections(body)
        .into_iter()
        .filter(|section| !trim(section).is_empty())
        .collect();
    if sections.len() <= 1 {
        return cut(body, SECTION * 4);
    }
    let mut shown: Vec<String> = sections.iter().take(SECTIONS).map(|s| opening(s)).collect();
    let omitted = sections.len().saturating_sub(SECTIONS);
    if omitted > 0 {
        let count = omitted.to_string();
        shown.push(phrases.fill("sections_omitted", &[("n", &count)]));
    }
    shown.join("\n\n")
}

/// A section's heading and the start of its body.
fn opening(section: &str) -> String {
    let section = trim(section);
    let (heading, body) = section.split_once('\n').unwrap_or((section, ""));
    let body = trim(body);
    if len16(body) <= SECTION {
        return section.to_owned();
    }
    format!("{heading}\n{}", cut(body, SECTION))
}

/// Splits before every line that begins with one to six `#` and white space,
/// whether or not it stands in a code fence.
fn sections(text: &str) -> Vec<&str> {
    let mut out = Vec::new();
    let mut begin = 0;
    let mut at_line = true;
    for (at, c) in text.char_indices() {
        if at_line && at > begin && c == '#' && is_heading(&text[at..]) {
            out.push(&text[begin..at]);
            begin = at;
        }
        at_line = matches!(c, '\n' | '\r' | '\u{2028}' | '\u{2029}');
    }
    out.push(&text[begin..]);
    out
}

fn is_heading(line: &str) -> bool {
    let rest = line.trim_start_matches('#');
    let level = line.len() - rest.len();
    (1..=6).contains(&level) && rest.chars().next().is_some_and(is_space)
}

/// At most `limit` units of `text`, ended where a reader would end it: behind a
/// sentence, a paragraph or a word where one ends late enough, and marked.
fn cut(text: &str, limit: usize) -> String {
    if len16(text) <= limit {
        return text.to_owned();
    }
    let head = head16(text, limit);
    if let Some(end) = last_sentence(&head, limit / 2) {
        return format!("{} ...", &head[..end]);
    }
    let late = |at: Option<usize>, tenths: usize| {
        at.filter(|&at| len16(&head[..at]) * 10 > limit * tenths)
    };
    if let Some(at) = late(head.rfind("\n\n"), 5) {
        return format!("{}\n\n...", &head[..at]);
    }
    if let Some(at) = late(head.rfind(' '), 8) {
        return format!("{} ...", &head[..at]);
    }
    format!("{head}...")
}

/// Byte behind the last `.`, `!` or `?` that white space follows and that
/// stands behind `after` units.
fn last_sentence(text: &str, after: usize) -> Option<usize> {
    let mut last = None;
    let mut units = 0;
    let mut previous = None;
    for (at, c) in text.char_indices() {
        if let Some((end, place)) = previous
            && place > after
            && is_space(c)
        {
            last = Some(end);
        }
        previous = matches!(c, '.' | '!' | '?').then_some((at + 1, units));
        units += c.len_utf16();
    }
    last
}

/// An answer as it enters the history: blocks of tool results over 5000 units
/// are replaced by previews.
pub(super) fn answer(text: &str, phrases: &Phrases) -> String {
    const TAGS: [&str; 6] = [
        "localSearch",
        "note_context",
        "active_note",
        "retrieved_document",
        "url_content",
        "youtube_video_context",
    ];
    if !text.contains("</") {
        return text.to_owned();
    }
    TAGS.into_iter().fold(text.to_owned(), |text, tag| {
        replaced(&text, &[tag], Attributes::Allowed, |block, tag| {
            if len16(block) <= WHOLE {
                block.to_owned()
            } else if tag == "localSearch" {
                search_results(block, phrases)
            } else {
                let body = blocks::content(block).unwrap_or(block);
                preview_block(block, tag, body, phrases)
            }
        })
    })
}

/// A list of the documents that a search found, with the start of each.
fn search_results(block: &str, phrases: &Phrases) -> String {
    let documents = blocks::scan(block, &["document"], Attributes::Refused);
    if documents.is_empty() {
        let body = blocks::content(block).unwrap_or(block);
        return wrapped("localSearch", "note", &preview(body, phrases));
    }
    let count = documents.len().to_string();
    let note = phrases.fill("search_results_note", &[("n", &count)]);
    let list: Vec<String> = documents
        .iter()
        .enumerate()
        .map(|(index, found)| search_result(index + 1, found.block))
        .collect();
    let text = format!("{note}\n\n{}", list.join("\n\n"));
    wrapped("localSearch", "note", &text)
}

fn search_result(number: usize, document: &str) -> String {
    let path = blocks::child(document, "path").unwrap_or("");
    let title =
        blocks::child(document, "title").unwrap_or_else(|| path.rsplit('/').next().unwrap_or(path));
    let body = blocks::content(document).unwrap_or("");
    let shown = if len16(body) > SECTION {
        format!("{}...", head16(body, SECTION))
    } else {
        body.to_owned()
    };
    format!("{number}. [[{title}]] ({path})\n   {}", trim(&shown))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn book() -> Phrases {
        Phrases::with(r#"{"sections_omitted": "[+{n}]", "search_results_note": "[{n} found]"}"#)
            .unwrap()
    }

    fn note(body: &str) -> String {
        format!(
            "<note_context>\n<path>a&b.md</path>\n<content>\n{body}\n</content>\n</note_context>"
        )
    }

    #[test]
    fn a_block_that_is_long_only_by_its_frame_loses_its_tags() {
        let body = "x".repeat(4_990);
        let long = note(&body);
        assert!(len16(&long) > 5_000);
        assert_eq!(block(&long, "note_context", &book()), format!("\n{body}\n"));
        let early = note(&format!("a</content>{}", "x".repeat(6_000)));
        assert_eq!(block(&early, "note_context", &book()), "\na");
    }

    #[test]
    fn a_preview_names_its_source_escaped() {
        let out = block(&note(&"x".repeat(6_000)), "note_context", &book());
        assert!(out.starts_with("<prior_context source=\"a&amp;b.md\" type=\"note\">\n\nxxx"));
        assert!(out.ends_with("x...\n</prior_context>"));
        assert_eq!(
            out.matches('x').count(),
            1_999 + 2,
            "a line end, and the `x` of both tags"
        );
    }

    #[test]
    fn a_cut_prefers_a_sentence_then_a_paragraph_then_a_word() {
        let x = |n| "x".repeat(n);
        let cases = [
            (format!("{}. {}", x(60), x(60)), format!("{}. ...", x(60))),
            (
                format!("{}. {}", x(50), x(60)),
                format!("{}. {}...", x(50), x(48)),
            ),
            (
                format!("{}\n\n{}", x(60), x(60)),
                format!("{}\n\n...", x(60)),
            ),
            (format!("{} {}", x(81), x(60)), format!("{} ...", x(81))),
            (
                format!("{} {}", x(80), x(60)),
                format!("{} {}...", x(80), x(19)),
            ),
            (
                format!("{}🌱{}", x(99), x(9)),
                format!("{}\u{fffd}...", x(99)),
            ),
            (format!("{}.{}", x(99), x(9)), format!("{}....", x(99))),
        ];
        for (text, expected) in cases {
            assert_eq!(cut(&text, 100), expected);
        }
    }

    #[test]
    fn sections_begin_at_headings_and_the_rest_is_counted() {
        assert_eq!(
            sections("a\n# b\n####### c\n#d\n## e"),
            ["a\n", "# b\n####### c\n#d\n", "## e"]
        );
        let numbered: Vec<String> = (0..23)
            .map(|n| format!("# {n}\n\n{}\n", "y".repeat(600)))
            .collect();
        let body = numbered.concat();
        let out = preview(&body, &book());
        assert_eq!(out.matches("# ").count(), 20);
        assert!(out.starts_with(&format!("# 0\n{}...\n\n# 1\n", "y".repeat(500))));
        assert!(out.ends_with("\n\n[+3]"));
    }

    #[test]
    fn selections_are_dropped_and_previews_kept() {
        let text = "<selected_text>a</selected_text>\n<prior_context source=\"x\">b</prior_context>\
                    <prior_context_note>c</prior_context_note> d";
        assert_eq!(
            for_library(text, &book()),
            "<prior_context source=\"x\">b</prior_context> d"
        );
    }

    #[test]
    fn search_results_in_an_answer_become_a_list() {
        let document = |path: &str, n| {
            format!(
                "<document><path>{path}</path><content>{}</content></document>",
                "z".repeat(n)
            )
        };
        let long = format!(
            "Seen: <localSearch a=\"1\">{}{}</localSearch> done",
            document("d/a.md", 6_000),
            document("b.md", 3)
        );
        let expected = format!(
            "Seen: <prior_context source=\"localSearch\" type=\"note\">\n[2 found]\n\n\
             1. [[a.md]] (d/a.md)\n   {}...\n\n2. [[b.md]] (b.md)\n   zzz\n</prior_context> done",
            "z".repeat(500)
        );
        assert_eq!(answer(&long, &book()), expected);
        assert_eq!(
            answer("<localSearch>short</localSearch>", &book()),
            "<localSearch>short</localSearch>"
        );
        // Only what is over the limit shrinks.
        let frame = len16("<url_content></url_content>");
        let page = |n: usize| format!("<url_content>{}</url_content>", "w".repeat(n - frame));
        assert_eq!(answer(&page(5_000), &book()), page(5_000));
        assert_ne!(answer(&page(5_001), &book()), page(5_001));
    }
}
