//! Requests that were in flight at the same time.
//!
//! A server takes them in an order of its own, which need not be that of
//! sending. An engine that shares on schedule may therefore have let the earlier
//! one read from the later: its bound counts that too, so that a count is at most
//! its bound whatever the order was.

use super::Encoded;
use crate::cache::{Cache, Model, Query};
use crate::record::{BoundRecord, RequestRecord};
use crate::units::{Micros, Tokens};
use std::sync::Arc;

/// What still runs of the requests so far.
#[derive(Default)]
pub(super) struct Together(Vec<Flight>);

struct Flight {
    /// Its place in the list of bounds.
    at: usize,
    done: Micros,
    model: Arc<str>,
    salt: Option<Arc<str>>,
    ids: Vec<u32>,
}

impl Together {
    /// Adds the request whose place is `at`, and lifts the bounds of those that
    /// were still running when it was sent, as far as they share with it.
    pub(super) fn add(
        &mut self,
        record: &RequestRecord,
        at: usize,
        prompt: &Encoded,
        found: &mut [BoundRecord],
        model: Option<&Model>,
    ) {
        let (Some(sent), Some(model)) = (record.stamps.sent_us, model) else {
            return;
        };
        if !model.shares_in_flight() {
            return;
        }
        self.0.retain(|flight| flight.done > sent);
        let beside = self.0.iter().filter(|flight| flight.model == record.model);
        for flight in beside.filter(|flight| flight.salt == record.salt) {
            if let Some(bound) = found.get_mut(flight.at) {
                lift(bound, &flight.ids, &prompt.ids, model);
            }
        }
        self.0.push(Flight {
            at,
            done: record.stamps.done_us.unwrap_or(sent),
            model: Arc::clone(&record.model),
            salt: record.salt.clone(),
            ids: prompt.ids.clone(),
        });
    }
}

fn lift(bound: &mut BoundRecord, earlier: &[u32], later: &[u32], model: &Model) {
    let (Some(eligible), Some(known)) = (bound.eligible, bound.bound) else {
        return;
    };
    let common = earlier
        .iter()
        .zip(later)
        .take_while(|(a, b)| a == b)
        .count();
    let common = Tokens(common as u64);
    if common <= eligible {
        return;
    }
    let mut other = Cache::new(&endless(model), None);
    let query = |ids| Query {
        ids,
        ..Query::default()
    };
    other.admit(&query(later));
    let read = Tokens(other.admit(&query(earlier)).bound);
    bound.eligible = Some(common);
    bound.bound = Some(known.max(read));
}

/// The same rule without a capacity: nothing is evicted between two requests.
fn endless(model: &Model) -> Model {
    match model.clone() {
        Model::Blocks { size, drop, .. } => Model::Blocks {
            size,
            drop,
            capacity: None,
        },
        other => other,
    }
}
