//! What a run leaves behind, and what every report begins from.
//!
//! A run folder holds a manifest, one JSON line per attempt, every distinct span
//! text once and a ledger of what was known of the cache. Everything else is derived
//! from these.
//!
//! Invariants: a record is written with one `write` as the attempt ends; a
//! number that is not known is absent, never 0; all times are monotonic
//! microseconds from the run's start; no key, token or header value that could
//! hold one is ever in a record.

mod blocks;
mod calibration;
mod computed;
mod csv;
mod error;
pub mod files;
pub mod lean;
pub mod ledger;
mod lines;
pub mod load;
mod lock;
pub mod manifest;
pub mod merge;
mod places;
pub mod price;
mod read;
pub mod request;
mod resume;
mod spans;
mod wall;
mod write;

pub use blocks::{Block, Blocks, Line};
pub use calibration::{Calibration, CalibrationLevel, Ceiling};
pub use computed::{Computed, ComputedTable, Names};
pub use csv::{REQUEST_COLUMNS, inert, request_head, request_row, write_requests};
pub use error::WriteError;
pub use ledger::{Fact, LedgerLine};
pub use lines::{Dated, LineError, Lines, Versioned, VersionedLine};
pub use lock::FolderLock;
pub use manifest::{
    ConfigurationFacts, Ending, Host, Invocation, MANIFEST_VERSION, Manifest, PublicUrl,
    Resumption, ScenarioFacts, Setting, SettingOrigin, Shard, TargetFacts,
};
pub use places::{Place, Places};
pub use price::{Peak, Price, PriceTier};
pub use read::{ReadError, Run, RunContents};
pub use request::{
    AttemptKey, BoundRecord, Break, EventLabel, IDLE_CUT, Outcome, RecordedMessage, RecordedSpan,
    RequestRecord, Stamps, has_schedule, is_late, is_of_gateway,
};
pub use resume::Unfinished;
pub use spans::{SpanStore, StoredSpan};
pub use wall::WallTime;
pub use write::RunWriter;

#[cfg(test)]
mod tests;
