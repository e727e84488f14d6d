//! Tagged blocks: which exist, and finding them in a text.
//!
//! The modelled releases find their blocks again in rendered text, so that a
//! note can cut its block short or forge another one. That is the behaviour
//! under test here; our own `layered` never looks into a text.

/// A kind of block that a scan knows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Kind {
    /// Tag name.
    pub tag: &'static str,
    /// Kind of source, as written into previews.
    pub source: &'static str,
    /// Tag of the child that names the source.
    pub id: Option<&'static str>,
    /// Whether the model could fetch it again.
    pub refetchable: bool,
}

const fn kind(
    tag: &'static str,
    source: &'static str,
    id: Option<&'static str>,
    refetchable: bool,
) -> Kind {
    Kind {
        tag,
        source,
        id,
        refetchable,
    }
}

/// Every kind of block of release 4, but for previews of earlier context.
pub(super) const KINDS: &[Kind] = &[
    kind("note_context", "note", Some("path"), true),
    kind("active_note", "note", Some("path"), true),
    kind("embedded_note", "note", Some("path"), true),
    kind("vault_note", "note", Some("path"), true),
    kind("retrieved_document", "note", Some("path"), true),
    kind("url_content", "url", Some("url"), true),
    kind("web_tab_context", "url", Some("url"), true),
    kind("active_web_tab", "url", Some("url"), true),
    kind("twitter_content", "url", Some("url"), true),
    kind("youtube_video_context", "youtube", Some("url"), true),
    kind("embedded_pdf", "pdf", Some("name"), true),
    kind("selected_text", "selected_text", None, false),
    kind("web_selected_text", "selected_text", None, false),
    kind("localSearch", "note", None, true),
];

/// Tag of the preview that stands for a long block in the library.
pub(super) const PREVIEW: &str = "prior_context";

/// Tag of the hint that follows previews.
pub(super) const PREVIEW_HINT: &str = "prior_context_note";

/// The kind with that tag.
pub(super) fn kind_of(tag: &str) -> Option<&'static Kind> {
    KINDS.iter().find(|kind| kind.tag == tag)
}

/// A block found in a text.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Found<'a> {
    /// Its tag.
    pub tag: &'static str,
    /// Where it begins, in bytes.
    pub start: usize,
    /// The block with its tags.
    pub block: &'a str,
}

impl Found<'_> {
    /// One behind its last byte.
    pub(super) fn end(&self) -> usize {
        self.start + self.block.len()
    }
}

/// Whether white space and anything up to `>` may follow a tag's name.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Attributes {
    /// They may.
    Allowed,
    /// The name must be followed by `>`.
    Refused,
}

/// Every block of `text` whose tag is one of `tags`, in order, none inside
/// another: from an opening tag to the nearest closing tag of the same name.
/// An opening tag without a closing one is not a block.
pub(super) fn scan<'a>(
    text: &'a str,
    tags: &[&'static str],
    attributes: Attributes,
) -> Vec<Found<'a>> {
    let mut found = Vec::new();
    let mut at = 0;
    while let Some(offset) = text[at..].find('<') {
        let start = at + offset;
        match block_at(text, start, tags, attributes) {
            Some(block) => {
                at = block.end();
                found.push(block);
            }
            None => at = start + 1,
        }
    }
    found
}

fn block_at<'a>(
    text: &'a str,
    start: usize,
    tags: &[&'static str],
    attributes: Attributes,
) -> Option<Found<'a>> {
    let inner = &text[start + 1..];
    let (tag, after) = tags.iter().find_map(|&tag| {
        let rest = inner.strip_prefix(tag)?;
        opening_end(rest, attributes).map(|end| (tag, start + 1 + tag.len() + end))
    })?;
    let closing = format!("</{tag}>");
    let end = after + text[after..].find(&closing)? + closing.len();
    Some(Found {
        tag,
        start,
        block: &text[start..end],
    })
}

/// Length of what closes an opening tag whose name has just been read.
fn opening_end(rest: &str, attributes: Attributes) -> Option<usize> {
    let first = rest.chars().next()?;
    if first == '>' {
        return Some(1);
    }
    let spaced = attributes == Attributes::Allowed && super::units::is_space(first);
    if spaced {
        rest.find('>').map(|at| at + 1)
    } else {
        None
    }
}

/// The first child `<tag>value</tag>` of `block` with a value that holds no `<`
/// and is not empty; raw.
pub(super) fn child<'a>(block: &'a str, tag: &str) -> Option<&'a str> {
    let open = format!("<{tag}>");
    let close = format!("</{tag}>");
    let mut rest = block;
    while let Some(at) = rest.find(&open) {
        rest = &rest[at + open.len()..];
        let end = rest.find('<')?;
        if end > 0 && rest[end..].starts_with(&close) {
            return Some(&rest[..end]);
        }
    }
    None
}

/// What stands between the first `<content>` and the next `</content>`.
pub(super) fn content(block: &str) -> Option<&str> {
    let (_, rest) = block.split_once("<content>")?;
    rest.split_once("</content>").map(|(body, _)| body)
}

/// The value of the first attribute `source="…"` anywhere in `block`.
pub(super) fn source_attribute(block: &str) -> Option<&str> {
    let mut rest = block;
    while let Some((_, after)) = rest.split_once("source=\"") {
        match after.split_once('"') {
            Some((value, _)) if !value.is_empty() => return Some(value),
            _ => rest = after,
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    fn blocks(text: &str) -> Vec<&str> {
        let tags: Vec<&str> = KINDS.iter().map(|kind| kind.tag).collect();
        scan(text, &tags, Attributes::Allowed)
            .into_iter()
            .map(|found| found.block)
            .collect()
    }

    #[test]
    fn a_block_ends_at_the_nearest_closing_tag_of_its_name() {
        let cases: &[(&str, &[&str])] = &[
            (
                "x<note_context>a</note_context>y",
                &["<note_context>a</note_context>"],
            ),
            (
                "<note_context><active_note>a</active_note></note_context>",
                &["<note_context><active_note>a</active_note></note_context>"],
            ),
            (
                "<note_context>a<active_note>b</active_note>",
                &["<active_note>b</active_note>"],
            ),
            (
                "<note_context\n a=1>b</note_context>",
                &["<note_context\n a=1>b</note_context>"],
            ),
            ("<note_contexts>a</note_contexts>", &[]),
            ("<NOTE_CONTEXT>a</NOTE_CONTEXT>", &[]),
            ("<note_context_error>a</note_context_error>", &[]),
        ];
        for (text, expected) in cases {
            assert_eq!(blocks(text), *expected, "{text}");
        }
    }

    #[test]
    fn a_child_is_the_first_with_a_plain_value() {
        assert_eq!(child("<path></path><path> a </path>", "path"), Some(" a "));
        assert_eq!(child("<path>a<b></path>", "path"), None);
        assert_eq!(content("<content>a</content>b</content>"), Some("a"));
        assert_eq!(source_attribute("<p source=\"\" source=\"x\">"), Some("x"));
    }
}
