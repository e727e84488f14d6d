//! The committed runs: tables, pictures and page of the example follow from its
//! records, byte for byte, and no run names a place of the machine that made it.

#![expect(clippy::expect_used, reason = "a broken test says where it broke")]

use serde_json::Value;
use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

/// What a run leaves; all else is derived.
const RECORDS: &[&str] = &[
    "manifest.json",
    "requests.jsonl",
    "spans.jsonl",
    "bounds.jsonl",
    "counters.json",
    "aside.jsonl",
    "ledger.jsonl",
    "load.jsonl",
];

/// Every derived file below `dir`, by its path in it.
fn derived(dir: &Path) -> BTreeMap<String, Vec<u8>> {
    let mut found = BTreeMap::new();
    for (folder, prefix) in [(dir.to_owned(), ""), (dir.join("charts"), "charts/")] {
        for entry in fs::read_dir(folder).expect("folder") {
            let entry = entry.expect("entry");
            let name = format!("{prefix}{}", entry.file_name().to_string_lossy());
            if entry.path().is_file() && !RECORDS.contains(&&*name) {
                found.insert(name, fs::read(entry.path()).expect("file"));
            }
        }
    }
    found
}

#[test]
fn the_example_follows_from_its_records() {
    let example = Path::new(env!("CARGO_MANIFEST_DIR")).join("reports/example");
    let copy = tempfile::tempdir().expect("folder");
    for name in RECORDS {
        fs::copy(example.join(name), copy.path().join(name)).expect("copies");
    }
    prefixbench::report::rebuild(copy.path(), None).expect("report");
    let (committed, made) = (derived(&example), derived(copy.path()));
    let names = |files: &BTreeMap<String, Vec<u8>>| files.keys().cloned().collect::<Vec<_>>();
    assert_eq!(names(&committed), names(&made));
    for (name, bytes) in &made {
        assert!(
            committed.get(name) == Some(bytes),
            "`{name}` is not what the records give: run `prefixbench report reports/example`"
        );
    }
}

/// Every `manifest.json` below `dir`.
fn manifests(dir: &Path) -> Vec<PathBuf> {
    let entries = fs::read_dir(dir).expect("folder");
    let paths = entries.map(|entry| entry.expect("entry").path());
    let below = paths.flat_map(|path| {
        if path.is_dir() {
            manifests(&path)
        } else {
            vec![path]
        }
    });
    let named = below.filter(|path| path.ends_with("manifest.json"));
    named.collect()
}

/// Strings of `value` that are, or end in `=` and, a path from the root.
fn rooted(value: &Value, found: &mut Vec<String>) {
    match value {
        Value::String(text) => {
            let path = text.rsplit('=').next().unwrap_or(text);
            if path.starts_with('/') {
                found.push(text.clone());
            }
        }
        Value::Array(values) => values.iter().for_each(|value| rooted(value, found)),
        Value::Object(fields) => fields.values().for_each(|value| rooted(value, found)),
        Value::Null | Value::Bool(_) | Value::Number(_) => {}
    }
}

#[test]
fn no_committed_run_names_a_place_of_its_machine() {
    let reports = Path::new(env!("CARGO_MANIFEST_DIR")).join("reports");
    for folder in ["example", "vllm-cpu"] {
        let manifests = manifests(&reports.join(folder));
        assert!(!manifests.is_empty(), "{folder}");
        for path in manifests {
            let text = fs::read_to_string(&path).expect("a manifest");
            let mut found = Vec::new();
            rooted(&serde_json::from_str(&text).expect("JSON"), &mut found);
            assert!(found.is_empty(), "{}: {found:?}", path.display());
        }
    }
}
