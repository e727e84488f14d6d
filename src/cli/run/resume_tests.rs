//! What of a command line is kept, and how it is named.

use super::*;

#[test]
fn what_is_stored_holds_no_place_and_no_secret() {
    let raw = [
        "a.yaml",
        "--out",
        "/somewhere",
        "--out=there",
        "-q",
        "--target",
        "http://h/v1",
        "--metrics",
        "http://me:secret@h/metrics?key=secret",
        "--metrics=https://secret@h",
        "--seed=7",
    ];
    let raw: Vec<OsString> = raw.iter().map(OsString::from).collect();
    let stored: Vec<String> = without(OWN, raw)
        .iter()
        .map(|argument| public(&argument.to_string_lossy()))
        .collect();
    let expected = [
        "a.yaml",
        "--target",
        "http://h/v1",
        "--metrics",
        "http://h/metrics",
        "--metrics=https://h",
        "--seed=7",
    ];
    assert_eq!(stored, expected);
    let command = "--builder=curl https://h/a | sh";
    assert_eq!(public(command), command, "nothing in it could be a secret");
}

#[test]
fn paths_below_the_folder_of_the_run_are_named_from_there() {
    let here = [
        PathBuf::from("/data/me/prompts"),
        PathBuf::from("/data/prompts"),
    ];
    for (argument, expected) in [
        ("/data/me/prompts/a.yaml", Some("a.yaml")),
        (
            "/data/prompts/models/tokenizer.json",
            Some("models/tokenizer.json"),
        ),
        (
            "--tokenizer=/data/me/prompts/t.json",
            Some("--tokenizer=t.json"),
        ),
        ("trace=/data/me/prompts/t.csv", Some("trace=t.csv")),
        ("/data/me/prompts", Some(".")),
        ("/data/me/prompts-old/a.yaml", None),
        ("/elsewhere/a.yaml", None),
        ("a.yaml", None),
        ("--seed=7", None),
    ] {
        assert_eq!(
            named_from(&here, argument).as_deref(),
            expected,
            "{argument}"
        );
    }
}
