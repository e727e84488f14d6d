//! Writes a run folder.
//!
//! Invariants: every file is opened before the first request, so that a folder
//! that cannot be written fails at once; a record is one `write` of one line;
//! a span's text is on disk before the record that names it.

use super::error::WriteError;
use super::files;
use super::lines::{Lines, whole_lines};
use super::manifest::{Ending, Manifest};
use super::read::{ReadError, Run};
use super::request::{BoundRecord, RequestRecord};
use super::spans::StoredSpan;
use super::wall::WallTime;
use crate::chat::{Digest, Text};
use crate::units::{Bytes, Micros, Tokens};
use serde::Serialize;
use std::collections::HashSet;
use std::fs::{self, File, OpenOptions};
use std::io::{self, Write as _};
use std::path::{Path, PathBuf};

/// A file that lines are appended to.
#[derive(Debug)]
struct LineFile {
    path: PathBuf,
    file: File,
    /// The line that is being made; kept, so that its memory is.
    line: Vec<u8>,
    dirty: bool,
}

impl LineFile {
    fn create(path: PathBuf) -> Result<Self, WriteError> {
        let file = File::create_new(&path).map_err(|source| WriteError::new(&path, source))?;
        Ok(Self {
            path,
            file,
            line: Vec::new(),
            dirty: false,
        })
    }

    /// Opens a file to go on with it; a torn last line is cut off first.
    fn reopen(path: PathBuf) -> Result<Self, WriteError> {
        let failed = |source| WriteError::new(&path, source);
        let file = OpenOptions::new()
            .read(true)
            .append(true)
            .create(true)
            .open(&path)
            .map_err(failed)?;
        let whole = whole_lines(&file).map_err(failed)?;
        file.set_len(whole).map_err(failed)?;
        Ok(Self {
            path,
            file,
            line: Vec::new(),
            dirty: false,
        })
    }

    /// Appends `value` as one line with one `write`.
    fn append(&mut self, value: &impl Serialize) -> Result<(), WriteError> {
        self.line.clear();
        serde_json::to_writer(&mut self.line, value)
            .map_err(|error| WriteError::new(&self.path, io::Error::from(error)))?;
        self.line.push(b'\n');
        self.dirty = true;
        self.file
            .write_all(&self.line)
            .map_err(|source| WriteError::new(&self.path, source))
    }

    fn sync(&mut self) -> Result<(), WriteError> {
        if !std::mem::take(&mut self.dirty) {
            return Ok(());
        }
        self.file
            .sync_data()
            .map_err(|source| WriteError::new(&self.path, source))
    }
}

/// Writes the records of a run as they come.
#[derive(Debug)]
pub struct RunWriter {
    dir: PathBuf,
    manifest: Manifest,
    requests: LineFile,
    spans: LineFile,
    bounds: LineFile,
    stored: HashSet<Digest>,
    keep_text: bool,
    synced: Micros,
}

impl RunWriter {
    /// How long a record may wait for its `fsync`.
    pub const SYNC_EVERY: Micros = Micros(1_000_000);

    /// Begins a run in `dir`, which is made where it is missing.
    ///
    /// With `keep_text` off, spans are stored by hash and length only.
    ///
    /// # Errors
    ///
    /// [`WriteError::NotEmpty`] where the folder holds anything, and whatever
    /// keeps one of its files from being created.
    pub fn create(dir: &Path, manifest: &Manifest, keep_text: bool) -> Result<Self, WriteError> {
        let failed = |source| WriteError::new(dir, source);
        fs::create_dir_all(dir).map_err(failed)?;
        if fs::read_dir(dir).map_err(failed)?.next().is_some() {
            return Err(WriteError::NotEmpty {
                path: dir.to_owned(),
            });
        }
        for name in [files::REQUESTS_CSV, files::SUMMARY_CSV, files::SUMMARY_JSON] {
            LineFile::create(dir.join(name))?;
        }
        let writer = Self {
            dir: dir.to_owned(),
            manifest: manifest.clone(),
            requests: LineFile::create(dir.join(files::REQUESTS))?,
            spans: LineFile::create(dir.join(files::SPANS))?,
            bounds: LineFile::create(dir.join(files::BOUNDS))?,
            stored: HashSet::new(),
            keep_text,
            synced: Micros(0),
        };
        writer.write_manifest()?;
        Ok(writer)
    }

    /// Goes on with the run in `dir`: torn last lines are cut off, and spans
    /// that are stored already are not stored again.
    ///
    /// # Errors
    ///
    /// [`WriteError::Resume`] where the folder holds no run that can be read.
    pub fn resume(dir: &Path, keep_text: bool) -> Result<Self, WriteError> {
        let failed = |source| WriteError::Resume {
            path: dir.to_owned(),
            source,
        };
        let run = Run::read(dir).map_err(failed)?;
        let stored = run
            .spans()
            .map_err(failed)?
            .map(|span| span.map(|span| span.sha256))
            .collect::<Result<_, _>>()
            .map_err(failed)?;
        let mut manifest = run.manifest;
        manifest.ended = None;
        manifest.ending = None;
        let writer = Self {
            dir: dir.to_owned(),
            manifest,
            requests: LineFile::reopen(dir.join(files::REQUESTS))?,
            spans: LineFile::reopen(dir.join(files::SPANS))?,
            bounds: LineFile::reopen(dir.join(files::BOUNDS))?,
            stored,
            keep_text,
            synced: Micros(0),
        };
        writer.write_manifest()?;
        Ok(writer)
    }

    /// The run's folder.
    pub fn dir(&self) -> &Path {
        &self.dir
    }

    /// The manifest as it stands.
    pub fn manifest(&self) -> &Manifest {
        &self.manifest
    }

    /// Writes one record, and before it those of `texts` (its spans and its
    /// answer) that no earlier record had.
    ///
    /// # Errors
    ///
    /// What the operating system says; what was written before stays.
    pub fn append(
        &mut self,
        record: &RequestRecord,
        texts: &mut dyn Iterator<Item = &Text>,
    ) -> Result<(), WriteError> {
        for text in texts {
            let sha256 = text.digest();
            if self.stored.contains(&sha256) {
                continue;
            }
            self.spans.append(&StoredSpan {
                sha256,
                bytes: Bytes(text.len() as u64),
                tokens: None,
                text: self.keep_text.then(|| text.clone()),
            })?;
            self.stored.insert(sha256);
        }
        self.requests.append(record)
    }

    /// Writes what was computed after a cell.
    ///
    /// # Errors
    ///
    /// What the operating system says.
    pub fn bounds(&mut self, bounds: &[BoundRecord]) -> Result<(), WriteError> {
        bounds
            .iter()
            .try_for_each(|bound| self.bounds.append(bound))
    }

    /// Writes the stored spans anew, with their lengths in tokens where `count`
    /// knows them. The file is replaced whole or not at all.
    ///
    /// # Errors
    ///
    /// What the operating system says, and spans that cannot be read back.
    pub fn lengths(&mut self, count: &dyn Fn(Digest) -> Option<Tokens>) -> Result<(), WriteError> {
        let path = self.spans.path.clone();
        let draft = self.dir.join(".spans.jsonl.new");
        let failed = |source| WriteError::new(&path, source);
        let read = |error: ReadError| WriteError::new(&path, io::Error::other(error));
        let _left_by_a_kill = fs::remove_file(&draft);
        let mut new = LineFile::create(draft.clone())?;
        for span in Lines::<StoredSpan>::open(path.clone()).map_err(read)? {
            let mut span = span.map_err(read)?;
            span.tokens = count(span.sha256).or(span.tokens);
            new.append(&span)?;
        }
        new.sync()?;
        fs::rename(&draft, &path).map_err(failed)?;
        self.spans = LineFile::reopen(path.clone())?;
        Ok(())
    }

    /// Makes what was written safe from a power cut, but at most once a
    /// [second](Self::SYNC_EVERY). `now` counts from the run's start. Says
    /// whether it did.
    ///
    /// # Errors
    ///
    /// What the operating system says.
    pub fn sync_due(&mut self, now: Micros) -> Result<bool, WriteError> {
        if now.0.saturating_sub(self.synced.0) < Self::SYNC_EVERY.0 {
            return Ok(false);
        }
        self.synced = now;
        self.sync()?;
        Ok(true)
    }

    fn sync(&mut self) -> Result<(), WriteError> {
        self.spans.sync()?;
        self.requests.sync()?;
        self.bounds.sync()
    }

    /// Ends the run: notes how and when, and makes all of it safe.
    ///
    /// # Errors
    ///
    /// What the operating system says.
    pub fn finish(mut self, ending: Ending) -> Result<Manifest, WriteError> {
        self.manifest.ended = Some(WallTime::now());
        self.manifest.ending = Some(ending);
        self.sync()?;
        self.write_manifest()?;
        Ok(self.manifest)
    }

    /// Writes the manifest beside its place and moves it there, so that a run
    /// never has half of one.
    fn write_manifest(&self) -> Result<(), WriteError> {
        let path = self.dir.join(files::MANIFEST);
        let draft = self.dir.join(".manifest.json.new");
        let failed = |source| WriteError::new(&path, source);
        let mut text = serde_json::to_string_pretty(&self.manifest)
            .map_err(|error| failed(io::Error::from(error)))?;
        text.push('\n');
        let mut file = File::create(&draft).map_err(failed)?;
        file.write_all(text.as_bytes()).map_err(failed)?;
        file.sync_data().map_err(failed)?;
        fs::rename(&draft, &path).map_err(failed)
    }
}
