//! The requests of a run folder, with what was computed for them.

use super::exit::Failure;
use super::report::{bounds_of, unreadable};
use crate::analysis::Samples;
use crate::record::{Ending, Manifest, Run};
use std::path::Path;

/// A run, read for `compare` and `gate`.
pub(super) struct MeasuredRun {
    pub(super) manifest: Manifest,
    pub(super) samples: Samples,
    /// What a person must know of it: lowercase sentences without a full stop.
    pub(super) notes: Vec<String>,
}

/// Whether `path` is a folder that a run was written to.
pub(super) fn is_run(path: &Path) -> bool {
    path.join("manifest.json").is_file()
}

/// Reads the run in `dir`. Where it was killed before its bounds were computed,
/// that is done now, as far as it needs no server.
pub(super) fn read(dir: &Path) -> Result<MeasuredRun, Failure> {
    let run = Run::read(dir).map_err(unreadable)?;
    let (mut samples, mut notes) = Samples::read(&run).map_err(unreadable)?;
    if run.bounds().map_err(unreadable)?.is_none() {
        let contents = Run::read(dir).and_then(Run::contents).map_err(unreadable)?;
        let bounds = bounds_of(&contents)?;
        samples = Samples::of(&contents.manifest, &contents.requests, &bounds);
    }
    notes.extend(ended(&run.manifest));
    Ok(MeasuredRun {
        manifest: run.manifest,
        samples,
        notes,
    })
}

/// How a run ended, where that has to be known.
fn ended(manifest: &Manifest) -> Option<String> {
    match &manifest.ending {
        Some(Ending::Complete) => None,
        Some(Ending::Interrupted) => {
            Some("the run was interrupted: conversations are missing".to_owned())
        }
        Some(Ending::Partial(why)) => Some(format!("not all of the run came about: {why}")),
        Some(Ending::Limited(why)) => Some(format!("a limit ended the run: {why}")),
        Some(Ending::Failed(why)) => Some(format!("the run could not go on: {why}")),
        None => Some("the run was killed or still goes on: conversations are missing".to_owned()),
    }
}
