//! Whatever the bytes, loading ends in a scenario or in an error that can be shown.

use super::{WHOLE, parsed, shown};
use crate::scenario::limits::Limits;
use crate::scenario::load::{LoadOptions, checked, load};
use crate::scenario::{Mistake, ScenarioError};
use proptest::prelude::*;
use std::fs;
use std::path::Path;

/// Loads and, where that fails, shows the error: neither may panic.
fn survives(text: &str) {
    if let Err(error) = parsed(text) {
        let picture = shown(&error);
        assert!(!picture.is_empty());
        if let ScenarioError::Mistake { at, .. } = &error {
            assert!(
                at.offset() + at.len() <= text.len(),
                "{at:?} of {}",
                text.len()
            );
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 200, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn arbitrary_text_is_refused_or_read(text in "\\PC{0,200}|[ -~\n]{0,300}|[a-c:\\-{}\\[\\], \n\"'&*!|>#]{0,200}") {
        survives(&text);
    }

    #[test]
    fn arbitrary_bytes_are_refused_or_read(bytes in prop::collection::vec(any::<u8>(), 0..200)) {
        let file = tempfile::NamedTempFile::new().expect("a file");
        fs::write(file.path(), &bytes).expect("written");
        if let Err(error) = load(file.path(), &LoadOptions::default()) {
            prop_assert!(!shown(&error).is_empty());
        }
    }

    #[test]
    fn a_valid_scenario_survives_any_edit(
        at in 0..WHOLE.len(),
        length in 0_usize..60,
        put in "[a-z0-9]{0,5}|[ -~]{0,6}|[\n \t:{}\\[\\]\\-,\"]{0,6}|\\PC{0,3}",
    ) {
        let end = (at + length).min(WHOLE.len());
        survives(&format!("{}{put}{}", &WHOLE[..at], &WHOLE[end..]));
    }

    #[test]
    fn a_valid_scenario_survives_swapped_lines(a in 0_usize..70, b in 0_usize..70) {
        let mut lines: Vec<&str> = WHOLE.lines().collect();
        let (a, b) = (a % lines.len(), b % lines.len());
        lines.swap(a, b);
        survives(&lines.join("\n"));
    }
}

fn limited(text: &str, limits: Limits) -> Mistake {
    let path = Path::new("chat.yaml");
    let options = LoadOptions::default();
    match checked(path, "chat.yaml", text, Path::new("."), options, limits) {
        Err(ScenarioError::Mistake { mistake, .. }) => *mistake,
        other => panic!("a mistake, not {other:?}"),
    }
}

#[test]
fn every_limit_has_a_message() {
    let user = "scenario: a\nsystem: s\nsteps:\n  - user: {text: Hi, reply: Ho}\n";
    let with = |change: fn(&mut Limits)| {
        let mut limits = Limits::default();
        change(&mut limits);
        limits
    };
    let cases = [
        (
            user.to_owned(),
            with(|l| l.scenario = 10),
            "`chat.yaml` is too large: the limit is 10 bytes",
        ),
        (
            format!("{user}  - user: {{text: Hi, reply: Ho}}\n"),
            with(|l| l.steps = 1),
            "the list of steps is too large: the limit is 1 steps",
        ),
        (
            user.to_owned(),
            with(|l| l.total = 3),
            "the scenario with all its texts is too large: the limit is 3 bytes",
        ),
        (
            user.replace("system: s", "system: {generate: {tokens: 2000001}}"),
            Limits::default(),
            "the generated text is too large: the limit is 2000000 tokens",
        ),
        (
            user.replace("system: s", "system: {file: Cargo.toml}"),
            with(|l| l.file = 100),
            "`Cargo.toml` is too large: the limit is 100 bytes",
        ),
    ];
    for (text, limits, expected) in cases {
        assert_eq!(limited(&text, limits).to_string(), expected);
    }
}

#[test]
fn aliases_cannot_blow_a_scenario_up() {
    let mut text = String::from("scenario: a\nsteps:\n  - wait: 1s\n  - user: {text: &t0 ");
    text.push_str(&"x".repeat(900_000));
    text.push_str("}\n");
    for _ in 0..400 {
        text.push_str("  - user: {text: *t0, reply: *t0}\n");
    }
    let error = parsed(&text).expect_err("720 MB of text");
    assert!(
        matches!(&error, ScenarioError::Mistake { mistake, .. }
        if matches!(**mistake, Mistake::TooLarge { .. } | Mistake::Yaml { .. })),
        "{error}"
    );
}

#[cfg(unix)]
#[test]
fn a_link_out_of_the_folder_is_refused_unless_allowed() {
    let outer = tempfile::tempdir().expect("a folder");
    let inner = outer.path().join("inner");
    fs::create_dir(&inner).expect("created");
    fs::write(outer.path().join("secret.md"), "secret").expect("written");
    std::os::unix::fs::symlink("../secret.md", inner.join("link.md")).expect("linked");
    std::os::unix::fs::symlink("..", inner.join("up")).expect("linked");
    let absolute = outer.path().join("secret.md");
    for name in [
        "link.md",
        "up/secret.md",
        "../secret.md",
        &absolute.to_string_lossy(),
    ] {
        let text =
            format!("scenario: a\nsystem: {{file: '{name}'}}\nsteps: [{{user: {{text: Hi}}}}]\n");
        fs::write(inner.join("chat.yaml"), text).expect("written");
        let path = inner.join("chat.yaml");
        let refused = load(&path, &LoadOptions::default()).expect_err("outside");
        assert!(
            matches!(&refused, ScenarioError::Mistake { mistake, .. }
            if matches!(**mistake, Mistake::Outside { .. })),
            "{name}: {refused}"
        );
        let allowed = load(
            &path,
            &LoadOptions {
                outside_folder: true,
            },
        );
        assert_eq!(
            allowed.expect("allowed").start.system.as_str(),
            "secret",
            "{name}"
        );
    }
}

#[test]
fn what_is_no_readable_file_is_told() {
    let folder = tempfile::tempdir().expect("a folder");
    let chat = folder.path().join("chat.yaml");
    fs::write(folder.path().join("latin.md"), b"caf\xe9").expect("written");
    let says = |system: &str| {
        fs::write(
            &chat,
            format!("scenario: a\nsystem: {{file: {system}}}\nsteps: [{{user: {{text: Hi}}}}]\n"),
        )
        .expect("written");
        load(&chat, &LoadOptions::default())
            .expect_err("unreadable")
            .to_string()
    };
    assert_eq!(says("latin.md"), "`latin.md` is no UTF-8 text: byte 3");
    assert_eq!(says("."), "cannot read `.`");
    assert_eq!(says("'nul\\0l'"), r"cannot read `nul\0l`");
    for path in [
        folder.path().join("none.yaml"),
        folder.path().to_owned(),
        folder.path().join("latin.md"),
    ] {
        let error = load(&path, &LoadOptions::default()).expect_err("no scenario");
        assert!(matches!(error, ScenarioError::Read { .. }), "{error}");
    }
}
