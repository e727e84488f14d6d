//! `report`: every table, chart and page again, from the records of a run.

use super::exit::{Exit, Failure};
use super::{output, outputs};
use crate::analysis::bounds::{Inputs, bounds};
use crate::analysis::{Results, Samples};
use crate::record::{BoundRecord, ReadError, Run, RunContents};
use crate::tokens::{SharedEncoder, embedded};
use std::path::PathBuf;

/// Rebuild tables, charts and pages from the records of a run
#[derive(clap::Args)]
pub(super) struct Arguments {
    /// Run folders
    #[arg(required = true, value_name = "RUN")]
    runs: Vec<PathBuf>,
}

pub(super) fn run(arguments: &Arguments) -> Result<Exit, Failure> {
    for dir in &arguments.runs {
        let contents = Run::read(dir).and_then(Run::contents).map_err(unreadable)?;
        let found = bounds_of(&contents)?;
        let samples = Samples::of(&contents.manifest, &contents.requests, &found);
        let results = Results::new(&contents.manifest, &samples, contents.warnings.clone());
        outputs::write(dir, &results, &contents.requests, &found)?;
        output::data(&outputs::terminal(&results))?;
    }
    Ok(Exit::Done)
}

/// What was computed after each cell; computed here where the run was killed
/// before, as far as that needs no server.
pub(super) fn bounds_of(contents: &RunContents) -> Result<Vec<BoundRecord>, Failure> {
    if !contents.bounds.is_empty() || contents.requests.is_empty() {
        return Ok(contents.bounds.clone());
    }
    let mut found = Vec::new();
    for target in &contents.manifest.targets {
        let encoder: Option<SharedEncoder> = target.simulated.then(embedded);
        let inputs = Inputs {
            target,
            records: &contents.requests,
            spans: &contents.spans,
            encoder: encoder.as_ref(),
        };
        let of_target = bounds(&inputs)
            .map_err(|error| Failure::wrong(error, "the manifest of the run names it"))?;
        found.extend(of_target);
    }
    Ok(found)
}

/// A run folder that cannot be read.
pub(super) fn unreadable(error: ReadError) -> Failure {
    let help = error.help().to_owned();
    let source = std::error::Error::source(&error).map(|source| format!(": {source}"));
    Failure::new(
        Exit::WrongInput,
        format!("{error}{}", source.unwrap_or_default()),
        Some(help),
    )
}
