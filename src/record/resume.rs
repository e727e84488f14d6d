//! Goes on with a run that was broken off.
//!
//! Conversations that came to their end are kept. Of all others everything is set
//! aside: the lines stay, marked, in a file of their own that no table is made of.
//!
//! Invariants: a kill at any moment of this leaves a folder of which the same
//! follows again; no line is lost, and none is set aside twice.

use super::error::WriteError;
use super::files;
use super::ledger::{self, Fact, LedgerLine, Superseded};
use super::lines::{Lines, Versioned};
use super::lock::FolderLock;
use super::manifest::{Manifest, Resumption};
use super::read::{ReadError, Run};
use super::request::{BoundRecord, RequestRecord};
use super::wall::WallTime;
use super::write::{RunWriter, replace};
use crate::chat::Digest;
use crate::units::Micros;
use std::collections::{BTreeMap, BTreeSet, HashSet};
use std::io::{self, Write as _};
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// Flag of attempts whose conversation was run again.
const SUPERSEDED: &str = "superseded";

/// A run that was broken off, with nothing changed yet. Nobody else can write to
/// its folder while this is held.
#[derive(Debug)]
pub struct Unfinished {
    dir: PathBuf,
    lock: FolderLock,
    /// What was run.
    pub manifest: Manifest,
    /// Conversations that came to their end and whose records are whole.
    pub finished: BTreeSet<Arc<str>>,
    /// Conversations of which anything was recorded.
    pub begun: BTreeSet<Arc<str>>,
    /// Conversations of which something was recorded and then set aside; they may have begun
    /// again since.
    pub set_aside: BTreeSet<Arc<str>>,
    /// By target, the last epoch of its cache that was recorded.
    pub epochs: BTreeMap<Arc<str>, u32>,
    /// The last instant that was recorded, from the run's start.
    pub latest: Micros,
    /// How much of its time each cell has had, of those that end by time.
    pub passed: BTreeMap<Arc<str>, Micros>,
    /// The last instant that was recorded of each session.
    latest_of: Vec<Micros>,
}

impl Unfinished {
    /// Opens the run in `dir`.
    ///
    /// # Errors
    ///
    /// [`WriteError::Busy`] where another run writes there, and
    /// [`WriteError::Resume`] where the folder holds no run that can be read.
    pub fn open(dir: &Path) -> Result<Self, WriteError> {
        let failed = |source| WriteError::Resume {
            path: dir.to_owned(),
            source,
        };
        // A folder without a run is left as it is.
        Run::read(dir).map_err(failed)?;
        let lock = FolderLock::take(dir)?;
        let run = Run::read(dir).map_err(failed)?;
        let ledger = run.ledger().map_err(failed)?;
        let mut found = Self {
            dir: dir.to_owned(),
            lock,
            manifest: run.manifest.clone(),
            finished: ledger::finished(&ledger),
            begun: BTreeSet::new(),
            set_aside: BTreeSet::new(),
            epochs: BTreeMap::new(),
            latest: Micros(0),
            passed: BTreeMap::new(),
            latest_of: vec![Micros(0); run.manifest.resumed.len() + 1],
        };
        found.look_through(&run).map_err(failed)?;
        for line in &ledger {
            found.stamped(line.at_us);
        }
        found.passed = ledger::passed(&ledger, |at| found.latest_of[found.session_of(at)]);
        Ok(found)
    }

    /// Which session an instant lies in.
    fn session_of(&self, at: Micros) -> usize {
        let resumed = &self.manifest.resumed;
        resumed.partition_point(|again| again.from_us <= at)
    }

    fn stamped(&mut self, at: Micros) {
        self.latest = self.latest.max(at);
        let session = self.session_of(at);
        let latest = &mut self.latest_of[session];
        *latest = at.max(*latest);
    }

    fn look_through(&mut self, run: &Run) -> Result<(), ReadError> {
        let stored: HashSet<Digest> = run
            .spans_if_any()?
            .into_iter()
            .flatten()
            .map(|span| span.map(|span| span.sha256))
            .collect::<Result<_, _>>()?;
        for record in run.requests_if_any()?.into_iter().flatten() {
            let record = record?;
            self.see(&record);
            let mut spans = record.prompt.iter().flat_map(|message| &message.spans);
            // A power cut may keep a record and lose a text.
            if !spans.all(|span| stored.contains(&span.sha256)) {
                self.finished.remove(&record.conversation);
            }
            self.begun.insert(record.conversation);
        }
        for record in run.aside()? {
            self.see(&record);
            if record.flags.iter().any(|flag| &**flag == SUPERSEDED) {
                self.set_aside.insert(record.conversation);
            }
        }
        // Where the records of an ended conversation are gone, it is run again.
        self.finished.retain(|name| self.begun.contains(name));
        Ok(())
    }

    fn see(&mut self, record: &RequestRecord) {
        let stamps = &record.stamps;
        let stamped = [Some(stamps.due_us), stamps.sent_us, stamps.done_us];
        let last = stamped.into_iter().flatten().max().unwrap_or_default();
        self.stamped(last);
        let epoch = self.epochs.entry(Arc::clone(&record.target)).or_default();
        *epoch = record.epoch.max(*epoch);
    }

    /// How often it has been gone on with, this time included.
    pub fn session(&self) -> u32 {
        u32::try_from(self.manifest.resumed.len() + 1).unwrap_or(u32::MAX)
    }

    /// Where the clock of the next session begins: behind every stamp, and as far
    /// from the run's start as the calendar says.
    pub fn clock(&self) -> Micros {
        let passed = WallTime::now().since(self.manifest.started);
        passed.max(Micros(self.latest.0 + 1))
    }

    /// Sets aside everything that was recorded of conversations not in `kept`, and
    /// opens the folder for what is still to come. `from` is where the clock of
    /// the new session begins.
    ///
    /// # Errors
    ///
    /// [`WriteError`]; nothing is lost then, and it can be tried again.
    pub fn go_on(self, kept: &BTreeSet<Arc<str>>, from: Micros) -> Result<RunWriter, WriteError> {
        let session = self.session();
        let dropped: BTreeSet<_> = self.begun.difference(kept).cloned().collect();
        let (dir, mut manifest) = (self.dir, self.manifest);
        let failed = |source| WriteError::Resume {
            path: dir.clone(),
            source,
        };
        let run = Run::read(&dir).map_err(failed)?;
        let no_text = manifest.settings.get("no-text");
        let keep_text = no_text.is_none_or(|setting| setting.value != true);
        if !dropped.is_empty() {
            let apart = Apart {
                run: &run,
                dropped: &dropped,
            };
            apart.keep_lines()?;
            apart.take_out_requests()?;
        }
        // What was computed is computed again, unless its texts are gone.
        let stays = |bound: &BoundRecord| !keep_text && !dropped.contains(&bound.conversation);
        filtered(&dir, files::BOUNDS, run.bounds().map_err(failed)?, stays)?;
        manifest.ended = None;
        manifest.ending = None;
        manifest.resumed.push(Resumption {
            at: WallTime::now(),
            from_us: from,
        });
        let mut writer = RunWriter::reopen(&dir, manifest, keep_text, self.lock)?;
        if !dropped.is_empty() {
            let superseded = Superseded {
                session,
                conversations: dropped.into_iter().collect(),
            };
            writer.note(&LedgerLine::new(from, Fact::Superseded(superseded)))?;
        }
        Ok(writer)
    }
}

/// Conversations that are taken apart from the others.
struct Apart<'a> {
    run: &'a Run,
    dropped: &'a BTreeSet<Arc<str>>,
}

impl Apart<'_> {
    fn failed(&self, source: ReadError) -> WriteError {
        WriteError::Resume {
            path: self.run.dir().to_owned(),
            source,
        }
    }

    /// Puts their lines where they stay. Done before they are taken out.
    fn keep_lines(&self) -> Result<(), WriteError> {
        let mut lines: Vec<Vec<u8>> = Vec::new();
        let earlier = self.run.aside().map_err(|error| self.failed(error))?;
        let requests = self.run.requests().map_err(|error| self.failed(error))?;
        let marked = requests.filter_map(|record| match record {
            Ok(record) if !self.dropped.contains(&record.conversation) => None,
            Ok(mut record) => {
                record.flags.push(Arc::from(SUPERSEDED));
                Some(Ok(record))
            }
            Err(error) => Some(Err(error)),
        });
        let mut known = HashSet::new();
        for record in earlier.into_iter().map(Ok).chain(marked) {
            let record = record.map_err(|error| self.failed(error))?;
            let path = self.run.dir().join(files::ASIDE);
            let mut line = serde_json::to_vec(&record)
                .map_err(|error| WriteError::new(&path, io::Error::from(error)))?;
            line.push(b'\n');
            if known.insert(Digest::of(&line)) {
                lines.push(line);
            }
        }
        replace(&self.run.dir().join(files::ASIDE), |file| {
            lines.iter().try_for_each(|line| file.write_all(line))
        })
    }

    fn take_out_requests(&self) -> Result<(), WriteError> {
        let requests = self.run.requests().map_err(|error| self.failed(error))?;
        filtered(
            self.run.dir(),
            files::REQUESTS,
            Some(requests),
            |record: &RequestRecord| !self.dropped.contains(&record.conversation),
        )
    }
}

/// Writes a file again with those of its lines that stay, each as it stands.
fn filtered<T: Versioned>(
    dir: &Path,
    name: &str,
    lines: Option<Lines<T>>,
    stays: impl Fn(&T) -> bool,
) -> Result<(), WriteError> {
    let Some(mut lines) = lines else {
        return Ok(());
    };
    let mut unreadable = None;
    let written = replace(&dir.join(name), |file| {
        while let Some(line) = lines.next_raw() {
            match line {
                Ok((record, raw)) if stays(&record) => file.write_all(raw)?,
                Ok(_) => {}
                Err(error) => {
                    unreadable = Some(error);
                    return Err(io::ErrorKind::InvalidData.into());
                }
            }
        }
        Ok(())
    });
    match unreadable {
        Some(source) => Err(WriteError::Resume {
            path: dir.to_owned(),
            source,
        }),
        None => written,
    }
}

#[cfg(test)]
#[path = "resume_tests.rs"]
mod tests;
