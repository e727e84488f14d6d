//! What a target's cache could have returned for each request, and where the
//! prefix broke. Computed after a cell, from records and span texts alone.
//!
//! Requests are played through a model of the target's cache in the order in
//! which they were sent, and end in it when their answers ended, so that a
//! request counts as present for those behind it and not before.
//!
//! Invariants: bounds live in the scenario's time (a lifetime passes when the
//! scenario waits); where a text that matters is not known there is no bound,
//! never a lower one; a count above its bound is flagged, never clipped.

mod clocks;
mod closed;
mod together;

use super::breaks::{Breaks, Place, cause};
use super::cost::{Moment, buckets};
use super::flags;
use super::render::{Encoded, Renderer};
use crate::cache::{Cache, Handle, Model, ModelError, Query, Wishes};
use crate::record::request::{ANSWER_CACHE, RECORD_VERSION};
use crate::record::{
    BoundRecord, Break, EventLabel, Outcome, RequestRecord, SpanStore, TargetFacts,
};
use crate::tokens::SharedEncoder;
use crate::units::{Micros, Tokens};
use clocks::Clocks;
use closed::{Closed, Known, REPORTED};
use std::collections::{BTreeMap, HashMap, HashSet};
use std::hash::{DefaultHasher, Hash as _, Hasher as _};
use std::sync::Arc;
use std::time::Duration;
use together::Together;

/// What bounds are computed from.
pub struct Inputs<'a> {
    /// The target; only its records are looked at.
    pub target: &'a TargetFacts,
    /// Records in any order. Those that were set aside are played through the cache as
    /// all others, and nothing is found for them.
    pub records: &'a [RequestRecord],
    /// Texts of their spans and answers.
    pub spans: &'a SpanStore,
    /// When the run began, in milliseconds since 1970; where it is not known, or nothing was sent,
    /// prices outside the peak hold.
    pub started_ms: Option<i64>,
    /// Counts their tokens; without it there are breaks, and bounds only where the
    /// server's own counts give them.
    pub encoder: Option<&'a SharedEncoder>,
}

/// Eligible and bound, break, cost and flags of every record of a target, in
/// the order in which they were sent.
///
/// # Errors
///
/// [`ModelError`] where the target's cache model cannot be read.
pub fn bounds(inputs: &Inputs<'_>) -> Result<Vec<BoundRecord>, ModelError> {
    let model = inputs
        .target
        .cache_model
        .as_deref()
        .map(str::parse::<Model>)
        .transpose()?;
    let mut records: Vec<&RequestRecord> = inputs
        .records
        .iter()
        .filter(|record| record.target == inputs.target.name)
        .collect();
    records.sort_by_key(|record| record.stamps.sent_us.unwrap_or(record.stamps.due_us));
    let renderer = Renderer::new(inputs.spans, inputs.encoder, &inputs.target.dialect);
    let mut breaks = Breaks::new(inputs.spans);
    let mut caches = Caches::new(model, inputs.target.lifetime_ms);
    let mut steps = Steps::default();
    let mut closed = Closed::default();
    let mut clocks = Clocks::default();
    let mut units = HashSet::new();
    let mut broken: HashMap<_, Break> = HashMap::new();
    let mut found = Vec::with_capacity(records.len());
    let (mut together, mut noted) = (Together::default(), Vec::with_capacity(records.len()));
    for (index, &record) in records.iter().enumerate() {
        let held = may_be_held(record);
        steps.add(index, record);
        let broke = breaks
            .next(record, held)
            .map(|place| counted(&place, record, &records, &renderer, &steps));
        // A retry goes on from its own first attempt: the break is the request's all the same.
        let request = (
            Arc::clone(&record.conversation),
            record.turn,
            record.request,
        );
        let broke = broke.or_else(|| broken.get(&request).filter(|_| record.attempt > 1).cloned());
        if let Some(broke) = broke.as_ref().filter(|_| !record.is_aside()) {
            broken.insert(request, broke.clone());
        }
        let fresh = is_isolated(record) && units.insert(realm(record));
        let prompt = renderer.prompt(record);
        let admitted = caches.admit(record, prompt.as_ref(), held, &renderer);
        let known = Known {
            model: caches.model.as_ref(),
            lifetime_ms: inputs.target.lifetime_ms,
            held,
            broke: broke.is_some(),
            fresh,
        };
        // Where nothing counts its tokens, in the target's own count.
        let reported = closed.next(record, known).filter(|_| admitted.is_none());
        let beyond =
            !record.is_aside() && clocks.beyond_lifetime(record, held, inputs.target.lifetime_ms);
        if let (Some(prompt), true) = (&prompt, held) {
            together.add(
                record,
                found.len(),
                prompt,
                &mut found,
                caches.model.as_ref(),
            );
        }
        noted.push((beyond, fresh));
        found.push(BoundRecord {
            broke,
            prompt: prompt
                .map(|prompt| Tokens(prompt.ids.len() as u64))
                .or_else(|| record.usage.total.filter(|_| reported.is_some())),
            eligible: admitted.map(|(eligible, _)| eligible).or(reported),
            bound: admitted.map(|(_, bound)| bound).or(reported),
            ..blank(record, inputs, reported.is_some())
        });
    }
    // Last, since a request in flight beside a later one has its bound lifted by that.
    let mut reads = HashMap::new();
    for ((bound, record), (beyond, fresh)) in found.iter_mut().zip(&records).zip(noted) {
        let known = flags::Known {
            model: caches.model.as_ref(),
            beyond_lifetime: beyond,
            isolated: is_isolated(record),
            fresh,
            before: reads.get(&record.conversation).copied(),
        };
        bound.flags = flags::of(record, bound, inputs.target, &known);
        if let Some(read) = flags::read(record) {
            reads.insert(&record.conversation, read);
        }
    }
    let mut aside = records.iter().map(|record| record.is_aside());
    found.retain(|_| !aside.next().unwrap_or(false));
    flags::spread(&mut found);
    Ok(found)
}

/// Whether requests of different realms have no influence on each other's
/// bounds, so that a realm can be computed by itself: nothing is said of a cache, or
/// the cache keeps salts apart, is never full, and `salted` says that every request
/// had one. A nonce does not suffice, since what the template writes in front of it
/// is common to all.
///
/// # Errors
///
/// [`ModelError`] where the target's cache model cannot be read.
pub fn by_realm(target: &TargetFacts, counted: bool, salted: bool) -> Result<bool, ModelError> {
    let model = target.cache_model.as_deref().map(str::parse::<Model>);
    Ok(match model.transpose()? {
        Some(model) if counted => salted && model.knows_salt() && !model.can_be_full(),
        _ => true,
    })
}

/// A number for the request's realm, equal for equal ones.
pub fn realm_number(record: &RequestRecord) -> u64 {
    let mut hasher = DefaultHasher::new();
    realm(record).hash(&mut hasher);
    hasher.finish()
}

fn blank(record: &RequestRecord, inputs: &Inputs<'_>, reported: bool) -> BoundRecord {
    let price = inputs.target.price.as_ref();
    let kept_ms = inputs.target.lifetime_ms;
    let moment = inputs.started_ms.map_or_else(
        || Moment {
            at_ms: None,
            kept_ms,
        },
        |started_ms| Moment::of(started_ms, record.stamps.sent_us, kept_ms),
    );
    let encoder = inputs.encoder.map(|encoder| Arc::from(encoder.name()));
    BoundRecord {
        v: RECORD_VERSION,
        conversation: Arc::clone(&record.conversation),
        turn: record.turn,
        request: record.request,
        attempt: record.attempt,
        prompt: None,
        eligible: None,
        bound: None,
        cache_model: inputs.target.cache_model.clone(),
        tokenizer: if reported {
            Some(Arc::from(REPORTED))
        } else {
            encoder
        },
        broke: None,
        cost: price
            .filter(|_| !record.is_of_gateway())
            .and_then(|price| Some(buckets(price, &record.usage, moment)?.sum())),
        flags: Vec::new(),
    }
}

/// Whether a request can have left something in the cache: it may have reached
/// the engine, whatever became of its answer. A bound is an upper one.
///
/// A server that refuses for want of room, with 503 or 529, has not begun; and what a
/// gateway answered from its own cache has not been sent on.
pub fn may_be_held(record: &RequestRecord) -> bool {
    record.stamps.sent_us.is_some()
        && !record.flags.iter().any(|flag| &**flag == ANSWER_CACHE)
        && match record.outcome {
            Outcome::Http5xx => {
                let refused = matches!(record.status, Some(503 | 529));
                !refused || record.stamps.first_event_us.is_some()
            }
            Outcome::Ok
            | Outcome::Timeout
            | Outcome::Reset
            | Outcome::Cut
            | Outcome::StreamError
            | Outcome::Malformed
            | Outcome::TooLarge
            | Outcome::Aborted => true,
            Outcome::Http4xx
            | Outcome::Http429
            | Outcome::Auth
            | Outcome::NotFound
            | Outcome::Overflow
            | Outcome::Connect
            | Outcome::Shed => false,
        }
}

/// A break with its cause and the tokens lost behind it.
fn counted(
    place: &Place,
    record: &RequestRecord,
    sent: &[&RequestRecord],
    renderer: &Renderer<'_>,
    steps: &Steps<'_>,
) -> Break {
    let earlier = sent.get(place.predecessor);
    let lost = earlier.and_then(|earlier| {
        if earlier.model == record.model {
            return renderer.lost(earlier, record);
        }
        let whole = renderer.prompt(earlier)?;
        Some(Tokens(whole.ids.len() as u64))
    });
    let other_conversation =
        earlier.is_some_and(|earlier| earlier.conversation != record.conversation);
    let events = if other_conversation {
        record.events.iter().collect()
    } else {
        steps.since(&record.conversation, place.predecessor)
    };
    Break {
        origin: place.origin.clone(),
        cause: cause(
            &place.origin,
            place.displaced.as_ref(),
            &events,
            other_conversation && record.turn == 1,
        ),
        byte: place.byte,
        lost,
    }
}

/// The steps of each conversation, with the request that they went before as its index
/// in the order of sending.
#[derive(Default)]
struct Steps<'a>(HashMap<&'a Arc<str>, Vec<(usize, &'a [EventLabel])>>);

impl<'a> Steps<'a> {
    fn add(&mut self, index: usize, record: &'a RequestRecord) {
        // A further try repeats those of the first.
        if record.attempt == 1 && !record.events.is_empty() {
            let steps = self.0.entry(&record.conversation).or_default();
            steps.push((index, &record.events));
        }
    }

    /// Those between the request of that index and the newest one.
    fn since(&self, conversation: &Arc<str>, index: usize) -> Vec<&'a EventLabel> {
        let steps = self.0.get(conversation).map_or(&[][..], Vec::as_slice);
        let from = steps.partition_point(|(at, _)| *at <= index);
        let steps = steps[from..].iter();
        steps.flat_map(|(_, events)| events.iter()).collect()
    }
}

/// Requests whose answers end later than those sent so far.
type Running = BTreeMap<(Micros, usize), (Handle, Vec<u32>)>;

/// Model, epoch, salt and nonce: requests that have not all of it in common share
/// nothing that matters here.
type Realm = (Arc<str>, u32, Option<Arc<str>>, Arc<str>);

fn realm(record: &RequestRecord) -> Realm {
    (
        Arc::clone(&record.model),
        record.epoch,
        record.salt.clone(),
        Arc::clone(&record.nonce),
    )
}

/// Whether a salt or nonce of its own, or a reset, keeps the request's unit from others.
fn is_isolated(record: &RequestRecord) -> bool {
    record.salt.is_some()
        || record.epoch > 0
        || record
            .nonce
            .bytes()
            .any(|byte| (b'1'..=b'9').contains(&byte))
}

/// The caches of a target: one per model that was asked for, and anew in each epoch.
struct Caches {
    model: Option<Model>,
    lifetime: Option<Duration>,
    by_name: HashMap<(Arc<str>, u32), (Cache, Running)>,
    /// Where a prompt is not known, nothing can be said of those behind it.
    unknown: HashSet<Realm>,
    admitted: usize,
}

impl Caches {
    fn new(model: Option<Model>, lifetime_ms: Option<u64>) -> Self {
        Self {
            model,
            lifetime: lifetime_ms.map(Duration::from_millis),
            by_name: HashMap::new(),
            unknown: HashSet::new(),
            admitted: 0,
        }
    }

    /// Eligible and bound of a request; it is added where `held`.
    fn admit(
        &mut self,
        record: &RequestRecord,
        prompt: Option<&Encoded>,
        held: bool,
        renderer: &Renderer<'_>,
    ) -> Option<(Tokens, Tokens)> {
        let model = self.model.as_ref()?;
        let realm = realm(record);
        let Some(prompt) = prompt.filter(|prompt| prompt.suffices(model)) else {
            // One that was refused has left nothing that would have to be known.
            if held {
                self.unknown.insert(realm);
            }
            return None;
        };
        if self.unknown.contains(&realm) || record.stamps.sent_us.is_none() {
            return None;
        }
        let sent = record.stamps.sent_us?;
        let (cache, running) = self
            .by_name
            .entry((Arc::clone(&record.model), record.epoch))
            .or_insert_with(|| (Cache::new(model, self.lifetime), Running::new()));
        let later = running.split_off(&(Micros(sent.0 + 1), 0));
        for (_, (handle, output)) in std::mem::replace(running, later) {
            cache.finish(handle, &output);
        }
        if !held {
            return None;
        }
        let admitted = cache.admit(&Query {
            ids: &prompt.ids,
            ends: &prompt.ends,
            roles: &prompt.roles,
            markers: prompt.markers.as_deref().unwrap_or_default(),
            salt: record.salt.as_deref(),
            at_ms: record.scenario_ms,
            wishes: Wishes {
                lifetime: record.cache.lifetime_ms.map(Duration::from_millis),
                long_markers: &prompt.long_markers,
                explicit: record.cache.explicit,
                slot: None,
            },
        });
        let done = record.stamps.done_us.unwrap_or(sent).max(sent);
        let ended = (admitted.handle, renderer.output(record));
        running.insert((done, self.admitted), ended);
        self.admitted += 1;
        Some((Tokens(admitted.eligible), Tokens(admitted.bound)))
    }
}

#[cfg(test)]
mod tests;
