//! The envelope: what one question brings to the model, in five layers.
//!
//! Invariants: there are always five layers, in the order of [`LayerId::ALL`];
//! contents are trimmed at both ends and otherwise untouched; texts and hashes
//! are derived from the segments, so they cannot disagree with them.

use super::units::trim;
use crate::chat::{Digest, Text};
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};
use std::collections::{HashMap, HashSet};
use std::sync::Arc;

/// What is known about a segment, as the modelled program records it.
pub type Metadata = Map<String, Value>;

/// One of the five layers.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "SCREAMING_SNAKE_CASE")]
pub enum LayerId {
    /// Instructions.
    #[serde(rename = "L1_SYSTEM")]
    System,
    /// The library: context of earlier turns.
    #[serde(rename = "L2_PREVIOUS")]
    Previous,
    /// Context of this turn.
    #[serde(rename = "L3_TURN")]
    Turn,
    /// A strip of the conversation; never filled by the products.
    #[serde(rename = "L4_STRIP")]
    Strip,
    /// The question.
    #[serde(rename = "L5_USER")]
    User,
}

impl LayerId {
    /// All layers, most stable first.
    pub const ALL: [Self; 5] = [
        Self::System,
        Self::Previous,
        Self::Turn,
        Self::Strip,
        Self::User,
    ];

    /// The name in an envelope.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::System => "L1_SYSTEM",
            Self::Previous => "L2_PREVIOUS",
            Self::Turn => "L3_TURN",
            Self::Strip => "L4_STRIP",
            Self::User => "L5_USER",
        }
    }

    /// The short name that origins begin with: `L1` to `L5`.
    pub fn short(self) -> &'static str {
        &self.as_str()[..2]
    }
}

/// A piece of a layer with an identity of its own.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Segment {
    /// Path, address or name; what references are made by.
    pub id: Arc<str>,
    /// Its text.
    pub content: Text,
    /// Whether it is expected to stay as it is.
    pub stable: bool,
    /// What else is known about it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub metadata: Option<Metadata>,
}

/// Segments with a place in the order of stability.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Layer {
    /// Which layer.
    pub id: LayerId,
    /// Its segments in order; blank ones stay in the list.
    pub segments: Vec<Segment>,
}

impl Layer {
    fn new(id: LayerId, segments: Vec<Segment>) -> Self {
        let segments = segments
            .into_iter()
            .enumerate()
            .map(|(index, segment)| normalised(id, index, segment))
            .collect();
        Self { id, segments }
    }

    /// The segments that have a text.
    pub fn filled(&self) -> impl Iterator<Item = &Segment> {
        self.segments
            .iter()
            .filter(|segment| !segment.content.is_empty())
    }

    /// The layer's text: its non-empty contents, a blank line between them.
    pub fn text(&self) -> Text {
        let mut filled = self.filled();
        match (filled.next(), filled.next()) {
            (None, _) => Text::default(),
            (Some(only), None) => only.content.clone(),
            _ => {
                let contents: Vec<&str> = self.filled().map(|s| s.content.as_str()).collect();
                Text::from(contents.join("\n\n"))
            }
        }
    }

    /// SHA-256 of the layer's text.
    pub fn hash(&self) -> Digest {
        self.text().digest()
    }

    /// Whether every segment is stable; true for none.
    pub fn stable(&self) -> bool {
        self.segments.iter().all(|segment| segment.stable)
    }

    /// The metadata of the only segment, where there is exactly one.
    pub fn metadata(&self) -> Option<&Metadata> {
        match self.segments.as_slice() {
            [only] => only.metadata.as_ref(),
            _ => None,
        }
    }
}

/// A segment as the layer keeps it: named, its content trimmed.
fn normalised(layer: LayerId, index: usize, segment: Segment) -> Segment {
    let trimmed = trim(&segment.content);
    let content = if trimmed.len() == segment.content.len() {
        segment.content
    } else {
        Text::from(trimmed)
    };
    let id = if segment.id.is_empty() {
        Arc::from(format!("{}-segment-{index}", layer.as_str()))
    } else {
        segment.id
    };
    Segment {
        id,
        content,
        ..segment
    }
}

/// What one question brings to the model.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Envelope {
    /// The message that it belongs to.
    pub message_id: Arc<str>,
    layers: Vec<Layer>,
}

impl Envelope {
    /// Version of the format.
    pub const VERSION: u32 = 1;

    /// Builds an envelope; a layer that is not given is empty, and of a layer
    /// that is given twice the segments follow each other.
    pub fn build(message_id: &str, given: impl IntoIterator<Item = (LayerId, Segment)>) -> Self {
        let mut sorted: [Vec<Segment>; 5] = Default::default();
        for (id, segment) in given {
            sorted[id as usize].push(segment);
        }
        let layers = LayerId::ALL
            .into_iter()
            .zip(sorted)
            .map(|(id, segments)| Layer::new(id, segments))
            .collect();
        Self {
            message_id: Arc::from(message_id),
            layers,
        }
    }

    /// The five layers in order.
    pub fn layers(&self) -> &[Layer] {
        &self.layers
    }

    /// One layer.
    pub fn layer(&self, id: LayerId) -> &Layer {
        // `build` makes all five; a stored envelope that lacks one is refused
        // by `is_whole` before it gets here.
        &self.layers[id as usize]
    }

    /// Shares the texts of library segments that stand unchanged in `earlier`,
    /// so that a chat does not hold its library once a turn.
    pub fn share(&mut self, earlier: &Self) {
        let known: HashMap<&str, Vec<&Text>> = [LayerId::Previous, LayerId::Turn]
            .into_iter()
            .flat_map(|id| &earlier.layer(id).segments)
            .fold(HashMap::new(), |mut known, segment| {
                known
                    .entry(&*segment.id)
                    .or_default()
                    .push(&segment.content);
                known
            });
        for segment in &mut self.layers[LayerId::Previous as usize].segments {
            let texts = known.get(&*segment.id).into_iter().flatten();
            if let Some(text) = texts.into_iter().find(|text| ***text == segment.content) {
                segment.content = (*text).clone();
            }
        }
    }

    /// Whether all five layers are there, in order: not so only for a stored
    /// envelope that was written by something else.
    pub fn is_whole(&self) -> bool {
        self.layers.iter().map(|layer| layer.id).eq(LayerId::ALL)
    }

    /// All layer texts, a blank line between those that are not empty.
    pub fn serialized_text(&self) -> Text {
        let texts: Vec<Text> = self.layers.iter().map(Layer::text).collect();
        let filled: Vec<&str> = texts
            .iter()
            .map(Text::as_str)
            .filter(|text| !text.is_empty())
            .collect();
        Text::from(filled.join("\n\n"))
    }

    /// SHA-256 of [`serialized_text`](Self::serialized_text).
    pub fn combined_hash(&self) -> Digest {
        self.serialized_text().digest()
    }

    /// The layers whose text holds a NUL, in order. Nothing is removed from
    /// them, whatever the warning that is made of it says.
    pub fn control_characters(&self) -> impl Iterator<Item = LayerId> {
        self.layers
            .iter()
            .filter(|layer| layer.filled().any(|s| s.content.contains('\0')))
            .map(|layer| layer.id)
    }

    /// Ids of the library's segments.
    pub fn known_ids(&self) -> HashSet<&str> {
        self.layer(LayerId::Previous)
            .segments
            .iter()
            .map(|segment| segment.id.as_ref())
            .collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn segment(id: &str, content: &str) -> Segment {
        Segment {
            id: Arc::from(id),
            content: Text::from(content),
            stable: true,
            metadata: None,
        }
    }

    #[test]
    fn contents_are_trimmed_and_blank_ones_leave_no_separator() {
        let envelope = Envelope::build(
            "m1",
            [
                (LayerId::Turn, segment("a", " one \r\n")),
                (LayerId::Turn, segment("", "\u{feff}")),
                (LayerId::Turn, segment("c", "two")),
            ],
        );
        let turn = envelope.layer(LayerId::Turn);
        assert_eq!(turn.text().as_str(), "one\n\ntwo");
        assert_eq!(turn.segments[1].id.as_ref(), "L3_TURN-segment-1");
        assert_eq!(envelope.serialized_text(), turn.text());
        assert_eq!(envelope.combined_hash(), Digest::of(b"one\n\ntwo"));
    }

    #[test]
    fn an_empty_layer_hashes_as_the_empty_string() {
        let envelope = Envelope::build("m1", []);
        assert!(envelope.is_whole());
        assert!(
            envelope
                .layers()
                .iter()
                .all(|l| l.hash() == Digest::of(b""))
        );
        assert!(envelope.layers().iter().all(Layer::stable));
    }

    #[test]
    fn only_the_ends_of_a_content_are_touched() {
        let inner = "a \t b\r\n\r\n\u{200b}e\u{301}\u{e9}\u{85}";
        let content = format!("\u{a0}\n{inner}\u{3000} ");
        let envelope = Envelope::build("m1", [(LayerId::User, segment("u", &content))]);
        assert_eq!(envelope.layer(LayerId::User).text().as_str(), inner);
    }

    #[test]
    fn a_layer_is_stable_if_all_of_it_is_and_has_the_metadata_of_its_only_segment() {
        let mut known = segment("a", "one");
        known.metadata = Some(Metadata::new());
        let mut unstable = segment("b", "two");
        unstable.stable = false;
        let one = Envelope::build("m1", [(LayerId::Turn, known.clone())]);
        assert!(one.layer(LayerId::Turn).stable());
        assert_eq!(one.layer(LayerId::Turn).metadata(), Some(&Metadata::new()));
        let two = [(LayerId::Turn, known), (LayerId::Turn, unstable)];
        let two = Envelope::build("m1", two);
        assert!(!two.layer(LayerId::Turn).stable());
        assert_eq!(two.layer(LayerId::Turn).metadata(), None);
    }

    #[test]
    fn a_nul_is_reported_and_kept() {
        let envelope = Envelope::build("m1", [(LayerId::User, segment("u", "a\0b"))]);
        let found: Vec<LayerId> = envelope.control_characters().collect();
        assert_eq!(found, [LayerId::User]);
        assert_eq!(envelope.layer(LayerId::User).text().as_str(), "a\0b");
    }

    #[test]
    fn an_envelope_is_written_out_and_read_back() {
        let envelope = Envelope::build("m1", [(LayerId::Turn, segment("a", "one"))]);
        let json = serde_json::to_string(&envelope).unwrap();
        assert_eq!(serde_json::from_str::<Envelope>(&json).unwrap(), envelope);
    }
}
