//! Summarising a context that has grown too long for one request.

use super::blocks::{self, Attributes, Found};
use super::turn::Summarise;
use super::units::{len16, trim};
use crate::context::Phrases;

/// Length of a content, in code units, from which a block is summarised.
const LONG: usize = 50_000;

const TAGS: [&str; 9] = [
    "note_context",
    "active_note",
    "url_content",
    "selected_text",
    "embedded_note",
    "embedded_pdf",
    "web_tab_context",
    "active_web_tab",
    "youtube_video_context",
];

/// `context` with its long blocks summarised; `None` where none is long, or
/// where more than half of the summaries failed.
pub(super) fn compact(
    context: &str,
    phrases: &Phrases,
    summarise: &mut Summarise<'_>,
) -> Option<String> {
    let long: Vec<Found<'_>> = outer_blocks(context)
        .into_iter()
        .filter(|found| len16(blocks::content(found.block).unwrap_or("")) >= LONG)
        .collect();
    let summaries: Vec<Option<String>> = long
        .iter()
        .map(|found| {
            let body = blocks::content(found.block).unwrap_or("");
            summarise(body)
                .map(|text| trim(&text).to_owned())
                .filter(|text| !text.is_empty())
        })
        .collect();
    let done = summaries.iter().flatten().count();
    if done == 0 || done * 2 < long.len() {
        return None;
    }
    let mut out = String::new();
    let mut copied = 0;
    for (found, summary) in long.iter().zip(&summaries) {
        if let Some(summary) = summary {
            out.push_str(&context[copied..found.start]);
            out.push_str(&rewritten(found, summary, phrases));
            copied = found.end();
        }
    }
    out.push_str(&context[copied..]);
    Some(out)
}

/// Blocks that stand in no other block.
fn outer_blocks(context: &str) -> Vec<Found<'_>> {
    let mut all: Vec<Found<'_>> = TAGS
        .iter()
        .flat_map(|&tag| blocks::scan(context, &[tag], Attributes::Refused))
        .collect();
    all.sort_by_key(|found| found.start);
    let inside = |found: &Found<'_>| {
        all.iter()
            .any(|other| other != found && other.start <= found.start && other.end() >= found.end())
    };
    all.iter().filter(|found| !inside(found)).copied().collect()
}

/// A block with a summary in place of its content, marked as such.
fn rewritten(found: &Found<'_>, summary: &str, phrases: &Phrases) -> String {
    let (tag, block) = (found.tag, found.block);
    let child = |name| blocks::child(block, name);
    let source = child("path").or_else(|| child("url"));
    let title = child("title").or_else(|| {
        let name = source.and_then(|source| source.rsplit('/').next());
        name.filter(|name| !name.is_empty())
    });
    let source_tag = match tag {
        "url_content" | "web_tab_context" | "active_web_tab" | "youtube_video_context" => "url",
        _ => "path",
    };
    let mut lines = vec![format!("<{tag}>")];
    let title = title.unwrap_or_else(|| phrases.get("untitled"));
    lines.push(format!("<title>{title}</title>"));
    if let Some(source) = source {
        lines.push(format!("<{source_tag}>{source}</{source_tag}>"));
    }
    for name in ["ctime", "mtime"] {
        if let Some(time) = child(name) {
            lines.push(format!("<{name}>{time}</{name}>"));
        }
    }
    let mark = phrases.get("summarised_mark");
    lines.push(format!("<content>{mark}\n{summary}</content>"));
    lines.push(format!("</{tag}>"));
    lines.join("\n")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn note(path: &str, len: usize) -> String {
        format!(
            "<note_context>\n<title>T</title>\n<path>{path}</path>\n<ctime>c</ctime>\n<content>\n{}\n</content>\n</note_context>",
            "x".repeat(len)
        )
    }

    fn compacted(context: &str, summarise: &mut Summarise<'_>) -> Option<String> {
        let book = r#"{"summarised_mark": "[MARK]", "untitled": "NONE"}"#;
        compact(context, &Phrases::with(book).unwrap(), summarise)
    }

    #[test]
    fn a_block_without_a_title_takes_its_file_name_or_none() {
        let body = "x".repeat(LONG);
        let cases = [
            ("<url>https://e.org/page</url>", "<title>page</title>"),
            ("", "<title>NONE</title>"),
        ];
        for (source, title) in cases {
            let block = format!("<url_content>{source}<content>{body}</content></url_content>");
            let out = compacted(&block, &mut |_| Some("s".to_owned())).unwrap();
            assert!(out.contains(title), "{out}");
        }
    }

    #[test]
    fn long_blocks_are_summarised_and_the_rest_is_kept() {
        let context = format!("\n\n{}\n\n{}\n\nend", note("a", 60_000), note("b", 9));
        let out = compacted(&context, &mut |_| Some(" short \n".to_owned())).unwrap();
        let expected = format!(
            "\n\n<note_context>\n<title>T</title>\n<path>a</path>\n<ctime>c</ctime>\n\
             <content>[MARK]\nshort</content>\n</note_context>\n\n{}\n\nend",
            note("b", 9)
        );
        assert_eq!(out, expected);
    }

    #[test]
    fn nothing_happens_without_a_long_block_or_with_too_many_failures() {
        assert_eq!(
            compacted(&note("a", 49_997), &mut |_| Some("s".to_owned())),
            None
        );
        assert!(compacted(&note("a", 49_998), &mut |_| Some("s".to_owned())).is_some());
        let three = note("a", 60_000).repeat(3);
        let mut calls = 0;
        let once = &mut |_: &str| {
            calls += 1;
            (calls == 1).then(|| "s".to_owned())
        };
        assert_eq!(compacted(&three, once), None);
        assert_eq!(calls, 3);
    }
}
