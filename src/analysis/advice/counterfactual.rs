//! Two prompts once more, without what broke them apart.

use super::{Finding, Size};
use crate::analysis::breaks::{Breaks, Place, spoken};
use crate::analysis::render::Renderer;
use crate::chat::Origin;
use crate::record::{RecordedSpan, RequestRecord, SpanStore};
use crate::tokens::SharedEncoder;
use crate::units::Tokens;
use std::ops::Range;

/// Sources that are taken out, one after the other.
const MOST: usize = 4;
/// Less than this is not worth a change, in tokens; a token is about four bytes.
const WORTH: u64 = 16;

/// What counts and knows texts.
#[derive(Clone, Copy)]
pub struct Prompts<'a> {
    /// Texts of the spans.
    pub spans: &'a SpanStore,
    /// Counts as the target does; `None`: bytes are counted.
    pub encoder: Option<&'a SharedEncoder>,
    /// The target's dialect.
    pub dialect: &'a str,
}

/// What would have been kept, and what had to stand behind it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Kept {
    /// Sources that broke the prefix, in the order in which they stand.
    pub moved: Vec<Origin>,
    /// What the first of them stands in front of.
    pub before: Option<Origin>,
    /// Prompt that did not change behind the break.
    pub size: Size,
}

/// What `newer` would have kept of `earlier` beyond `start`, had the sources that
/// parted them stood behind all else. `None` where a text was not kept.
pub(super) fn moved_on(
    earlier: &RequestRecord,
    newer: &RequestRecord,
    prompts: Prompts<'_>,
    start: Size,
) -> Option<Finding> {
    let (mut before, mut now) = (earlier.clone(), newer.clone());
    let (mut moved, mut best, mut next) = (Vec::new(), None, None);
    for _ in 0..MOST {
        let Some(place) = meeting(&before, &now, prompts.spans) else {
            break;
        };
        let Some((origin, without)) = best_removal(&before, &now, &place, prompts) else {
            break;
        };
        (before, now) = without;
        // Where a source was taken out of the newer one, what stood behind it is there now.
        next = next.or_else(|| source(&now, place.message, place.offset, prompts.spans));
        if !moved.contains(&origin) {
            moved.push(origin);
        }
        let reached = common(&before, &now, prompts)?.number();
        let gained = reached.saturating_sub(start.number());
        if best.as_ref().is_none_or(|(_, most)| gained > *most) {
            best = Some((moved.len(), gained));
        }
    }
    let Some((sources, gained)) = best else {
        return Some(Finding::Fixed);
    };
    moved.truncate(sources);
    without_parts(&mut moved);
    let (size, worth) = match start {
        Size::Tokens(_) => (Size::Tokens(Tokens(gained)), WORTH),
        Size::Bytes(_) => (Size::Bytes(gained), WORTH * 4),
    };
    if gained < worth {
        return Some(Finding::Little);
    }
    let before = next.filter(|next| !moved.contains(next));
    Some(Finding::Kept(Kept {
        moved,
        before,
        size,
    }))
}

/// Drops what is a part of a source that is there too: `L2/a.md` beside `L2`.
fn without_parts(moved: &mut Vec<Origin>) {
    let all = moved.clone();
    moved.retain(|origin| {
        let part_of = |whole: &Origin| {
            let rest = origin.as_str().strip_prefix(whole.as_str());
            rest.is_some_and(|rest| rest.starts_with('/'))
        };
        !all.iter().any(part_of)
    });
}

/// The source at a place, if it is there.
fn source(
    record: &RequestRecord,
    message: usize,
    offset: usize,
    spans: &SpanStore,
) -> Option<Origin> {
    let message = record.prompt.get(message)?;
    let at = located(&message.spans, offset, spans)?;
    Some(message.spans.get(at)?.origin.clone())
}

/// The span that holds a byte of a message's text, nonces left out.
fn located(all: &[RecordedSpan], offset: usize, spans: &SpanStore) -> Option<usize> {
    let mut behind = 0;
    all.iter().position(|span| {
        if is_nonce(span) {
            return false;
        }
        behind += spans.text(span.sha256).map_or(0, |text| text.len());
        behind > offset
    })
}

/// Where the two part; `None` where the newer only goes on.
fn meeting(earlier: &RequestRecord, newer: &RequestRecord, spans: &SpanStore) -> Option<Place> {
    let mut breaks = Breaks::new(spans);
    breaks.next(earlier, true);
    breaks.next(newer, true)
}

/// Both requests without a source.
type Without = (RequestRecord, RequestRecord);

/// Takes the source at the place out of the newer request, out of the earlier
/// one, or out of both: whichever leaves most in common.
fn best_removal(
    earlier: &RequestRecord,
    newer: &RequestRecord,
    place: &Place,
    prompts: Prompts<'_>,
) -> Option<(Origin, Without)> {
    let (message, offset) = (place.message, place.offset);
    let own = run(newer, message, offset, prompts.spans);
    let other = run(earlier, message, offset, prompts.spans);
    let mut found: Vec<(Origin, Without)> = Vec::new();
    if let Some((origin, spans)) = &own {
        let without = (earlier.clone(), cut(newer, message, spans));
        found.push((origin.clone(), without));
    }
    if let Some((origin, spans)) = &other {
        let without = (cut(earlier, message, spans), newer.clone());
        found.push((origin.clone(), without));
    }
    if let (Some((origin, spans)), Some((_, others))) = (&own, &other) {
        let without = (cut(earlier, message, others), cut(newer, message, spans));
        found.push((origin.clone(), without));
    }
    let left = |without: &Without| common(&without.0, &without.1, prompts).map(Size::number);
    // Of equals the last: what stands in both is taken out of both.
    found.into_iter().max_by_key(|(_, without)| left(without))
}

/// The spans of one source around a place, as far as it may be moved.
fn run(
    record: &RequestRecord,
    message: usize,
    offset: usize,
    spans: &SpanStore,
) -> Option<(Origin, Range<usize>)> {
    let all = &record.prompt.get(message)?.spans;
    let at = located(all, offset, spans)?;
    let origin = &all.get(at)?.origin;
    if spoken(origin.as_str()) || origin.as_str() == Origin::TOOLS {
        return None;
    }
    let same = |span: &RecordedSpan| span.origin == *origin;
    let start = all[..at]
        .iter()
        .rposition(|span| !same(span))
        .map_or(0, |front| front + 1);
    let end = all[at..]
        .iter()
        .position(|span| !same(span))
        .map_or(all.len(), |more| at + more);
    Some((origin.clone(), start..end))
}

pub(super) fn is_nonce(span: &RecordedSpan) -> bool {
    span.origin.as_str() == Origin::NONCE
}

/// The request without some spans of a message, and without the message where
/// nothing else is in it.
fn cut(record: &RequestRecord, message: usize, spans: &Range<usize>) -> RequestRecord {
    let mut record = record.clone();
    if let Some(held) = record.prompt.get_mut(message) {
        held.spans.drain(spans.clone());
        if held.spans.iter().all(is_nonce) {
            record.prompt.remove(message);
        }
    }
    record
}

/// What two prompts have in common, from their starts.
pub(super) fn common(a: &RequestRecord, b: &RequestRecord, prompts: Prompts<'_>) -> Option<Size> {
    let equal = |count: usize| count as u64;
    if prompts.encoder.is_some() {
        let renderer = Renderer::new(prompts.spans, prompts.encoder, prompts.dialect);
        let (a, b) = (renderer.prompt(a)?.ids, renderer.prompt(b)?.ids);
        let count = a.iter().zip(&b).take_while(|(a, b)| a == b).count();
        return Some(Size::Tokens(Tokens(equal(count))));
    }
    let (a, b) = (bytes(a, prompts.spans)?, bytes(b, prompts.spans)?);
    let count = a.iter().zip(&b).take_while(|(a, b)| a == b).count();
    Some(Size::Bytes(equal(count)))
}

/// The texts of a prompt in order, each message begun by who speaks.
pub(super) fn bytes(record: &RequestRecord, spans: &SpanStore) -> Option<Vec<u8>> {
    let mut bytes = Vec::new();
    for message in &record.prompt {
        bytes.extend_from_slice(message.role.as_str().as_bytes());
        for span in message.spans.iter().filter(|span| !is_nonce(span)) {
            bytes.extend_from_slice(spans.text(span.sha256)?.as_str().as_bytes());
        }
    }
    Some(bytes)
}
