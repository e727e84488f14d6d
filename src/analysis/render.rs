//! Recorded prompts back to tokens.

use super::recorded::{Mark, RecordedPrompt};
use crate::cache::Model;
use crate::chat::Role;
use crate::record::{RequestRecord, SpanStore};
use crate::tokens::{EncodedPrompt, SharedEncoder, TemplateMessage};
use crate::units::Tokens;

/// A generated token that is counted and not known; no vocabulary has it.
const UNKNOWN: u32 = u32::MAX;

/// No answer is longer; a server that claims so is not believed.
const MOST_OUTPUT: usize = 1 << 20;

/// A recorded prompt as tokens.
pub(super) struct Encoded {
    /// Ids, generation suffix included.
    pub(super) ids: Vec<u32>,
    /// Token index behind each message; empty where it is not known.
    pub(super) ends: Vec<usize>,
    /// Who speaks in each of them.
    pub(super) roles: Vec<Role>,
    /// Token index behind each cache marker, ascending; `None` where their
    /// places are not known.
    pub(super) markers: Option<Vec<usize>>,
    /// Those of them whose entries live an hour.
    pub(super) long_markers: Vec<usize>,
}

impl Encoded {
    /// Whether a cache model can be played with what is known of the prompt.
    /// Older records do not keep where cache markers stood.
    pub(super) fn suffices(&self, model: &Model) -> bool {
        match model {
            Model::MessageEnds { .. } => !self.ends.is_empty(),
            Model::Breakpoints { .. } => !self.ends.is_empty() && self.markers.is_some(),
            _ => true,
        }
    }
}

/// Token index behind each marker, and whether its entry lives an hour. One inside a message stands as far into the
/// prompt as the conversation up to there gives the same tokens.
fn markers(
    prompt: &RecordedPrompt,
    encoded: &EncodedPrompt,
    encoder: &SharedEncoder,
) -> Option<Vec<(usize, bool)>> {
    let marks = prompt.marks()?;
    let messages = prompt.messages();
    let mut found = Vec::with_capacity(marks.len());
    for (at, Mark { bytes, long }) in marks {
        let message = messages.get(at)?;
        if bytes == message.text.len() {
            found.push((*encoded.ends.get(at)?, long));
            continue;
        }
        let mut cut = messages.get(..at)?.to_vec();
        cut.push(TemplateMessage {
            text: message.text.get(..bytes)?,
            pieces: &[],
            ..*message
        });
        let cut = encoder.prompt(&cut);
        let same = cut.iter().zip(&encoded.ids);
        found.push((same.take_while(|(one, other)| one == other).count(), long));
    }
    Some(found)
}

/// Turns recorded prompts and answers into tokens.
pub(super) struct Renderer<'a> {
    spans: &'a SpanStore,
    encoder: Option<&'a SharedEncoder>,
    /// The target's, which decides what an engine makes of a prompt.
    dialect: &'a str,
}

impl<'a> Renderer<'a> {
    pub(super) fn new(
        spans: &'a SpanStore,
        encoder: Option<&'a SharedEncoder>,
        dialect: &'a str,
    ) -> Self {
        Self {
            spans,
            encoder,
            dialect,
        }
    }

    /// `None` where a text was not kept, or cannot be encoded.
    pub(super) fn prompt(&self, record: &RequestRecord) -> Option<Encoded> {
        let encoder = self.encoder?;
        let prompt = RecordedPrompt::of(record, self.spans, self.dialect)?;
        let encoded = encoder.encoded(&prompt.messages()).ok()?;
        if encoded.ids.is_empty() {
            return None;
        }
        let marked = markers(&prompt, &encoded, encoder);
        let long = marked.iter().flatten().filter(|(_, long)| *long);
        Some(Encoded {
            long_markers: long.map(|(at, _)| *at).collect(),
            markers: marked.map(|marked| marked.into_iter().map(|(at, _)| at).collect()),
            ids: encoded.ids,
            ends: encoded.ends,
            roles: prompt.roles(),
        })
    }

    /// The tokens that were generated, the last one included, which a cache
    /// does not hold: those that the server named, else those of the text.
    ///
    /// The server's count decides how many there were: a stop token is counted
    /// and has no text, reasoning stands in front, and a text that was cut off
    /// may encode to more tokens than were generated. Tokens that are counted
    /// and not known take up room in a cache and match nothing.
    pub(super) fn output(&self, record: &RequestRecord) -> Vec<u32> {
        let count = |tokens: Option<Tokens>| {
            let count = usize::try_from(tokens?.0).ok()?;
            Some(count.min(MOST_OUTPUT))
        };
        let mut ids = if let Some(ids) = &record.output_ids {
            ids.to_vec()
        } else {
            let mut ids = vec![UNKNOWN; count(record.usage.reasoning).unwrap_or(0)];
            let text = record.output_sha256.and_then(|hash| self.spans.text(hash));
            if let Some((text, encoder)) = text.zip(self.encoder) {
                ids.extend(encoder.output(text));
            }
            ids
        };
        if let Some(counted) = count(record.usage.output) {
            ids.resize(counted, UNKNOWN);
        }
        ids
    }

    /// Tokens of `earlier` behind what it has in common with `newer`.
    pub(super) fn lost(&self, earlier: &RequestRecord, newer: &RequestRecord) -> Option<Tokens> {
        let (earlier, newer) = (self.prompt(earlier)?.ids, self.prompt(newer)?.ids);
        let common = earlier
            .iter()
            .zip(&newer)
            .take_while(|(a, b)| a == b)
            .count();
        Some(Tokens((earlier.len() - common) as u64))
    }
}
