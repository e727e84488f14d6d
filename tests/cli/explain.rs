//! `explain`: what it says of breaks that it could look into, and of those that it could not.

use crate::folder::Folder;

/// Memory stands in front of a long history, and changes.
const MOVED: &str = "\
scenario: moved
system: {generate: {tokens: 300, seed: 1}}
start:
  memory: {name: Ada, tone: formal}
steps:
  - user: {text: {generate: {tokens: 300, seed: 2}}, reply: Fine.}
  - memory: {change: {tone: brief}}
  - user: {text: Two., reply: Good.}
";

/// What `explain` says of a run with these flags, with single blanks between words.
fn explained(flags: &[&str]) -> (String, String) {
    let folder = Folder::new();
    folder.write("moved.yaml", MOVED);
    let run = ["run", "moved.yaml", "--config", "dev", "--out", "run"];
    folder.run(&[&run, flags].concat()).ended_with(0, &[]);
    let ended = folder.run(&["explain", "run"]);
    ended.ended_with(0, &[]);
    let words = ended.out.split_whitespace().collect::<Vec<_>>().join(" ");
    (words, folder.read("run", "report.md"))
}

#[test]
fn explain_and_the_report_say_what_to_change() {
    let (said, report) = explained(&[]);
    let change = "Move `memory` behind what did not change: keeps ";
    assert!(
        said.contains(&format!("What to change dev: {change}")),
        "{said}"
    );
    let change = change.replace('`', "\\`");
    assert!(report.contains("## What to change\n"), "{report}");
    assert!(report.contains(&format!("- dev: {change}")), "{report}");
}

#[test]
fn without_texts_it_is_not_said_that_a_move_would_keep_nothing() {
    let (said, report) = explained(&["--no-text"]);
    assert!(!said.contains("hardly more"), "{said}");
    let unknown =
        "What a move would keep is not known: the run keeps no texts of it (`--no-text`).";
    assert!(said.contains(unknown), "{said}");
    let sum = "Of 1 break it is not known what a move would keep: the run keeps no texts";
    assert!(said.contains(sum) && report.contains(sum), "{said}{report}");
}
