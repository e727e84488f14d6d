//! What a run leaves behind, and what every report begins from.
//!
//! A run folder holds a manifest, one JSON line per attempt and every distinct
//! span text once. Everything else is derived from these.
//!
//! Invariants: a record is written with one `write` as the attempt ends; a
//! number that is not known is absent, never 0; all times are monotonic
//! microseconds from the run's start; no key, token or header value that could
//! hold one is ever in a record.

mod calibration;
mod csv;
mod error;
pub mod files;
mod lines;
pub mod manifest;
mod places;
pub mod price;
mod read;
pub mod request;
mod spans;
mod wall;
mod write;

pub use calibration::{Calibration, CalibrationLevel, Ceiling};
pub use csv::{REQUEST_COLUMNS, write_requests};
pub use error::WriteError;
pub use lines::{Lines, Versioned};
pub use manifest::{
    ConfigurationFacts, Ending, Host, MANIFEST_VERSION, Manifest, PublicUrl, ScenarioFacts,
    Setting, SettingOrigin, TargetFacts,
};
pub use places::{Place, Places};
pub use price::{Price, PriceTier};
pub use read::{ReadError, Run, RunContents};
pub use request::{
    AttemptKey, BoundRecord, Break, EventLabel, Outcome, RecordedMessage, RecordedSpan,
    RequestRecord, Stamps,
};
pub use spans::{SpanStore, StoredSpan};
pub use wall::WallTime;
pub use write::RunWriter;

#[cfg(test)]
mod tests;
