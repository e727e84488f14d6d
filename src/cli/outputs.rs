//! Files and tables that follow from the records of a run.

use super::exit::{Exit, Failure};
use crate::analysis::Results;
use crate::analysis::prices::Catalogue;
use crate::report::{self, Look, RebuildError};
use std::io::{self, IsTerminal};
use std::path::{Path, PathBuf};

/// Makes every derived file of the run in `dir` from its records, and gives its results.
pub(super) fn rebuild(dir: &Path, prices: Option<&Catalogue>) -> Result<Results, Failure> {
    report::rebuild(dir, prices).map_err(failed)
}

/// Makes tables, charts and a page of several runs in `out`, and gives their results.
pub(super) fn side_by_side(
    dirs: &[PathBuf],
    out: Option<&Path>,
    prices: Option<&Catalogue>,
) -> Result<Results, Failure> {
    report::side_by_side(dirs, out, prices).map_err(failed)
}

fn failed(error: RebuildError) -> Failure {
    match error {
        RebuildError::Read(error) => super::report::unreadable(error),
        RebuildError::Model(error) => Failure::wrong(error, "the manifest of the run names it"),
        RebuildError::Write(error) => not_written(&error),
        RebuildError::Page(error) => not_written(&error),
        RebuildError::InTheWay { .. } => Failure::wrong(error, "give --out another folder"),
    }
}

fn not_written(error: &dyn std::error::Error) -> Failure {
    let source = error.source().map(|source| format!(": {source}"));
    Failure::new(
        Exit::NotWritten,
        format!("{error}{}", source.unwrap_or_default()),
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
