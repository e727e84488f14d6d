//! `merge`: the shards of a run, joined into one.

use super::exit::{Exit, Failure};
use super::run::load_record;
use super::{output, outputs};
use crate::load::Tally;
use crate::record::load::{LoadRecord, read_load, write_load};
use crate::record::merge::{MergeError, merge};
use crate::record::{ReadError, RequestRecord, Run, WriteError};
use std::collections::HashMap;
use std::path::{Path, PathBuf};

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
    let loads = loads(&arguments.runs, &arguments.out)?;
    write_load(&arguments.out, &loads).map_err(|error| failure(error.into()))?;
    if !arguments.no_report {
        let results = outputs::rebuild(&arguments.out, None)?;
        output::data(&outputs::terminal(&results))?;
    }
    output::tell(&format!("records: {}", arguments.out.display()));
    Ok(Exit::Done)
}

/// How the load of each cell went, by the records of the merged run in `out`; in the order
/// of the shards in `dirs`, which also say which cells ended before their end.
fn loads(dirs: &[PathBuf], out: &Path) -> Result<Vec<LoadRecord>, Failure> {
    let unread = |error: ReadError| failure(error.into());
    let mut cells = Vec::new();
    for dir in dirs {
        cells.extend(read_load(dir).map_err(unread)?);
    }
    let records = Run::read(out).and_then(|run| run.requests());
    loads_of(records.map_err(unread)?, cells).map_err(unread)
}

/// `cells` is what the shards said of their parts.
fn loads_of(
    records: impl Iterator<Item = Result<RequestRecord, ReadError>>,
    cells: Vec<LoadRecord>,
) -> Result<Vec<LoadRecord>, ReadError> {
    let mut tallies: HashMap<String, Tally> = HashMap::new();
    for record in records {
        let record = record?;
        // A conversation is called by its cell and its number.
        let cell = record.conversation.rsplit_once('/').map(|(cell, _)| cell);
        if let Some(cell) = cell {
            tallies.entry(cell.to_owned()).or_default().record(&record);
        }
    }
    let mut whole: Vec<LoadRecord> = Vec::new();
    for LoadRecord {
        cell, load, ended, ..
    } in cells
    {
        match whole.iter_mut().find(|known| known.cell == cell) {
            Some(known) => known.ended = known.ended.take().or(ended),
            None => {
                let tally = tallies.remove(&cell).unwrap_or_default();
                whole.push(load_record(&cell, &load, &tally, ended));
            }
        }
    }
    Ok(whole)
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
