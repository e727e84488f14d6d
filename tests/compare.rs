//! `compare` as a person runs it.

#![expect(
    clippy::expect_used,
    reason = "a file or output that is not there is a failed test"
)]

use assert_cmd::cargo::cargo_bin_cmd;
use serde_json::Value;
use std::fs;
use std::process::Output;

const SMALL: &str = "\
scenario: small
system: {generate: {tokens: 400, seed: 1, kind: prose}}
start: {memory: {name: Ada, tone: formal}}
steps:
  - user: {text: When does it open?, reply: At nine.}
  - memory: {change: {tone: brief}}
  - user: {text: Smaller., reply: Done.}
";

struct Folder(tempfile::TempDir);

impl Folder {
    fn new() -> Self {
        let folder = Self(tempfile::tempdir().expect("temporary folder"));
        folder.write("small.yaml", SMALL);
        folder
    }

    fn write(&self, name: &str, text: &str) {
        fs::write(self.0.path().join(name), text).expect(name);
    }

    fn output(&self, arguments: &[&str]) -> Output {
        cargo_bin_cmd!("prefixbench")
            .args(arguments)
            .current_dir(self.0.path())
            .env_clear()
            .env("NO_COLOR", "1")
            .output()
            .expect("it runs")
    }

    /// A run with `repeat` conversations a configuration.
    fn run(&self, name: &str, repeat: &str, more: &[&str]) {
        let fixed = [
            "run",
            "small.yaml",
            "--config",
            "dev,append-only",
            "--no-report",
        ];
        let given = ["--out", name, "--repeat", repeat];
        let output = self.output(&[fixed.as_slice(), &given, more].concat());
        assert!(
            output.status.success(),
            "{}",
            String::from_utf8_lossy(&output.stderr)
        );
    }

    /// What it prints, and the code that it ends with.
    fn compare(&self, arguments: &[&str]) -> (String, i32) {
        let output = self.output(&[&["compare"], arguments].concat());
        let text = [output.stdout, output.stderr].concat();
        let text = String::from_utf8(text).expect("text");
        (text, output.status.code().expect("no signal"))
    }

    fn json(&self, arguments: &[&str]) -> Value {
        let (text, code) = self.compare(&[arguments, &["--format", "json"]].concat());
        assert_eq!(code, 0, "{text}");
        serde_json::from_str(&text).expect("JSON")
    }
}

fn change<'a>(row: &'a Value, name: &str) -> &'a Value {
    let changes = row["changes"].as_array().expect("changes");
    changes
        .iter()
        .find(|change| change["name"] == name)
        .expect(name)
}

#[test]
fn layouts_of_one_run_are_compared_pair_by_pair() {
    let folder = Folder::new();
    folder.run("run", "6", &[]);
    let named = ["run", "--base-config", "dev", "--config", "append-only"];
    let found = folder.json(&named);
    assert_eq!(found["paired"], true);
    let row = &found["rows"][0];
    assert_eq!((&row["pairs"], &row["requests"]), (&6.into(), &12.into()));
    let computed = change(row, "computed_per_conversation");
    assert_eq!(computed["told"], "better", "{computed}");
    let number = |name: &str| computed[name].as_f64().expect("a number");
    assert!((number("candidate") - number("base") - number("difference")).abs() < 1e-9);
    assert!(computed["interval"]["high"].as_f64().expect("an end") < 0.0);
    assert_eq!(change(row, "ttft_p99_us")["told"], "too_few");
    assert_eq!(change(row, "cost_per_conversation_usd")["told"], "nothing");
    let (text, code) = folder.compare(&named);
    assert_eq!(code, 0, "{text}");
    assert!(
        text.contains("append-only against dev (6 conversations, 12 requests)"),
        "{text}"
    );
    let (markdown, _) = folder.compare(&[named.as_slice(), &["--format", "markdown"]].concat());
    assert!(
        markdown.starts_with("### Prefix cache: candidate against base\n"),
        "{markdown}"
    );
}

#[test]
fn two_runs_are_compared_and_few_conversations_tell_nothing() {
    let folder = Folder::new();
    folder.run("first", "2", &[]);
    folder.run("second", "3", &["--cache-model", "blocks:64"]);
    let (text, code) = folder.compare(&["first", "second"]);
    assert_eq!(code, 0, "{text}");
    assert!(
        text.contains("cannot tell (2 of 6 conversations)"),
        "{text}"
    );
    assert!(
        text.contains("was blocks:16 in the base, and is blocks:64"),
        "{text}"
    );
    assert!(
        text.contains("1 conversation that only one side has"),
        "{text}"
    );
}

#[test]
fn what_cannot_be_compared_is_refused_by_name() {
    let folder = Folder::new();
    folder.run("first", "1", &[]);
    folder.write("small.yaml", &SMALL.replace("Smaller.", "Larger."));
    folder.run("second", "1", &[]);
    let (text, code) = folder.compare(&["first", "second"]);
    assert_eq!(code, 2, "{text}");
    assert!(
        text.contains("nothing can be compared") && text.contains("small"),
        "{text}"
    );
    let (text, code) = folder.compare(&["first", "second", "--changed-scenarios"]);
    assert_eq!(code, 0, "{text}");
    assert!(
        text.contains("compared although their files differ: small"),
        "{text}"
    );
    for (arguments, said) in [
        (vec!["first"], "a run is compared with itself"),
        (
            vec!["first", "first/../first"],
            "a run is compared with itself",
        ),
        (vec!["first", "nowhere"], "`nowhere` is not a run folder"),
        (
            vec!["first", "second", "--config", "apend-only"],
            "did you mean `append-only`?",
        ),
        (vec!["first", "--base-config", "dev"], "--config"),
    ] {
        let (text, code) = folder.compare(&arguments);
        assert_eq!(code, 2, "{arguments:?}: {text}");
        assert!(text.contains(said), "{arguments:?}: {text}");
    }
}
