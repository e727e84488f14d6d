//! Files and tables that follow from the records of a run.

use super::exit::{Exit, Failure};
use crate::analysis::Results;
use crate::record::{BoundRecord, RequestRecord, files};
use crate::report::{self, Look};
use std::fs;
use std::io::{self, IsTerminal};
use std::path::Path;

/// Writes every derived file of the run in `dir`, each beside its place first
/// and then moved there, so that a reader never sees half of one.
pub(super) fn write(
    dir: &Path,
    results: &Results,
    requests: &[RequestRecord],
    bounds: &[BoundRecord],
) -> Result<(), Failure> {
    let mut csv = Vec::new();
    let csv_failed = |error: io::Error| failed(dir, &error);
    crate::record::write_requests(&mut csv, requests, bounds).map_err(csv_failed)?;
    place(&dir.join(files::REQUESTS_CSV), &csv)?;
    let mut csv = Vec::new();
    report::summary_csv(&mut csv, results).map_err(csv_failed)?;
    place(&dir.join(files::SUMMARY_CSV), &csv)?;
    let json = report::summary_json(results).map_err(|error| failed(dir, &error))?;
    place(&dir.join(files::SUMMARY_JSON), json.as_bytes())?;
    place(&dir.join("report.md"), report::markdown(results).as_bytes())
}

fn place(path: &Path, bytes: &[u8]) -> Result<(), Failure> {
    let draft = path.with_extension("new");
    fs::write(&draft, bytes)
        .and_then(|()| fs::rename(&draft, path))
        .map_err(|error| failed(path, &error))
}

fn failed(path: &Path, error: &dyn std::fmt::Display) -> Failure {
    Failure::new(
        Exit::NotWritten,
        format!("cannot write `{}`: {error}", path.display()),
        Some("the records are safe; `prefixbench report` makes the rest again".to_owned()),
    )
}

/// The results for the terminal that is there, or plain where there is none.
pub(super) fn terminal(results: &Results) -> String {
    let is_terminal = io::stdout().is_terminal();
    let size = console::Term::stdout()
        .size_checked()
        .filter(|_| is_terminal);
    let width = size.map_or(Look::default().width, |(_, width)| {
        usize::from(width).clamp(60, 160)
    });
    // `anstream` takes escape sequences out where NO_COLOR or a pipe says so.
    report::terminal(
        results,
        Look {
            width,
            colour: is_terminal,
        },
    )
}
