//! The library of the two releases: what earlier turns brought.

use super::blocks::PREVIEW_HINT;
use super::embed::Reading;
use super::envelope::{Layer, Metadata};
use super::reduce;
use super::release::Release;
use super::turn;
use crate::context::Phrases;
use serde_json::Value;
use std::collections::HashMap;
use std::sync::Arc;

/// The library as text, and the notes that are known to it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Library {
    /// Its text; parsed into segments again when the turn is built.
    pub text: String,
    /// Paths that release 4 never attaches again.
    pub known: Vec<Arc<str>>,
}

impl Library {
    /// Release 4: from the turn layers of earlier messages, as they were stored.
    ///
    /// Each segment is reduced; a later one of the same id takes the place of
    /// the earlier. Texts from before the latest summarised turn are left out,
    /// their paths are not.
    pub(super) fn stored(layers: &[&Layer], phrases: &Phrases) -> Self {
        let first = layers
            .iter()
            .rposition(|layer| summarised(layer))
            .unwrap_or(0);
        let mut order: Vec<Arc<str>> = Vec::new();
        let mut texts: HashMap<Arc<str>, String> = HashMap::new();
        for segment in layers.iter().skip(first).flat_map(|layer| layer.filled()) {
            let reduced = reduce::for_library(&segment.content, phrases);
            if reduced.is_empty() {
                continue;
            }
            if texts.insert(segment.id.clone(), reduced).is_none() {
                order.push(segment.id.clone());
            }
        }
        let texts: Vec<&str> = order.iter().map(|id| texts[id].as_str()).collect();
        let mut text = texts.join("\n");
        if mentions_preview(&text) {
            let hint = phrases.get("prior_context_hint");
            text = format!("{text}\n\n<{PREVIEW_HINT}>\n{hint}\n</{PREVIEW_HINT}>");
        }
        let known = layers
            .iter()
            .flat_map(|layer| &layer.segments)
            .filter_map(|segment| segment.metadata.as_ref())
            .flat_map(paths)
            .collect();
        Self { text, known }
    }

    /// Release 3.1: the notes of earlier messages, each once, read now.
    pub(super) fn read_again(paths: &[&Arc<str>], reading: Reading<'_>) -> Self {
        let mut seen: Vec<&Arc<str>> = Vec::new();
        let mut text = String::new();
        for &path in paths {
            if !seen.contains(&path) {
                seen.push(path);
                let note = reading.files.read(path);
                let block = turn::note_block(Release::V31, "note_context", &note, reading);
                text.push_str(&block);
            }
        }
        Self {
            text,
            known: Vec::new(),
        }
    }
}

fn summarised(layer: &Layer) -> bool {
    layer.segments.iter().any(|segment| {
        let known = segment.metadata.as_ref();
        known.and_then(|m| m.get("wasCompacted")) == Some(&Value::from(true))
    })
}

/// Whether `<prior_context`, white space and `source=` stand in the text.
fn mentions_preview(text: &str) -> bool {
    text.match_indices("<prior_context").any(|(at, opening)| {
        let rest = &text[at + opening.len()..];
        let trimmed = super::units::trim_start(rest);
        trimmed.len() < rest.len() && trimmed.starts_with("source=")
    })
}

fn paths(known: &Metadata) -> Vec<Arc<str>> {
    let text = |value: &Value| value.as_str().map(Arc::from);
    let list = |key: &str| -> Vec<Arc<str>> {
        let values = known.get(key).and_then(Value::as_array);
        values.into_iter().flatten().filter_map(text).collect()
    };
    let mut out: Vec<Arc<str>> = known.get("notePath").and_then(text).into_iter().collect();
    out.extend(list("compactedPaths"));
    out.extend(list("notePaths"));
    out
}
