//! The committed example: its tables, pictures and page follow from its records,
//! byte for byte.

#![expect(clippy::expect_used, reason = "a broken test says where it broke")]

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

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
