//! Lines of a file as records, read as they are asked for.
//!
//! Invariants: nothing that a file holds makes this panic; a last line without
//! its line end was torn by a kill and is left out, which is said; every other
//! line that cannot be read is an error that names it.

use super::ledger::{LEDGER_VERSION, LedgerLine};
use super::read::ReadError;
use super::request::{BoundRecord, RECORD_VERSION, RequestRecord};
use super::spans::StoredSpan;
use serde::Deserialize;
use serde::de::{self, DeserializeOwned};
use std::fs::File;
use std::io::{self, BufRead as _, BufReader, Read, Seek as _, SeekFrom};
use std::marker::PhantomData;
use std::path::{Path, PathBuf};

/// The longest line that is read, in bytes.
pub(super) const LINE_LIMIT: u64 = 256 << 20;

/// A form whose lines say in which version they are written, or a form without
/// versions.
///
/// A line of a newer version is refused even where it reads as one of today's: its
/// fields may mean something else.
pub trait Dated {
    /// The newest version that is known.
    const KNOWN: Option<u32>;

    /// The version of this line; `None` of a form without versions.
    fn version(&self) -> Option<u32>;

    /// Takes back what the line says of itself and its own numbers do not bear out.
    fn settle(&mut self) {}
}

/// The same with nothing borrowed from the line.
pub trait Versioned: Dated + DeserializeOwned {}

impl<T: Dated + DeserializeOwned> Versioned for T {}

impl Dated for RequestRecord {
    const KNOWN: Option<u32> = Some(RECORD_VERSION);

    fn version(&self) -> Option<u32> {
        Some(self.v)
    }

    fn settle(&mut self) {
        self.usage.origin = self.usage.settled_origin();
    }
}

impl Dated for BoundRecord {
    const KNOWN: Option<u32> = Some(RECORD_VERSION);

    fn version(&self) -> Option<u32> {
        Some(self.v)
    }
}

impl Dated for LedgerLine {
    const KNOWN: Option<u32> = Some(LEDGER_VERSION);

    fn version(&self) -> Option<u32> {
        Some(self.v)
    }
}

impl Dated for StoredSpan {
    const KNOWN: Option<u32> = None;

    fn version(&self) -> Option<u32> {
        None
    }
}

/// A form that borrows from its line; a newer version is told from a broken line.
pub trait VersionedLine<'a>: Dated + Deserialize<'a> {
    /// Reads a line.
    ///
    /// # Errors
    ///
    /// [`LineError`] where it is none of these, or a newer one.
    fn of(line: &'a [u8]) -> Result<Self, LineError> {
        parse(line)
    }
}

impl<'a, T: Dated + Deserialize<'a>> VersionedLine<'a> for T {}

/// A line that cannot be read.
#[derive(Debug)]
pub enum LineError {
    /// Written by a newer version of the program.
    Newer {
        /// Its version.
        found: u32,
        /// The newest known one.
        known: u32,
    },
    /// Not what it should be.
    Malformed(serde_json::Error),
}

impl LineError {
    /// The same, with the place of the line.
    pub(super) fn at(self, path: &Path, line: u64) -> ReadError {
        let path = path.to_owned();
        match self {
            Self::Newer { found, known } => ReadError::Newer { path, found, known },
            Self::Malformed(source) => ReadError::Malformed { path, line, source },
        }
    }
}

pub(super) fn parse<'a, T: Dated + Deserialize<'a>>(line: &'a [u8]) -> Result<T, LineError> {
    match serde_json::from_slice::<T>(line) {
        Ok(read) => settled(read),
        Err(source) => {
            let version = serde_json::from_slice::<LineVersion>(line).ok();
            newer::<T>(version.map(|line| line.v))?;
            Err(LineError::Malformed(source))
        }
    }
}

/// What was read, unless it is of a newer version.
pub(super) fn settled<T: Dated>(mut read: T) -> Result<T, LineError> {
    newer::<T>(read.version())?;
    read.settle();
    Ok(read)
}

/// Refuses a version that is newer than any that is known.
fn newer<T: Dated>(version: Option<u32>) -> Result<(), LineError> {
    match (T::KNOWN, version) {
        (Some(known), Some(found)) if found > known => Err(LineError::Newer { found, known }),
        _ => Ok(()),
    }
}

/// The version of a line; all else in it is left alone.
#[derive(Deserialize)]
struct LineVersion {
    v: u32,
}

/// The lines of a file, read as they are asked for.
pub struct Lines<T> {
    path: PathBuf,
    reader: BufReader<File>,
    buffer: Vec<u8>,
    line: u64,
    /// Where the line in `buffer` begins.
    start: u64,
    torn: bool,
    ended: bool,
    kind: PhantomData<fn() -> T>,
}

impl<T> Lines<T> {
    pub(super) fn open(path: PathBuf) -> Result<Self, ReadError> {
        Self::open_at(path, 0)
    }

    /// The lines from a byte on at which one begins.
    pub(super) fn open_at(path: PathBuf, offset: u64) -> Result<Self, ReadError> {
        let open = || {
            let mut file = File::open(&path)?;
            file.seek(SeekFrom::Start(offset))?;
            Ok(file)
        };
        let file = open().map_err(|source| ReadError::Io {
            path: path.clone(),
            source,
        })?;
        Ok(Self {
            path,
            reader: BufReader::with_capacity(1 << 16, file),
            buffer: Vec::new(),
            line: 0,
            start: 0,
            torn: false,
            ended: false,
            kind: PhantomData,
        })
    }

    /// Whether a torn last line was left out; known once the lines have ended.
    pub fn torn(&self) -> bool {
        self.torn
    }

    /// Where the last item's line stands in the file: its first byte and its length.
    pub(super) fn place(&self) -> (u64, usize) {
        (self.start, self.buffer.len())
    }

    /// Reads one whole line into the buffer; `false` at the end.
    fn fill(&mut self) -> Result<bool, ReadError> {
        self.start += self.buffer.len() as u64;
        self.buffer.clear();
        self.line += 1;
        let read = self
            .reader
            .by_ref()
            .take(LINE_LIMIT)
            .read_until(b'\n', &mut self.buffer)
            .map_err(|source| ReadError::Io {
                path: self.path.clone(),
                source,
            })?;
        if self.buffer.last() == Some(&b'\n') {
            return Ok(true);
        }
        if read as u64 == LINE_LIMIT {
            return Err(ReadError::TooLong {
                path: self.path.clone(),
                line: self.line,
            });
        }
        self.torn = read > 0;
        Ok(false)
    }
}

impl<T: Versioned> Lines<T> {
    /// The next record with its line as it stands, line end included.
    pub(super) fn next_raw(&mut self) -> Option<Result<(T, &[u8]), ReadError>> {
        match self.next()? {
            Ok(record) => Some(Ok((record, &self.buffer))),
            Err(error) => Some(Err(error)),
        }
    }
}

impl<T: Versioned> Lines<T> {
    fn parse(&self) -> Result<T, ReadError> {
        parse(&self.buffer).map_err(|error| error.at(&self.path, self.line))
    }

    /// The next line, which must be there.
    pub(super) fn only(mut self) -> Result<T, ReadError> {
        let (path, line) = (self.path.clone(), self.line + 1);
        let none = || ReadError::Malformed {
            path,
            line,
            source: de::Error::custom("the file has become shorter"),
        };
        self.next().unwrap_or_else(|| Err(none()))
    }
}

impl<T: Versioned> Iterator for Lines<T> {
    type Item = Result<T, ReadError>;

    fn next(&mut self) -> Option<Self::Item> {
        if self.ended {
            return None;
        }
        let item = match self.fill() {
            Ok(true) => self.parse(),
            Ok(false) => {
                self.ended = true;
                return None;
            }
            Err(error) => Err(error),
        };
        self.ended = item.is_err();
        Some(item)
    }
}

/// Length of the whole lines at the front of `file`.
pub(super) fn whole_lines(mut file: &File) -> io::Result<u64> {
    let mut end = file.seek(SeekFrom::End(0))?;
    let mut chunk = vec![0; 1 << 16];
    while end > 0 {
        let from = end.saturating_sub(chunk.len() as u64);
        let part = usize::try_from(end - from)
            .ok()
            .and_then(|length| chunk.get_mut(..length))
            .unwrap_or_default();
        file.seek(SeekFrom::Start(from))?;
        file.read_exact(part)?;
        if let Some(at) = part.iter().rposition(|&byte| byte == b'\n') {
            return Ok(from + at as u64 + 1);
        }
        end = from;
    }
    Ok(0)
}
