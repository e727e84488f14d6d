//! Messages as roles with joined texts, each distinct one made once.

use crate::chat::{Digest, Origin, Role};
use crate::record::{RecordedMessage, RecordedSpan, SpanStore};
use std::collections::HashMap;
use std::sync::Arc;

/// A message as it is compared: role and text.
pub(super) type Message = (Role, Arc<str>);

/// Messages by the hashes of their spans.
#[derive(Default)]
pub(super) struct Messages(HashMap<Digest, Message>);

impl Messages {
    pub(super) fn of(&mut self, message: &RecordedMessage, spans: &SpanStore) -> Message {
        let mut key = message.role.as_str().as_bytes().to_vec();
        for span in content(message) {
            key.extend_from_slice(&span.sha256.0);
        }
        let joined = self.0.entry(Digest::of(&key)).or_insert_with(|| {
            let text: String = content(message).map(|span| text(span, spans)).collect();
            (message.role, Arc::from(text))
        });
        joined.clone()
    }
}

/// The spans of a message without nonces.
pub(super) fn content(message: &RecordedMessage) -> impl Iterator<Item = &RecordedSpan> {
    message
        .spans
        .iter()
        .filter(|span| span.origin.as_str() != Origin::NONCE)
}

/// The text of a span; its hash where the text was not kept, which is equal
/// for equal texts.
pub(super) fn text(span: &RecordedSpan, spans: &SpanStore) -> String {
    spans
        .text(span.sha256)
        .map_or_else(|| span.sha256.to_string(), |text| text.as_str().to_owned())
}
