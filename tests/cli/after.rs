//! What follows the last answer: bounds and lengths, from the files of the run.

use crate::folder::Folder;
use crate::servers::{canned, http};
use serde_json::{Value, json};
use std::fs;
use std::sync::mpsc;

#[test]
fn bounds_of_a_few_conversations_at_a_time_are_those_of_all_together() {
    let folder = Folder::with_small();
    let many = [
        "run",
        "small.yaml",
        "--repeat",
        "50",
        "--sessions",
        "4",
        "--out",
        "run",
    ];
    let ended = folder.run(&[&many[..], &["--config", "inline,append-only"]].concat());
    ended.ended_with(0, &[]);
    let apart = folder.read("run", "requests.csv");
    let bound = |line: &str| line.contains("blocks:16");
    assert_eq!(apart.lines().filter(|line| bound(line)).count(), 300);
    fs::remove_file(folder.path().join("run/bounds.jsonl")).expect("a file");
    folder.run(&["report", "run"]).ended_with(0, &[]);
    assert!(
        apart == folder.read("run", "requests.csv"),
        "the tables differ"
    );
}

#[test]
fn without_texts_their_lengths_in_tokens_are_kept_and_the_bounds_too() {
    let folder = Folder::with_small();
    let run = [
        "run",
        "small.yaml",
        "--config",
        "inline",
        "--no-text",
        "--out",
        "run",
    ];
    folder.run(&run).ended_with(0, &[]);
    let spans = folder.lines("run", "spans.jsonl");
    assert!(!spans.is_empty());
    for span in &spans {
        assert_eq!(span.get("text"), None, "{span}");
        let (bytes, tokens) = (span["bytes"].as_u64(), span["tokens"].as_u64());
        assert!(tokens > Some(0) && tokens <= bytes, "{span}");
    }
    let bounds = folder.lines("run", "bounds.jsonl");
    assert_eq!(bounds.len(), 3);
    assert!(
        bounds.iter().all(|bound| bound["bound"].is_u64()),
        "{bounds:?}"
    );
    let left = folder
        .files()
        .into_iter()
        .filter(|(path, _)| path.ends_with(".spans.jsonl.new"));
    assert_eq!(left.count(), 0);
}

#[test]
fn the_manifest_says_what_counted_the_tokens() {
    let folder = Folder::with_small();
    folder
        .run(&["run", "small.yaml", "--config", "inline", "--out", "run"])
        .ended_with(0, &[]);
    assert_eq!(folder.manifest("run")["targets"][0]["tokenizer"], "o200k");
}

#[test]
fn without_a_report_nothing_is_computed_that_the_report_can_compute() {
    let folder = Folder::with_small();
    let url = canned(|head| {
        let chunk =
            json!({"choices": [{"index": 0, "delta": {"content": "Hi"}, "finish_reason": "stop"}]});
        if head.starts_with("POST") {
            http(
                "200 OK",
                "text/event-stream",
                &format!("data: {chunk}\n\ndata: [DONE]\n\n"),
            )
        } else {
            http("404 Not Found", "text/plain", "")
        }
    });
    let run = [
        "run",
        "small.yaml",
        "--config",
        "dev",
        "--target",
        &url,
        "--model",
        "m",
        "--out",
        "run",
    ];
    folder
        .run(&[&run[..], &["--no-report"]].concat())
        .ended_with(0, &[]);
    assert_eq!(folder.outcomes("run"), ["ok"; 3]);
    assert_eq!(folder.read("run", "bounds.jsonl"), "");
    assert_eq!(
        folder.manifest("run")["targets"][0]["tokenizer"],
        Value::Null
    );
    folder.run(&["report", "run"]).ended_with(0, &[]);
    assert_eq!(folder.read("run", "requests.csv").lines().count(), 4);
}

#[test]
fn a_server_that_hangs_over_tokenising_is_asked_once() {
    let folder = Folder::with_small();
    let (never, comes) = mpsc::channel::<()>();
    let asked = folder.path().join("asked");
    let url = canned(move |head| {
        let chunk =
            json!({"choices": [{"index": 0, "delta": {"content": "Hi"}, "finish_reason": "stop"}]});
        let line = head.lines().next().unwrap_or_default();
        if line.contains("/models") {
            let models = json!({"object": "list", "data": [{"id": "m", "object": "model", "owned_by": "vllm"}]});
            http("200 OK", "application/json", &models.to_string())
        } else if line.contains("/tokenize") {
            let before = fs::read_to_string(&asked).unwrap_or_default();
            fs::write(&asked, before + "once ").expect("a file");
            let _held = (&never, comes.recv());
            String::new()
        } else if line.starts_with("POST") {
            http(
                "200 OK",
                "text/event-stream",
                &format!("data: {chunk}\n\ndata: [DONE]\n\n"),
            )
        } else {
            http("404 Not Found", "text/plain", "")
        }
    });
    let run = [
        "run",
        "small.yaml",
        "--config",
        "inline",
        "--target",
        &url,
        "--timeout",
        "1",
        "--out",
        "run",
    ];
    let ended = folder.run(&[&run[..], &["--isolate-by", "nonce"]].concat());
    ended.ended_with(0, &["does not tell how it tokenises", "have no bound"]);
    assert_eq!(folder.outcomes("run"), ["ok"; 3]);
    assert_eq!(folder.manifest("run")["ending"], "complete");
    assert_eq!(folder.read(".", "asked"), "once ");
}
