//! `schema`: the JSON schemas of scenario files, plan files and results.

use super::exit::{Exit, Failure};
use super::output;
use crate::report::summary_schema;
use crate::scenario::{plan, schema_text};

/// Print the JSON schema of scenario files (`scenarios/schema.json`)
#[derive(clap::Args)]
pub(super) struct Arguments {
    /// The schema of plan files instead (`scenarios/plans/schema.json`)
    #[arg(long)]
    plan: bool,

    /// The schema of `summary.json` instead (`docs/summary.schema.json`)
    #[arg(long, conflicts_with = "plan")]
    summary: bool,
}

pub(super) fn run(arguments: &Arguments) -> Result<Exit, Failure> {
    let text = if arguments.summary {
        summary_schema()
    } else if arguments.plan {
        plan::schema_text()
    } else {
        schema_text()
    };
    output::data(&text)?;
    Ok(Exit::Done)
}
