//! Same files and seed, same bytes, wherever and in whatever language.

use crate::folder::{Ended, Folder, shipped};
use serde_json::Value;

#[test]
fn zone_locale_and_folder_change_no_byte() {
    let here = Folder::new();
    let render = |place: &std::path::Path, files: &str, environment: [(&str, &str); 3]| {
        let mut program = here.program();
        program.current_dir(place).envs(environment);
        let chosen = ["--config", "turn-context,layered,copilot-3.1"];
        program.args(["render", files]).args(chosen);
        let ended = Ended::of(program.args(["--format", "jsonl"]).output());
        ended.ended_with(0, &[]);
        ended.out
    };
    let scenarios = shipped();
    let absolute = scenarios.to_str().expect("a path");
    let plain = [("TZ", "UTC"), ("LC_ALL", "C"), ("LANG", "C")];
    let far = [
        ("TZ", "Pacific/Kiritimati"),
        ("LC_ALL", "tr_TR.UTF-8"),
        ("LANG", "de_DE.UTF-8"),
    ];
    let first = render(here.path(), absolute, plain);
    assert!(first.lines().count() > 300, "all of them were rendered");
    assert!(first == render(&scenarios, ".", far), "the bytes differ");
}

/// What a request sent: its place in the run, and the hashes of its texts.
fn sent(record: &Value) -> (String, Value) {
    let place = format!(
        "{} {}.{}",
        record["conversation"], record["turn"], record["request"]
    );
    let keep = [
        "prompt",
        "nonce",
        "salt",
        "bytes_sent",
        "model",
        "output_sha256",
    ];
    let kept = keep.iter().map(|key| record[*key].clone());
    (place, kept.collect())
}

#[test]
fn nonce_and_seed_repeat_a_run() {
    let folder = Folder::with_small();
    let run = |out: &str, nonce: &str| {
        let ended = folder.run(&[
            "run",
            "small.yaml",
            "--out",
            out,
            "--nonce",
            nonce,
            "--seed",
            "7",
            "--repeat",
            "2",
            "--config",
            "dev,append-only",
            "--max-tokens",
            "2",
        ]);
        ended.ended_with(0, &[]);
        let records = folder.records(out);
        records.iter().map(sent).collect::<Vec<_>>()
    };
    let first = run("first", "12345678");
    assert_eq!(first.len(), 12);
    assert_eq!(first, run("second", "12345678"));
    let other = run("third", "87654321");
    for ((place, one), (_, other)) in first.iter().zip(&other) {
        assert_ne!(one[2], other[2], "{place}: the salt is another one");
        assert_eq!(one[0], other[0], "{place}: the texts are the same");
    }
}

/// A chat in which the layouts look at the model: a tool, and outputs of tools.
const MODELS: &str = "
scenario: models
system: {generate: {tokens: 100}}
tools: '[{\"type\":\"function\",\"function\":{\"name\":\"t\",\"description\":\"d\",\"parameters\":{\"type\":\"object\"}}}]'
steps:
  - user: {text: One., tool_outputs: [{tool: clock, output: tick}]}
  - model: anthropic.claude-5
  - user: {text: Two., tool_outputs: [{tool: clock, output: tock}]}
";

/// Hashes of a request's texts without the nonce.
fn texts(spans: &[Value]) -> Vec<&Value> {
    let own = spans.iter().filter(|span| span["origin"] != "nonce");
    own.map(|span| &span["sha256"]).collect()
}

#[test]
fn what_is_run_is_what_was_rendered_for_the_model_in_use() {
    let folder = Folder::new();
    folder.write("models.yaml", MODELS);
    for (dialect, wire, model, marked) in [
        ("openai-chat", "compatible", "o3-mini", [false, false]),
        ("bedrock", "bedrock", "amazon.nova-pro", [false, true]),
        ("bedrock", "bedrock", "embedded", [true, true]),
    ] {
        let out = format!("{dialect}-{model}");
        let chosen = ["--config", "copilot-4,turn-context,layered"];
        let form = ["--dialect", dialect, "--wire", wire, "--model", model];
        let both = [&["models.yaml"][..], &chosen, &form].concat();
        let run = [&["run"], &both[..], &["--out", &out, "--no-report"]].concat();
        folder.run(&run).ended_with(0, &[]);
        let render = [&["render"], &both[..], &["--format", "jsonl"]].concat();
        let rendered = folder.run(&render);
        rendered.ended_with(0, &[]);
        let lines = rendered.out.lines();
        let rendered: Vec<Value> = lines
            .map(|line| serde_json::from_str(line).expect("a line"))
            .collect();
        let records = folder.records(&out);
        assert_eq!(records.len(), rendered.len());
        for (record, rendered) in records.iter().zip(&rendered) {
            let place = format!("{out} {} {}", record["configuration"], record["turn"]);
            let messages = record["prompt"].as_array().expect("messages");
            let spans = messages
                .iter()
                .flat_map(|m| m["spans"].as_array().expect("spans"));
            let spans: Vec<Value> = spans.cloned().collect();
            let own = rendered["spans"].as_array().expect("spans");
            assert_eq!(texts(&spans), texts(own), "{place}");
            if record["configuration"] == "turn-context" {
                let turn = record["turn"].as_u64().expect("a turn");
                let tools = !messages[0]["marks"].as_array().expect("marks").is_empty();
                assert_eq!(tools, marked[usize::from(turn > 1)], "{place}");
            }
            if record["configuration"] == "copilot-4" && model == "o3-mini" {
                // That family takes no system message.
                let first = messages.iter().find(|message| message["role"] != "tools");
                let role = if record["turn"] == 1 {
                    "user"
                } else {
                    "system"
                };
                assert_eq!(first.expect("a message")["role"], role, "{place}");
            }
        }
    }
}

#[test]
fn a_run_draws_a_nonce_of_its_own() {
    let folder = Folder::with_small();
    let nonce = |out: &str| {
        let ended = folder.run(&["run", "small.yaml", "--config", "inline", "--out", out]);
        ended.ended_with(0, &[]);
        folder.manifest(out)["nonce"].clone()
    };
    assert_ne!(nonce("first"), nonce("second"));
}
