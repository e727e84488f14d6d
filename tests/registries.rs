//! Every registry: names are unique, everything is explained and listed, and
//! nothing is there that neither a scenario nor a test uses.

#![expect(
    clippy::expect_used,
    reason = "a test that cannot read its files has to stop"
)]

#[path = "../benches/support/mod.rs"]
mod support;

use assert_cmd::cargo::cargo_bin_cmd;
use prefixbench::chat::{Block, Content, Prompt};
use prefixbench::context::{registry, strategy};
use prefixbench::scenario::{LoadOptions, load, load_str, step_kinds};
use prefixbench::{cache, chart, provider, server};
use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// What a message can carry, and keys that have no step of their own.
const EVERYTHING: &str = r##"
scenario: everything
notes:
  a/spec.md: {text: The plan., tags: ["#plan"]}
urls: {"https://a.example": A page.}
tabs: {"https://b.example": A tab.}
steps:
  - set: {other: {configured_additional: Be kind., agent_context_files: A file.}}
  - user:
      text: Go on.
      tool_outputs: [{tool: search, output: Found.}]
      attach:
        - {url: "https://a.example"}
        - {tab: "https://b.example"}
        - {selection: {note: a/spec.md, lines: [1, 1]}}
        - {tag: "#plan"}
        - {folder: a/}
        - {image: p.png}
"##;

/// A registry: what `list` calls it, and its names with what is said of them.
struct Registry {
    list: &'static str,
    entries: Vec<(String, String)>,
}

fn registry<'a>(list: &'static str, entries: impl Iterator<Item = (&'a str, &'a str)>) -> Registry {
    let owned = |(name, about): (&str, &str)| (name.to_owned(), about.to_owned());
    Registry {
        list,
        entries: entries.map(owned).collect(),
    }
}

fn registries() -> Vec<Registry> {
    let strategies = strategy::STRATEGIES.iter().map(|one| (one.name, one.about));
    let dialects = provider::DIALECTS
        .iter()
        .map(|one| (one.name(), one.about()));
    let sources = registry::SOURCES.iter().map(|one| (one.key, one.about));
    let profiles = server::PROFILES.iter().map(|one| (one.name, one.about));
    let charts = chart::CHARTS.iter().map(|one| (one.name, one.help));
    vec![
        registry("configurations", strategies),
        registry("dialects", dialects),
        registry("sources", sources),
        Registry {
            list: "steps",
            entries: step_kinds().into_iter().collect(),
        },
        registry("cache-models", cache::MODELS.iter().copied()),
        registry("profiles", profiles),
        registry("charts", charts),
    ]
}

#[test]
fn names_are_unique_and_everything_is_explained() {
    for Registry { list, entries } in registries() {
        assert!(!entries.is_empty(), "{list}");
        let mut names = BTreeSet::new();
        for (name, about) in entries {
            assert!(about.len() > 3, "{list}: `{name}` is not explained");
            assert!(names.insert(name.clone()), "{list}: `{name}` twice");
        }
    }
}

#[test]
fn everything_is_listed() {
    for Registry { list, entries } in registries() {
        let output = cargo_bin_cmd!("prefixbench")
            .args(["list", list])
            .output()
            .expect("it runs");
        assert!(output.status.success(), "{list}");
        let listed = String::from_utf8(output.stdout).expect("text");
        for (name, _) in entries {
            let own_line = |line: &str| line.split_whitespace().next() == Some(name.as_str());
            assert!(listed.lines().any(own_line), "{list}: `{name}` in {listed}");
        }
    }
}

#[test]
fn everything_is_used_by_a_scenario_or_a_test() {
    let texts = texts();
    let mut unused = Vec::new();
    for Registry { list, entries } in registries() {
        for (name, _) in entries {
            let used = match list {
                // A source is used where its text gets into a prompt, below.
                "sources" => true,
                "steps" => texts
                    .iter()
                    .any(|text| text.contains(&format!("- {name}:"))),
                // A model is named with its numbers.
                "cache-models" => {
                    let bare = name.split([':', ',']).next().unwrap_or(&name);
                    texts.iter().any(|text| text.contains(&format!("\"{bare}")))
                }
                // The server's tests go through all profiles.
                "profiles" => texts
                    .iter()
                    .any(|text| text.contains("for profile in PROFILES")),
                // Charts are drawn by their types: `prefix-map` is a `PrefixMap`.
                "charts" => {
                    let kind: String = name.split('-').map(capital).collect();
                    texts.iter().any(|text| text.contains(&kind))
                }
                _ => texts.iter().any(|text| text.contains(&name)),
            };
            if !used {
                unused.push(format!("{list}: {name}"));
            }
        }
    }
    assert!(unused.is_empty(), "{unused:?}");
}

#[test]
fn the_text_of_every_source_gets_into_a_prompt_of_some_scenario() {
    let mut origins = BTreeSet::new();
    let options = LoadOptions::default();
    let scenarios = files(&root().join("scenarios"), "yaml");
    let mut scenarios: Vec<_> = scenarios
        .iter()
        .filter(|path| !prefixbench::scenario::plan::is_plan(path))
        .map(|path| load(path, &options).expect("a scenario"))
        .collect();
    let folder = tempfile::tempdir().expect("a folder");
    fs::write(folder.path().join("p.png"), b"\x89PNG\r\n\x1a\nabc").expect("a picture");
    let everything = load_str("everything.yaml", EVERYTHING, folder.path(), &options);
    scenarios.push(everything.expect("a scenario"));
    for scenario in scenarios.into_iter().map(Arc::new) {
        for configuration in ["dev", "turn-context"] {
            for pending in support::requests(&scenario, configuration) {
                origins.extend(origins_of(&pending.prompt));
            }
        }
    }
    let is_in = |key: &str| match key.strip_suffix('*') {
        Some(family) => origins.iter().any(|origin| origin.starts_with(family)),
        None => origins.contains(key),
    };
    let missing: Vec<&str> = registry::SOURCES
        .iter()
        .map(|source| source.key)
        .filter(|key| !is_in(key))
        .collect();
    assert!(missing.is_empty(), "{missing:?} not among {origins:?}");
}

fn origins_of(prompt: &Prompt) -> BTreeSet<String> {
    let tools = prompt.tools.iter().map(|tool| &tool.parameters);
    let messages = prompt.messages.iter().flat_map(|message| &message.blocks);
    let blocks = prompt.system.iter().chain(messages);
    let spans = blocks.flat_map(|Block { content, .. }| match content {
        Content::Text(spans) | Content::Reasoning(spans) => spans.iter().collect(),
        Content::Image(image) => vec![&image.data],
        Content::Call(call) => vec![&call.name, &call.arguments],
    });
    let all = tools.chain(spans);
    all.map(|span| span.origin.to_string()).collect()
}

fn root() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR"))
}

fn capital(word: &str) -> String {
    let (first, rest) = word.split_at(1.min(word.len()));
    first.to_uppercase() + rest
}

/// Scenarios, integration tests but this one, and the unit tests in files of
/// their own.
fn texts() -> Vec<String> {
    let mut paths = files(&root().join("scenarios"), "yaml");
    paths.extend(files(&root().join("tests"), "rs"));
    let unit = files(&root().join("src"), "rs").into_iter().filter(|path| {
        let shown = path.to_string_lossy();
        shown.ends_with("tests.rs") || shown.contains("/tests/")
    });
    paths.extend(unit);
    paths.retain(|path| !path.ends_with("registries.rs"));
    let read = |path: &PathBuf| fs::read_to_string(path).expect("readable");
    paths.iter().map(read).collect()
}

fn files(folder: &Path, extension: &str) -> Vec<PathBuf> {
    let mut found = Vec::new();
    for entry in fs::read_dir(folder).expect("a folder") {
        let path = entry.expect("an entry").path();
        if path.is_dir() {
            found.extend(files(&path, extension));
        } else if path.extension().is_some_and(|own| own == extension) {
            found.push(path);
        }
    }
    found.sort();
    found
}
