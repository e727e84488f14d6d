//! Snapshots of reports over small runs.

use super::*;
use crate::analysis::testing::{counted, manifest, story};
use crate::analysis::{Results, Samples};
use crate::chat::UsageOrigin;
use crate::record::{BoundRecord, Ending, Outcome, RequestRecord};

fn results((records, bounds): &(Vec<RequestRecord>, Vec<BoundRecord>)) -> Results {
    let manifest = manifest();
    let samples = Samples::of(&manifest, records, bounds);
    Results::new(&manifest, &samples, Vec::new())
}

fn shown(results: &Results) -> String {
    terminal(results, Look::default())
}

#[test]
fn a_run_is_understood_at_once() {
    insta::assert_snapshot!(shown(&results(&story())), @"");
}

#[test]
fn a_narrow_terminal_gets_fewer_columns_and_no_longer_lines() {
    let results = results(&story());
    for width in [40, 60, 72, 80, 100, 140] {
        let look = Look {
            width,
            colour: false,
        };
        let text = terminal(&results, look);
        for line in text.lines() {
            assert!(line.chars().count() <= width, "{width}: {line}");
        }
        assert!(
            text.contains("computed per"),
            "{width}: the main column stays"
        );
    }
}

#[test]
fn colour_adds_nothing_that_is_said() {
    let results = results(&story());
    let coloured = terminal(
        &results,
        Look {
            colour: true,
            ..Look::default()
        },
    );
    assert!(coloured.starts_with("\x1b[1m"));
    let bare = coloured.replace("\x1b[1m", "").replace("\x1b[0m", "");
    assert_eq!(bare, shown(&results));
}

#[test]
fn one_request_is_reported_as_what_it_is() {
    let run = [counted("dev", 1, 1, (1_000, 0, 0))].into_iter().unzip();
    insta::assert_snapshot!(shown(&results(&run)), @"");
}

#[test]
fn a_run_without_an_answer_says_so() {
    let (mut records, bounds) = story();
    for record in &mut records {
        record.outcome = Outcome::Connect;
        record.usage = crate::chat::Usage::default();
        record.stamps.first_text_us = None;
    }
    let text = shown(&results(&(records, bounds)));
    assert!(
        text.starts_with("Nothing can be said: none of 18 requests was answered."),
        "{text}"
    );
    assert!(
        text.contains("! 18 of 18 attempts failed: connect 18"),
        "{text}"
    );
    assert!(!text.contains("0.0 %"), "{text}");
}

#[test]
fn a_run_without_counts_says_so() {
    let (mut records, bounds) = story();
    for record in &mut records {
        record.usage.origin = UsageOrigin::Absent;
        record.usage.read = None;
    }
    let text = shown(&results(&(records, bounds)));
    assert!(text.starts_with("No share can be given"), "{text}");
    assert!(text.contains("18 requests without any count"), "{text}");
    assert!(!text.contains("0.0 %"), "{text}");
}

#[test]
fn an_empty_run_says_so() {
    let text = shown(&results(&(Vec::new(), Vec::new())));
    assert!(
        text.starts_with("Nothing was measured: no request was sent."),
        "{text}"
    );
}

#[test]
fn what_was_left_out_is_said() {
    let (mut records, bounds) = story();
    records[0].outcome = Outcome::Http429;
    records[1].usage.origin = UsageOrigin::Contradictory;
    let mut results = results(&(records, bounds));
    results.ending = Some(Ending::Interrupted);
    results.warnings = vec!["the last line of `requests.jsonl` was cut off".to_owned()];
    let text = shown(&results);
    for part in [
        "Left out: 2 requests of 18",
        "! the run was interrupted",
        "! 1 of 18 attempts failed: http_429 1",
        "! 1 request with a count that cannot be",
        "! the last line of `requests.jsonl` was cut off",
    ] {
        let flat = text.replace('\n', " ");
        assert!(flat.contains(part), "{part}\n{text}");
    }
}

#[test]
fn markdown_says_the_same() {
    insta::assert_snapshot!(markdown(&results(&story())), @"");
}

#[test]
fn names_never_become_markup() {
    let run = [counted("a|b<script>", 1, 1, (1_000, 0, 0))]
        .into_iter()
        .unzip();
    let text = markdown(&results(&run));
    assert!(text.contains(r"a\|b&lt;script&gt;"), "{text}");
    assert!(!text.contains("<script>"), "{text}");
}

#[test]
fn the_summary_has_an_empty_cell_for_what_is_not_known() {
    let (mut records, bounds) = story();
    for record in records
        .iter_mut()
        .filter(|record| &*record.configuration == "layered")
    {
        record.usage.origin = UsageOrigin::Absent;
        record.usage.read = None;
    }
    let mut out = Vec::new();
    summary_csv(&mut out, &results(&(records, bounds))).expect("writes");
    insta::assert_snapshot!(String::from_utf8(out).expect("text"), @"");
}

#[test]
fn the_summary_as_json_names_its_form() {
    let text = summary_json(&results(&story())).expect("writes");
    let value: serde_json::Value = serde_json::from_str(&text).expect("reads");
    assert_eq!(value["schema"], "prefixbench/results/1");
    assert_eq!(value["rows"][0]["figures"]["total"], 12_100);
    assert_eq!(value["rows"][0]["figures"]["cost"], serde_json::Value::Null);
    assert_eq!(value["targets"][0]["simulated"], true);
}

#[test]
fn many_turns_are_broken_into_blocks() {
    let run = (1..=40)
        .map(|turn| counted("append-only", 1, turn, (1_000 * u64::from(turn), 0, 0)))
        .unzip();
    let text = shown(&results(&run));
    assert_eq!(text.matches("  turn ").count(), 3, "{text}");
    assert!(
        text.lines().all(|line| line.chars().count() <= 100),
        "{text}"
    );
}
