//! `report`: every table, chart and page again, from the records of a run.

use super::exit::{Exit, Failure};
use super::{output, outputs, prices};
use crate::analysis::bounds::{Inputs, bounds};
use crate::analysis::cost::bill;
use crate::analysis::prices::Catalogue;
use crate::analysis::{Results, Samples};
use crate::record::{BoundRecord, ReadError, Run, RunContents};
use crate::tokens::{SharedEncoder, embedded};
use std::collections::BTreeMap;
use std::path::PathBuf;

/// Rebuild tables, charts and pages from the records of a run
#[derive(clap::Args)]
pub struct Arguments {
    /// Run folders
    #[arg(required = true, value_name = "RUN")]
    runs: Vec<PathBuf>,

    /// Prices of the run's day in place of those that the run was made under
    #[arg(long, value_name = "FILE")]
    prices: Option<PathBuf>,
}

pub(super) fn run(arguments: &Arguments) -> Result<Exit, Failure> {
    let catalogue = arguments.prices.as_deref();
    let catalogue = catalogue
        .map(|file| prices::catalogue(Some(file)))
        .transpose()?;
    for dir in &arguments.runs {
        let mut contents = Run::read(dir).and_then(Run::contents).map_err(unreadable)?;
        let mut found = bounds_of(&contents)?;
        if let Some(catalogue) = &catalogue {
            bill_again(&mut contents, &mut found, catalogue);
        }
        let samples = Samples::of(&contents.manifest, &contents.requests, &found);
        let results = Results::new(&contents.manifest, &samples, contents.warnings.clone());
        outputs::write(dir, &results, &contents.requests, &found)?;
        output::data(&outputs::terminal(&results))?;
    }
    Ok(Exit::Done)
}

/// Puts the prices of `catalogue` in place of those in the manifest, and bills
/// every request by them. A model without a price there keeps the one it has.
fn bill_again(contents: &mut RunContents, found: &mut [BoundRecord], catalogue: &Catalogue) {
    let date = contents.manifest.started.date();
    for target in &mut contents.manifest.targets {
        if let Some(price) = catalogue.find(&target.model, &date) {
            target.price = Some(price.clone());
        }
    }
    let records: BTreeMap<_, _> = contents
        .requests
        .iter()
        .map(|record| (record.key(), record))
        .collect();
    for bound in found {
        let record = records.get(&bound.key());
        bound.cost = record.and_then(|record| {
            let price = contents.manifest.target(&record.target)?.price.as_ref()?;
            bill(price, &record.usage)
        });
    }
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
