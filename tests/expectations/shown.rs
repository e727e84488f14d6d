//! What a person reads: `render --format text` and `explain`.

use super::program;
use std::fs;

const SMALL: &str = "\
scenario: small
group: G0
about: Artifacts go on, then memory changes.
system: You are a helpful assistant.
start: {memory: {name: Ada, tone: formal}}
notes: {spec.md: The harbour opens at nine.}
steps:
  - user: {text: When does it open?, attach: [{note: spec.md}], reply: At nine.}
  - set: {artifacts: Draw with care.}
  - user: {text: Draw it., reply: Done.}
  - memory: {change: {tone: brief}}
  - user: {text: Smaller., reply: Done.}
";

fn shown(arguments: &[&str]) -> String {
    let dir = tempfile::tempdir().expect("temporary folder");
    let path = dir.path().join("small.yaml");
    fs::write(&path, SMALL).expect("scenario");
    let mut all = vec![arguments[0], path.to_str().expect("a path")];
    all.extend(&arguments[1..]);
    program(&all)
}

#[test]
fn render_shows_what_became_of_every_span() {
    let text = shown(&["render", "--config", "dev,append-only"]);
    assert!(
        !text.contains('\u{1b}'),
        "no colour where there is no terminal"
    );
    insta::assert_snapshot!(text);
}

#[test]
fn explain_shows_place_source_step_and_loss() {
    insta::assert_snapshot!(shown(&["explain", "--config", "dev,layered,append-only"]));
}

#[test]
fn explain_of_a_run_shows_what_was_read_and_what_is_missing() {
    let dir = tempfile::tempdir().expect("temporary folder");
    let path = dir.path().join("small.yaml");
    fs::write(&path, SMALL).expect("scenario");
    let out = dir.path().join("run");
    let (path, out) = (
        path.to_str().expect("a path"),
        out.to_str().expect("a path"),
    );
    program(&["run", path, "--config", "dev", "--no-report", "--out", out]);
    let text = program(&["explain", out]);
    let turns: Vec<&str> = text
        .lines()
        .filter(|line| line.contains(" tokens, "))
        .collect();
    assert_eq!(turns.len(), 3, "{text}");
    assert!(turns.iter().all(|turn| turn.contains(" read")), "{text}");
    assert!(
        text.contains("BREAK in artifacts") && text.contains("because of artifacts on"),
        "{text}"
    );
}
