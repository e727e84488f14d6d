//! Runs every command of the README, so that none of them can rot.
//!
//! What names a server elsewhere is run against the embedded one. Commands that
//! build the project or start real servers are checked, not run.

#![expect(
    clippy::expect_used,
    reason = "a test that cannot be set up has to stop"
)]

use assert_cmd::cargo::cargo_bin;
use prefixbench::server::{Options, Server, Speed};
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

fn root() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR"))
}

/// Lines that begin with `$ ` in blocks marked `console`.
fn commands(readme: &str) -> Vec<String> {
    let blocks = readme.split("```console\n").skip(1);
    let bodies = blocks.filter_map(|block| block.split("```").next());
    let lines = bodies.flat_map(str::lines);
    lines
        .filter_map(|line| line.strip_prefix("$ "))
        .map(str::to_owned)
        .collect()
}

/// A copy of what commands read, so that nothing is written into the project.
fn workplace() -> tempfile::TempDir {
    let dir = tempfile::tempdir().expect("temporary folder");
    for folder in ["scenarios", "examples", "reports/example"] {
        copy(&root().join(folder), &dir.path().join(folder));
    }
    dir
}

fn copy(from: &Path, to: &Path) {
    fs::create_dir_all(to).expect("folder");
    for entry in fs::read_dir(from).expect("folder to copy") {
        let entry = entry.expect("entry");
        let target = to.join(entry.file_name());
        if entry.path().is_dir() {
            copy(&entry.path(), &target);
        } else {
            fs::copy(entry.path(), target).expect("file to copy");
        }
    }
}

/// One body a turn, as `render` prints them.
fn write_bodies(dir: &Path) {
    let rendered = Command::new(cargo_bin!("prefixbench"))
        .args([
            "render",
            "scenarios/quickstart.yaml",
            "--config",
            "dev",
            "--format",
            "jsonl",
        ])
        .current_dir(dir)
        .output()
        .expect("render");
    let lines = String::from_utf8(rendered.stdout).expect("text");
    let bodies: String = lines
        .lines()
        .map(|line| serde_json::from_str::<serde_json::Value>(line).expect("a line of JSON"))
        .map(|line| format!("{}\n", line["body"].as_str().expect("a body")))
        .collect();
    fs::write(dir.join("bodies.jsonl"), bodies).expect("bodies");
}

/// The command with the program's path and the embedded server's address in it.
fn adapted(command: &str, server: &str) -> String {
    let program = cargo_bin!("prefixbench").to_string_lossy().into_owned();
    let words = command.split(' ').map(|word| {
        if word.starts_with("http://") || word.starts_with("https://") {
            server
        } else {
            word
        }
    });
    let command = words.collect::<Vec<_>>().join(" ");
    command
        .replacen("cargo run --release --", &program, 1)
        .replacen(
            "prefixbench ",
            &format!("{program} "),
            usize::from(command.starts_with("prefixbench ")),
        )
}

#[test]
fn every_command_runs() {
    let runtime = tokio::runtime::Runtime::new().expect("runtime");
    let options = Options {
        speed: Speed::INSTANT,
        ..Options::default()
    };
    let server = runtime.block_on(Server::start(options)).expect("server");
    let dir = workplace();
    write_bodies(dir.path());
    let commands = commands(&fs::read_to_string(root().join("README.md")).expect("README"));
    assert!(commands.len() > 10, "the README's commands were not found");
    let mut ran = 0;
    for command in &commands {
        if command == "cargo test" {
            continue;
        }
        if let Some(script) = command.strip_prefix("scripts/") {
            let script = root()
                .join("scripts")
                .join(script.split(' ').next().expect("a name"));
            let checked = Command::new("bash")
                .arg("-n")
                .arg(&script)
                .status()
                .expect("bash");
            assert!(checked.success(), "{command}");
            continue;
        }
        let ended = Command::new("sh")
            .args(["-c", &adapted(command, &server.url())])
            .current_dir(dir.path())
            .env("OPENAI_API_KEY", "sk-unused")
            .env("ANTHROPIC_API_KEY", "sk-unused")
            .output()
            .expect("shell");
        let said = String::from_utf8_lossy(&ended.stderr);
        assert!(
            ended.status.success(),
            "`{command}` ended with {}:\n{said}",
            ended.status
        );
        assert!(!ended.stdout.is_empty(), "`{command}` printed nothing");
        ran += 1;
    }
    assert!(ran > 10, "only {ran} commands ran");
    runtime.block_on(server.shutdown());
}
