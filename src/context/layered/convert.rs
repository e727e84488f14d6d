//! Envelope to messages: system from L1 and L2, user from L3 and L5.
//!
//! Every segment becomes a span of its own, so that its text is shared by all
//! requests that hold it and a break can be traced to it.

use super::envelope::{Envelope, Layer, LayerId, Segment};
use crate::chat::{Class, Origin, Span, Text};
use crate::context::Phrases;

/// What a conversion includes. Everything by default.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Options {
    /// Make a system message.
    pub system: bool,
    /// One user message of context and question, with references; otherwise
    /// two, without.
    pub merge: bool,
}

impl Default for Options {
    fn default() -> Self {
        Self {
            system: true,
            merge: true,
        }
    }
}

/// The messages of an envelope, as spans.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Converted {
    /// The system message; `None` where L1 is empty, whatever L2 holds.
    pub system: Option<Vec<Span>>,
    /// The user messages: none, one, or two when they are not merged.
    pub users: Vec<Vec<Span>>,
}

/// Converts `envelope` with the words of `phrases`.
///
/// A segment of L3 whose id is known to L2 becomes a reference, however
/// different its content: ids are compared, contents are not.
pub fn convert(envelope: &Envelope, phrases: &Phrases, options: Options) -> Converted {
    Converted {
        system: options.system.then(|| system(envelope, phrases)).flatten(),
        users: users(envelope, phrases, options.merge),
    }
}

/// The concatenation of spans.
pub fn concat(spans: &[Span]) -> String {
    spans.iter().map(|span| span.text.as_str()).collect()
}

/// L3 and L5 as text, a blank line between.
pub fn user_content(envelope: &Envelope) -> String {
    let texts = [LayerId::Turn, LayerId::User].map(|id| envelope.layer(id).text());
    let filled: Vec<&str> = texts
        .iter()
        .map(Text::as_str)
        .filter(|text| !text.is_empty())
        .collect();
    filled.join("\n\n")
}

fn system(envelope: &Envelope, phrases: &Phrases) -> Option<Vec<Span>> {
    let mut spans = joined(envelope.layer(LayerId::System), Class::Static, "\n\n");
    if spans.is_empty() {
        return None;
    }
    let library = joined(
        envelope.layer(LayerId::Previous),
        Class::Conversation,
        "\n\n",
    );
    if !library.is_empty() {
        spans.push(library_heading(phrases));
        spans.extend(library);
    }
    Some(spans)
}

/// What stands between the instructions and the library.
pub(super) fn library_heading(phrases: &Phrases) -> Span {
    let words = format!(
        "\n\n{}\n\n{}\n\n",
        phrases.get("library_heading"),
        phrases.get("library_intro")
    );
    Span::new("L2", Class::Static, words)
}

/// The filled segments of a layer with `separator` between them.
fn joined(layer: &Layer, class: Class, separator: &str) -> Vec<Span> {
    separated(
        layer.id,
        &layer.filled().collect::<Vec<_>>(),
        class,
        separator,
    )
}

fn separated(layer: LayerId, segments: &[&Segment], class: Class, separator: &str) -> Vec<Span> {
    let between = Text::from(separator);
    let mut spans = Vec::new();
    for segment in segments {
        let origin = Origin::from(format!("{}/{}", layer.short(), segment.id));
        if !spans.is_empty() {
            spans.push(Span::new(origin.clone(), class, between.clone()));
        }
        spans.push(Span::new(origin, class, segment.content.clone()));
    }
    spans
}

fn users(envelope: &Envelope, phrases: &Phrases, merge: bool) -> Vec<Vec<Span>> {
    let question = question(envelope);
    if !merge {
        let context = joined(envelope.layer(LayerId::Turn), Class::Turn, "\n\n");
        return [context, question]
            .into_iter()
            .filter(|spans| !spans.is_empty())
            .collect();
    }
    let mut spans = context(envelope, phrases);
    let has_context = !envelope.layer(LayerId::Turn).segments.is_empty();
    if has_context && !question.is_empty() {
        let label = format!("\n\n---\n\n{}\n\n", phrases.get("query_label"));
        spans.push(Span::new("L5", Class::Static, label));
    }
    spans.extend(question);
    if spans.is_empty() {
        Vec::new()
    } else {
        vec![spans]
    }
}

fn question(envelope: &Envelope) -> Vec<Span> {
    let text = envelope.layer(LayerId::User).text();
    if text.is_empty() {
        Vec::new()
    } else {
        vec![Span::new(Origin::USER, Class::Turn, text)]
    }
}

/// References, a blank line, and what is new.
fn context(envelope: &Envelope, phrases: &Phrases) -> Vec<Span> {
    let known = envelope.known_ids();
    let turn = &envelope.layer(LayerId::Turn).segments;
    let (references, new): (Vec<&Segment>, Vec<&Segment>) = turn
        .iter()
        .partition(|segment| known.contains(segment.id.as_ref()));
    let ids: Vec<&str> = references.iter().map(|s| s.id.as_ref()).collect();
    let mut spans = self::references(&ids, phrases);
    if !spans.is_empty() && !new.is_empty() {
        spans.push(Span::new("L3", Class::Static, "\n\n"));
    }
    spans.extend(separated(LayerId::Turn, &new, Class::Turn, "\n"));
    spans
}

/// The list of what is referred to; empty for no ids.
pub(super) fn references(ids: &[&str], phrases: &Phrases) -> Vec<Span> {
    let mut spans: Vec<Span> = ids
        .iter()
        .map(|id| Span::new(format!("L3/{id}"), Class::Turn, format!("- {id}\n")))
        .collect();
    if spans.is_empty() {
        return spans;
    }
    let intro = format!("{}\n", phrases.get("references_intro"));
    spans.insert(0, Span::new("L3", Class::Static, intro));
    let outro = format!("\n{}", phrases.get("references_outro"));
    spans.push(Span::new("L3", Class::Static, outro));
    spans
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::Arc;

    fn envelope(parts: &[(LayerId, &str, &str)]) -> Envelope {
        let segments = parts.iter().map(|&(layer, id, content)| {
            let segment = Segment {
                id: Arc::from(id),
                content: Text::from(content),
                stable: true,
                metadata: None,
            };
            (layer, segment)
        });
        Envelope::build("m1", segments)
    }

    fn user(parts: &[(LayerId, &str, &str)]) -> String {
        let book = Phrases::with(r#"{"query_label": "[Q]:"}"#).unwrap();
        let converted = convert(&envelope(parts), &book, Options::default());
        converted.users.iter().map(|spans| concat(spans)).collect()
    }

    #[test]
    fn without_instructions_the_library_is_not_sent() {
        let parts = [(LayerId::Previous, "a", "A"), (LayerId::Turn, "a", "A")];
        let converted = convert(&envelope(&parts), &Phrases::default(), Options::default());
        assert_eq!(converted.system, None);
        assert!(concat(&converted.users[0]).contains("- a\n"));
    }

    #[test]
    fn a_blank_new_segment_still_brings_the_label() {
        let parts = [(LayerId::Turn, "a", " "), (LayerId::User, "u", "why")];
        assert_eq!(user(&parts), "\n\n---\n\n[Q]:\n\nwhy");
    }

    #[test]
    fn new_segments_are_joined_by_one_line_end() {
        let parts = [
            (LayerId::Turn, "a", "A"),
            (LayerId::Turn, "b", "B"),
            (LayerId::User, "u", "why"),
        ];
        assert_eq!(user(&parts), "A\nB\n\n---\n\n[Q]:\n\nwhy");
    }

    #[test]
    fn references_come_first_each_group_in_its_order_and_nothing_once_only() {
        let parts = [
            (LayerId::Previous, "a", "A"),
            (LayerId::Previous, "b", "B"),
            (LayerId::Turn, "n", "N"),
            (LayerId::Turn, "b", "B2"),
            (LayerId::Turn, "m", "M"),
            (LayerId::Turn, "b", "B3"),
            (LayerId::Turn, "a", "A"),
            (LayerId::Turn, "n", "N"),
        ];
        let book = r#"{"references_intro": "refs:", "references_outro": "there"}"#;
        let book = Phrases::with(book).unwrap();
        let converted = convert(&envelope(&parts), &book, Options::default());
        assert_eq!(
            concat(&converted.users[0]),
            "refs:\n- b\n- b\n- a\n\nthere\n\nN\nM\nN"
        );
    }

    #[test]
    fn unmerged_content_has_no_references() {
        let parts = [
            (LayerId::Previous, "a", "A"),
            (LayerId::Turn, "a", "A2"),
            (LayerId::User, "u", "why"),
        ];
        let options = Options {
            system: false,
            merge: false,
        };
        let converted = convert(&envelope(&parts), &Phrases::default(), options);
        let texts: Vec<String> = converted.users.iter().map(|spans| concat(spans)).collect();
        assert_eq!(texts, ["A2", "why"]);
        assert_eq!(converted.system, None);
    }
}
