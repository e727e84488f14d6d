//! Load as people write it: how conversations begin, how long a person thinks, and
//! when a sweep of levels ends.
//!
//! Five models, each with a word of its own, so that nobody takes one for another:
//! `sessions` (closed: so many at once), `open` (conversations arrive at a rate,
//! whatever the server does), `ramp`, `steps` and `trace`. One text form serves the
//! flag, the variable, the plan file and the records' column `load`.
//!
//! Invariants: what is shown reads back as what it was; no number in a value that was
//! read is infinite, not a number, or too large to be scheduled.

mod level;
mod rate;
mod sweep;
mod think;
mod until;

pub use level::{Amount, Level};
pub use rate::{MOST_PER_SECOND, Process, Rate};
pub use sweep::{Step, Sweep};
pub use think::Think;
pub use until::{Measure, Until};

/// Most conversations that may be open at once.
pub const MOST_SESSIONS: u32 = 1_000_000;

/// The two sides of `a..b`.
fn span(text: &str) -> Option<(&str, &str)> {
    let (from, to) = text.split_once("..")?;
    Some((from.trim(), to.trim()))
}

/// A finite number from 0.
fn number(text: &str) -> Option<f64> {
    let number: f64 = text.trim().parse().ok()?;
    (number.is_finite() && number >= 0.0).then_some(number)
}
