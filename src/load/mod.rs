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
mod health;
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
mod todo;
pub mod trace;
mod writer;

pub use arrivals::{Beginning, MOST_CONVERSATIONS, Opening, beginning};
pub use cell::{Cell, CellEnd, Idle, Limits, Runner, RunnerSetup};
pub use health::Health;
pub use isolation::{Isolate, Isolation, MOST_UNITS, Units};
pub use key::{Key, KeyError, Secret};
pub use known::{Before, StartState, WarmUp};
pub use order::{Order, Part, Round, Size, rounds};
pub use reset::{ResetError, reset};
pub use session::Measured;
pub use shard::{Named, runs};
pub use tally::{Lost, Tally};
pub use target::{Affinity, Engine, Rates, Target, Tolerance, UNNAMED};
pub use todo::Todo;
pub use writer::{ToWriter, Writer};
