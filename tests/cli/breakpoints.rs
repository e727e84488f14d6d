//! Marked places: what the embedded server counts is what the bounds say, on
//! every request, since records keep where the markers stood.

use super::folder::Folder;
use super::servers::{Embedded, instant};
use prefixbench::server::{Options, find_profile};
use std::collections::BTreeMap;

/// Scenarios of every kind of turn: plain, toggles, tool loops with more blocks
/// than a look-back spans, helpers, compactions, a pause beyond the lifetime.
const SCENARIOS: &[&str] = &[
    "quickstart",
    "s06-artifacts",
    "s09-memory-off",
    "s17-compaction",
    "s19-tool-loop",
    "s20-subagent",
    "s22-idle-gap",
    "l05-agent",
];

/// The same with a look-back so short that some turns step over it.
const LOOPS: &[&str] = &["s19-tool-loop", "l05-agent"];

const CONFIGURATIONS: &str = "inline,dev,turn-context,layered,copilot-4,append-only";

fn rows(csv: &str) -> Vec<BTreeMap<String, String>> {
    let mut reader = csv::Reader::from_reader(csv.as_bytes());
    let read = reader.deserialize().map(|row| row.expect("a row"));
    read.collect()
}

#[test]
fn bound_equals_count_on_every_request_under_the_model_of_marked_places() {
    let folder = Folder::new();
    check(&folder, SCENARIOS, "anthropic", &["--profile", "anthropic"]);
}

#[test]
fn the_same_on_wires_that_join_messages_or_wrap_tools() {
    // Two messages of the person in a row, tools and their results.
    let names = ["s17-compaction", "s19-tool-loop"];
    for (dialect, profile) in [("bedrock", "anthropic"), ("gemini", "gemini")] {
        check(&Folder::new(), &names, dialect, &["--profile", profile]);
    }
}

#[test]
fn the_same_where_turns_step_over_a_short_look_back() {
    let model = "breakpoints,lookback=3,min=200";
    let server = Embedded::start(Options {
        profile: find_profile("anthropic").expect("a profile"),
        cache_model: Some(model.parse().expect("a model")),
        ..instant()
    });
    let target = ["--target", &server.url, "--model", "embedded"];
    let folder = Folder::new();
    let model = ["--cache-model", model, "--isolate", "conversation"];
    check(
        &folder,
        LOOPS,
        "anthropic",
        &[&target[..], &model[..]].concat(),
    );
}

/// The place of each request and the tokens of its prompt, as they were counted here.
fn bounds_of(folder: &Folder) -> impl Iterator<Item = ([String; 3], String)> {
    folder
        .lines("run", "bounds.jsonl")
        .into_iter()
        .map(|bound| {
            let text = |name: &str| bound[name].to_string().trim_matches('"').to_owned();
            (
                ["conversation", "turn", "request"].map(text),
                text("prompt"),
            )
        })
}

/// A chat that is left alone for 20 and for 70 minutes, under layouts whose entries
/// live an hour, which is what they ask for, and five minutes.
const IDLE: &str = "
scenario: idle
system: {generate: {tokens: 3000}}
configurations:
  inline-5m: {base: inline, marker_ttl: 5m}
  dev-5m: {base: dev, marker_ttl: 5m}
  turn-5m: {base: turn-context, marker_ttl: 5m}
  layered-5m: {base: layered, marker_ttl: 5m}
  append-5m: {base: append-only, marker_ttl: 5m}
steps:
  - user: {text: One.}
  - idle: 20m
  - user: {text: Two.}
  - idle: 70m
  - user: {text: Three.}
  - user: {text: Four.}
";

#[test]
fn entries_outlive_an_idle_by_what_the_layout_asked_and_the_bound_says_so() {
    let folder = Folder::new();
    folder.write("idle.yaml", IDLE);
    let hour = "inline,dev,turn-context,layered,append-only";
    let five = "inline-5m,dev-5m,turn-5m,layered-5m,append-5m";
    let both = format!("{hour},{five}");
    let more = ["--profile", "anthropic"];
    let rows = ran(
        &folder,
        &["idle.yaml".to_owned()],
        &both,
        "anthropic",
        &more,
    );
    for name in both.split(',') {
        let found = rows.iter().filter(|row| row["configuration"] == name);
        let hit = |row: &BTreeMap<String, String>| row["read_tokens"] != "0";
        let hit: Vec<bool> = found.map(hit).collect();
        let lives = !name.ends_with("-5m");
        assert_eq!(hit, [false, lives, false, true], "{name}");
    }
}

#[test]
fn what_is_predicted_of_a_plan_is_what_its_run_is_held_to() {
    let folder = Folder::new();
    folder.write("idle.yaml", IDLE);
    for (about, dialect) in [
        ("embedded: {profile: anthropic}", "anthropic"),
        ("embedded: {profile: openai}", "openai-responses"),
        (
            "embedded: {cache_model: 'blocks:64', lifetime: 30m}",
            "gemini",
        ),
        ("embedded: {profile: anthropic}\nlifetime: 30m", "anthropic"),
        ("model: o3-mini", "openai-chat"),
    ] {
        let plan = format!(
            "plan: p\nscenarios: [idle.yaml]\nconfig: [dev, dev-5m, append-only]\n\
             dialect: {dialect}\n{about}\n"
        );
        folder.write("plan.yaml", &plan);
        let out = format!("run-{}", folder.files().len());
        let run = ["run", "plan.yaml", "--no-report", "--out", &out];
        folder.run(&run).ended_with(0, &[]);
        let key = |line: &serde_json::Value| {
            let turn = line["turn"].as_u64();
            (line["configuration"].as_str().map(str::to_owned), turn)
        };
        let bounds = folder.lines(&out, "bounds.jsonl");
        let names = folder.lines(&out, "requests.jsonl");
        let ran: BTreeMap<_, _> = names
            .iter()
            .zip(&bounds)
            .map(|(record, bound)| (key(record), (&bound["prompt"], &bound["bound"])))
            .collect();
        let predict = ["predict", "plan.yaml", "--format", "jsonl"];
        let predicted = folder.run(&predict);
        predicted.ended_with(0, &[]);
        let lines = predicted.out.lines();
        let lines: Vec<serde_json::Value> = lines
            .map(|line| serde_json::from_str(line).expect("a line"))
            .collect();
        assert_eq!(lines.len(), ran.len());
        for line in &lines {
            let found = (&line["total_tokens"], &line["bound_tokens"]);
            assert_eq!(ran.get(&key(line)), Some(&found), "{about}: {line}");
        }
    }
}

/// Runs the scenarios that the project ships with `more` flags and compares what was
/// read with what the bounds say, and the prompts' tokens.
fn check(folder: &Folder, names: &[&str], dialect: &str, more: &[&str]) {
    let root = env!("CARGO_MANIFEST_DIR");
    let files = names
        .iter()
        .map(|name| format!("{root}/scenarios/{name}.yaml"));
    let files: Vec<String> = files.collect();
    let rows = ran(folder, &files, CONFIGURATIONS, dialect, more);
    assert!(rows.len() > 50, "{} rows", rows.len());
}

fn ran(
    folder: &Folder,
    files: &[String],
    configurations: &str,
    dialect: &str,
    more: &[&str],
) -> Vec<BTreeMap<String, String>> {
    let mut flags = vec!["run"];
    flags.extend(files.iter().map(String::as_str));
    flags.extend(["--config", configurations, "--dialect", dialect]);
    flags.extend(["--no-report", "--out", "run"]);
    flags.extend(more);
    folder.run(&flags).ended_with(0, &[]);
    folder.run(&["report", "run"]).ended_with(0, &[]);
    let rows = rows(&folder.read("run", "requests.csv"));
    let prompts: BTreeMap<[String; 3], String> = bounds_of(folder).collect();
    let mut wrong = Vec::new();
    let mut read = 0;
    for row in &rows {
        read += row["read_tokens"].parse::<u64>().unwrap_or(0);
        if row["flags"].contains("beyond_lifetime") {
            // The scenario waited, the server's clock did not.
            assert_eq!(row["bound_tokens"], "0");
            continue;
        }
        // Gemini leaves a count of nothing out.
        let nothing = dialect == "gemini" && row["read_tokens"].is_empty();
        let said = if nothing { "0" } else { &row["read_tokens"] };
        let place = ["conversation", "turn", "request"].map(|name| row[name].clone());
        if said != row["bound_tokens"] || prompts.get(&place) != Some(&row["total_tokens"]) {
            wrong.push(format!(
                "{} {} {}.{}: read {}, bound {}, {}",
                row["scenario"],
                row["configuration"],
                row["turn"],
                row["request"],
                row["read_tokens"],
                row["bound_tokens"],
                row["flags"],
            ));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
    assert!(read > 0, "nothing was read");
    rows
}
