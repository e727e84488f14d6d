//! Tests of results over small runs.

use super::testing::{counted, manifest, story};
use super::*;
use crate::chat::UsageOrigin;
use crate::record::{BoundRecord, Ending, Outcome, RequestRecord, RunWriter};
use crate::units::{Micros, Money, Tokens};
use std::sync::Arc;

type Run = (Vec<RequestRecord>, Vec<BoundRecord>);

fn results((records, bounds): &Run) -> Results {
    let manifest = manifest();
    let samples = Samples::of(&manifest, records, bounds);
    Results::new(&manifest, &samples, Vec::new())
}

fn row<'a>(results: &'a Results, configuration: &str) -> &'a Figures {
    let row = results
        .rows
        .iter()
        .find(|row| &*row.cell.configuration == configuration);
    &row.expect("a row").figures
}

#[test]
fn shares_are_ratios_of_sums() {
    let results = results(&story());
    let dev = row(&results, "dev");
    // 1,000 + 1,200 + 3,700, and 100 more in each turn of the second conversation.
    assert_eq!(dev.total, Some(Tokens(12_100)));
    assert_eq!(dev.read, Some(Tokens(2 * 1_152)));
    assert_eq!(dev.computed, Some(Tokens(12_100 - 2_304)));
    assert_eq!(dev.computed_per_conversation, Some(4_898.0));
    assert_eq!(dev.cached_share, Some(2_304.0 / 12_100.0));
    assert_eq!(dev.cached_share_after_first, Some(2_304.0 / 10_000.0));
    let append = row(&results, "append-only");
    assert_eq!(append.achievable_share, Some(2.0 * 2_192.0 / 12_100.0));
    assert_eq!(append.efficiency, Some(2_176.0 / 2_192.0));
    assert_eq!(
        (
            dev.requests,
            dev.failed,
            dev.without_count,
            dev.conversations
        ),
        (6, 0, 0, 2)
    );
}

#[test]
fn rows_stand_in_the_order_of_the_manifest() {
    let (mut records, bounds) = story();
    records.reverse();
    let results = results(&(records, bounds));
    let names: Vec<_> = results
        .rows
        .iter()
        .map(|row| &*row.cell.configuration)
        .collect();
    assert_eq!(names, ["dev", "layered", "append-only"]);
    let turns: Vec<_> = results.turns.iter().map(|row| row.turn).collect();
    assert_eq!(turns, [1, 2, 3, 1, 2, 3, 1, 2, 3]);
}

#[test]
fn only_answered_requests_with_a_reported_count_enter_a_share() {
    let (mut records, bounds) = story();
    records[0].usage.origin = UsageOrigin::Absent;
    records[0].usage.read = None;
    records[1].usage.origin = UsageOrigin::Contradictory;
    records[1].usage.read = Some(Tokens(99_999));
    records[2].outcome = Outcome::Timeout;
    let results = results(&(records, bounds));
    let dev = row(&results, "dev");
    assert_eq!(
        (dev.requests, dev.failed, dev.without_count, dev.counted),
        (6, 1, 2, 3)
    );
    assert_eq!(dev.total, Some(Tokens(1_100 + 1_300 + 3_800)));
    assert_eq!(dev.read, Some(Tokens(1_152)));
    assert_eq!(
        dev.bound,
        Some(Tokens(1_152)),
        "bounds are summed over the same requests"
    );
    assert_eq!(dev.cached_interval, None, "one conversation is left");
    assert_eq!(
        (
            results.evidence.absent,
            results.evidence.contradictory,
            results.evidence.failed_attempts()
        ),
        (1, 1, 1)
    );
    assert!(!results.evidence.is_clean());
}

#[test]
fn without_any_count_every_share_is_open() {
    let (mut records, bounds) = story();
    for record in &mut records {
        record.usage.origin = UsageOrigin::Absent;
        record.usage.read = None;
    }
    let results = results(&(records, bounds));
    let dev = row(&results, "dev");
    assert_eq!((dev.total, dev.read, dev.computed), (None, None, None));
    assert_eq!(
        (dev.cached_share, dev.achievable_share, dev.efficiency),
        (None, None, None)
    );
    assert_eq!(dev.without_count, 6);
    assert!(dev.ttft.p50_us.is_some(), "latency needs no count");
    assert!(results.differences.is_empty());
}

#[test]
fn one_missing_bound_leaves_the_achievable_share_open() {
    let (records, mut bounds) = story();
    bounds[0].bound = None;
    let results = results(&(records, bounds));
    assert_eq!(row(&results, "dev").achievable_share, None);
    assert!(row(&results, "layered").achievable_share.is_some());
    assert_eq!(results.evidence.without_bound, 1);
}

#[test]
fn a_retried_request_counts_once() {
    let (mut records, bounds) = story();
    let mut retry = records[0].clone();
    records[0].outcome = Outcome::Http5xx;
    retry.attempt = 2;
    records.push(retry);
    let results = results(&(records, bounds));
    let dev = row(&results, "dev");
    assert_eq!((dev.requests, dev.failed, dev.counted), (6, 0, 6));
    assert_eq!(
        (results.evidence.attempts, results.evidence.retried),
        (19, 1)
    );
}

#[test]
fn latency_runs_from_sent_to_the_first_text() {
    let mut run: Run = [10, 20, 30, 40]
        .iter()
        .zip(1..)
        .map(|(_, turn)| counted("dev", 1, turn, (100, 0, 0)))
        .unzip();
    for (record, ms) in run.0.iter_mut().zip([10_u64, 20, 30, 40]) {
        record.stamps.due_us = Micros(0);
        record.stamps.sent_us = Some(Micros(5_000));
        record.stamps.first_event_us = Some(Micros(5_001));
        record.stamps.first_text_us = Some(Micros(5_000 + ms * 1_000));
    }
    run.0[0].usage.origin = UsageOrigin::Absent;
    let dev = row(&results(&run), "dev").ttft;
    assert_eq!((dev.n, dev.p50_us), (4, Some(25_000.0)));
    assert_eq!(dev.p90_us, Some(37_000.0));
    run.0[3].stamps.first_text_us = None;
    assert_eq!(row(&results(&run), "dev").ttft.n, 3);
}

#[test]
fn money_is_summed_over_the_counted_requests_or_not_at_all() {
    let (records, mut bounds) = story();
    for bound in &mut bounds {
        bound.cost = Some(Money(5));
    }
    let known = results(&(records.clone(), bounds.clone()));
    assert_eq!(row(&known, "dev").cost, Some(Money(30)));
    bounds[0].cost = None;
    let partly = results(&(records, bounds));
    assert_eq!(row(&partly, "dev").cost, None);
}

#[test]
fn breaks_are_added_up_by_source_and_cause() {
    let results = results(&story());
    let found: Vec<_> = results
        .breaks
        .iter()
        .map(|found| {
            (
                &*found.key.configuration,
                found.origin.as_str(),
                found.breaks,
                found.lost,
            )
        })
        .collect();
    assert_eq!(
        found,
        [
            ("dev", "artifacts", 2, Some(Tokens(2_080))),
            ("layered", "L2", 2, Some(Tokens(1_040))),
        ]
    );
}

#[test]
fn a_turn_has_its_events_and_breaks() {
    let results = results(&story());
    let turn = &results.turns[2];
    assert_eq!((&*turn.cell.configuration, turn.turn), ("dev", 3));
    assert_eq!(turn.events, [Arc::from("artifacts on")]);
    assert_eq!((turn.breaks, turn.read), (2, Some(Tokens(320))));
    assert_eq!(results.turns[0].events.len(), 0);
}

#[test]
fn differences_are_taken_pair_by_pair_against_the_first() {
    let results = results(&story());
    let found = &results.differences[1];
    assert_eq!(
        (&*found.base.configuration, &*found.candidate.configuration),
        ("dev", "append-only")
    );
    assert_eq!(found.pairs, 2);
    let computed = found.computed.expect("pairs");
    assert!((computed.difference + 1_024.0).abs() < 1e-9);
    let interval = computed.interval.expect("two pairs");
    assert_eq!((interval.low, interval.high), (-1_024.0, -1_024.0));
    assert!(computed.is_clear());
}

#[test]
fn one_pair_cannot_tell() {
    let (records, bounds) = story();
    let one = records
        .into_iter()
        .filter(|record| record.repeat == 1)
        .collect();
    let results = results(&(one, bounds));
    let found = results.differences[0].cached_share.expect("a pair");
    assert_eq!(found.interval, None);
    assert!(!found.is_clear());
    assert_eq!(row(&results, "dev").cached_interval, None);
}

#[test]
fn an_empty_run_has_empty_results() {
    let results = results(&(Vec::new(), Vec::new()));
    assert!(results.rows.is_empty() && results.turns.is_empty() && results.breaks.is_empty());
    assert!(results.evidence.is_clean());
}

#[test]
fn a_run_folder_gives_the_results_of_its_records() {
    let dir = tempfile::tempdir().expect("folder");
    let (records, bounds) = story();
    let mut writer = RunWriter::create(dir.path(), &manifest(), true).expect("creates");
    for record in &records {
        writer
            .append(record, &mut std::iter::empty())
            .expect("appends");
    }
    writer.bounds(&bounds).expect("appends");
    writer.finish(Ending::Complete).expect("finishes");
    let run = crate::record::Run::read(dir.path()).expect("opens");
    let (samples, warnings) = Samples::read(&run).expect("reads");
    assert!(warnings.is_empty());
    let read = Results::new(&run.manifest, &samples, warnings);
    assert_eq!(read, results(&(records, bounds)));
}

#[test]
fn what_a_configuration_failed_at_does_not_look_like_what_it_saved() {
    let (mut records, bounds) = story();
    // The third turn of append-only: never sent in one conversation, refused in the other.
    let third =
        |record: &RequestRecord| &*record.configuration == "append-only" && record.turn == 3;
    records.retain(|record| !(third(record) && record.repeat == 1));
    for record in records.iter_mut().filter(|record| third(record)) {
        record.outcome = Outcome::Overflow;
    }
    let results = results(&(records, bounds));
    let append = row(&results, "append-only");
    assert_eq!(append.computed, Some(Tokens(2 * 1_208 + 200)));
    assert_eq!(append.computed_per_conversation, None, "neither is whole");
    assert_eq!(
        row(&results, "dev").computed_per_conversation,
        Some(4_898.0)
    );
    let difference = results
        .differences
        .iter()
        .find(|found| &*found.candidate.configuration == "append-only")
        .expect("a difference");
    // Turns 1 and 2 are the same in both; dev's third turn has nothing to stand against.
    assert_eq!(difference.pairs, 2);
    let computed = difference.computed.as_ref().expect("an estimate");
    assert!(computed.difference.abs() < 1e-9, "{}", computed.difference);
}
