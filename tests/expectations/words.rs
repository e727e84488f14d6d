//! Whether live answers held the words that a scenario expects.

use super::program;
use serde_json::Value;
use std::fs;

#[test]
fn a_live_answer_without_the_expected_words_is_flagged_and_told() {
    let dir = tempfile::tempdir().expect("temporary folder");
    let out = dir.path().join("run");
    let out = out.to_str().expect("a path");
    let said = program(&[
        "run",
        "scenarios/s25-answers.yaml",
        "--config",
        "append-only",
        "--out",
        out,
    ]);
    let records = fs::read_to_string(dir.path().join("run/requests.jsonl")).expect("records");
    for line in records.lines() {
        let record: Value = serde_json::from_str(line).expect("a record");
        let flags = record["flags"].as_array().expect("flags");
        // The embedded server answers with filler, which holds none of the facts.
        assert!(
            flags.iter().any(|flag| flag == "missing_words"),
            "turn {}: {flags:?}",
            record["turn"]
        );
    }
    let report = fs::read_to_string(dir.path().join("run/report.md")).expect("the report");
    let told = "0 of 6 live answers held the words that the scenario expects";
    assert!(report.contains(told) || said.contains(told), "{report}");
}
