//! How far the results can be trusted.

use super::levels::LevelPlace;
use super::samples::{Cell, Sample};
use super::stats::quantile;
use super::waits::Waits;
use crate::chat::UsageOrigin;
use crate::record::request::{ANSWER_CACHE, GATEWAY_FALLBACK, GATEWAY_RETRIED, LONG_WAIT};
use crate::record::{IDLE_CUT, Outcome, has_schedule, is_late};
use crate::units::{Micros, Tokens};
use schemars::JsonSchema;
use serde::Serialize;
use std::collections::{BTreeMap, HashMap};

/// Sent more than this after its due time, a request counts as late.
pub const LATE_ABOVE: Micros = Micros(10_000);

/// Requests that are named; more are only counted.
const NAMED: usize = 3;

/// Counts of what keeps results from being what they seem.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, JsonSchema)]
pub struct Evidence {
    /// Attempts recorded.
    pub attempts: u64,
    /// Requests, of which each was attempted once or more.
    pub requests: u64,
    /// Attempts that were answered.
    pub answered: u64,
    /// Attempts by outcome, `ok` included.
    pub outcomes: BTreeMap<&'static str, u64>,
    /// Answered, but the server said nothing of its cache.
    pub absent: u64,
    /// Answered with a count that cannot be.
    pub contradictory: u64,
    /// Which those are, the first few.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub contradictory_at: Vec<String>,
    /// Answered with a count that is known to be wrong on this route.
    pub unreliable: u64,
    /// Counted, but without a bound.
    pub without_bound: u64,
    /// Answered in a conversation that did not begin on the cache that it was to begin on;
    /// left out of all shares.
    pub contaminated: u64,
    /// Answered by a gateway from its own cache of whole answers.
    #[serde(skip_serializing_if = "is_zero")]
    pub answer_cache: u64,
    /// Answered behind a gateway's own retries.
    #[serde(skip_serializing_if = "is_zero")]
    pub gateway_retried: u64,
    /// Answered behind a gateway's own fallbacks.
    #[serde(skip_serializing_if = "is_zero")]
    pub gateway_fallback: u64,
    /// Counts above their bound.
    pub above_bound: u64,
    /// Counts that are no multiple of the cache's step.
    pub off_step: u64,
    /// Sent after a wait in the scenario that the cache would not have survived.
    pub beyond_lifetime: u64,
    /// Of those: prompt tokens, and of these taken from a cache that was still warm.
    pub beyond_lifetime_tokens: (Tokens, Tokens),
    /// Read less than the conversation had just read, though the cache could
    /// still hold as much.
    pub evicted: u64,
    /// Sent after an earlier turn had failed.
    pub after_failure: u64,
    /// Sent behind a rest of the scenario that was cut short.
    #[serde(skip_serializing_if = "is_zero")]
    pub idle_cut: u64,
    /// Requests with more attempts than one.
    pub retried: u64,
    /// Not sent again, since the server asked for a longer wait than is waited for.
    #[serde(skip_serializing_if = "is_zero")]
    pub long_wait: u64,
    /// Attempts that were sent more than [`LATE_ABOVE`] after their due time.
    pub late: u64,
    /// Requests that waited for a limit before they were sent.
    #[serde(skip_serializing_if = "Waits::is_empty")]
    pub limited: Waits,
    /// Cells whose client was too late for their times to be believed.
    pub late_cells: Vec<LateCell>,
    /// Live answers that were asked for a fact; of these, without it.
    pub asked: u64,
    /// See [`Self::asked`].
    pub missing_words: u64,
}

#[expect(
    clippy::trivially_copy_pass_by_ref,
    reason = "serde asks with a reference"
)]
fn is_zero(number: &u64) -> bool {
    *number == 0
}

/// A cell whose client did not keep its own schedule; see [`is_late`].
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
pub struct LateCell {
    /// Which one.
    pub cell: Cell,
    /// 99th percentile of the client's lateness, waits for limits left out.
    pub late_p99: Micros,
    /// Median time to first token; `None` where nothing was answered.
    pub ttft_p50: Option<Micros>,
}

impl Evidence {
    /// Attempts that were not answered.
    pub fn failed_attempts(&self) -> u64 {
        self.attempts - self.answered
    }

    /// Whether anything is to be said.
    pub fn is_clean(&self) -> bool {
        let seen = Self {
            attempts: self.attempts,
            requests: self.requests,
            answered: self.answered,
            outcomes: self.outcomes.clone(),
            asked: self.asked,
            ..Self::default()
        };
        *self == seen && self.failed_attempts() == 0
    }
}

/// Counts what is to be said of `samples`.
pub fn evidence(samples: &[Sample]) -> Evidence {
    let mut found = Evidence::default();
    for sample in samples {
        found.attempts += 1;
        *found.outcomes.entry(sample.outcome.as_str()).or_default() += 1;
        found.late += u64::from(sample.late > LATE_ABOVE);
        found.long_wait += u64::from(sample.has(LONG_WAIT));
        found.retried += u64::from(sample.place.2 == 2);
        if sample.place.2 == 1 {
            // Every attempt of a request has these.
            found.requests += 1;
            found.after_failure += u64::from(sample.has("after_failure"));
            found.idle_cut += u64::from(sample.has(IDLE_CUT));
        }
        if sample.outcome != Outcome::Ok {
            continue;
        }
        found.answered += 1;
        let missing = u64::from(sample.has("missing_words"));
        found.missing_words += missing;
        found.asked += missing + u64::from(sample.has("expected_words"));
        match sample.origin {
            UsageOrigin::Absent => found.absent += 1,
            UsageOrigin::Contradictory => {
                found.contradictory += 1;
                if found.contradictory_at.len() < NAMED {
                    let (turn, request, _) = sample.place;
                    let at = format!("{} turn {turn} request {request}", sample.conversation);
                    found.contradictory_at.push(at);
                }
            }
            UsageOrigin::Unreliable => found.unreliable += 1,
            UsageOrigin::Reported => {}
        }
        found.without_bound += u64::from(sample.counted().is_some() && sample.bound.is_none());
        found.contaminated += u64::from(sample.has("contaminated"));
        found.answer_cache += u64::from(sample.has(ANSWER_CACHE));
        found.gateway_retried += u64::from(sample.has(GATEWAY_RETRIED));
        found.gateway_fallback += u64::from(sample.has(GATEWAY_FALLBACK));
        found.above_bound += u64::from(sample.has("above_bound"));
        found.off_step += u64::from(sample.has("off_step"));
        found.evicted += u64::from(sample.has("evicted"));
        if sample.has("beyond_lifetime") {
            found.beyond_lifetime += 1;
            let (total, read) = sample.reported().unwrap_or_default();
            found.beyond_lifetime_tokens.0 += total;
            found.beyond_lifetime_tokens.1 += read;
        }
    }
    found.late_cells = late_cells(samples);
    found.limited = Waits::of(samples);
    found
}

fn late_cells(samples: &[Sample]) -> Vec<LateCell> {
    type Times<'a> = (&'a Cell, Vec<f64>, Vec<f64>);
    let mut times: HashMap<u32, Times<'_>> = HashMap::new();
    for sample in samples {
        let Some(late) = sample.own_late else {
            continue;
        };
        let (_, lates, ttfts) = times
            .entry(sample.cell_index)
            .or_insert_with(|| (&sample.cell, Vec::new(), Vec::new()));
        lates.push(late.0 as f64);
        if let (Outcome::Ok, Some(ttft)) = (sample.outcome, sample.ttft) {
            ttfts.push(ttft.0 as f64);
        }
    }
    let mut times: Vec<_> = times.into_values().collect();
    times.sort_by_cached_key(|(cell, ..)| {
        let cell = *cell;
        let load = LevelPlace::from(&cell.load);
        (
            &cell.group,
            &cell.scenario,
            &cell.target,
            &cell.model,
            load,
            &cell.configuration,
        )
    });
    let late = times.into_iter().filter_map(|(cell, lates, ttfts)| {
        let late_p99 = micros(quantile(&lates, 0.99)?);
        let ttft_p50 = quantile(&ttfts, 0.5).map(micros);
        let scheduled = has_schedule(&cell.load);
        is_late(late_p99, ttft_p50, scheduled).then(|| LateCell {
            cell: cell.clone(),
            late_p99,
            ttft_p50,
        })
    });
    late.collect()
}

#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "between two numbers of microseconds"
)]
pub(super) fn micros(value: f64) -> Micros {
    Micros(value.round() as u64)
}
