//! Drives conversations against a target.
//!
//! A run is a list of [`Cell`]s (scenario, configuration, target, load level);
//! a cell is a number of conversations, up to `sessions` of them at once. Within
//! a conversation a turn follows the answer, as with a person.
//!
//! Invariants: every attempt becomes exactly one record, whatever ends it; the
//! timed part of an attempt only sends, reads and stamps; a full channel to the
//! writer slows the next turn, never the reading of an answer; when the run is
//! told to stop, requests in flight are recorded as aborted and everything
//! measured is kept.

mod arrivals;
mod cell;
mod crew;
mod isolation;
mod key;
mod known;
pub mod limits;
mod order;
pub mod preset;
mod reset;
mod session;
mod shard;
mod tally;
mod target;
pub mod trace;
mod writer;

pub use arrivals::{Beginning, MOST_CONVERSATIONS, Opening, beginning};
pub use cell::{Cell, CellEnd, Idle, Limits, Runner, RunnerSetup};
pub use isolation::{Isolate, Isolation};
pub use key::{Key, KeyError, Secret};
pub use known::{Before, StartState, WarmUp};
pub use order::{Order, Round, Size, rounds};
pub use reset::{ResetError, reset};
pub use session::Measured;
pub use shard::{Named, runs};
pub use tally::{Lost, Tally};
pub use target::{Affinity, Engine, Rates, Target, Tolerance, UNNAMED};
pub use writer::{ToWriter, Writer};
