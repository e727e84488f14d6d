//! Bounds in the server's own counts, where its tokens are not known.
//!
//! On a cache whose entries end behind messages, behind marked blocks, or at steps
//! of a prompt alone, a request that only goes on where an earlier one ended can read
//! what that one left, and the server itself has counted it: `U = T` of the earlier
//! request, and where entries end at markers its read and written tokens. No tokenizer
//! is needed. The first request behind a salt or nonce of its own can read nothing.
//!
//! Invariants: a bound that tokens gave is never touched; a request that broke has
//! none; engines that keep what they generate have none, since they can read more.
//!
//! Source: definition of `U_t = T_(t-1)` for append-only chats on services that match
//! at message boundaries; the generation suffix, which makes it a few tokens less,
//! lies within the tolerance of those services.

use super::{Realm, may_be_held, realm};
use crate::cache::Model;
use crate::chat::{Usage, UsageOrigin};
use crate::record::{BoundRecord, Outcome, RequestRecord};
use crate::units::Tokens;
use std::collections::HashMap;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::sync::Arc;
use std::time::Duration;

/// What made such a bound, in place of a tokenizer.
pub(super) const REPORTED: &str = "reported counts";

/// Fills in the bounds of `found` that are open. `fresh` says of each record whether
/// it is the first behind a salt or nonce of its own.
pub(super) fn fill(
    found: &mut [BoundRecord],
    records: &[&RequestRecord],
    fresh: impl Iterator<Item = bool>,
    model: Option<&Model>,
    lifetime: Option<Duration>,
) {
    let Some(model) = model.filter(|model| applies(model)) else {
        return;
    };
    let mut earlier: HashMap<Realm, HashMap<u64, Left>> = HashMap::new();
    for ((bound, record), fresh) in found.iter_mut().zip(records).zip(fresh) {
        let starts = starts(record);
        let before = earlier.entry(realm(record)).or_default();
        if bound.bound.is_none() && bound.broke.is_none() && record.stamps.sent_us.is_some() {
            let alive_from = lifetime.map_or(i64::MIN, |lifetime| {
                let ms = i64::try_from(lifetime.as_millis()).unwrap_or(i64::MAX);
                record.scenario_ms.saturating_sub(ms)
            });
            let longest = starts.iter().rev().find_map(|start| before.get(start));
            let known = match longest {
                Some(left) if left.at_ms < alive_from => Some((Tokens(0), Tokens(0))),
                Some(left) => left.counts,
                None => (fresh && before.is_empty()).then_some((Tokens(0), Tokens(0))),
            };
            if let Some((eligible, can_be_read)) = known {
                bound.eligible = Some(eligible);
                bound.bound = Some(can_be_read);
                bound.tokenizer = Some(Arc::from(REPORTED));
            }
        }
        if let (Some(&whole), true) = (starts.last(), may_be_held(record)) {
            let left = Left {
                counts: left(model, record),
                at_ms: record.scenario_ms,
            };
            before.insert(whole, left);
        }
    }
}

/// What a request left in the cache.
struct Left {
    at_ms: i64,
    /// All of it, and what of that can be read; `None` where it was not counted.
    counts: Option<(Tokens, Tokens)>,
}

/// A number for the first text of a prompt, for its first two, and so on to all of
/// them, in the order in which they are rendered: equal where the texts are.
fn starts(record: &RequestRecord) -> Vec<u64> {
    let mut hasher = DefaultHasher::new();
    let messages = record.prompt.iter().enumerate();
    let spans =
        messages.flat_map(|(index, message)| message.spans.iter().map(move |span| (index, span)));
    spans
        .map(|(message, span)| {
            (message, span.sha256).hash(&mut hasher);
            hasher.finish()
        })
        .collect()
}

/// Whether entries are made of prompts alone.
fn applies(model: &Model) -> bool {
    matches!(
        model,
        Model::MessageEnds { .. } | Model::Breakpoints { .. } | Model::Steps { .. }
    )
}

fn left(model: &Model, record: &RequestRecord) -> Option<(Tokens, Tokens)> {
    let usage = &record.usage;
    if record.outcome != Outcome::Ok || usage.origin != UsageOrigin::Reported {
        return None;
    }
    let total = usage.total?;
    let at_least = |tokens: u64, min: usize| if tokens >= min as u64 { tokens } else { 0 };
    let read = match *model {
        Model::MessageEnds { min } => at_least(total.0, min),
        Model::Steps { size, min } => {
            let size = size.get() as u64;
            at_least(total.0 / size * size, min)
        }
        Model::Breakpoints { min, .. } => {
            let cached =
                Usage::written(usage).map(|written| usage.read.unwrap_or_default() + written);
            at_least(cached.unwrap_or(total).0, min)
        }
        _ => return None,
    };
    Some((total, Tokens(read)))
}
