//! Contexts that come from outside: the user's own builder and bodies. What
//! they cannot do skips their cell and no other.

use crate::folder::{Ended, Folder};

/// Reads a line and answers it, as a builder would: hello, steps, requests.
const ANSWERS: &str = r#"
asked=0
while IFS= read -r line; do
  case "$line" in
    *'"type":"hello"'*) echo '{"type":"ready","protocol":1}' ;;
    *'"type":"request"'*)
      asked=$((asked + 1))
      if [ "$asked" -gt 2 ]; then LATER; fi
      echo '{"type":"prompt","messages":[{"role":"user","content":"Hello, builder."}]}' ;;
    *) echo '{"type":"ok"}' ;;
  esac
done
"#;

/// Runs `small.yaml` under a builder, then under `inline`.
fn run(script: &str, timeout_s: u32) -> (Folder, Ended) {
    let folder = Folder::with_small();
    folder.write("builder.sh", script);
    let own = format!(
        "configurations: {{mine: {{base: external, external: {{command: [/bin/sh, builder.sh], timeout_s: {timeout_s}}}}}}}\n"
    );
    let small = folder.read(".", "small.yaml");
    folder.write("small.yaml", &format!("{small}{own}"));
    let ended = folder.run(&[
        "run",
        "small.yaml",
        "--config",
        "mine,inline",
        "--out",
        "run",
    ]);
    (folder, ended)
}

/// Requests that were answered under each of the two.
fn answered(folder: &Folder) -> (usize, usize) {
    let records = folder.records("run");
    let of = |name: &str| {
        let ok = records.iter().filter(|record| record["outcome"] == "ok");
        ok.filter(|record| record["configuration"] == name).count()
    };
    (of("mine"), of("inline"))
}

#[test]
fn a_builder_that_dies_keeps_what_was_measured_and_stops_no_other_cell() {
    let script = ANSWERS.replace("LATER", "echo 'out of ideas' >&2; exit 3");
    let (folder, ended) = run(&script, 30);
    ended.ended_with(
        0,
        &["small/mine", "exit status: 3", "out of ideas", "skipped"],
    );
    assert_eq!(answered(&folder), (2, 3));
    folder.run(&["report", "run"]).ended_with(0, &[]);
}

#[test]
fn a_builder_that_talks_nonsense_is_quoted() {
    let script = ANSWERS.replace("LATER", "echo 'I am a teapot'; continue");
    let (folder, ended) = run(&script, 30);
    ended.ended_with(0, &["small/mine", "JSON", "I am a teapot"]);
    assert_eq!(answered(&folder), (2, 3));
}

#[test]
fn a_builder_that_hangs_is_given_up() {
    // Reads for ever, its output open, so that it ends with the program.
    let script = ANSWERS.replace("LATER", "exec cat 3>&1 > /dev/null");
    let (folder, ended) = run(&script, 1);
    ended.ended_with(0, &["small/mine", "did not answer within 1 s"]);
    assert_eq!(answered(&folder), (2, 3));
}

#[test]
fn a_builder_that_never_starts_leaves_no_request_and_no_success() {
    let folder = Folder::with_small();
    let arguments = ["run", "small.yaml", "--config", "external", "--out", "run"];
    let ended = folder.run(&[&arguments[..], &["--builder", "exit 7"]].concat());
    ended.ended_with(4, &["small/external", "exit status: 7"]);
    assert_eq!(folder.records("run").len(), 0);
    folder
        .run(&arguments)
        .ended_with(2, &["has no command", "--builder"]);
}

#[test]
fn finished_bodies_skip_a_scenario_that_they_cannot_follow() {
    let folder = Folder::with_small();
    let text = "\
scenario: loop
tools: '[{\"name\": \"find\", \"description\": \"Finds.\", \"input_schema\": {\"type\": \"object\"}}]'
steps:
  - user: {text: One., reply: Fine.}
  - user:
      text: Two.
      reply: Found.
      tool_calls: [{calls: [{name: find, args: {what: it}, result: here}]}]
";
    folder.write("loop.yaml", text);
    let body = r#"{"messages":[{"role":"user","content":"One."}]}"#;
    folder.write("bodies.jsonl", &format!("{body}\n{body}\n{body}\n"));
    let scenarios = ["run", "loop.yaml", "small.yaml", "--out", "run"];
    let own = ["--config", "raw,inline", "--bodies", "bodies.jsonl"];
    let ended = folder.run(&[&scenarios[..], &own].concat());
    ended.ended_with(
        0,
        &["loop/raw", "a tool loop", "one body a turn", "skipped"],
    );
    let records = folder.records("run");
    let of = |scenario: &str, configuration: &str| {
        let mut mine = records
            .iter()
            .filter(|record| record["scenario"] == scenario);
        mine.by_ref()
            .filter(|record| record["configuration"] == configuration)
            .count()
    };
    assert_eq!(of("loop", "raw"), 2, "all before the loop");
    assert_eq!(of("loop", "inline"), 3);
    assert_eq!((of("small", "raw"), of("small", "inline")), (3, 3));
    let ending = folder.manifest("run")["ending"].to_string();
    assert!(ending.contains("tool loop"), "{ending}");
}
