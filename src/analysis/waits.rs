//! What requests waited for before they were sent, and whether that shows.

use super::evidence::{LATE_ABOVE, micros};
use super::results::{Results, Total};
use super::samples::Sample;
use super::stats::quantile;
use crate::record::has_schedule;
use crate::units::Micros;
use schemars::JsonSchema;
use serde::Serialize;
use std::collections::HashMap;

/// Requests that waited for a limit, all their tries together.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, JsonSchema)]
pub struct Waits {
    /// How many.
    pub requests: u64,
    /// Half of them waited no longer.
    pub p50: Micros,
    /// None of them waited longer.
    pub max: Micros,
}

impl Waits {
    /// Whether none waited.
    pub fn is_empty(&self) -> bool {
        self.requests == 0
    }

    /// Of these attempts.
    pub(super) fn of(samples: &[Sample]) -> Self {
        let mut waits: HashMap<(u32, u32, u32), u64> = HashMap::new();
        for sample in samples {
            let Some(limited) = sample.limited else {
                continue;
            };
            let (turn, request, _) = sample.place;
            let place = (sample.conversation_index, turn, request);
            *waits.entry(place).or_default() += limited.0;
        }
        let times: Vec<f64> = waits.values().map(|us| *us as f64).collect();
        Self {
            requests: waits.len() as u64,
            p50: quantile(&times, 0.5).map(micros).unwrap_or_default(),
            max: Micros(waits.into_values().max().unwrap_or_default()),
        }
    }
}

impl Results {
    /// Whether the time to first token from when a request was due stands beside that
    /// from when it was sent: where something other than the answers says when requests
    /// are due, or where the medians or the 99th percentiles of the two lie more than
    /// [`LATE_ABOVE`] apart.
    pub fn shows_due(&self) -> bool {
        let apart = |due: Option<f64>, sent: Option<f64>| {
            let (due, sent) = (due.unwrap_or_default(), sent.unwrap_or_default());
            due - sent > LATE_ABOVE.0 as f64
        };
        let shows = |total: &Total| {
            let (due, sent) = (&total.figures.ttft_from_due, &total.figures.ttft);
            has_schedule(&total.key.load)
                || apart(due.p50_us, sent.p50_us)
                || apart(due.p99_us, sent.p99_us)
        };
        self.totals.iter().any(shows)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::analysis::Samples;
    use crate::analysis::testing::{counted, manifest};
    use crate::record::{BoundRecord, RequestRecord};
    use std::sync::Arc;

    type Run = (Vec<RequestRecord>, Vec<BoundRecord>);

    fn results((records, bounds): &Run) -> Results {
        let manifest = manifest();
        let samples = Samples::of(&manifest, records, bounds);
        Results::new(&manifest, &samples, Vec::new())
    }

    fn four() -> Run {
        let turns = 1..=4;
        turns
            .map(|turn| counted("dev", 1, turn, (1_000, 0, 0)))
            .unzip()
    }

    #[test]
    fn waits_of_all_tries_of_a_request_are_one_wait() {
        let mut run = four();
        assert!(results(&run).evidence.limited.is_empty());
        for (record, waited) in run.0.iter_mut().zip([5_000, 1_000, 2_000]) {
            record.stamps.limited_us = Some(Micros(waited));
        }
        // The second one was tried again, and waited again.
        let mut again = run.0[1].clone();
        again.attempt = 2;
        run.0.push(again);
        let found = results(&run).evidence;
        let expected = Waits {
            requests: 3,
            p50: Micros(2_000),
            max: Micros(5_000),
        };
        assert_eq!(found.limited, expected);
        assert_eq!((found.requests, found.attempts), (4, 5));
        assert!(!found.is_clean());
    }

    #[test]
    fn the_time_from_due_is_shown_where_it_tells_more_than_that_from_sent() {
        let cases = [
            ("sessions=1", 0, false),
            ("sessions=1", 10_000, false),
            ("sessions=1", 10_001, true),
            ("sessions=8,think=2s", 0, true),
            ("open=2/s,poisson", 0, true),
        ];
        for (load, waited, expected) in cases {
            let mut run = four();
            for record in &mut run.0 {
                record.load = Arc::from(load);
                let due = record.stamps.due_us.0 - waited;
                record.stamps.first_due_us = (waited > 0).then_some(Micros(due));
            }
            let found = results(&run);
            assert_eq!(found.shows_due(), expected, "{load}, {waited}");
            let figures = &found.totals[0].figures;
            let sent = figures.ttft.p50_us.expect("answered");
            let due = figures.ttft_from_due.p50_us.expect("answered");
            assert!((due - sent - waited as f64).abs() < 1e-6, "{due} {sent}");
        }
    }
}
