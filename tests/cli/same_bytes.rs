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
