//! What is known of a cell while it runs: counts, and histograms of its times.
//!
//! Kept for the live view, for the rules of a sweep and for `load.jsonl`. Its size does
//! not depend on the number of requests. Quantiles are exact to one per cent, which is
//! enough to look at and to stop by; tables are made from the records.

use crate::chat::UsageOrigin;
use crate::record::{Outcome, RequestRecord, has_schedule, is_late};
use crate::scenario::pace::{Measure, Until};
use crate::units::{Micros, Share};
use hdrhistogram::Histogram;
use std::cmp::Reverse;
use std::collections::BTreeMap;

/// Requests of a cell that failed, after their retries.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Lost {
    /// How many.
    pub requests: u64,
    /// How the first one failed.
    pub outcome: Outcome,
    /// What was said of it.
    pub message: String,
    /// How many failed in which way.
    pub kinds: BTreeMap<Outcome, u64>,
}

impl Lost {
    /// How they failed, most often first: `timeout 7, reset 5`; of one way without its
    /// number.
    pub fn shown(&self) -> String {
        let mut kinds: Vec<(Outcome, u64)> = self.kinds.iter().map(|(k, n)| (*k, *n)).collect();
        kinds.sort_by_key(|(_, requests)| Reverse(*requests));
        match kinds[..] {
            [(only, _)] => only.as_str().to_owned(),
            _ => {
                let kinds = kinds.iter();
                let shown = kinds.map(|(kind, requests)| format!("{} {requests}", kind.as_str()));
                shown.collect::<Vec<_>>().join(", ")
            }
        }
    }
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
    /// Whether anything but the answers says when requests are due.
    scheduled: bool,
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
            scheduled: false,
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
        self.scheduled = has_schedule(&record.load);
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
                    kinds: BTreeMap::new(),
                });
                lost.requests += 1;
                *lost.kinds.entry(outcome).or_default() += 1;
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
        if record.outcome == Outcome::Ok && !record.is_of_gateway() {
            note(&mut self.ttft, stamps.ttft());
            note(&mut self.ttft_due, stamps.ttft_from_due());
        }
    }

    /// Only counts that tables take as well: reported ones of answered requests that no
    /// gateway answered in its own way.
    fn count(&mut self, record: &RequestRecord) {
        let usage = &record.usage;
        let counted = record.outcome == Outcome::Ok && usage.origin == UsageOrigin::Reported;
        if !counted || record.is_of_gateway() {
            return;
        }
        if let (Some(whole), Some(part)) = (usage.total, usage.read) {
            self.cached = self.cached + Share { part, whole };
        }
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
            .is_some_and(|late| is_late(late, self.ttft(0.5), self.scheduled))
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
    /// A day: nothing is waited for so long, and memory follows from the largest value.
    const LONGEST: u64 = 86_400_000_000;
    if let Some(Micros(value)) = value {
        // It grows as it needs to, which cannot fail below the longest.
        let _grows = histogram.record(value.min(LONGEST));
    }
}

/// Linear between order statistics, as the quantiles of the tables are (Hyndman and Fan,
/// definition 7): of few values, others differ by more than a histogram's digits.
fn quantile(histogram: &Histogram<u64>, q: f64) -> Option<Micros> {
    let rank = q * histogram.len().checked_sub(1)? as f64;
    let (below, above) = (
        value_at(histogram, rank.floor())?,
        value_at(histogram, rank.ceil())?,
    );
    let between = below + (above - below) * (rank - rank.floor());
    #[expect(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "between two numbers of microseconds"
    )]
    let between = between.round() as u64;
    Some(Micros(between))
}

/// The value of this rank, from 0.
fn value_at(histogram: &Histogram<u64>, rank: f64) -> Option<f64> {
    let mut before = 0;
    let mut filled = histogram.iter_recorded();
    let step = filled.find(|step| {
        before += step.count_at_value();
        before as f64 > rank
    });
    Some(step?.value_iterated_to() as f64)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::chat::Usage;
    use crate::record::Stamps;
    use crate::units::{Bytes, Tokens};
    use std::sync::Arc;

    fn record(outcome: Outcome, late: u64, ttft: u64) -> RequestRecord {
        let name = || Arc::from("");
        RequestRecord {
            v: 1,
            scenario: name(),
            group: name(),
            configuration: name(),
            target: name(),
            model: name(),
            load: name(),
            repeat: 1,
            conversation: name(),
            turn: 1,
            request: 1,
            attempt: 1,
            events: Vec::new(),
            outcome,
            status: None,
            flags: Vec::new(),
            error: Some("what was said".to_owned()),
            usage: Usage {
                total: Some(Tokens(100)),
                read: Some(Tokens(40)),
                origin: UsageOrigin::Reported,
                ..Usage::default()
            },
            stamps: Stamps {
                due_us: Micros(1_000),
                ready_us: Some(Micros(1_000 + late)),
                sent_us: Some(Micros(1_000 + late)),
                first_text_us: Some(Micros(1_000 + late + ttft)),
                ..Stamps::default()
            },
            bytes_sent: Bytes(0),
            salt: None,
            nonce: name(),
            epoch: 0,
            scenario_ms: 0,
            cache: crate::chat::CacheAsked::default(),
            prompt: Vec::new(),
            output_sha256: None,
            output_ids: None,
            finish: None,
            served_by: None,
            headers: BTreeMap::new(),
        }
    }

    fn near(found: Option<Micros>, expected: u64) {
        let found = found.expect("a value").0 as f64;
        assert!(
            (found / expected as f64 - 1.0).abs() < 0.01,
            "{found} {expected}"
        );
    }

    #[test]
    fn times_are_kept_to_one_per_cent_whatever_their_size() {
        let mut tally = Tally::default();
        for n in 1..=1_000 {
            tally.record(&record(Outcome::Ok, n, n * 10_000));
        }
        near(tally.late(0.5), 500);
        near(tally.late(0.99), 990);
        near(tally.ttft(0.5), 5_000_000);
        near(tally.ttft(0.9), 9_000_000);
        near(tally.ttft_due(0.5), 5_000_500);
        assert!(!tally.is_late(), "990 us of 5 s");
        let all: u64 = tally.lateness().iter().map(|(_, count)| count).sum();
        assert_eq!(all, 1_000);
    }

    #[test]
    fn of_few_values_quantiles_are_those_of_the_tables() {
        let values = [10, 20, 30, 110];
        let mut tally = Tally::default();
        for late in values {
            tally.record(&record(Outcome::Ok, late, 1_000));
        }
        // numpy.quantile([10, 20, 30, 110], q)
        for (q, expected) in [(0.0, 10), (0.5, 25), (0.9, 86), (0.99, 108), (1.0, 110)] {
            let found = tally.late(q).expect("sent").0;
            assert!(found.abs_diff(expected) <= 1, "{q}: {found} {expected}");
        }
        assert_eq!(Tally::default().late(0.99), None);
    }

    #[test]
    fn only_counts_that_tables_take_are_in_the_share() {
        let mut tally = Tally::default();
        tally.record(&record(Outcome::Ok, 0, 1));
        for origin in [
            UsageOrigin::Absent,
            UsageOrigin::Contradictory,
            UsageOrigin::Unreliable,
        ] {
            let mut other = record(Outcome::Ok, 0, 1);
            other.usage.origin = origin;
            tally.record(&other);
        }
        tally.record(&record(Outcome::Cut, 0, 1));
        assert_eq!(tally.cached.whole, Tokens(100));
        assert_eq!(tally.cached.part, Tokens(40));
    }

    #[test]
    fn a_retry_is_an_attempt_and_no_further_request() {
        let mut tally = Tally::default();
        let mut first = record(Outcome::Http429, 0, 1);
        first.flags.push(Arc::from("tried_again"));
        tally.record(&first);
        tally.record(&record(Outcome::Ok, 0, 1));
        tally.record(&record(Outcome::Cut, 0, 1));
        tally.record(&record(Outcome::Shed, 0, 1));
        assert_eq!((tally.attempts, tally.requests, tally.answered), (4, 3, 1));
        assert_eq!((tally.failed(), tally.shed), (2, 1));
        let lost = tally.lost.clone().expect("one");
        assert_eq!((lost.requests, lost.outcome), (1, Outcome::Cut));
        assert_eq!(lost.shown(), "cut");
        for _ in 0..2 {
            tally.record(&record(Outcome::Timeout, 0, 1));
        }
        let lost = tally.lost.expect("three");
        assert_eq!((lost.requests, lost.outcome), (3, Outcome::Cut));
        assert_eq!(lost.shown(), "timeout 2, cut 1");
    }

    #[test]
    fn an_answer_behind_retries_is_waited_for_since_the_first_of_them() {
        let mut tally = Tally::default();
        let mut retry = record(Outcome::Ok, 0, 20_000);
        retry.stamps.due_us = Micros(1_001_000);
        retry.stamps.first_due_us = Some(Micros(1_000));
        retry.stamps.ready_us = Some(Micros(1_001_100));
        retry.stamps.sent_us = Some(Micros(1_001_100));
        retry.stamps.first_text_us = Some(Micros(1_021_100));
        tally.record(&retry);
        near(tally.ttft(0.9), 20_000);
        near(tally.ttft_due(0.9), 1_020_100);
        near(tally.late(0.9), 100);
        let rule = "ttft_due_p90<=100ms".parse().unwrap();
        assert!(tally.broken(&[rule]).is_some(), "the retries' waits count");
    }

    #[test]
    fn the_first_rule_that_breaks_is_told_with_what_was_found() {
        let mut tally = Tally::default();
        for _ in 0..3 {
            tally.record(&record(Outcome::Ok, 0, 20_000));
        }
        tally.record(&record(Outcome::Shed, 0, 1));
        for (rules, expected) in [
            (vec!["ttft_p90<=30ms", "failed<=25%"], None),
            (vec!["ttft_p90<=10ms"], Some("ttft_p90<=10ms")),
            (vec!["failed<=50%", "shed<=10%"], Some("shed<=10%")),
            (vec![], None),
        ] {
            let rules: Vec<Until> = rules.iter().map(|rule| rule.parse().unwrap()).collect();
            let found = tally.broken(&rules).map(|(rule, _)| rule.to_string());
            assert_eq!(found.as_deref(), expected);
        }
        let nothing = Tally::default();
        let rules = ["ttft_p90<=10s".parse().unwrap()];
        assert!(
            nothing.broken(&rules).is_some(),
            "what was not measured keeps no rule"
        );
    }
}
