//! Names of the files in a run folder.

/// What was run, on what, and how it ended.
pub const MANIFEST: &str = "manifest.json";
/// One line per attempt; grows while the run does.
pub const REQUESTS: &str = "requests.jsonl";
/// Each distinct span text once.
pub const SPANS: &str = "spans.jsonl";
/// One line per attempt: what is computed after a cell.
pub const BOUNDS: &str = "bounds.jsonl";
/// In which state of the cache things began, and how they ended.
pub const LEDGER: &str = "ledger.jsonl";
/// One line per attempt that was sent and counts nowhere: those of conversations that
/// were run again, and what warms and probes a cache.
pub const ASIDE: &str = "aside.jsonl";
/// The records as a table.
pub const REQUESTS_CSV: &str = "requests.csv";
/// A row per group, scenario, configuration, target, model and load.
pub const SUMMARY_CSV: &str = "summary.csv";
/// The results with everything that the tables leave out.
pub const SUMMARY_JSON: &str = "summary.json";
/// Held while a run writes the folder; gone when it has ended.
pub const LOCK: &str = ".lock";

/// Every file that a run opens before its first request.
pub const ALL: &[&str] = &[
    MANIFEST,
    REQUESTS,
    SPANS,
    BOUNDS,
    LEDGER,
    ASIDE,
    REQUESTS_CSV,
    SUMMARY_CSV,
    SUMMARY_JSON,
];

/// How each cell's load went, a JSON line a cell.
pub const LOAD: &str = "load.jsonl";
