//! Runs that cannot be gone on with, and why.

use crate::folder::{Folder, Served, format_1, kill, wait_until};
use std::fs;

/// A run by a plan that was killed after its first record.
fn killed(server: &Served, more: &[&str]) -> Folder {
    let folder = Folder::new();
    folder.write(
        "plan.yaml",
        "plan: p\nscenarios: [chat.yaml]\nconfig: [dev, inline]\n",
    );
    folder.write("phrases.json", "{}");
    let fixed = ["run", "plan.yaml", "--target", &server.url, "--out", "run"];
    let mut child = folder.start(&[&fixed[..], more].concat());
    wait_until(&mut child, || folder.lines("run/requests.jsonl") >= 1);
    kill(&mut child);
    folder
}

#[test]
fn what_was_changed_since_is_named_and_nothing_is_touched() {
    let server = Served::slow();
    let changes: [(&str, &str, &str, &str); 5] = [
        ("chat.yaml", "Two.", "Too.", "scenario `chat` has changed"),
        ("plan.yaml", "dev, inline", "dev", "plan `p` has changed"),
        (
            "run/manifest.json",
            "\"program\": \"",
            "\"program\": \"9.",
            "was begun by prefixbench 9.",
        ),
        (
            "run/manifest.json",
            "\"dialect\": \"openai-chat\"",
            "\"dialect\": \"other\"",
            "its dialect was `other`",
        ),
        ("phrases.json", "{}", "{ }", "`--phrases` names has changed"),
    ];
    for (file, from, to, expected) in changes {
        let more: &[&str] = match file {
            "phrases.json" => &["--phrases", "phrases.json"],
            _ => &[],
        };
        let folder = killed(&server, more);
        let text = folder.read(file);
        assert!(text.contains(from), "{file}");
        folder.write(file, &text.replacen(from, to, 1));
        let before = folder.read("run/requests.jsonl");
        let ended = folder.run(&["run", "--resume", "run"]);
        ended.ended_with(2, &[expected, "begin a new run"]);
        assert_eq!(folder.read("run/requests.jsonl"), before, "{file}");
        folder.write(file, &text);
        folder
            .run(&["run", "--resume", "run", "--no-report"])
            .ended_with(0, &[]);
    }
}

#[test]
fn nothing_may_be_changed_by_arguments_beside_it() {
    let server = Served::slow();
    let folder = killed(&server, &[]);
    for more in [
        &["--repeat", "2"][..],
        &["chat.yaml"],
        &["--target=http://me:secret@h/v1"],
    ] {
        let ended = folder.run(&[&["run", "--resume", "run"], more].concat());
        ended.ended_with(2, &["would change it", "--quiet"]);
        assert!(!ended.err.contains("secret"), "{}", ended.err);
    }
    folder
        .run(&["run", "--resume", "nowhere"])
        .ended_with(2, &["not a run folder"]);
}

#[test]
fn a_run_of_the_previous_format_is_read_and_not_gone_on_with() {
    let folder = Folder::new();
    fs::create_dir(folder.path().join("old")).expect("a folder");
    for entry in fs::read_dir(format_1()).expect("the old run") {
        let entry = entry.expect("an entry");
        let copy = folder.path().join("old").join(entry.file_name());
        fs::copy(entry.path(), copy).expect("a copy");
    }
    let contents = folder.contents("old");
    assert_eq!(contents.manifest.format, 1);
    assert_eq!(contents.requests.len(), 4);
    assert!(
        contents
            .requests
            .iter()
            .all(|record| record.v == 1 && record.epoch == 0)
    );
    let ended = folder.run(&["report", "old"]);
    ended.ended_with(0, &[]);
    assert!(ended.out.contains("append-only"), "{}", ended.out);
    // As if it had been killed: an ended one has nothing left to do.
    let manifest = folder.read("old/manifest.json");
    folder.write(
        "old/manifest.json",
        &manifest.replacen("\"complete\"", "null", 1),
    );
    let ended = folder.run(&["run", "--resume", "old"]);
    ended.ended_with(2, &["format 1"]);
}

#[test]
fn the_name_of_a_variable_is_kept_and_a_key_in_its_place_is_refused_unseen() {
    let server = Served::instant();
    let folder = Folder::new();
    let fixed = [
        "run",
        "chat.yaml",
        "--config",
        "dev",
        "--target",
        &server.url,
    ];
    for key in ["sk-live-1234", "0123456789abcdef"] {
        let ended = folder.run(&[&fixed[..], &["--out", "no", "--key-env", key]].concat());
        ended.ended_with(2, &["--key-env"]);
        assert!(!ended.err.contains(key), "{}", ended.err);
        assert!(!folder.path().join("no").exists());
    }
    let mut with = folder.program(&[&fixed[..], &["--out", "run", "--key-env", "MY_KEY"]].concat());
    let ended = crate::folder::Ended::of(with.env("MY_KEY", "sk-live-1234").output());
    ended.ended_with(0, &[]);
    let manifest = folder.read("run/manifest.json");
    assert!(
        manifest.contains("MY_KEY") && !manifest.contains("sk-live"),
        "{manifest}"
    );
}

#[test]
fn what_may_be_spent_is_said_anew_when_a_run_goes_on() {
    let folder = Folder::new();
    // The embedded server takes any model, and this one has a price.
    let call = [
        "run",
        "chat.yaml",
        "--model",
        "gpt-6.1-sol",
        "--config",
        "dev",
    ];
    let more = ["--repeat", "30", "--max-usd", "0.01", "--out", "run"];
    folder
        .run(&[&call[..], &more].concat())
        .ended_with(0, &["the next request may cost"]);
    let limited = |folder: &Folder| {
        let ending = folder.contents("run").manifest.ending;
        matches!(ending, Some(prefixbench::record::Ending::Limited(_)))
    };
    assert!(limited(&folder));
    let again = folder.run(&["run", "--resume", "run"]);
    again.ended_with(0, &["the next request may cost"]);
    assert!(limited(&folder), "what was spent before counts");
    let wider = ["run", "--resume", "run", "--max-usd=10", "--yes"];
    folder.run(&wider).ended_with(0, &[]);
    let run = folder.contents("run");
    assert_eq!(
        run.manifest.ending,
        Some(prefixbench::record::Ending::Complete)
    );
    assert_eq!(run.manifest.settings["max-usd"].value, "10");
    let stored = run
        .manifest
        .invocation
        .expect("what it was begun with")
        .arguments;
    assert_eq!(stored[0], "--max-usd=10");
    assert!(
        !stored.iter().any(|argument| argument == "0.01"),
        "{stored:?}"
    );
    assert_eq!(run.requests.len(), 90);
}
