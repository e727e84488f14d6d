//! What a run leaves behind, and what every report begins from.
//!
//! A run folder holds a manifest, one JSON line per attempt and every distinct
//! span text once. Everything else is derived from these.
//!
//! Invariants: a record is written with one `write` as the attempt ends; a
//! number that is not known is absent, never 0; all times are monotonic
//! microseconds from the run's start; no key, token or header value that could
//! hold one is ever in a record.

pub mod request;

pub use request::{
    BoundRecord, Break, EventLabel, Outcome, RecordedMessage, RecordedSpan, RequestRecord, Stamps,
};
