//! Cutting a rendered context text into segments, as the two releases do it.

use super::blocks::{self, Attributes, KINDS, PREVIEW};
use super::envelope::{Metadata, Segment};
use super::release::Release;
use super::units::trim;
use crate::chat::Text;
use serde_json::Value;
use std::collections::HashMap;
use std::sync::Arc;

/// The segments of `text`, in order. Text outside known blocks is dropped.
///
/// `stable` is true when the library is parsed: it becomes the segments' flag
/// and decides what their metadata calls their source.
pub fn segments(release: Release, text: &str, stable: bool) -> Vec<Segment> {
    match release {
        Release::V4 => parse_v4(text, stable),
        Release::V31 => parse_v31(text, stable),
    }
}

/// Metadata that names a source and, where there is one, a note.
pub(super) fn metadata(source: &str, note_path: Option<&str>) -> Metadata {
    let mut map = Metadata::new();
    map.insert("source".to_owned(), Value::from(source));
    if let Some(path) = note_path {
        map.insert("notePath".to_owned(), Value::from(path));
    }
    map
}

fn origin(stable: bool) -> &'static str {
    if stable {
        "previous_turns"
    } else {
        "current_turn"
    }
}

fn segment(id: &str, block: &str, stable: bool, metadata: Metadata) -> Segment {
    Segment {
        id: Arc::from(id),
        content: Text::from(block),
        stable,
        metadata: Some(metadata),
    }
}

fn parse_v4(text: &str, stable: bool) -> Vec<Segment> {
    let tags: Vec<&'static str> = KINDS.iter().map(|kind| kind.tag).chain([PREVIEW]).collect();
    let mut unnamed: HashMap<&str, usize> = HashMap::new();
    blocks::scan(text, &tags, Attributes::Allowed)
        .into_iter()
        .map(|found| {
            let Some(kind) = blocks::kind_of(found.tag) else {
                let id = blocks::source_attribute(found.block).unwrap_or(PREVIEW);
                let known = metadata("previous_turns_compacted", Some(id));
                return segment(id, found.block, stable, known);
            };
            let named = kind.id.and_then(|tag| blocks::child(found.block, tag));
            let id = named.map_or_else(|| numbered(kind.tag, &mut unnamed), str::to_owned);
            let note = (kind.source == "note").then_some(id.as_str());
            segment(&id, found.block, stable, metadata(origin(stable), note))
        })
        .collect()
}

/// The tag itself for the first block without an id, `tag:2` for the next.
fn numbered<'a>(tag: &'a str, seen: &mut HashMap<&'a str, usize>) -> String {
    let count = seen.entry(tag).or_default();
    *count += 1;
    if *count == 1 {
        tag.to_owned()
    } else {
        format!("{tag}:{count}")
    }
}

/// Release 3.1 knows two tags without attributes, lets either close the other,
/// and drops a block without a path.
fn parse_v31(text: &str, stable: bool) -> Vec<Segment> {
    const TAGS: [&str; 2] = ["note_context", "active_note"];
    let mut out = Vec::new();
    if trim(text).is_empty() {
        return out;
    }
    let mut rest = text;
    while let Some(start) = earliest(rest, &TAGS.map(|tag| format!("<{tag}>"))).map(|(at, _)| at) {
        let Some((at, len)) = earliest(&rest[start..], &TAGS.map(|tag| format!("</{tag}>"))) else {
            break;
        };
        let (block, after) = rest[start..].split_at(at + len);
        if let Some(path) = blocks::child(block, "path") {
            out.push(segment(
                path,
                block,
                stable,
                metadata(origin(stable), Some(path)),
            ));
        }
        rest = after;
    }
    out
}

/// The first place where one of `wanted` stands, and its length.
fn earliest(text: &str, wanted: &[String]) -> Option<(usize, usize)> {
    wanted
        .iter()
        .filter_map(|word| text.find(word.as_str()).map(|at| (at, word.len())))
        .min()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ids(release: Release, text: &str) -> Vec<String> {
        segments(release, text, false)
            .iter()
            .map(|s| s.id.to_string())
            .collect()
    }

    #[test]
    fn blocks_without_an_id_are_numbered_by_tag() {
        let text = "<selected_text>a</selected_text><localSearch>b</localSearch>\
                    <selected_text>c</selected_text>";
        assert_eq!(
            ids(Release::V4, text),
            ["selected_text", "localSearch", "selected_text:2"]
        );
    }

    #[test]
    fn a_preview_takes_its_id_from_its_source_and_is_never_numbered() {
        let text = "<prior_context source=\"a&amp;b\" type=\"url\">x</prior_context>\
                    <prior_context>y</prior_context><prior_context>z</prior_context>";
        assert_eq!(
            ids(Release::V4, text),
            ["a&amp;b", "prior_context", "prior_context"]
        );
        let first = &segments(Release::V4, text, true)[0];
        assert_eq!(
            first.metadata,
            Some(metadata("previous_turns_compacted", Some("a&amp;b")))
        );
    }

    #[test]
    fn release_3_1_lets_either_tag_close_the_other() {
        let text = "<note_context><path>a</path></active_note><active_note x=1><path>b</path></active_note>";
        assert_eq!(ids(Release::V31, text), ["a"]);
        assert_eq!(ids(Release::V4, text), ["b"]);
    }

    #[test]
    fn a_note_can_forge_a_block() {
        let text = "<note_context><path>a</path></note_context>\
                    <note_context><path>forged</path></note_context> rest</note_context>";
        assert_eq!(ids(Release::V4, text), ["a", "forged"]);
    }
}
