//! Input that is wrong before anything is sent, and folders that cannot be
//! written.

use crate::folder::{Ended, Folder};
use std::fs::{self, File};

#[test]
fn a_wrong_step_is_shown_where_it_stands() {
    let folder = Folder::new();
    let text = "scenario: chat\nsteps:\n  - usr: {text: Hi}\n";
    folder.write("chat.yaml", text);
    for command in [&["run"][..], &["check"], &["render"], &["predict"]] {
        let ended = folder.run(&[command, &["chat.yaml"]].concat());
        ended.ended_with(2, &["usr", "chat.yaml:3:", "user"]);
        assert_eq!(ended.out, "");
    }
    assert_eq!(folder.files().len(), 1, "nothing was written");
}

#[test]
fn a_file_that_is_no_yaml_is_named() {
    let folder = Folder::new();
    folder.write("chat.yaml", "scenario: [\n");
    folder
        .run(&["run", "chat.yaml"])
        .ended_with(2, &["chat.yaml"]);
}

#[test]
fn an_unknown_configuration_gets_the_nearest_name() {
    let folder = Folder::with_small();
    for command in ["run", "render", "predict"] {
        let ended = folder.run(&[command, "small.yaml", "--config", "apend-only"]);
        let said = "unknown configuration `apend-only`";
        ended.ended_with(2, &[said, "did you mean `append-only`?"]);
    }
    assert_eq!(folder.files().len(), 1, "nothing was written");
}

#[test]
fn a_missing_file_is_named() {
    let folder = Folder::new();
    let ended = folder.run(&["run", "none.yaml"]);
    ended.ended_with(2, &["cannot read `none.yaml`"]);
    let ended = folder.run(&["report", "none"]);
    ended.ended_with(2, &["none"]);
}

#[test]
fn an_out_folder_that_cannot_be_made_is_named_before_anything_is_sent() {
    let folder = Folder::with_small();
    folder.write("file", "kept");
    let ended = folder.run(&["run", "small.yaml", "--config", "dev", "--out", "file/run"]);
    ended.ended_with(5, &["`file/run`", "--out"]);
    assert_eq!(folder.read(".", "file"), "kept");
}

#[test]
fn an_out_folder_with_something_in_it_is_left_alone() {
    let folder = Folder::with_small();
    fs::create_dir(folder.path().join("run")).expect("a folder");
    folder.write("run/mine", "kept");
    let ended = folder.run(&["run", "small.yaml", "--config", "dev", "--out", "run"]);
    ended.ended_with(2, &["folder `run` is not empty", "--out"]);
    assert_eq!(folder.files().len(), 2, "nothing was written");
}

#[test]
#[cfg(unix)]
fn a_disk_that_fills_up_keeps_what_was_measured() {
    let folder = Folder::with_small();
    folder.write("long.yaml", &long());
    let program = folder.program();
    let program = program.get_program().to_str().expect("a path");
    // 64 blocks of 512 bytes, in some shells of 1,024: room for the manifest and a few turns.
    let script = format!("ulimit -f 64; exec '{program}' run long.yaml --config dev --out run");
    let mut shell = std::process::Command::new("/bin/sh");
    shell.args(["-c", &script]).current_dir(folder.path());
    let ended = Ended::of(shell.env_clear().output());
    ended.ended_with(5, &["no space left for `run/", "kept"]);
    let measured = folder.records("run").len();
    assert!((1..60).contains(&measured), "{measured} records");
    let ended = folder.run(&["report", "run"]);
    ended.ended_with(0, &[]);
    assert!(ended.out.contains("dev"), "{}", ended.out);
}

#[test]
fn explain_shows_the_configurations_that_were_named() {
    let folder = Folder::with_small();
    let ended = folder.run(&[
        "run",
        "small.yaml",
        "--config",
        "dev,inline",
        "--out",
        "run",
    ]);
    ended.ended_with(0, &[]);
    let all = folder.run(&["explain", "run"]).out;
    assert!(all.contains("/dev/1") && all.contains("/inline/1"), "{all}");
    let one = folder.run(&["explain", "run", "--config", "inline"]).out;
    assert!(
        !one.contains("/dev/1") && one.contains("/inline/1"),
        "{one}"
    );
}

#[test]
fn the_same_name_twice_or_no_conversation_at_all_is_refused() {
    let folder = Folder::with_small();
    let cases: [(&[&str], &str); 3] = [
        (&["--config", "dev,dev"], "`dev` is named twice"),
        (&["--repeat", "0"], "`--repeat` is 0"),
        (&["--sessions", "0"], "`--sessions` must be above 0"),
    ];
    for (flags, said) in cases {
        let ended = folder.run(&[&["run", "small.yaml"], flags].concat());
        ended.ended_with(2, &[said]);
    }
}

#[test]
fn a_prediction_knows_where_markers_stand() {
    let folder = Folder::with_small();
    let shown = |dialect: &str| {
        let flags = ["predict", "small.yaml", "--config", "append-only"];
        let model = ["--cache-model", "breakpoints,min=1", "--dialect", dialect];
        let ended = folder.run(&[&flags[..], &model[..], &["--format", "jsonl"]].concat());
        ended.ended_with(0, &[]);
        let bound = |line: &str| {
            let line: serde_json::Value = serde_json::from_str(line).expect("a line");
            line["bound_tokens"].as_u64().expect("a bound")
        };
        ended.out.lines().map(bound).sum::<u64>()
    };
    assert_eq!(shown("openai-chat"), 0, "without a marker nothing is kept");
    assert!(shown("anthropic") > 0);
}

/// Sixty turns, each with a text of its own.
fn long() -> String {
    let mut text = "scenario: long\nsteps:\n".to_owned();
    for turn in 0..60 {
        text.push_str(&format!(
            "  - user: {{text: {{generate: {{tokens: 300, seed: {turn}}}}}, reply: Fine.}}\n"
        ));
    }
    text
}

#[test]
#[cfg(target_os = "linux")]
fn an_output_that_cannot_be_written_is_told() {
    let folder = Folder::with_small();
    for arguments in [&["list", "configurations"][..], &["render", "small.yaml"]] {
        let full = File::options().write(true).open("/dev/full");
        let mut program = folder.program();
        program.args(arguments).stdout(full.expect("/dev/full"));
        Ended::of(program.output()).ended_with(5, &["cannot write to stdout"]);
    }
}

#[test]
fn a_setting_from_the_environment_that_does_not_parse_is_named() {
    let folder = Folder::with_small();
    let mut program = folder.program();
    program
        .args(["run", "small.yaml"])
        .env("PREFIXBENCH_TIMEOUT", "0");
    let ended = Ended::of(program.output());
    ended.ended_with(2, &["`PREFIXBENCH_TIMEOUT` is `0`"]);
}

#[test]
fn a_file_in_which_nothing_is_a_response_is_told_with_what_would_read_it() {
    let folder = Folder::new();
    let message = r#"{"type":"message","role":"assistant","content":[{"type":"text","text":"Hi"}],"stop_reason":"end_turn","usage":{"input_tokens":3,"output_tokens":1}}"#;
    let cases = [
        (
            "page",
            "<html>502</html>",
            "nothing in `page` is a response",
        ),
        ("empty", "", "nothing in `empty` is a response"),
        (
            "other",
            "{\"hello\": [1]}",
            "nothing in `other` is a response",
        ),
        ("message", message, "--dialect anthropic"),
    ];
    for (name, text, said) in cases {
        folder.write(name, text);
        let ended = folder.run(&["decode", name]);
        ended.ended_with(2, &[said]);
        assert!(
            ended.out.starts_with("{\"dialect\":\"openai-chat\""),
            "{}",
            ended.out
        );
    }
    folder.write("failed", r#"{"error": {"message": "no such model"}}"#);
    folder.run(&["decode", "failed"]).ended_with(0, &[]);
    folder
        .run(&["decode", "--dialect", "anthropic", "message"])
        .ended_with(0, &[]);
}

#[test]
fn an_answer_of_no_tokens_is_not_asked_for() {
    let folder = Folder::with_small();
    for command in ["render", "predict", "explain", "gate", "run"] {
        let ended = folder.run(&[command, "small.yaml", "--max-tokens", "0"]);
        ended.ended_with(2, &["0 is not in 1.."]);
    }
}
