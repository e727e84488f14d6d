//! Recorded prompts back to tokens.

use crate::cache::Model;
use crate::chat::{Role, Text};
use crate::record::{RecordedMessage, RequestRecord, SpanStore};
use crate::tokens::{SharedEncoder, TemplateMessage};
use crate::units::Tokens;

/// A recorded prompt as tokens.
pub(super) struct Encoded {
    /// Ids, generation suffix included.
    pub(super) ids: Vec<u32>,
    /// Token index behind each message; empty where it is not known.
    pub(super) ends: Vec<usize>,
    /// Who speaks in each of them.
    pub(super) roles: Vec<Role>,
}

impl Encoded {
    /// Whether a cache model can be played with what is known of the prompt.
    /// Records do not keep where cache markers stood.
    pub(super) fn suffices(&self, model: &Model) -> bool {
        match model {
            Model::MessageEnds { .. } => !self.ends.is_empty(),
            Model::Breakpoints { .. } => false,
            _ => true,
        }
    }
}

/// Turns recorded prompts and answers into tokens.
pub(super) struct Renderer<'a> {
    spans: &'a SpanStore,
    encoder: Option<&'a SharedEncoder>,
}

impl<'a> Renderer<'a> {
    pub(super) fn new(spans: &'a SpanStore, encoder: Option<&'a SharedEncoder>) -> Self {
        Self { spans, encoder }
    }

    /// `None` where a text was not kept, or cannot be encoded.
    pub(super) fn prompt(&self, record: &RequestRecord) -> Option<Encoded> {
        let encoder = self.encoder?;
        let texts = record
            .prompt
            .iter()
            .map(|message| self.text(message))
            .collect::<Option<Vec<_>>>()?;
        let roles: Vec<Role> = record.prompt.iter().map(|message| message.role).collect();
        let messages: Vec<_> = roles
            .iter()
            .zip(&texts)
            .map(|(role, text)| TemplateMessage {
                role: role.as_str(),
                text,
            })
            .collect();
        let encoded = encoder.encoded(&messages).ok()?;
        (!encoded.ids.is_empty()).then_some(Encoded {
            ids: encoded.ids,
            ends: encoded.ends,
            roles,
        })
    }

    fn text(&self, message: &RecordedMessage) -> Option<String> {
        message
            .spans
            .iter()
            .map(|span| self.spans.text(span.sha256).map(Text::as_str))
            .collect()
    }

    /// The tokens that were generated, the last one included, which a cache
    /// does not hold.
    ///
    /// The server's count decides how many there were: a stop token is counted
    /// and has no text, and a text that was cut off may encode to more tokens
    /// than were generated. Where the answer's text is not known it is empty.
    pub(super) fn output(&self, record: &RequestRecord) -> Vec<u32> {
        let text = record.output_sha256.and_then(|hash| self.spans.text(hash));
        let Some((text, encoder)) = text.zip(self.encoder) else {
            return Vec::new();
        };
        let mut ids = encoder.output(text);
        let counted = record.usage.output.map(|tokens| tokens.0);
        match counted.map(usize::try_from) {
            // The stop token: its id does not matter, since it is not held.
            Some(Ok(counted)) if counted > ids.len() => ids.push(0),
            Some(Ok(counted)) => ids.truncate(counted),
            Some(Err(_)) | None => {}
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
