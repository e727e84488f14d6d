//! How each cell's load went: `load.jsonl`, a line a cell, written when the run ends, and
//! over all of its sessions.
//!
//! What stands in it follows from `requests.jsonl` as well; it is there so that a person
//! or a script sees at once whether the client kept its own schedule.

use super::error::WriteError;
use super::files;
use super::lines::{Dated, Lines};
use super::read::ReadError;
use super::write::replace;
use crate::units::Micros;
use serde::{Deserialize, Serialize};
use std::io::Write as _;
use std::path::Path;

/// Current version of [`LoadRecord`].
pub const LOAD_VERSION: u32 = 1;

/// How late the client itself was; see [`Stamps::lateness`](super::Stamps::lateness).
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Lateness {
    /// Half of the attempts were less late.
    pub p50_us: Micros,
    /// Nine in ten were.
    pub p90_us: Micros,
    /// Ninety-nine in a hundred were.
    pub p99_us: Micros,
    /// The latest.
    pub max_us: Micros,
    /// The histogram: upper ends of its filled buckets in microseconds, with the number
    /// of attempts in each.
    pub buckets: Vec<(u64, u64)>,
}

/// How a cell's load went. One line of `load.jsonl`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct LoadRecord {
    /// Version of this format.
    pub v: u32,
    /// The cell (`quickstart/dev@open=2/s,poisson`).
    pub cell: String,
    /// Its load level, as in the records.
    pub load: String,
    /// Attempts.
    pub attempts: u64,
    /// Requests, arrivals that were shed among them.
    pub requests: u64,
    /// Of these, without an answer.
    pub failed: u64,
    /// Arrivals for which there was no room in flight.
    pub shed: u64,
    /// Attempts that waited for a limit, and how long in all.
    pub limited: u64,
    /// See [`Self::limited`].
    pub limited_us: Micros,
    /// The client's lateness; `None` where nothing was sent.
    pub lateness: Option<Lateness>,
    /// Median time to first token, from sent; `None` where nothing was answered.
    pub ttft_p50_us: Option<Micros>,
    /// Whether the client was too late for its times to be believed; see
    /// [`is_late`](super::is_late).
    pub late: bool,
    /// Why the cell ended before its end, or was not begun; `None` where it was not so.
    pub ended: Option<String>,
}

/// Writes a line for each of `cells` in the run folder `dir`, in place of what is there.
///
/// # Errors
///
/// What the operating system says.
pub fn write_load(dir: &Path, cells: &[LoadRecord]) -> Result<(), WriteError> {
    replace(&dir.join(files::LOAD), |file| {
        for cell in cells {
            serde_json::to_writer(&mut *file, cell)?;
            file.write_all(b"\n")?;
        }
        Ok(())
    })
}

/// The lines of `load.jsonl` in the run folder `dir`; none where there is no such file.
///
/// # Errors
///
/// [`ReadError`], at the first line that cannot be read.
pub fn read_load(dir: &Path) -> Result<Vec<LoadRecord>, ReadError> {
    let path = dir.join(files::LOAD);
    if path.try_exists().is_ok_and(|there| !there) {
        return Ok(Vec::new());
    }
    Lines::open(path)?.collect()
}

impl Dated for LoadRecord {
    const KNOWN: Option<u32> = Some(LOAD_VERSION);

    fn version(&self) -> Option<u32> {
        Some(self.v)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_reads_back_as_it_was_written_and_replaces_what_was_there() {
        let dir = tempfile::tempdir().unwrap();
        assert_eq!(read_load(dir.path()).unwrap(), []);
        let record = LoadRecord {
            v: LOAD_VERSION,
            cell: "chat/dev".to_owned(),
            load: "open=2/s,poisson".to_owned(),
            attempts: 3,
            requests: 3,
            failed: 1,
            shed: 1,
            limited: 0,
            limited_us: Micros(0),
            lateness: Some(Lateness {
                buckets: vec![(10, 2)],
                ..Lateness::default()
            }),
            ttft_p50_us: None,
            late: false,
            ended: None,
        };
        for _ in 0..2 {
            write_load(dir.path(), std::slice::from_ref(&record)).unwrap();
        }
        assert_eq!(read_load(dir.path()).unwrap(), [record]);
    }
}
