//! Tests of results over small runs.

use super::testing::{counted, manifest, repeated, story};
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
    assert_eq!((computed.interval, computed.n), (None, 2), "too few");
    let results = self::results(&repeated(6));
    let computed = results.differences[1].computed.expect("pairs");
    let interval = computed.interval.expect("six pairs");
    assert_eq!((interval.low, interval.high), (-1_024.0, -1_024.0));
    assert!(computed.is_clear());
}

#[test]
fn of_fewer_than_six_pairs_nothing_is_told_and_no_interval_is_given() {
    for (pairs, told) in [(1, false), (2, false), (5, false), (6, true)] {
        let results = results(&repeated(pairs));
        let found = results.differences[0].cached_share.expect("a pair");
        assert_eq!(found.n, pairs as usize);
        assert_eq!(found.interval.is_some(), told, "{pairs} pairs");
        assert_eq!(found.is_of_too_few(), !told, "{pairs} pairs");
        let own = row(&results, "dev").cached_interval;
        assert_eq!(own.is_some(), told, "{pairs} conversations");
        let spread = results.rankings[0].spread.expect("three are ranked");
        assert_eq!(spread.is_clear(), told, "{pairs} pairs");
    }
}

/// Six conversations of `short` and of `long` in two configurations, of which `dev`
/// computes ten times as many tokens in each.
fn two_scenarios() -> Run {
    let mut all = (Vec::new(), Vec::new());
    for (scenario, turns) in [("short", 1_u32), ("long", 3)] {
        for (configuration, total) in [("dev", 1_000), ("append-only", 100)] {
            for repeat in 1..=6 {
                for turn in 1..=turns {
                    let (mut record, mut bound) =
                        counted(configuration, repeat, turn, (total, 0, 0));
                    record.scenario = Arc::from(scenario);
                    record.conversation = format!("{scenario}/{configuration}/{repeat}").into();
                    bound.conversation = Arc::clone(&record.conversation);
                    all.0.push(record);
                    all.1.push(bound);
                }
            }
        }
    }
    all
}

#[test]
fn a_configuration_that_fails_its_expensive_scenario_is_not_ranked_as_cheap() {
    let mut run = two_scenarios();
    let whole = results(&run);
    assert_eq!(
        whole.totals[0].figures.computed_per_conversation,
        Some(2_000.0)
    );
    let order: Vec<&str> = whole.rankings[0].order.iter().map(|name| &**name).collect();
    assert_eq!(order, ["append-only", "dev"]);
    assert!(whole.rankings[0].spread.expect("two").is_clear());
    for record in &mut run.0 {
        if &*record.configuration == "dev" && record.turn == 3 {
            record.outcome = Outcome::Overflow;
        }
    }
    let failed = results(&run);
    let dev = &failed.totals[0].figures;
    assert_eq!(
        dev.computed_per_conversation, None,
        "not the mean of `short`"
    );
    assert_eq!((dev.whole_conversations, dev.conversations), (6, 12));
    let ranking = &failed.rankings[0];
    assert_eq!(ranking.order.len(), 1);
    assert_eq!(&*ranking.left_out[0].configuration, "dev");
    let lacking: Vec<&str> = ranking.left_out[0]
        .scenarios
        .iter()
        .map(|name| &**name)
        .collect();
    assert_eq!(lacking, ["long"]);
}

#[test]
fn a_scenario_weighs_as_it_was_begun_whatever_was_cut() {
    let mut run = two_scenarios();
    // Five of six conversations of `long` are cut.
    run.0.retain(|record| {
        !(&*record.configuration == "dev" && record.turn == 3 && record.repeat > 1)
    });
    let dev = &results(&run).totals[0].figures;
    assert_eq!(dev.computed_per_conversation, Some(2_000.0));
    assert_eq!(dev.whole_conversations, 7);
}

#[test]
fn conversations_of_several_configurations_are_one_unit_of_a_common_line() {
    let (mut records, bounds) = repeated(4);
    for (at, record) in records.iter_mut().enumerate() {
        let sent = record.stamps.sent_us.expect("sent").0;
        record.stamps.first_text_us = Some(Micros(sent + 20_000 + 997 * at as u64 % 5_000));
    }
    let results = results(&(records, bounds));
    let all = &results.fits[0];
    assert_eq!(all.configuration, None);
    assert_eq!(
        (all.line.n, all.line.interval),
        (36, None),
        "4 repeats, 12 conversations"
    );
}

#[test]
fn a_run_beside_others_keeps_its_own_seed() {
    let mut run = repeated(7);
    for (at, record) in run.0.iter_mut().enumerate() {
        record.usage.total = record
            .usage
            .total
            .map(|total| total + Tokens(at as u64 * 37 % 900));
    }
    let own = results(&run);
    let mut together = manifest();
    together.seed += 1;
    let samples = Samples::of(&manifest(), &run.0, &run.1);
    let beside = Results::new(&together, &samples, Vec::new());
    assert_eq!(own.totals, beside.totals);
    assert_eq!(own.differences, beside.differences);
    assert_eq!(own.fits, beside.fits);
    let other = Samples::of(&together, &run.0, &run.1);
    assert_ne!(
        own.totals,
        Results::new(&together, &other, Vec::new()).totals
    );
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
    assert!(warnings.is_empty(), "{warnings:?}");
    let read = Results::new(&run.manifest, &samples, warnings);
    assert_eq!(read, results(&(records, bounds)));
}

/// A folder with the story, and what is said of it once `change` has been at its records.
fn read_changed(
    ledger: bool,
    change: impl Fn(Vec<String>) -> Vec<String>,
) -> Result<Vec<String>, crate::record::ReadError> {
    let dir = tempfile::tempdir().expect("folder");
    let (records, bounds) = story();
    let mut writer = RunWriter::create(dir.path(), &manifest(), true).expect("creates");
    for record in &records {
        writer
            .append(record, &mut std::iter::empty())
            .expect("appends");
    }
    if ledger {
        writer.bounds(&bounds).expect("appends");
    }
    writer.finish(Ending::Complete).expect("finishes");
    let path = dir.path().join(crate::record::files::REQUESTS);
    let text = std::fs::read_to_string(&path).expect("reads");
    let lines = text.lines().map(|line| format!("{line}\n")).collect();
    std::fs::write(&path, change(lines).concat()).expect("writes");
    let run = crate::record::Run::read(dir.path()).expect("opens");
    Ok(Samples::read(&run)?.1)
}

#[test]
fn records_that_other_files_speak_of_and_that_are_gone_are_missed_loudly() {
    let cut = |lines: Vec<String>| lines.into_iter().take(11).collect();
    let said = read_changed(true, cut).expect("reads").join(" ");
    assert!(
        said.contains("lacks 7 of the 18 attempts that the run recorded, in 3 of 6 conversations"),
        "{said}"
    );
    // Without anything that names attempts, the manifest names a configuration.
    let said = read_changed(false, cut).expect("reads").join(" ");
    assert!(
        said.contains("no record of configuration `append-only`"),
        "{said}"
    );
    assert!(read_changed(true, |lines| lines).expect("reads").is_empty());
}

#[test]
fn an_attempt_that_is_recorded_twice_is_an_error_that_names_it() {
    let twice = |lines: Vec<String>| [lines.clone(), vec![lines[3].clone()]].concat();
    let error = read_changed(true, twice).expect_err("twice");
    let said = error.to_string();
    assert!(
        said.contains("holds `quickstart/dev/2`, turn 1, request 1, attempt 1 more than once"),
        "{said}"
    );
    assert!(error.help().contains("take the copies out"));
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
    let share = difference.cached_share.as_ref().expect("an estimate");
    assert!(share.difference.abs() < 1e-9, "{}", share.difference);
    assert_eq!(
        difference.computed, None,
        "no conversation is whole on both sides"
    );
}

/// The story with a flag on a request of `dev`, in its first conversation.
fn flagged(flag: &str, turn: u32) -> Results {
    let (records, mut bounds) = story();
    for bound in &mut bounds {
        if &*bound.conversation == "quickstart/dev/1" && bound.turn == turn {
            bound.flags.push(Arc::from(flag));
        }
    }
    results(&(records, bounds))
}

#[test]
fn a_request_after_a_wait_that_no_cache_survives_is_in_no_share_and_shown_apart() {
    let results = flagged("beyond_lifetime", 3);
    let dev = row(&results, "dev");
    assert_eq!((dev.counted, dev.set_apart, dev.without_count), (5, 1, 0));
    assert_eq!(dev.total, Some(Tokens(12_100 - 3_700)));
    assert_eq!(dev.read, Some(Tokens(2 * 1_152 - 160)));
    assert_eq!(dev.bound, Some(Tokens(2 * 1_152 - 160)));
    assert_eq!(dev.beyond_lifetime.requests, 1);
    assert_eq!(
        (
            dev.beyond_lifetime.tokens.part,
            dev.beyond_lifetime.tokens.whole
        ),
        (Tokens(160), Tokens(3_700))
    );
    assert_eq!(
        results.evidence.beyond_lifetime_tokens,
        (Tokens(3_700), Tokens(160))
    );
    // In the other conversation the turn counts, so that this one is not whole.
    assert!(dev.computed_per_conversation.is_some());
    let turn = results
        .turns
        .iter()
        .find(|row| row.turn == 3)
        .expect("a turn");
    assert_eq!(turn.counted, 1);
}

#[test]
fn a_wait_in_every_conversation_leaves_them_whole() {
    let (records, mut bounds) = story();
    for bound in bounds.iter_mut().filter(|bound| bound.turn == 3) {
        bound.flags.push(Arc::from("beyond_lifetime"));
    }
    let results = results(&(records, bounds));
    let dev = row(&results, "dev");
    // 1,000 and 208 computed, and 200 more in the second conversation.
    assert_eq!(dev.computed_per_conversation, Some(1_308.0));
    assert_eq!(results.differences[1].pairs, 2);
}

#[test]
fn a_contaminated_conversation_is_ranked_by_nothing() {
    let results = flagged("contaminated", 1);
    let dev = row(&results, "dev");
    assert_eq!((dev.counted, dev.set_apart), (5, 1));
    assert_eq!(dev.contaminated.requests, 1);
    // The second conversation alone is whole: 1,100 + 308 + 3,640.
    assert_eq!(dev.computed_per_conversation, Some(5_048.0));
    assert_eq!(results.evidence.contaminated, 1);
}

#[test]
fn what_a_gateway_did_not_simply_pass_on_is_in_no_share_no_cost_and_no_latency() {
    for flag in ["answer_cache", "gateway_retried", "gateway_fallback"] {
        let results = flagged(flag, 3);
        let dev = row(&results, "dev");
        let counts = (dev.counted, dev.set_apart, dev.without_count);
        assert_eq!(counts, (5, 1, 0), "{flag}");
        assert_eq!(dev.total, Some(Tokens(12_100 - 3_700)), "{flag}");
        assert_eq!(dev.gateway.requests, 1, "{flag}");
        assert_eq!(dev.gateway.tokens.whole, Tokens(3_700), "{flag}");
        let found = &results.evidence;
        let told = found.answer_cache + found.gateway_retried + found.gateway_fallback;
        assert_eq!((told, found.is_clean()), (1, false), "{flag}");
    }
}

#[test]
fn an_answer_of_a_gateway_has_neither_time_nor_price_and_no_cache_holds_it() {
    let (mut records, bounds) = story();
    let priced = |records: &[RequestRecord]| {
        let samples = Samples::of(&manifest(), records, &bounds);
        let first = &samples.list()[0];
        (first.ttft.is_some(), first.took.is_some())
    };
    assert_eq!(priced(&records), (true, true));
    assert!(bounds::may_be_held(&records[0]));
    records[0].flags.push(Arc::from("answer_cache"));
    assert_eq!(priced(&records), (false, false));
    assert!(!bounds::may_be_held(&records[0]));
    records[0].flags = vec![Arc::from("gateway_fallback")];
    assert_eq!(priced(&records), (false, false));
    assert!(
        bounds::may_be_held(&records[0]),
        "another server may hold it"
    );
}

#[test]
fn reads_are_told_by_where_they_had_come_from() {
    let run: Run = [
        counted("dev", 1, 1, (1_000, 100, 100)),
        counted("dev", 1, 2, (1_300, 1_016, 1_020)),
        counted("dev", 1, 3, (1_200, 400, 1_200)),
    ]
    .into_iter()
    .unzip();
    let dev = row(&results(&run), "dev").clone();
    // 16 tokens lie behind the first prompt's 1,000; the rest was read of prompts.
    assert_eq!(
        (dev.reuse.prompt, dev.reuse.reply),
        (Some(Tokens(1_500)), Some(Tokens(16)))
    );
    assert_eq!(dev.reuse.reply_share, Some(16.0 / 1_516.0));
    assert_eq!((dev.hit_chances, dev.full_hits), (3, 1));
    assert_eq!(dev.achievable_share_after_first, Some(2_220.0 / 2_500.0));
}

#[test]
fn writes_are_set_against_what_is_new() {
    let mut run: Run = [
        counted("dev", 1, 1, (1_000, 0, 0)),
        counted("dev", 1, 2, (1_300, 900, 900)),
        counted("dev", 1, 3, (1_200, 0, 0)),
    ]
    .into_iter()
    .unzip();
    for (record, written) in run.0.iter_mut().zip([960, 400, 1_200]) {
        record.usage.write = Some(Tokens(written));
    }
    let dev = row(&results(&run), "dev").clone();
    // 1,000 and 300 are new; the third prompt is shorter than the second.
    assert_eq!(dev.writes.new_tokens, Some(Tokens(1_300)));
    assert_eq!(dev.writes.amplification, Some(2_560.0 / 1_300.0));
    assert_eq!(dev.writes.reads_per_written, Some(900.0 / 2_560.0));
    assert_eq!(dev.writes.break_even_turn, None, "without prices");
    run.0
        .iter_mut()
        .for_each(|record| record.usage.write = None);
    let silent = row(&results(&run), "dev").clone();
    assert_eq!((silent.written, silent.writes.amplification), (None, None));
}

/// Three turns under Anthropic's prices: 4 plain, 0.20 read, 5 written, 20 generated.
fn priced() -> (crate::record::Manifest, Run) {
    let mut run: Run = [
        counted("dev", 1, 1, (10_000, 0, 0)),
        counted("dev", 1, 2, (11_000, 10_000, 10_000)),
        counted("dev", 1, 3, (12_000, 6_000, 11_000)),
    ]
    .into_iter()
    .unzip();
    for (record, written) in run.0.iter_mut().zip([10_000, 1_000, 6_000]) {
        record.usage.write = Some(Tokens(written));
        record.usage.output = Some(Tokens(100));
    }
    let mut manifest = manifest();
    let catalogue = prices::Catalogue::shipped();
    manifest.targets[0].price = catalogue.find("claude-opus-5.5", "2026-11-30").cloned();
    (manifest, run)
}

#[test]
fn storage_that_nobody_can_reckon_is_said_with_the_way_out_and_is_no_bill() {
    let (mut manifest, (mut records, bounds)) = priced();
    let told = |manifest: &crate::record::Manifest, records: &[RequestRecord]| {
        let samples = Samples::of(manifest, records, &bounds);
        let results = Results::new(manifest, &samples, vec!["first".to_owned()]);
        (row(&results, "dev").cost, results.warnings)
    };
    let (free, quiet) = told(&manifest, &records);
    assert_eq!(quiet, ["first"]);
    let price = manifest.targets[0].price.as_mut().expect("prices");
    price.storage_hour = Some(Money(1_000_000));
    let (cost, warnings) = told(&manifest, &records);
    assert_eq!(cost, None);
    assert_eq!(
        warnings[1],
        "`here` charges by the hour for what its cache keeps, and how long it keeps an entry is \
         not known: 3 requests have no bill; a run with `--lifetime SECONDS`, or `lifetime` in the \
         targets file, says it"
    );
    manifest.targets[0].lifetime_ms = Some(3_600_000);
    let (cost, warnings) = told(&manifest, &records);
    assert_eq!(warnings, ["first"]);
    // 17,000 tokens for an hour at a dollar a million.
    let storage = cost.expect("a bill").0 - free.expect("a bill").0;
    assert_eq!(Money(storage).decimal(), "0.017");
    records[2].usage.write = None;
    let (cost, warnings) = told(&manifest, &records);
    assert_eq!(cost, None);
    assert!(
        warnings[1].contains("do not say how much they wrote there: 1 request has no bill"),
        "{warnings:?}"
    );
}

#[test]
fn a_bill_stands_between_no_cache_and_the_best_possible_one() {
    let (manifest, (records, bounds)) = priced();
    let samples = Samples::of(&manifest, &records, &bounds);
    let results = Results::new(&manifest, &samples, Vec::new());
    let dev = row(&results, "dev");
    let dollars = |amount: Option<Money>| amount.map(Money::decimal).unwrap_or_default();
    // 17,000 written, 16,000 read, nothing plain, 300 generated.
    assert_eq!(dollars(dev.cost), "0.0942");
    assert_eq!(dollars(dev.costs.per_conversation), "0.0942");
    assert_eq!(dollars(dev.cost_uncached), "0.138");
    // The third request's bound is 11,000: 21,000 read and 12,000 written.
    assert_eq!(dollars(dev.costs.best), "0.0702");
    let buckets = dev.costs.buckets.expect("prices");
    assert_eq!(buckets.write.decimal(), "0.085");
    assert_eq!(buckets.premium.decimal(), "0.017");
    assert_eq!(dev.costs.least, None, "nothing is missing");
    // The first turn costs 0.052 where 0.042 would do without a cache; the second
    // brings both to 0.061 and 0.088.
    assert_eq!(dev.writes.break_even_turn, Some(2));
}

#[test]
fn where_a_count_is_missing_the_bill_is_a_range() {
    let (manifest, (mut records, bounds)) = priced();
    records[2].usage.origin = UsageOrigin::Absent;
    records[2].usage.read = None;
    records[2].usage.write = None;
    let samples = Samples::of(&manifest, &records, &bounds);
    let results = Results::new(&manifest, &samples, Vec::new());
    let costs = row(&results, "dev").costs;
    assert_eq!(costs.per_conversation, None, "no conversation is whole");
    let dollars = |amount: Option<Money>| amount.map(Money::decimal).unwrap_or_default();
    // 0.061 of the first two; the third between 11,000 read with 1,000 plain and all written.
    assert_eq!(dollars(costs.least), "0.0692");
    assert_eq!(dollars(costs.most), "0.123");
}

#[test]
fn times_to_first_token_are_fitted_against_computed_tokens() {
    let results = results(&repeated(6));
    // `counted` makes them: 20 ms and 50 microseconds for each computed token.
    let all = &results.fits[0];
    assert_eq!(all.configuration, None);
    assert_eq!(results.fits.len(), 4);
    for fit in &results.fits {
        assert!((fit.line.slope - 50.0).abs() < 1e-9, "{fit:?}");
        assert!((fit.line.intercept - 20_000.0).abs() < 1e-6, "{fit:?}");
        let interval = fit.line.interval.expect("six conversations");
        assert!(interval.low > 49.999 && interval.high < 50.001, "{fit:?}");
    }
    assert_eq!(
        (all.line.n, all.line.interval.map(|interval| interval.n)),
        (54, Some(6)),
        "the three configurations of a scenario and repeat are one"
    );
}

#[test]
fn a_failure_is_infinite_beside_the_plain_quantile() {
    let (mut records, bounds) = story();
    records[0].outcome = Outcome::Timeout;
    let results = results(&(records, bounds));
    let ttft = row(&results, "dev").ttft;
    assert_eq!((ttft.n, ttft.with_failures.n), (5, 6));
    assert!(ttft.p99_us.is_some());
    assert_eq!(ttft.with_failures.p99_us, None);
    assert!(ttft.with_failures.p50_us > ttft.p50_us);
}

#[test]
fn the_order_of_the_records_changes_no_number() {
    let (mut records, bounds) = story();
    let straight = results(&(records.clone(), bounds.clone()));
    records.sort_by_key(|record| (record.turn, std::cmp::Reverse(record.repeat)));
    let mixed = results(&(records, bounds));
    assert_eq!(straight, mixed);
}
