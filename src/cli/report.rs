//! `report`: every table, chart and page again, from the records of a run.

use super::exit::{Exit, Failure};
use super::{output, outputs, prices};
use crate::record::{BoundRecord, ReadError, RunContents};
use std::path::PathBuf;

/// Rebuild tables, charts and pages from the records of a run, or show several side by side
#[derive(clap::Args)]
pub(super) struct Arguments {
    /// Run folders
    #[arg(required = true, value_name = "RUN")]
    runs: Vec<PathBuf>,

    /// Folder for a report over several runs; without it their table is only shown
    #[arg(long, value_name = "DIR")]
    out: Option<PathBuf>,

    /// Prices of the run's day in place of those that the run was made under
    #[arg(long, value_name = "FILE")]
    prices: Option<PathBuf>,
}

pub(super) fn run(arguments: &Arguments) -> Result<Exit, Failure> {
    let catalogue = arguments.prices.as_deref();
    let catalogue = catalogue
        .map(|file| prices::catalogue(Some(file)))
        .transpose()?;
    let catalogue = catalogue.as_ref();
    let results = match (arguments.runs.as_slice(), &arguments.out) {
        ([only], None) => outputs::rebuild(only, catalogue)?,
        (runs, out) => outputs::side_by_side(runs, out.as_deref(), catalogue)?,
    };
    output::data(&outputs::terminal(&results))?;
    if let Some(out) = &arguments.out {
        output::tell(&format!("report: {}", out.join("report.html").display()));
    }
    Ok(Exit::Done)
}

/// What was computed after each cell; computed here where the run was killed
/// before, as far as that needs no server.
pub(super) fn bounds_of(contents: &RunContents) -> Result<Vec<BoundRecord>, Failure> {
    crate::report::computed_bounds(contents)
        .map_err(|error| Failure::wrong(error, "the manifest of the run names it"))
}

/// A run folder that cannot be read.
#[expect(clippy::needless_pass_by_value, reason = "it is what `map_err` gives")]
pub(super) fn unreadable(error: ReadError) -> Failure {
    let help = error.help().to_owned();
    let source = std::error::Error::source(&error).map(|source| format!(": {source}"));
    Failure::new(
        Exit::WrongInput,
        format!("{error}{}", source.unwrap_or_default()),
        Some(help),
    )
}
