//! The records of one or several runs, reduced, with `requests.csv` on the way.

use super::files::{Folder, RebuildError, computed_bounds};
use crate::analysis::{Samples, cut_off, labelled, threads};
use crate::record::{
    ComputedTable, Ending, Manifest, ReadError, Run, WriteError, files, request_head, request_row,
};
use std::collections::HashMap;
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// A run and, where there are several, what stands in front of its names.
pub(super) type Labelled = (Run, Option<String>);

/// What was read.
pub(super) struct Read {
    pub(super) samples: Samples,
    /// What was computed after the cells, by run.
    pub(super) computed: Vec<ComputedTable>,
    /// What a person must know of the files.
    pub(super) warnings: Vec<String>,
}

impl Read {
    /// Reads every record once. Where something was not computed that can be, as
    /// of a run that was killed before, that is done, and the records are read again.
    pub(super) fn of(runs: &[Labelled], out: Option<&Folder<'_>>) -> Result<Self, RebuildError> {
        let (mut computed, mut torn) = (Vec::new(), Vec::new());
        for (run, label) in runs {
            let (table, cut) = ComputedTable::read(run, threads())?;
            computed.push(table);
            torn.extend(cut.then(|| said(label.as_deref(), files::BOUNDS)));
        }
        let first = Pass::of(runs, &computed, out)?;
        for ((run, label), computed) in runs.iter().zip(&computed) {
            let ledger = run.ledger()?;
            let label = label.as_deref();
            let gaps = first.samples.gaps(&run.manifest, &ledger, computed, label);
            torn.extend(gaps.iter().map(|gap| labelled(label, gap).into_owned()));
        }
        if first.missing.iter().all(|missing| !missing) {
            return Ok(first.read(computed, torn));
        }
        let missing = first.missing;
        drop(first.samples);
        for ((table, (run, _)), missing) in computed.iter_mut().zip(runs).zip(missing) {
            if missing {
                table.complete(&computed_bounds(&Run::read(run.dir())?.contents()?)?);
            }
        }
        let second = Pass::of(runs, &computed, out)?;
        Ok(second.read(computed, torn))
    }
}

fn said(label: Option<&str>, file: &str) -> String {
    labelled(label, &cut_off(file)).into_owned()
}

/// All records once.
#[derive(Default)]
struct Pass {
    samples: Samples,
    torn: Vec<String>,
    /// By run: whether something was not computed that can be.
    missing: Vec<bool>,
}

/// What a block of records gives.
#[derive(Default)]
struct Piece {
    rows: Vec<u8>,
    missing: bool,
}

impl Pass {
    fn of(
        runs: &[Labelled],
        computed: &[ComputedTable],
        out: Option<&Folder<'_>>,
    ) -> Result<Self, RebuildError> {
        let mut pass = Self::default();
        let Some(out) = out else {
            pass.read_all(runs, computed, &mut io::sink())?;
            return Ok(pass);
        };
        let mut unreadable = None;
        let written = out.written(files::REQUESTS_CSV, |file| {
            file.write_all(&request_head())?;
            pass.read_all(runs, computed, file)
                .map_err(|failed| match failed {
                    Failed::Write(error) => error,
                    Failed::Read(error) => {
                        unreadable = Some(error);
                        io::Error::other("the records cannot be read")
                    }
                })
        });
        match unreadable {
            Some(error) => Err(error.into()),
            None => Ok(written.map(|()| pass)?),
        }
    }

    fn read_all(
        &mut self,
        runs: &[Labelled],
        computed: &[ComputedTable],
        csv: &mut dyn Write,
    ) -> Result<(), Failed> {
        for ((run, label), computed) in runs.iter().zip(computed) {
            let mut missing = false;
            let torn = self.samples.add_run(
                run,
                computed,
                label.as_deref(),
                |piece: &mut Piece, record, found, sample| {
                    request_row(&mut piece.rows, record, found, sample.cost);
                    piece.missing |= found.is_none();
                },
                |piece| {
                    missing |= piece.missing;
                    csv.write_all(&piece.rows).map_err(Failed::Write)
                },
            )?;
            self.missing.push(missing);
            let torn = torn.then(|| said(label.as_deref(), files::REQUESTS));
            self.torn.extend(torn);
        }
        Ok(())
    }

    fn read(self, computed: Vec<ComputedTable>, mut warnings: Vec<String>) -> Read {
        warnings.extend(self.torn);
        Read {
            samples: self.samples,
            computed,
            warnings,
        }
    }
}

/// Why a pass ended.
enum Failed {
    Read(ReadError),
    Write(io::Error),
}

impl From<ReadError> for Failed {
    fn from(error: ReadError) -> Self {
        Self::Read(error)
    }
}

impl From<Failed> for RebuildError {
    fn from(failed: Failed) -> Self {
        match failed {
            Failed::Read(error) => error.into(),
            Failed::Write(error) => WriteError::new(Path::new(files::REQUESTS_CSV), error).into(),
        }
    }
}

/// The names of folders, each once: `chat`, `chat-2`.
pub(super) fn labels(dirs: &[PathBuf]) -> Vec<String> {
    let mut taken: HashMap<String, u32> = HashMap::new();
    let name = |dir: &PathBuf| {
        let whole = dir.canonicalize().unwrap_or_else(|_| dir.clone());
        let name = whole.file_name().map(|name| name.to_string_lossy());
        name.map_or_else(|| "run".to_owned(), std::borrow::Cow::into_owned)
    };
    let labels = dirs.iter().map(name).map(|name| {
        let seen = taken.entry(name.clone()).or_default();
        *seen += 1;
        match *seen {
            1 => name,
            more => format!("{name}-{more}"),
        }
    });
    labels.collect()
}

/// One manifest of several runs: everything that any of them names, each
/// target with its run in front. It says of no run's settings.
pub(super) fn together(runs: &[Labelled]) -> Manifest {
    let started = runs.iter().map(|(run, _)| run.manifest.started).min();
    let first = runs.first().map(|(run, _)| &run.manifest);
    let mut all = Manifest::begin(first.map_or(0, |first| first.seed), "");
    all.started = started.unwrap_or(all.started);
    all.ended = runs.iter().filter_map(|(run, _)| run.manifest.ended).max();
    all.ending = Some(Ending::Complete);
    for (run, label) in runs {
        let manifest = &run.manifest;
        if manifest.ending != Some(Ending::Complete) {
            all.ending.clone_from(&manifest.ending);
        }
        for facts in &manifest.scenarios {
            if !all.scenarios.iter().any(|known| known.name == facts.name) {
                all.scenarios.push(facts.clone());
            }
        }
        for facts in &manifest.configurations {
            if !all
                .configurations
                .iter()
                .any(|known| known.name == facts.name)
            {
                all.configurations.push(facts.clone());
            }
        }
        for facts in &manifest.targets {
            let mut facts = facts.clone();
            facts.name = Arc::from(&*labelled(label.as_deref(), &facts.name));
            all.targets.push(facts);
        }
    }
    all
}
