//! Holds the arrows between modules: each may use only those before it.

#![expect(
    clippy::expect_used,
    reason = "a test that cannot read the sources has to stop"
)]

use std::fs;
use std::path::{Path, PathBuf};

/// A module may use only those that stand before it.
const ORDER: &[&str] = &[
    "units",
    "chat",
    "tokens",
    "cache",
    "record",
    "provider",
    "context",
    "scenario",
    "conversation",
    "analysis",
    "chart",
    "report",
    "transport",
    "load",
    "server",
    "cli",
];

/// Arrows that the order would allow and the design does not.
const FORBIDDEN: &[(&str, &[&str])] = &[
    ("transport", &["analysis", "chart", "report"]),
    ("load", &["analysis", "chart", "report"]),
    ("server", &["provider", "transport"]),
];

/// Modules that compute only: no runtime, no network, no clock.
const PURE: &[&str] = &[
    "units",
    "chat",
    "tokens",
    "cache",
    "provider",
    "context",
    "scenario",
    "conversation",
    "analysis",
    "chart",
    "report",
];

const IMPURE: &[&str] = &[
    "tokio::",
    "tokio_util::",
    "reqwest::",
    "axum::",
    "Instant::now",
    "SystemTime::now",
    "Timestamp::now",
    "Zoned::now",
    "env::var",
    "TimeZone::system",
];

/// Crates that only one place may name, so that they can be replaced.
const SINGLE: &[(&str, &[&str])] = &[
    ("plotters::", &["chart/render"]),
    ("serde_saphyr", &["scenario/", "cli/targets"]),
];

fn sources(folder: &Path, out: &mut Vec<PathBuf>) {
    for entry in fs::read_dir(folder).expect("source folder") {
        let path = entry.expect("entry").path();
        if path.is_dir() {
            sources(&path, out);
        } else if path.extension().is_some_and(|extension| extension == "rs") {
            out.push(path);
        }
    }
}

/// The lines of a file that are code: comments and everything from the test module on left out.
fn code(text: &str) -> impl Iterator<Item = (usize, &str)> {
    text.lines()
        .enumerate()
        .take_while(|(_, line)| !line.starts_with("#[cfg(test)]"))
        .filter(|(_, line)| !line.trim_start().starts_with("//"))
        .map(|(index, line)| (index + 1, line))
}

fn used_modules(line: &str) -> impl Iterator<Item = &str> {
    line.split("crate::").skip(1).flat_map(|rest| {
        let single = || {
            rest.split(|c: char| !c.is_alphanumeric() && c != '_')
                .next()
        };
        let rest = rest.strip_prefix('{').or_else(single).unwrap_or_default();
        rest.split([',', '{', '}']).map(str::trim)
    })
}

fn position(module: &str) -> Option<usize> {
    ORDER.iter().position(|known| *known == module)
}

fn faults_of(relative: &str, text: &str) -> Vec<String> {
    let module = relative.split(['/', '.']).next().unwrap_or("");
    let is_test = relative.contains("tests") || relative.contains("testing");
    let Some(own) = position(module).filter(|_| !is_test) else {
        return Vec::new();
    };
    let mut faults = Vec::new();
    for (line, content) in code(text) {
        for used in used_modules(content) {
            let name = used.split("::").next().unwrap_or("");
            let Some(other) = position(name) else {
                continue;
            };
            let banned = FORBIDDEN
                .iter()
                .any(|(from, to)| *from == module && to.contains(&name));
            if other > own || banned {
                faults.push(format!(
                    "src/{relative}:{line}: `{module}` must not use `{name}`"
                ));
            }
        }
        for word in IMPURE
            .iter()
            .filter(|word| PURE.contains(&module) && content.contains(**word))
        {
            faults.push(format!(
                "src/{relative}:{line}: `{module}` is pure, `{word}` is not"
            ));
        }
        for (word, homes) in SINGLE {
            let at_home = homes.iter().any(|home| relative.starts_with(home));
            if content.contains(word) && !at_home {
                faults.push(format!(
                    "src/{relative}:{line}: only {homes:?} may name `{word}`"
                ));
            }
        }
    }
    faults
}

#[test]
fn every_arrow_points_down() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("src");
    let mut files = Vec::new();
    sources(&root, &mut files);
    assert!(files.len() > ORDER.len(), "the sources were not found");
    let mut faults = Vec::new();
    for file in files {
        let relative = file
            .strip_prefix(&root)
            .expect("below src")
            .to_string_lossy()
            .into_owned();
        faults.extend(faults_of(
            &relative,
            &fs::read_to_string(&file).expect("source file"),
        ));
    }
    assert!(faults.is_empty(), "{}", faults.join("\n"));
}

#[test]
fn a_wrong_arrow_is_seen() {
    let cases = [
        ("chat/a.rs", "use crate::cli::output;", true),
        ("chat/a.rs", "use crate::units::Tokens;", false),
        ("chat/a.rs", "// crate::cli", false),
        ("load/a.rs", "use crate::analysis::summary;", true),
        (
            "server/a.rs",
            "use crate::{chat::Text, transport::Client};",
            true,
        ),
        ("cache/a.rs", "let now = tokio::time::Instant::now();", true),
        ("report/a.rs", "use plotters::prelude::*;", true),
    ];
    for (file, line, expected) in cases {
        assert_eq!(
            !faults_of(file, line).is_empty(),
            expected,
            "{file}: {line}"
        );
    }
}
