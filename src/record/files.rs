//! Names of the files in a run folder.

/// What was run, on what, and how it ended.
pub const MANIFEST: &str = "manifest.json";
/// One line per attempt; only ever grows.
pub const REQUESTS: &str = "requests.jsonl";
/// Each distinct span text once.
pub const SPANS: &str = "spans.jsonl";
/// One line per attempt: what is computed after a cell.
pub const BOUNDS: &str = "bounds.jsonl";
/// The records as a table.
pub const REQUESTS_CSV: &str = "requests.csv";
/// A row per group, scenario, configuration, target, model and load.
pub const SUMMARY_CSV: &str = "summary.csv";
/// The results with everything that the tables leave out.
pub const SUMMARY_JSON: &str = "summary.json";

/// Every file that a run opens before its first request.
pub const ALL: &[&str] = &[
    MANIFEST,
    REQUESTS,
    SPANS,
    BOUNDS,
    REQUESTS_CSV,
    SUMMARY_CSV,
    SUMMARY_JSON,
];

/// How each cell's load went, a JSON line a cell.
pub const LOAD: &str = "load.jsonl";
