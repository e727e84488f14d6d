//! Reads a run folder, line by line or whole.

use super::blocks::Blocks;
use super::files;
use super::ledger::LedgerLine;
use super::lines::{Lines, Versioned};
use super::manifest::{MANIFEST_VERSION, Manifest};
use super::request::{BoundRecord, RequestRecord};
use super::spans::{SpanStore, StoredSpan};
use serde::Deserialize;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use thiserror::Error;

/// A run that cannot be read.
#[derive(Debug, Error)]
pub enum ReadError {
    /// No such file, or not readable.
    #[error("cannot read `{}`", path.display())]
    Io {
        /// The file.
        path: PathBuf,
        /// What the operating system said.
        source: io::Error,
    },
    /// The folder has no manifest.
    #[error("`{}` is not a run folder: it has no `manifest.json`", path.display())]
    NoRun {
        /// The folder.
        path: PathBuf,
    },
    /// Written by a newer version of the program.
    #[error("`{}` has format {found}, and this version reads up to {known}", path.display())]
    Newer {
        /// The file.
        path: PathBuf,
        /// Its format.
        found: u32,
        /// The newest known one.
        known: u32,
    },
    /// Not what it should be.
    #[error("line {line} of `{}` is not a record", path.display())]
    Malformed {
        /// The file.
        path: PathBuf,
        /// Line, from 1.
        line: u64,
        /// What is wrong with it.
        source: serde_json::Error,
    },
    /// An attempt is recorded more than once.
    #[error(
        "`{}` holds `{conversation}`, turn {turn}, request {request}, attempt {attempt} more than once",
        path.display()
    )]
    Twice {
        /// The file.
        path: PathBuf,
        /// The conversation.
        conversation: String,
        /// Turn, from 1.
        turn: u32,
        /// Request of the turn, from 1.
        request: u32,
        /// Attempt, from 1.
        attempt: u32,
    },
    /// A line is longer than any record.
    #[error("line {line} of `{}` is longer than any record", path.display())]
    TooLong {
        /// The file.
        path: PathBuf,
        /// Line, from 1.
        line: u64,
    },
}

impl ReadError {
    /// What to do about it.
    pub fn help(&self) -> &'static str {
        match self {
            Self::Io { .. } | Self::NoRun { .. } => "give the folder that a run was written to",
            Self::Newer { .. } => {
                "read it with the version of prefixbench that wrote it, or a newer one"
            }
            Self::Twice { .. } => {
                "every sum would count it twice: take the copies out; parts of one run are put \
                 together with `prefixbench merge`"
            }
            Self::Malformed { .. } | Self::TooLong { .. } => {
                "the file was changed since; take the line out, or restore the file"
            }
        }
    }
}

/// A run folder, opened.
#[derive(Debug)]
pub struct Run {
    dir: PathBuf,
    /// What was run.
    pub manifest: Manifest,
}

/// A run folder, read whole.
#[derive(Debug)]
pub struct RunContents {
    /// What was run.
    pub manifest: Manifest,
    /// Records in the order written.
    pub requests: Vec<RequestRecord>,
    /// What was computed after the cells; the newest for each attempt is the last.
    pub bounds: Vec<BoundRecord>,
    /// Attempts that were sent and count nowhere; a cache may hold them all the same.
    pub aside: Vec<RequestRecord>,
    /// In which state of the cache things began, and how they ended.
    pub ledger: Vec<LedgerLine>,
    /// Span texts.
    pub spans: SpanStore,
    /// What a person must know: lowercase sentences without a full stop.
    pub warnings: Vec<String>,
}

impl Run {
    /// Opens the run in `dir` and reads its manifest.
    ///
    /// # Errors
    ///
    /// [`ReadError`]: no run there, one of a newer version, or a manifest that
    /// is none.
    pub fn read(dir: &Path) -> Result<Self, ReadError> {
        let path = dir.join(files::MANIFEST);
        let text = fs::read(&path).map_err(|source| match source.kind() {
            io::ErrorKind::NotFound => ReadError::NoRun {
                path: dir.to_owned(),
            },
            _ => ReadError::Io {
                path: path.clone(),
                source,
            },
        })?;
        let manifest = manifest(&text, path)?;
        Ok(Self {
            dir: dir.to_owned(),
            manifest,
        })
    }

    /// The folder.
    pub fn dir(&self) -> &Path {
        &self.dir
    }

    /// The records, one after the other.
    ///
    /// # Errors
    ///
    /// [`ReadError::Io`] where the file cannot be opened.
    pub fn requests(&self) -> Result<Lines<RequestRecord>, ReadError> {
        Lines::open(self.dir.join(files::REQUESTS))
    }

    /// The records, in blocks for several threads.
    ///
    /// # Errors
    ///
    /// [`ReadError::Io`] where the file cannot be opened.
    pub fn request_blocks(&self) -> Result<Blocks, ReadError> {
        Blocks::open(self.dir.join(files::REQUESTS))
    }

    /// What was computed after the cells, in blocks for several threads; `None`
    /// where nothing was.
    ///
    /// # Errors
    ///
    /// [`ReadError::Io`] where the file is there and cannot be opened.
    pub fn bound_blocks(&self) -> Result<Option<Blocks>, ReadError> {
        let path = self.dir.join(files::BOUNDS);
        if path.try_exists().is_ok_and(|there| !there) {
            return Ok(None);
        }
        Blocks::open(path).map(Some)
    }

    /// The stored spans, in blocks for several threads.
    ///
    /// # Errors
    ///
    /// [`ReadError::Io`] where the file cannot be opened.
    pub fn span_blocks(&self) -> Result<Blocks, ReadError> {
        Blocks::open(self.dir.join(files::SPANS))
    }

    /// The record whose line begins at `offset` of its file.
    ///
    /// # Errors
    ///
    /// [`ReadError`] where the file cannot be read, or no record begins there.
    pub fn request_at(&self, offset: u64) -> Result<RequestRecord, ReadError> {
        Lines::open_at(self.dir.join(files::REQUESTS), offset)?.only()
    }

    /// The stored spans, one after the other.
    ///
    /// # Errors
    ///
    /// [`ReadError::Io`] where the file cannot be opened.
    pub fn spans(&self) -> Result<Lines<StoredSpan>, ReadError> {
        Lines::open(self.dir.join(files::SPANS))
    }

    /// What was computed after the cells; `None` where nothing was.
    ///
    /// # Errors
    ///
    /// [`ReadError::Io`] where the file is there and cannot be opened.
    pub fn bounds(&self) -> Result<Option<Lines<BoundRecord>>, ReadError> {
        self.optional(files::BOUNDS)
    }

    /// Attempts that were sent and count nowhere; empty where there are none.
    ///
    /// # Errors
    ///
    /// [`ReadError`], at the first line that cannot be read.
    pub fn aside(&self) -> Result<Vec<RequestRecord>, ReadError> {
        self.optional(files::ASIDE)?
            .map_or(Ok(Vec::new()), Iterator::collect)
    }

    /// The ledger; empty in a run of format 1, which had none.
    ///
    /// # Errors
    ///
    /// [`ReadError`], at the first line that cannot be read.
    pub fn ledger(&self) -> Result<Vec<LedgerLine>, ReadError> {
        self.optional(files::LEDGER)?
            .map_or(Ok(Vec::new()), Iterator::collect)
    }

    /// As [`requests`](Self::requests) of a run that may have been killed as it began.
    pub(super) fn requests_if_any(&self) -> Result<Option<Lines<RequestRecord>>, ReadError> {
        self.optional(files::REQUESTS)
    }

    /// As [`spans`](Self::spans) of a run that may have been killed as it began.
    pub(super) fn spans_if_any(&self) -> Result<Option<Lines<StoredSpan>>, ReadError> {
        self.optional(files::SPANS)
    }

    /// A file that need not be there.
    fn optional<T>(&self, name: &str) -> Result<Option<Lines<T>>, ReadError> {
        let path = self.dir.join(name);
        if path.try_exists().is_ok_and(|there| !there) {
            return Ok(None);
        }
        Lines::open(path).map(Some)
    }

    /// Reads everything into memory.
    ///
    /// # Errors
    ///
    /// [`ReadError`], at the first line that cannot be read.
    pub fn contents(self) -> Result<RunContents, ReadError> {
        let mut warnings = Vec::new();
        let requests = collect(self.requests()?, files::REQUESTS, &mut warnings)?;
        let stored = collect(self.spans()?, files::SPANS, &mut warnings)?;
        let bounds = match self.bounds()? {
            Some(lines) => collect(lines, files::BOUNDS, &mut warnings)?,
            None => Vec::new(),
        };
        let (aside, ledger) = (self.aside()?, self.ledger()?);
        let mut spans = SpanStore::default();
        spans.extend(stored.into_iter().filter_map(|span| span.text));
        Ok(RunContents {
            manifest: self.manifest,
            requests,
            bounds,
            aside,
            ledger,
            spans,
            warnings,
        })
    }
}

/// A manifest, unless it is of a newer version: what reads as one of today's may mean
/// something else.
fn manifest(text: &[u8], path: PathBuf) -> Result<Manifest, ReadError> {
    #[derive(Deserialize)]
    struct Version {
        format: u32,
    }
    match serde_json::from_slice::<Version>(text) {
        Ok(Version { format }) if format > MANIFEST_VERSION => Err(ReadError::Newer {
            path,
            found: format,
            known: MANIFEST_VERSION,
        }),
        _ => serde_json::from_slice(text).map_err(|source| ReadError::Malformed {
            path,
            line: source.line() as u64,
            source,
        }),
    }
}

fn collect<T: Versioned>(
    mut lines: Lines<T>,
    name: &str,
    warnings: &mut Vec<String>,
) -> Result<Vec<T>, ReadError> {
    let items = lines.by_ref().collect::<Result<_, _>>()?;
    if lines.torn() {
        warnings.push(format!(
            "the last line of `{name}` was cut off and is left out"
        ));
    }
    Ok(items)
}
