//! Writes a run folder.
//!
//! Invariants: every file is opened before the first request, so that a folder
//! that cannot be written fails at once; a record is one `write` of one line;
//! a span's text is on disk before the record that names it; a folder has one
//! writer at a time.

use super::error::WriteError;
use super::files;
use super::ledger::LedgerLine;
use super::lines::{Lines, whole_lines};
use super::lock::FolderLock;
use super::manifest::{Ending, Manifest};
use super::read::{ReadError, Run};
use super::request::{BoundRecord, RequestRecord};
use super::spans::StoredSpan;
use super::wall::WallTime;
use crate::chat::{Digest, Text};
use crate::units::{Bytes, Tokens};
use serde::Serialize;
use std::collections::HashSet;
use std::fs::{self, File, OpenOptions};
use std::hash::{BuildHasherDefault, Hasher};
use std::io::{self, BufWriter, Write as _};
use std::path::{Path, PathBuf};

/// A file that lines are appended to.
#[derive(Debug)]
struct LineFile {
    path: PathBuf,
    file: File,
    /// Lines that are made and not written; kept, so that their memory is.
    lines: Vec<u8>,
    /// Bytes of whole lines.
    whole: u64,
    dirty: bool,
}

impl LineFile {
    fn create(path: PathBuf) -> Result<Self, WriteError> {
        let file = OpenOptions::new()
            .append(true)
            .create_new(true)
            .open(&path)
            .map_err(|source| WriteError::new(&path, source))?;
        Ok(Self {
            path,
            file,
            lines: Vec::new(),
            whole: 0,
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
            lines: Vec::new(),
            whole,
            dirty: false,
        })
    }

    /// Appends `value` as one line with one `write`. A line that does not fit is
    /// taken out again.
    fn append(&mut self, value: &impl Serialize) -> Result<(), WriteError> {
        self.add(value)?;
        self.write()
    }

    /// Makes a line of `value`, for the next [`LineFile::write`].
    fn add(&mut self, value: &impl Serialize) -> Result<(), WriteError> {
        let made = serde_json::to_writer(&mut self.lines, value);
        if let Err(error) = made {
            self.lines.clear();
            return Err(WriteError::new(&self.path, io::Error::from(error)));
        }
        self.lines.push(b'\n');
        Ok(())
    }

    /// Writes what was made, if anything, with one `write`.
    fn write(&mut self) -> Result<(), WriteError> {
        if self.lines.is_empty() {
            return Ok(());
        }
        self.dirty = true;
        let written = self.file.write_all(&self.lines);
        let bytes = self.lines.len() as u64;
        self.lines.clear();
        match written {
            Ok(()) => {
                self.whole += bytes;
                Ok(())
            }
            Err(source) => {
                // Where this fails as well, the line is torn, as after a kill.
                let _torn = self.file.set_len(self.whole);
                Err(WriteError::new(&self.path, source))
            }
        }
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
    ledger: LineFile,
    aside: LineFile,
    stored: Stored,
    /// What was added to them for the record at hand.
    fresh: Vec<u128>,
    keep_text: bool,
    _lock: FolderLock,
}

/// Bytes of spans that wait for their `write`, at most, but for the last one's.
const AT_ONCE: usize = 1 << 16;

/// Texts that are in the file, each by half of its hash: a run of millions of
/// conversations has as many, and that two of them share a half is as good as
/// impossible (1e-20 among a milliard).
type Stored = HashSet<u128, BuildHasherDefault<Half>>;

/// What is a hash already is not hashed again.
#[derive(Debug, Default)]
struct Half(u64);

impl Hasher for Half {
    fn write(&mut self, bytes: &[u8]) {
        for &byte in bytes {
            self.0 = self.0.rotate_left(8) ^ u64::from(byte);
        }
    }

    fn write_u128(&mut self, half: u128) {
        self.0 = (half >> 64) as u64;
    }

    fn finish(&self) -> u64 {
        self.0
    }
}

impl RunWriter {
    /// Begins a run in `dir`, which is made where it is missing.
    ///
    /// With `keep_text` off, spans are stored by hash and length only.
    ///
    /// # Errors
    ///
    /// [`WriteError::NotEmpty`] where the folder holds anything,
    /// [`WriteError::Busy`] where another run begins in it, and whatever keeps one
    /// of its files from being created.
    pub fn create(dir: &Path, manifest: &Manifest, keep_text: bool) -> Result<Self, WriteError> {
        let failed = |source| WriteError::new(dir, source);
        fs::create_dir_all(dir).map_err(failed)?;
        // Before the lock, which would leave a file in somebody's folder for a moment.
        empty(dir)?;
        let lock = FolderLock::take(dir)?;
        empty(dir)?;
        // First, so that a run that is killed from here on can be gone on with.
        write_manifest(dir, manifest)?;
        for name in [files::REQUESTS_CSV, files::SUMMARY_CSV, files::SUMMARY_JSON] {
            LineFile::create(dir.join(name))?;
        }
        Ok(Self {
            dir: dir.to_owned(),
            manifest: manifest.clone(),
            requests: LineFile::create(dir.join(files::REQUESTS))?,
            spans: LineFile::create(dir.join(files::SPANS))?,
            bounds: LineFile::create(dir.join(files::BOUNDS))?,
            ledger: LineFile::create(dir.join(files::LEDGER))?,
            aside: LineFile::create(dir.join(files::ASIDE))?,
            stored: Stored::default(),
            fresh: Vec::new(),
            keep_text,
            _lock: lock,
        })
    }

    /// Goes on with the run in `dir` whose manifest is `manifest` from now on: torn
    /// last lines are cut off, and spans that are stored already are not stored again.
    ///
    /// # Errors
    ///
    /// [`WriteError::Resume`] where the folder holds no run that can be read.
    pub(super) fn reopen(
        dir: &Path,
        manifest: Manifest,
        keep_text: bool,
        lock: FolderLock,
    ) -> Result<Self, WriteError> {
        let failed = |source| WriteError::Resume {
            path: dir.to_owned(),
            source,
        };
        let stored = Run::read(dir)
            .and_then(|run| run.spans_if_any())
            .map_err(failed)?
            .into_iter()
            .flatten()
            .map(|span| span.map(|span| half(span.sha256)))
            .collect::<Result<_, _>>()
            .map_err(failed)?;
        let writer = Self {
            dir: dir.to_owned(),
            manifest,
            requests: LineFile::reopen(dir.join(files::REQUESTS))?,
            spans: LineFile::reopen(dir.join(files::SPANS))?,
            bounds: LineFile::reopen(dir.join(files::BOUNDS))?,
            ledger: LineFile::reopen(dir.join(files::LEDGER))?,
            aside: LineFile::reopen(dir.join(files::ASIDE))?,
            stored,
            fresh: Vec::new(),
            keep_text,
            _lock: lock,
        };
        write_manifest(dir, &writer.manifest)?;
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
        self.store(texts)?;
        self.requests.append(record)
    }

    /// Writes an attempt that counts nowhere, and its texts.
    ///
    /// # Errors
    ///
    /// What the operating system says.
    pub fn aside(
        &mut self,
        record: &RequestRecord,
        texts: &mut dyn Iterator<Item = &Text>,
    ) -> Result<(), WriteError> {
        self.store(texts)?;
        self.aside.append(record)
    }

    /// Writes a line of the ledger.
    ///
    /// # Errors
    ///
    /// What the operating system says.
    pub fn note(&mut self, line: &LedgerLine) -> Result<(), WriteError> {
        self.ledger.append(line)
    }

    fn store(&mut self, texts: &mut dyn Iterator<Item = &Text>) -> Result<(), WriteError> {
        self.fresh.clear();
        let stored = self.write_spans(texts);
        if stored.is_err() {
            // Whoever tries again finds them missing.
            for half in &self.fresh {
                self.stored.remove(half);
            }
        }
        stored
    }

    /// Writes those of `texts` that are not stored; all of them with one `write`, unless
    /// they are long.
    fn write_spans(&mut self, texts: &mut dyn Iterator<Item = &Text>) -> Result<(), WriteError> {
        for text in texts {
            let sha256 = text.digest();
            if !self.stored.insert(half(sha256)) {
                continue;
            }
            self.fresh.push(half(sha256));
            self.spans.add(&StoredSpan {
                sha256,
                bytes: Bytes(text.len() as u64),
                tokens: None,
                text: self.keep_text.then(|| text.clone()),
            })?;
            if self.spans.lines.len() > AT_ONCE {
                self.spans.write()?;
            }
        }
        self.spans.write()
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

    /// Makes what was written safe from a power cut.
    ///
    /// # Errors
    ///
    /// What the operating system says.
    pub fn sync(&mut self) -> Result<(), WriteError> {
        self.spans.sync()?;
        self.requests.sync()?;
        self.aside.sync()?;
        // Behind the records that its lines are about.
        self.ledger.sync()?;
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
        self.close()
    }

    /// Makes all of it safe, with the manifest as it stands.
    fn close(mut self) -> Result<Manifest, WriteError> {
        self.sync()?;
        write_manifest(&self.dir, &self.manifest)?;
        Ok(self.manifest)
    }

    /// Ends a run that ended before, elsewhere.
    pub(super) fn finish_as(mut self, manifest: Manifest) -> Result<Manifest, WriteError> {
        self.manifest = manifest;
        self.close()
    }

    /// Stores a span, unless its text is stored already. One without a text stays so.
    pub(super) fn store_span(&mut self, span: &StoredSpan) -> Result<(), WriteError> {
        if self.stored.insert(half(span.sha256)) {
            self.spans.append(span)?;
        }
        Ok(())
    }
}

/// The first half of a hash.
fn half(digest: Digest) -> u128 {
    let first = digest.0.iter().take(16);
    first.fold(0, |half, &byte| half << 8 | u128::from(byte))
}

/// Writes the manifest of the run in `dir`; a run never has half of one.
fn write_manifest(dir: &Path, manifest: &Manifest) -> Result<(), WriteError> {
    let path = dir.join(files::MANIFEST);
    let mut text = serde_json::to_string_pretty(manifest)
        .map_err(|error| WriteError::new(&path, io::Error::from(error)))?;
    text.push('\n');
    replace(&path, |file| file.write_all(text.as_bytes()))
}

/// Writes a file beside its place, makes it safe and moves it there, so that there
/// is never half of it.
pub(super) fn replace(
    path: &Path,
    write: impl FnOnce(&mut BufWriter<File>) -> io::Result<()>,
) -> Result<(), WriteError> {
    let name = path.file_name().unwrap_or_default().to_string_lossy();
    let draft = path.with_file_name(format!(".{name}.new"));
    let done = || -> io::Result<()> {
        let mut file = BufWriter::new(File::create(&draft)?);
        write(&mut file)?;
        file.flush()?;
        file.get_ref().sync_data()?;
        fs::rename(&draft, path)?;
        // Not every system lets a folder be opened, or has anything to make safe of one.
        let folder = path.parent().and_then(|folder| File::open(folder).ok());
        let _not_everywhere = folder.map(|folder| folder.sync_all());
        Ok(())
    };
    done().map_err(|source| WriteError::new(path, source))
}

/// Refuses a folder that holds anything but what a run leaves that is killed while
/// it begins.
fn empty(dir: &Path) -> Result<(), WriteError> {
    let failed = |source| WriteError::new(dir, source);
    for entry in fs::read_dir(dir).map_err(failed)? {
        let name = entry.map_err(failed)?.file_name();
        if name != files::LOCK && name != ".manifest.json.new" {
            return Err(WriteError::NotEmpty {
                path: dir.to_owned(),
            });
        }
    }
    Ok(())
}
