//! `schema`: the JSON schema of scenario files.

use super::exit::{Exit, Failure};
use super::output;

/// Print the JSON schema of scenario files (`scenarios/schema.json`)
#[derive(clap::Args)]
pub(super) struct Arguments {}

pub(super) fn run(_: &Arguments) -> Result<Exit, Failure> {
    output::data(&crate::scenario::schema_text())?;
    Ok(Exit::Done)
}
