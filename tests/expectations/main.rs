//! What the scenarios say of themselves, the facts that requests must hold, and
//! which layout computes least: checked on the real program, with no server.

#![expect(
    clippy::expect_used,
    reason = "a test that cannot be set up has to stop"
)]

mod breaks;
mod cheapest;
mod facts;
mod shown;
mod spy;
mod table;
mod words;

use assert_cmd::cargo::cargo_bin;
use serde::Deserialize;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

fn root() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR"))
}

/// Every scenario file that comes with the program, by name.
fn scenario_files() -> Vec<PathBuf> {
    let folder = fs::read_dir(root().join("scenarios")).expect("the folder");
    let mut files: Vec<PathBuf> = folder
        .map(|entry| entry.expect("an entry").path())
        .filter(|path| path.extension().is_some_and(|end| end == "yaml"))
        .collect();
    files.sort();
    files
}

/// Runs the program, which has to succeed, in the project's folder.
fn program(arguments: &[&str]) -> String {
    let run = Command::new(cargo_bin!("prefixbench"))
        .current_dir(root())
        .env("NO_COLOR", "1")
        .args(arguments)
        .output()
        .expect("the program");
    let said = String::from_utf8_lossy(&run.stderr);
    assert!(run.status.success(), "{arguments:?}: {said}");
    String::from_utf8(run.stdout).expect("text")
}

#[derive(Deserialize)]
struct Predicted {
    scenario: String,
    configuration: String,
    turn: u32,
    request: u32,
    total_tokens: u64,
    eligible_tokens: u64,
    bound_tokens: u64,
    #[serde(rename = "break")]
    broke: Option<Broke>,
}

#[derive(Deserialize)]
struct Broke {
    origin: String,
    cause: String,
}

/// `predict` with `blocks:16`, a line per request.
fn predict(files: &[PathBuf], configurations: &str, dialect: &str) -> Vec<Predicted> {
    predict_on(files, configurations, &["--dialect", dialect])
}

/// The same for any wire, as the arguments that name it.
fn predict_on(files: &[PathBuf], configurations: &str, wire: &[&str]) -> Vec<Predicted> {
    let mut arguments = vec!["predict", "--config", configurations];
    arguments.extend(wire);
    arguments.extend(["--cache-model", "blocks:16", "--format", "jsonl"]);
    arguments.extend(files.iter().filter_map(|path| path.to_str()));
    program(&arguments)
        .lines()
        .map(|line| serde_json::from_str(line).expect("a line"))
        .collect()
}
