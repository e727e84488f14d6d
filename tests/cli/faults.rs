//! Servers that refuse, break off, say too little or hang.

use crate::folder::{Ended, Folder};
use crate::servers::{Embedded, canned, closed_port, http, instant};
use prefixbench::server::{Fault, Options};
use serde_json::{Value, json};

/// Runs `small.yaml` against `url` under one configuration, into `run`.
fn run(folder: &Folder, url: &str, more: &[&str]) -> Ended {
    let fixed = [
        "run",
        "small.yaml",
        "--config",
        "append-only",
        "--out",
        "run",
    ];
    folder.run(&[&fixed[..], &["--target", url, "--model", "m"], more].concat())
}

/// What was measured can be reported, whatever became of it.
#[track_caller]
fn reported(folder: &Folder) -> Ended {
    let ended = folder.run(&["report", "run"]);
    ended.ended_with(0, &[]);
    ended
}

#[test]
fn a_closed_port_is_told_with_its_address() {
    let folder = Folder::with_small();
    let address = closed_port();
    let url = format!("http://{address}/v1");
    let ended = run(&folder, &url, &["--retries", "0"]);
    ended.ended_with(
        4,
        &[
            "cannot connect to",
            &address.to_string(),
            "is the server up",
        ],
    );
    assert_eq!(folder.outcomes("run"), ["connect"]);
    reported(&folder);
    // Without a model the server is asked for its list first.
    let ended = folder.run(&["run", "small.yaml", "--target", &url, "--out", "other"]);
    ended.ended_with(4, &["cannot connect to", "start it first"]);
}

#[test]
fn a_wrong_key_is_told_with_the_variable_that_holds_it() {
    let folder = Folder::with_small();
    let server = Embedded::start(Options {
        api_key: Some("right".to_owned()),
        ..instant()
    });
    let ended = run(&folder, &server.url, &[]);
    ended.ended_with(4, &["401", "`PREFIXBENCH_API_KEY`"]);
    assert_eq!(
        folder.outcomes("run"),
        ["auth"],
        "asked once, not at every turn"
    );
    reported(&folder);
}

#[test]
fn a_wrong_path_is_told_with_the_way_out() {
    let folder = Folder::with_small();
    let server = Embedded::start(instant());
    let url = server.url.replace("/v1", "/v9");
    let ended = run(&folder, &url, &[]);
    ended.ended_with(4, &["404", "version part"]);
    assert_eq!(folder.outcomes("run"), ["not_found"]);
    reported(&folder);
}

#[test]
fn too_many_requests_are_tried_again_after_the_wait_that_the_server_asks_for() {
    let folder = Folder::with_small();
    let server = Embedded::with_fault(Fault::RateLimited, 2);
    run(&folder, &server.url, &[]).ended_with(0, &[]);
    let expected = ["ok", "http_429", "ok", "http_429", "ok"];
    assert_eq!(folder.outcomes("run"), expected);
    let waits = folder.records("run");
    let done = |index: usize| waits[index]["stamps"]["done_us"].as_u64();
    let due = |index: usize| waits[index]["stamps"]["due_us"].as_u64();
    assert!(
        due(2) >= done(1).map(|us| us + 1_000_000),
        "a second, as asked"
    );
    assert_eq!(waits[2]["attempt"], 2);
    reported(&folder);
}

#[test]
fn too_many_requests_for_ever_are_given_up_and_told() {
    let folder = Folder::with_small();
    let server = Embedded::with_fault(Fault::RateLimited, 1);
    let ended = run(&folder, &server.url, &["--retries", "1"]);
    ended.ended_with(4, &["3 requests failed", "http_429", "--retries"]);
    assert_eq!(folder.outcomes("run"), ["http_429"; 6]);
    reported(&folder);
}

#[test]
fn a_failing_server_is_quoted_and_what_it_answered_is_kept() {
    let folder = Folder::with_small();
    let server = Embedded::with_fault(Fault::Internal, 2);
    let ended = run(&folder, &server.url, &[]);
    ended.ended_with(
        0,
        &["1 request failed with http_5xx", "simulated failure 500"],
    );
    assert_eq!(folder.outcomes("run"), ["ok", "http_5xx", "ok"]);
    assert_eq!(folder.records("run")[2]["flags"][0], "after_failure");
    reported(&folder);
}

#[test]
fn a_server_that_only_fails_is_no_success() {
    let folder = Folder::with_small();
    let server = Embedded::with_fault(Fault::Internal, 1);
    let ended = run(&folder, &server.url, &[]);
    ended.ended_with(4, &["3 requests failed", "http_5xx"]);
    reported(&folder);
}

#[test]
fn a_prompt_that_does_not_fit_is_told_with_the_size_that_would() {
    let folder = Folder::with_small();
    let server = Embedded::start(Options {
        context: Some(200),
        ..instant()
    });
    let ended = run(&folder, &server.url, &[]);
    ended.ended_with(4, &["overflow", "200 tokens", "larger model"]);
    assert_eq!(folder.outcomes("run"), ["overflow"; 3]);
    reported(&folder);
}

#[test]
fn a_server_without_usage_gives_no_count_and_no_zero() {
    let folder = Folder::with_small();
    let server = Embedded::with_fault(Fault::NoUsage, 1);
    let ended = run(&folder, &server.url, &[]);
    ended.ended_with(0, &[]);
    assert!(!ended.out.contains(" 0.0 %"), "{}", ended.out);
    for record in folder.records("run") {
        assert!(record["usage"]["read"].is_null(), "{record}");
        assert_eq!(record["usage"]["origin"], "absent");
    }
    let table = folder.read("run", "requests.csv");
    let mut table = csv::Reader::from_reader(table.as_bytes());
    let head = table.headers().expect("a head").clone();
    let column = head.iter().position(|name| name == "read_tokens");
    let cells = table.records().map(|row| row.expect("a row"));
    let cells: Vec<_> = cells
        .map(|row| row[column.expect("a column")].to_owned())
        .collect();
    assert_eq!(cells, ["", "", ""]);
    let out = reported(&folder).out;
    assert!(out.contains("3 requests") && out.contains("count"), "{out}");
}

#[test]
fn a_server_that_hangs_is_given_up_in_time() {
    let folder = Folder::with_small();
    let server = Embedded::with_fault(Fault::Hang, 2);
    let ended = run(&folder, &server.url, &["--timeout", "1"]);
    ended.ended_with(0, &["timeout", "within 1s", "--timeout"]);
    assert_eq!(folder.outcomes("run"), ["ok", "timeout", "ok"]);
    let manifest = folder.manifest("run");
    assert_eq!(manifest["settings"]["timeout"]["value"], "1");
    reported(&folder);
}

#[test]
fn an_answer_that_is_no_chat_is_told() {
    let folder = Folder::with_small();
    let url = canned(|_head| http("200 OK", "text/html", "<html>Welcome</html>"));
    let ended = run(&folder, &url, &[]);
    ended.ended_with(4, &["malformed", "--dialect"]);
    reported(&folder);
}

#[test]
fn a_list_of_models_that_is_refused_is_told_with_its_status() {
    let folder = Folder::with_small();
    let url = canned(|_head| http("401 Unauthorized", "application/json", "{}"));
    let ended = folder.run(&["run", "small.yaml", "--target", &url]);
    ended.ended_with(4, &["HTTP 401", "--model", "--key-env"]);
}

#[test]
fn a_rest_can_be_cut_short_on_a_real_server_and_is_flagged() {
    let folder = Folder::with_small();
    let small = folder.read(".", "small.yaml");
    let idling = small.replace(
        "  - user: {text: Two.",
        "  - idle: 3d\n  - user: {text: Two.",
    );
    folder.write("small.yaml", &idling);
    let server = Embedded::start(instant());
    let arguments = ["run", "small.yaml", "--config", "dev", "--out", "run"];
    let remote = [
        "--target",
        &server.url,
        "--lifetime",
        "300",
        "--longest-idle",
        "0",
    ];
    let ended = folder.run(&[&arguments[..], &remote].concat());
    ended.ended_with(0, &[]);
    let flags: Vec<Value> = folder
        .records("run")
        .iter()
        .map(|record| record["flags"].clone())
        .collect();
    assert_eq!(flags, [json!([]), json!(["idle_cut"]), json!([])]);
    let csv = folder.read("run", "requests.csv");
    assert!(csv.contains("idle_cut; beyond_lifetime"), "{csv}");
    assert!(folder.read("run", "report.md").contains("cut short"));
}
