//! A file of lines in blocks of whole lines, so that several cores read it at once.
//!
//! Invariants: those of [`super::Lines`]: nothing that a file holds makes this
//! panic, a torn last line is left out and said, and a line that cannot be read
//! is an error that names it. What is made of the blocks is handed on in the
//! order of the file, however fast each was.

use super::lines::{LINE_LIMIT, LineError, Versioned, parse};
use super::read::ReadError;
use std::collections::BTreeMap;
use std::fs::File;
use std::io::{self, BufRead as _, Read as _};
use std::path::{Path, PathBuf};
use std::sync::mpsc::sync_channel;
use std::sync::{Mutex, PoisonError};
use std::thread;

/// Bytes of a block, as far as lines end there.
const BLOCK: usize = 1 << 20;

/// Whole lines of a file.
#[derive(Debug, Default)]
pub struct Block {
    /// Of these, `length` are the block's; the rest is room for the next one.
    bytes: Vec<u8>,
    length: usize,
    /// Where the block begins in its file.
    offset: u64,
}

/// A line of a block.
#[derive(Clone, Copy, Debug)]
pub struct Line<'a> {
    /// Its bytes, with the line end.
    pub bytes: &'a [u8],
    /// Where it begins in its file.
    pub offset: u64,
}

impl Line<'_> {
    /// The whole of it, with nothing borrowed.
    ///
    /// # Errors
    ///
    /// [`LineError`] where it is none of these, or a newer one.
    pub fn whole<T: Versioned>(&self) -> Result<T, LineError> {
        parse(self.bytes)
    }
}

impl Block {
    /// Its lines.
    fn lines(&self) -> impl Iterator<Item = Line<'_>> {
        let mut rest = self.bytes.get(..self.length).unwrap_or_default();
        let mut offset = self.offset;
        std::iter::from_fn(move || {
            let all = rest;
            // A slice cannot fail to be read.
            let length = rest.skip_until(b'\n').unwrap_or(0);
            let line = Line {
                bytes: all.get(..length).filter(|line| !line.is_empty())?,
                offset,
            };
            offset += length as u64;
            Some(line)
        })
    }
}

/// A file, read block by block.
#[derive(Debug)]
pub struct Blocks {
    path: PathBuf,
    file: File,
    /// What was read behind the last line end.
    rest: Vec<u8>,
    offset: u64,
    number: usize,
    ended: bool,
}

impl Blocks {
    pub(super) fn open(path: PathBuf) -> Result<Self, ReadError> {
        let file = File::open(&path).map_err(|source| ReadError::Io {
            path: path.clone(),
            source,
        })?;
        Ok(Self {
            path,
            file,
            rest: Vec::new(),
            offset: 0,
            number: 0,
            ended: false,
        })
    }

    /// The next block, and its place among them. Its bytes are put into `bytes`,
    /// so that a thread touches no new memory for each block.
    fn next(&mut self, mut bytes: Vec<u8>) -> io::Result<Option<(usize, Block)>> {
        let (mut filled, mut searched) = (self.rest.len(), 0);
        room(&mut bytes, filled + BLOCK);
        bytes[..filled].copy_from_slice(&self.rest);
        self.rest.clear();
        let end = loop {
            let read = filled_from(&mut self.file, &mut bytes[filled..])?;
            filled += read;
            let fresh = &bytes[searched..filled];
            if let Some(at) = fresh.iter().rposition(|&byte| byte == b'\n') {
                break searched + at + 1;
            }
            searched = filled;
            if read == 0 || searched as u64 > LINE_LIMIT {
                self.ended = true;
                break 0;
            }
            room(&mut bytes, filled + BLOCK);
        };
        self.rest.extend_from_slice(&bytes[end..filled]);
        let block = Block {
            offset: self.offset,
            length: end,
            bytes,
        };
        self.offset += end as u64;
        self.number += 1;
        Ok((end > 0).then_some((self.number - 1, block)))
    }

    /// Makes something of every line, on `threads` threads, and hands what was
    /// made of each block to `take`, in order. `start` makes what a thread keeps
    /// between lines, and `of_line` adds a line to what its block gives. Gives
    /// whether a torn last line was left out.
    ///
    /// # Errors
    ///
    /// [`ReadError`] of the first line that cannot be read; what comes behind
    /// its block is not handed on.
    pub fn each<S, T: Default + Send>(
        self,
        threads: usize,
        start: impl Fn() -> S + Sync,
        of_line: impl Fn(&mut S, &mut T, Line<'_>) -> Result<(), LineError> + Sync,
        mut take: impl FnMut(T),
    ) -> Result<bool, ReadError> {
        let path = self.path.clone();
        let shared = Mutex::new(self);
        let (made, arriving) = sync_channel::<(usize, Made<T>)>(2 * threads.max(1));
        let (mut lines, mut failed) = (0, None);
        thread::scope(|scope| {
            for _ in 0..threads.max(1) {
                let made = made.clone();
                let (shared, start, of_line) = (&shared, &start, &of_line);
                scope.spawn(move || {
                    let (mut kept, mut spare) = (start(), Vec::new());
                    while let Some((number, block)) = claimed(shared, std::mem::take(&mut spare)) {
                        let one = block.map(|block| {
                            let piece = made_of(&block, &mut kept, of_line);
                            spare = block.bytes;
                            piece
                        });
                        let stop = one.as_ref().map_or(true, |one| one.failed.is_some());
                        if made.send((number, one)).is_err() || stop {
                            break;
                        }
                    }
                });
            }
            drop(made);
            let (mut waiting, mut next) = (BTreeMap::new(), 0);
            for (number, one) in arriving {
                waiting.insert(number, one);
                while let Some(one) = waiting.remove(&next) {
                    next += 1;
                    if failed.is_none() {
                        failed = handed_on(one, &mut lines, &mut take, &path);
                    }
                }
                if failed.is_some() {
                    // Dropping the receiver stops the threads at their next block.
                    return;
                }
            }
        });
        let shared = shared.into_inner().unwrap_or_else(PoisonError::into_inner);
        match failed {
            Some(error) => Err(error),
            None if shared.rest.len() as u64 > LINE_LIMIT => Err(ReadError::TooLong {
                path,
                line: lines + 1,
            }),
            None => Ok(!shared.rest.is_empty()),
        }
    }
}

/// What was made of a block, or why it could not be read.
type Made<T> = io::Result<Piece<T>>;

/// What was made of a block.
struct Piece<T> {
    value: T,
    /// Its lines, up to one that cannot be read.
    lines: u64,
    failed: Option<LineError>,
}

/// Makes `bytes` at least so long.
fn room(bytes: &mut Vec<u8>, length: usize) {
    if bytes.len() < length {
        bytes.resize(length, 0);
    }
}

/// Reads until `bytes` is full or the file ends, and gives how much that was.
fn filled_from(file: &mut File, bytes: &mut [u8]) -> io::Result<usize> {
    let mut filled = 0;
    while let Some(rest) = bytes.get_mut(filled..).filter(|rest| !rest.is_empty()) {
        match file.read(rest) {
            Ok(0) => break,
            Ok(read) => filled += read,
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => return Err(error),
        }
    }
    Ok(filled)
}

/// The next block of the file; an error is the last one.
fn claimed(shared: &Mutex<Blocks>, spare: Vec<u8>) -> Option<(usize, io::Result<Block>)> {
    let mut blocks = shared.lock().unwrap_or_else(PoisonError::into_inner);
    if blocks.ended {
        return None;
    }
    match blocks.next(spare) {
        Ok(found) => found.map(|(number, block)| (number, Ok(block))),
        Err(error) => {
            blocks.ended = true;
            Some((blocks.number, Err(error)))
        }
    }
}

fn made_of<S, T: Default>(
    block: &Block,
    kept: &mut S,
    of_line: &impl Fn(&mut S, &mut T, Line<'_>) -> Result<(), LineError>,
) -> Piece<T> {
    let mut piece = Piece {
        value: T::default(),
        lines: 0,
        failed: None,
    };
    for line in block.lines() {
        piece.failed = of_line(kept, &mut piece.value, line).err();
        if piece.failed.is_some() {
            break;
        }
        piece.lines += 1;
    }
    piece
}

fn handed_on<T>(
    one: Made<T>,
    lines: &mut u64,
    take: &mut impl FnMut(T),
    path: &Path,
) -> Option<ReadError> {
    match one {
        Ok(piece) => {
            *lines += piece.lines;
            take(piece.value);
            piece.failed.map(|error| error.at(path, *lines + 1))
        }
        Err(source) => Some(ReadError::Io {
            path: path.to_owned(),
            source,
        }),
    }
}
