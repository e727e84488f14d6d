//! What is known of a cell while it runs: counts, and histograms of its times.
//!
//! Kept for the live view, for the rules of a sweep and for `load.jsonl`. Its size does
//! not depend on the number of requests. Quantiles are exact to one per cent, which is
//! enough to look at and to stop by; tables are made from the records.

use crate::chat::UsageOrigin;
use crate::record::{Outcome, RequestRecord, is_late};
use crate::scenario::pace::{Measure, Until};
use crate::units::{Micros, Share};
use hdrhistogram::Histogram;

/// Requests of a cell that failed, after their retries.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Lost {
    /// How many.
    pub requests: u64,
    /// How the first one failed.
    pub outcome: Outcome,
    /// What was said of it.
    pub message: String,
}

/// The requests of a cell so far.
#[derive(Clone, Debug)]
pub struct Tally {
    /// Attempts.
    pub attempts: u64,
    /// Requests that have come to their end, with or without an answer.
    pub requests: u64,
    /// Attempts that were answered.
    pub answered: u64,
    /// Requests that failed by themselves, shed ones not among them.
    pub lost: Option<Lost>,
    /// Arrivals that were shed.
    pub shed: u64,
    /// Attempts that waited for a limit.
    pub limited: u64,
    /// How long these waited in all.
    pub limited_for: Micros,
    /// Tokens of prompts and, of these, taken from the cache, as far as they were reported.
    pub cached: Share,
    late: Histogram<u64>,
    ttft: Histogram<u64>,
    ttft_due: Histogram<u64>,
}

impl Default for Tally {
    fn default() -> Self {
        Self {
            attempts: 0,
            requests: 0,
            answered: 0,
            lost: None,
            shed: 0,
            limited: 0,
            limited_for: Micros(0),
            cached: Share::default(),
            late: histogram(),
            ttft: histogram(),
            ttft_due: histogram(),
        }
    }
}

/// Grows as it needs to; two digits.
#[expect(clippy::expect_used, reason = "two digits are within its limits")]
fn histogram() -> Histogram<u64> {
    Histogram::new(2).expect("two significant digits are allowed")
}

impl Tally {
    /// An attempt ended.
    pub fn record(&mut self, record: &RequestRecord) {
        self.attempts += 1;
        let tried_again = record.flags.iter().any(|flag| &**flag == "tried_again");
        self.requests += u64::from(!tried_again);
        match record.outcome {
            Outcome::Ok => self.answered += 1,
            Outcome::Shed => self.shed += 1,
            Outcome::Aborted => {}
            outcome if !tried_again => {
                let lost = self.lost.get_or_insert_with(|| Lost {
                    requests: 0,
                    outcome,
                    message: record.error.clone().unwrap_or_default(),
                });
                lost.requests += 1;
            }
            _ => {}
        }
        self.count(record);
        let stamps = &record.stamps;
        if let Some(waited) = stamps.limited_us {
            self.limited += 1;
            self.limited_for = Micros(self.limited_for.0 + waited.0);
        }
        note(&mut self.late, stamps.lateness());
        if record.outcome == Outcome::Ok {
            note(&mut self.ttft, stamps.ttft());
            note(&mut self.ttft_due, stamps.ttft_from_due());
        }
    }

    /// Only counts that tables take as well: reported ones of answered requests.
    fn count(&mut self, record: &RequestRecord) {
        let usage = &record.usage;
        if record.outcome != Outcome::Ok || usage.origin != UsageOrigin::Reported {
            return;
        }
        if let (Some(whole), Some(part)) = (usage.total, usage.read) {
            self.cached = self.cached + Share { part, whole };
        }
    }

    /// Adds what another one has counted.
    pub fn add(&mut self, other: &Self) {
        self.attempts += other.attempts;
        self.requests += other.requests;
        self.answered += other.answered;
        self.shed += other.shed;
        self.limited += other.limited;
        self.limited_for = Micros(self.limited_for.0 + other.limited_for.0);
        self.cached = self.cached + other.cached;
        match (&mut self.lost, &other.lost) {
            (Some(mine), Some(others)) => mine.requests += others.requests,
            (None, lost) => self.lost.clone_from(lost),
            (Some(_), None) => {}
        }
        // They grow as they need to.
        let _grows = self.late.add(&other.late);
        let _grows = self.ttft.add(&other.ttft);
        let _grows = self.ttft_due.add(&other.ttft_due);
    }

    /// Requests that failed, those that were shed among them.
    pub fn failed(&self) -> u64 {
        self.shed + self.lost.as_ref().map_or(0, |lost| lost.requests)
    }

    /// The `q`-quantile of the client's lateness; `None` where nothing was sent.
    pub fn late(&self, q: f64) -> Option<Micros> {
        quantile(&self.late, q)
    }

    /// The `q`-quantile of the time from sent to the first token.
    pub fn ttft(&self, q: f64) -> Option<Micros> {
        quantile(&self.ttft, q)
    }

    /// The `q`-quantile of the time from due to the first token.
    pub fn ttft_due(&self, q: f64) -> Option<Micros> {
        quantile(&self.ttft_due, q)
    }

    /// Whether the client itself was too late for its times to be believed.
    pub fn is_late(&self) -> bool {
        self.late(0.99)
            .is_some_and(|late| is_late(late, self.ttft(0.5)))
    }

    /// Upper ends of the lateness histogram's filled buckets, in microseconds, with how
    /// many attempts are in each.
    pub fn lateness(&self) -> Vec<(u64, u64)> {
        let filled = self.late.iter_recorded();
        filled
            .map(|step| (step.value_iterated_to(), step.count_at_value()))
            .collect()
    }

    /// The first of `rules` that this does not keep, with what was found. What was not
    /// measured at all keeps no rule about times.
    pub fn broken(&self, rules: &[Until]) -> Option<(Until, String)> {
        let share = |part: u64| {
            let whole = self.requests.max(1);
            Some(part as f64 / whole as f64)
        };
        rules.iter().find_map(|rule| {
            let micros = |time: Option<Micros>| time.map(|time| time.0 as f64);
            let found = match rule.measure {
                Measure::Ttft(q) => micros(self.ttft(q)),
                Measure::TtftDue(q) => micros(self.ttft_due(q)),
                Measure::Late(q) => micros(self.late(q)),
                Measure::Failed => share(self.failed()),
                Measure::Shed => share(self.shed),
            };
            match found {
                None => Some((*rule, "nothing was measured".to_owned())),
                Some(found) if found > rule.most => Some((*rule, rule.measure.shown(found))),
                Some(_) => None,
            }
        })
    }
}

fn note(histogram: &mut Histogram<u64>, value: Option<Micros>) {
    if let Some(Micros(value)) = value {
        histogram.saturating_record(value);
    }
}

fn quantile(histogram: &Histogram<u64>, q: f64) -> Option<Micros> {
    (!histogram.is_empty()).then(|| Micros(histogram.value_at_quantile(q)))
}
