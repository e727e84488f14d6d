//! A place in a message's text as a source and a byte of the body.

use super::messages::{content, text};
use crate::chat::Origin;
use crate::record::{RecordedMessage, RecordedSpan, RequestRecord, SpanStore};

/// Source and byte in the body of the place `offset` bytes into message
/// `message` of `newer`. Where that message ends there, the source is that of
/// the earlier request.
pub(super) fn of(
    newer: &RequestRecord,
    earlier: &RequestRecord,
    message: usize,
    offset: usize,
    spans: &SpanStore,
) -> (Origin, usize) {
    let Some(own) = newer.prompt.get(message) else {
        return (Origin::from("end"), 0);
    };
    if let Some((span, inside)) = locate(own, offset, spans) {
        return (span.origin.clone(), byte_in_body(span, inside, spans));
    }
    let byte = content(own)
        .last()
        .map(|span| span.end)
        .or_else(|| end_before(newer, message))
        .unwrap_or(0);
    let origin =
        source(earlier, message, offset, spans).unwrap_or_else(|| Origin::from(own.role.as_str()));
    (origin, byte)
}

/// The source `offset` bytes into message `message`; `None` where it ended before.
pub(super) fn source(
    record: &RequestRecord,
    message: usize,
    offset: usize,
    spans: &SpanStore,
) -> Option<Origin> {
    let (span, _) = locate(record.prompt.get(message)?, offset, spans)?;
    Some(span.origin.clone())
}

/// The span that holds byte `offset` of the message's text, and the byte in it.
fn locate<'a>(
    message: &'a RecordedMessage,
    offset: usize,
    spans: &SpanStore,
) -> Option<(&'a RecordedSpan, usize)> {
    let mut before = 0;
    content(message).find_map(|span| {
        let length = text(span, spans).len();
        let inside = offset.checked_sub(before).filter(|&inside| inside < length);
        before += length;
        inside.map(|inside| (span, inside))
    })
}

/// Where the last span before message `message` ends.
fn end_before(record: &RequestRecord, message: usize) -> Option<usize> {
    record
        .prompt
        .get(..message)?
        .iter()
        .rev()
        .filter_map(|message| message.spans.last())
        .map(|span| span.end)
        .next()
}

/// A byte of a span's text as a byte of the body, where the text may stand
/// escaped as JSON. Without the text it is the span's first byte.
fn byte_in_body(span: &RecordedSpan, inside: usize, spans: &SpanStore) -> usize {
    let Some(text) = spans.text(span.sha256) else {
        return span.start;
    };
    let as_it_is = span.end.saturating_sub(span.start) == text.len();
    let front = text.get(..inside).unwrap_or_default();
    let length = if as_it_is { inside } else { escaped(front) };
    (span.start + length).min(span.end)
}

/// Length of `text` in a JSON string, its quotes left out.
fn escaped(text: &str) -> usize {
    serde_json::to_string(text).map_or(text.len(), |quoted| quoted.len() - 2)
}
