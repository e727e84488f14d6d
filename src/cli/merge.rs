//! `merge`: the shards of a run, joined into one.

use super::exit::{Exit, Failure};
use super::{output, outputs};
use crate::record::merge::{MergeError, merge};
use crate::record::{ReadError, WriteError};
use std::path::PathBuf;

/// Join the shards of a run into one run
#[derive(clap::Args)]
pub(super) struct Arguments {
    /// Folders of all shards, in any order
    #[arg(required = true, value_name = "RUN")]
    runs: Vec<PathBuf>,

    /// Folder of the merged run
    #[arg(long, required = true, value_name = "DIR")]
    out: PathBuf,

    /// Take shards of which a part ended early as they are
    #[arg(long)]
    partial: bool,

    /// Write records only; `report` makes the rest later
    #[arg(long)]
    no_report: bool,
}

pub(super) fn run(arguments: &Arguments) -> Result<Exit, Failure> {
    merge(&arguments.runs, &arguments.out, arguments.partial).map_err(failure)?;
    if !arguments.no_report {
        let results = outputs::rebuild(&arguments.out, None)?;
        output::data(&outputs::terminal(&results))?;
    }
    output::tell(&format!("records: {}", arguments.out.display()));
    Ok(Exit::Done)
}

#[expect(clippy::needless_pass_by_value, reason = "it is what `map_err` gives")]
fn failure(error: MergeError) -> Failure {
    let exit = match &error {
        MergeError::Write(WriteError::NotEmpty { .. } | WriteError::Busy { .. }) => {
            Exit::WrongInput
        }
        MergeError::Write(_) => Exit::NotWritten,
        _ => Exit::WrongInput,
    };
    let source = match &error {
        MergeError::Read(ReadError::Io { source, .. }) => Some(source.to_string()),
        other => std::error::Error::source(other).map(ToString::to_string),
    };
    let source = source.map(|source| format!(": {source}"));
    Failure::new(
        exit,
        format!("{error}{}", source.unwrap_or_default()),
        Some(error.help().to_owned()),
    )
}
