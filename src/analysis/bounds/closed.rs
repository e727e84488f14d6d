//! Bounds where nothing counts tokens as the target does.
//!
//! Hosted services keep their tokenizer and their hidden text to themselves, but
//! they report how long each prompt was. A request that only goes on from an
//! earlier prompt can have read exactly that prompt: `U_t = T_(t-1)`, in the
//! target's own count. A request whose prefix broke shares an unknown number of
//! tokens with the earlier ones, and gets no bound.
//!
//! Invariant: a bound is claimed only where the earlier prompt is the whole of
//! what is shared, its total was reported, and the model's rule is known to
//! reach its end.
//!
//! Source: provider caching, section 8.6.

use super::clocks::life_ms;
use super::{Realm, realm};
use crate::cache::Model;
use crate::chat::{Digest, UsageOrigin};
use crate::record::{RecordedMessage, RequestRecord};
use crate::units::{Micros, Tokens};
use std::collections::HashMap;

/// What is said to have made such counts.
pub(super) const REPORTED: &str = "reported totals";

/// An earlier prompt, as the target counted it.
struct Sent {
    total: Option<Tokens>,
    /// When it was used last, in the scenario's time.
    used_ms: i64,
    done: Micros,
    /// For how many milliseconds from then on its end lives, and the longest of all that
    /// it left; `None`: nothing ends.
    lives_ms: Option<(u64, u64)>,
    /// Whether its last block was marked.
    marked: bool,
}

/// Prompts so far, by the hash of all their messages.
#[derive(Default)]
pub(super) struct Closed(HashMap<(Realm, Digest), Sent>);

/// What is known of a request beside its record.
#[derive(Clone, Copy)]
pub(super) struct Known<'a> {
    pub(super) model: Option<&'a Model>,
    pub(super) lifetime_ms: Option<u64>,
    /// It may be in the target's cache from now on.
    pub(super) held: bool,
    /// Its prefix broke.
    pub(super) broke: bool,
    /// The first under a salt or nonce of its own.
    pub(super) fresh: bool,
}

impl Closed {
    /// The tokens that `record` can have read, and adds it to the prompts sent.
    pub(super) fn next(&mut self, record: &RequestRecord, known: Known<'_>) -> Option<Tokens> {
        if !known.held || record.prompt.is_empty() {
            return None;
        }
        let hashes = hashes(&record.prompt);
        let realm = realm(record);
        let found = known
            .model
            .filter(|model| applies(model))
            .and_then(|model| self.shared(&realm, &hashes, record, model, known));
        let whole = *hashes.last()?;
        let marked = record.prompt.last().is_some_and(is_marked);
        let believed = record.usage.origin != UsageOrigin::Contradictory && !record.is_of_gateway();
        let sent = Sent {
            total: record.usage.total.filter(|_| believed),
            used_ms: record.scenario_ms,
            done: record.stamps.done_us.or(record.stamps.sent_us)?,
            lives_ms: known.lifetime_ms.map(|usual| lives_ms(record, usual)),
            marked,
        };
        self.0.insert((realm, whole), sent);
        found
    }

    fn shared(
        &mut self,
        realm: &Realm,
        hashes: &[Digest],
        record: &RequestRecord,
        model: &Model,
        known: Known<'_>,
    ) -> Option<Tokens> {
        let longest = hashes.iter().enumerate().rev().find_map(|(at, hash)| {
            let key = (realm.clone(), *hash);
            self.0.contains_key(&key).then_some((at, key))
        });
        let Some((at, key)) = longest else {
            return known.fresh.then_some(Tokens(0));
        };
        let sent = self.0.get_mut(&key)?;
        let waited = record.scenario_ms.saturating_sub(sent.used_ms);
        let waited = u64::try_from(waited).unwrap_or(0);
        if let Some((end, longest)) = sent.lives_ms
            && waited > end
        {
            // What lives longer stands somewhere in front of the end.
            return (waited > longest).then_some(Tokens(0));
        }
        if known.broke || sent.done > record.stamps.sent_us? {
            return None;
        }
        let bound = readable(model, sent, &record.prompt, at)?;
        sent.used_ms = record.scenario_ms;
        sent.lives_ms = known.lifetime_ms.map(|usual| lives_ms(record, usual));
        Some(bound)
    }
}

/// Whether entries end where prompts do, or anywhere in steps, so that the total
/// of an earlier prompt says what can be read. Engines that keep what they
/// generated can return more.
fn applies(model: &Model) -> bool {
    matches!(
        model,
        Model::MessageEnds { .. } | Model::Breakpoints { .. } | Model::Steps { .. }
    )
}

/// What `model` returns of an earlier prompt that ended behind message `at`.
fn readable(model: &Model, sent: &Sent, prompt: &[RecordedMessage], at: usize) -> Option<Tokens> {
    let total = sent.total?;
    let from = |min: usize, tokens: u64| {
        let enough = tokens >= min as u64;
        Tokens(if enough { tokens } else { 0 })
    };
    match *model {
        Model::MessageEnds { min } => Some(from(min, total.0)),
        Model::Breakpoints { min, lookback } => {
            let reached = sent.marked && reaches(prompt, at, lookback);
            reached.then(|| from(min, total.0))
        }
        Model::Steps { size, min } => {
            let size = size.get() as u64;
            Some(from(min, total.0 / size * size))
        }
        _ => None,
    }
}

/// For how many milliseconds the end of a request's prompt lives in the cache, and the
/// longest of all that it leaves there.
fn lives_ms(record: &RequestRecord, usual: u64) -> (u64, u64) {
    let longest = life_ms(record, usual);
    let last = record.prompt.last();
    let is_long = last.is_some_and(|last| last.long_marks.last() == Some(&last.spans.len()));
    let end = if is_long || record.cache.lifetime_ms.is_some() {
        longest
    } else {
        usual
    };
    (end, longest)
}

/// Whether a marker stands within `lookback` blocks behind the end of message
/// `at`; the block that it stands behind counts.
fn reaches(prompt: &[RecordedMessage], at: usize, lookback: usize) -> bool {
    let mut blocks = 0;
    for (index, message) in prompt.iter().enumerate().skip(at) {
        let marks = message.marks.as_deref().unwrap_or_default();
        let inner = marks.iter().filter(|&&mark| mark < message.spans.len());
        if index > at {
            blocks += inner.count() + 1;
        }
        if is_marked(message) && blocks < lookback {
            return true;
        }
    }
    false
}

/// Whether a marker stands at the end of `message`.
fn is_marked(message: &RecordedMessage) -> bool {
    let marks = message.marks.as_deref().unwrap_or_default();
    marks.last() == Some(&message.spans.len())
}

/// A hash for each message, of it and all in front of it.
fn hashes(prompt: &[RecordedMessage]) -> Vec<Digest> {
    let mut bytes = Vec::new();
    prompt
        .iter()
        .map(|message| {
            bytes.extend_from_slice(message.role.as_str().as_bytes());
            for span in &message.spans {
                bytes.push(span.part as u8);
                bytes.extend_from_slice(&span.sha256.0);
            }
            let hash = Digest::of(&bytes);
            bytes.clear();
            bytes.extend_from_slice(&hash.0);
            hash
        })
        .collect()
}

#[cfg(test)]
#[path = "closed_tests.rs"]
mod tests;
