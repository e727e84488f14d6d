//! Where the records and the texts of a run stand in its files, so that what
//! belongs together can be read together.
//!
//! A run of any length is worked through in bounded memory this way: of a record
//! only its place is kept, and of a text its hash and its place.

use super::files;
use super::lines::Lines;
use super::read::{ReadError, Run};
use super::request::RequestRecord;
use super::spans::{SpanStore, StoredSpan};
use crate::chat::Digest;
use serde::de::DeserializeOwned;
use std::collections::HashMap;
use std::fs::File;
use std::io::{self, Read as _, Seek as _, SeekFrom};
use std::path::PathBuf;

/// A line of a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Place {
    start: u64,
    length: usize,
}

impl From<(u64, usize)> for Place {
    fn from((start, length): (u64, usize)) -> Self {
        Self { start, length }
    }
}

/// A file whose lines are read one at a time.
struct Source {
    path: PathBuf,
    file: File,
    buffer: Vec<u8>,
}

impl Source {
    fn open(path: PathBuf) -> Result<Self, ReadError> {
        match File::open(&path) {
            Ok(file) => Ok(Self {
                path,
                file,
                buffer: Vec::new(),
            }),
            Err(source) => Err(ReadError::Io { path, source }),
        }
    }

    fn read<T: DeserializeOwned>(&mut self, place: Place) -> Result<T, ReadError> {
        let read = |source: io::Error| ReadError::Io {
            path: self.path.clone(),
            source,
        };
        self.buffer.resize(place.length, 0);
        self.file
            .seek(SeekFrom::Start(place.start))
            .and_then(|_there| self.file.read_exact(&mut self.buffer))
            .map_err(read)?;
        serde_json::from_slice(&self.buffer).map_err(|error| read(io::Error::from(error)))
    }
}

/// The files of a run, by place.
pub struct Places {
    requests: Source,
    spans: Source,
    texts: HashMap<Digest, Place>,
}

impl Places {
    /// Goes once through the records of `run`, telling `see` of each and of its
    /// place, in the order written, and once through its texts.
    ///
    /// # Errors
    ///
    /// [`ReadError`], at the first line that cannot be read.
    pub fn of(run: &Run, mut see: impl FnMut(RequestRecord, Place)) -> Result<Self, ReadError> {
        let mut lines = run.requests()?;
        while let Some(record) = lines.next() {
            see(record?, lines.place().into());
        }
        let mut texts = HashMap::new();
        let mut lines: Lines<StoredSpan> = run.spans()?;
        while let Some(span) = lines.next() {
            let StoredSpan { sha256, text, .. } = span?;
            if text.is_some() {
                texts.insert(sha256, lines.place().into());
            }
        }
        Ok(Self {
            requests: Source::open(run.dir().join(files::REQUESTS))?,
            spans: Source::open(run.dir().join(files::SPANS))?,
            texts,
        })
    }

    /// The record at that place.
    ///
    /// # Errors
    ///
    /// [`ReadError`] where the file has changed.
    pub fn record(&mut self, place: Place) -> Result<RequestRecord, ReadError> {
        self.requests.read(place)
    }

    /// The texts of these records and of their answers, as far as they were kept:
    /// by the files, or by `known`, which is asked first.
    ///
    /// # Errors
    ///
    /// [`ReadError`] where the file has changed.
    pub fn texts(
        &mut self,
        records: &[RequestRecord],
        known: &SpanStore,
    ) -> Result<SpanStore, ReadError> {
        let mut texts = SpanStore::default();
        let of_prompts = records.iter().flat_map(|record| &record.prompt);
        let spans = of_prompts.flat_map(|message| &message.spans);
        let answers = records.iter().filter_map(|record| record.output_sha256);
        for sha256 in spans.map(|span| span.sha256).chain(answers) {
            if texts.text(sha256).is_some() {
                continue;
            }
            if let Some(text) = known.text(sha256) {
                texts.insert(text.clone());
            } else if let Some(&place) = self.texts.get(&sha256) {
                let span: StoredSpan = self.spans.read(place)?;
                texts.extend(span.text);
            }
        }
        Ok(texts)
    }
}
