//! Resolves TEXT wherever the grammar has it.

use super::error::{Mistake, ScenarioError};
use super::files::Files;
use super::generate::{Kind, generate};
use super::limits::{Limits, size};
use super::load::texts::{GenerateFile, NoteFile, NoteMap, TextFile, TextMap};
use super::load::yaml::{At, Source};
use crate::chat::{Digest, Text};
use std::collections::HashMap;
use std::ops::Range;

/// Sizes of generated fillers in tokens.
///
/// Source: the defaults of the scenario grammar, which hold for every report.
pub(super) mod filler {
    pub(crate) const SYSTEM: usize = 1_200;
    pub(crate) const REPLY: usize = 120;
    pub(crate) const ARTIFACTS: usize = 2_500;
    pub(crate) const WEB_SEARCH: usize = 400;
    pub(crate) const MEMORY_GUARD: usize = 40;
    pub(crate) const SUMMARY: usize = 300;
    pub(crate) const TASK: usize = 60;
}

/// Reads, makes and counts texts.
pub(super) struct Texts {
    pub(super) source: Source,
    pub(super) files: Files,
    limits: Limits,
    total: u64,
    by_file: HashMap<String, Text>,
    made: HashMap<(usize, u64, Kind), Text>,
}

impl Texts {
    pub(super) fn new(source: Source, files: Files, limits: Limits) -> Self {
        Self {
            source,
            files,
            limits,
            total: 0,
            by_file: HashMap::new(),
            made: HashMap::new(),
        }
    }

    /// An error about `place`.
    pub(super) fn error(&self, place: &Range<usize>, mistake: Mistake) -> ScenarioError {
        self.source.error(place.clone(), mistake)
    }

    /// The text that stands or is named there.
    pub(super) fn text(&mut self, at: &At<TextFile>) -> Result<Text, ScenarioError> {
        self.text_at(&at.value, &at.place)
    }

    pub(super) fn text_at(
        &mut self,
        file: &TextFile,
        place: &Range<usize>,
    ) -> Result<Text, ScenarioError> {
        match file {
            TextFile::Literal(text) => self.literal(text.clone(), place),
            TextFile::Plain => self.literal(self.source.slice(place).to_owned(), place),
            TextFile::Map(TextMap { file, generate }) => match (file, generate) {
                (Some(file), None) => self.file(file),
                (None, Some(generate)) => self.generated(generate),
                _ => Err(self.error(place, one_of("a text", "`file` or `generate`"))),
            },
        }
    }

    /// The same where the text may be left out.
    pub(super) fn optional(
        &mut self,
        at: Option<&At<TextFile>>,
    ) -> Result<Option<Text>, ScenarioError> {
        at.map(|at| self.text(at)).transpose()
    }

    /// A note's text and tags.
    pub(super) fn note<'a>(
        &mut self,
        at: &'a At<NoteFile>,
    ) -> Result<(Text, &'a [At<String>]), ScenarioError> {
        match &at.value {
            NoteFile::Text(text) => Ok((self.text_at(text, &at.place)?, &[])),
            NoteFile::Map(NoteMap {
                text,
                file,
                generate,
                tags,
            }) => {
                let text = match (text, file, generate) {
                    (Some(text), None, None) => self.text(text)?,
                    (None, Some(file), None) => self.file(file)?,
                    (None, None, Some(generate)) => self.generated(generate)?,
                    _ => {
                        let mistake = one_of("a note", "`text`, `file` or `generate`");
                        return Err(self.error(&at.place, mistake));
                    }
                };
                Ok((text, tags))
            }
        }
    }

    /// Filler of a purpose; the same for the same purpose and number.
    pub(super) fn filler(
        &mut self,
        purpose: &str,
        number: usize,
        tokens: usize,
        kind: Kind,
        place: &Range<usize>,
    ) -> Result<Text, ScenarioError> {
        let hash = Digest::of(format!("filler {purpose} {number}").as_bytes());
        let seed = hash
            .0
            .iter()
            .take(8)
            .fold(0, |seed, &byte| seed << 8 | u64::from(byte));
        self.make(tokens, seed, kind, place)
    }

    fn literal(&mut self, text: String, place: &Range<usize>) -> Result<Text, ScenarioError> {
        self.count(text.len(), place)?;
        Ok(Text::from(text))
    }

    fn file(&mut self, name: &At<String>) -> Result<Text, ScenarioError> {
        if let Some(text) = self.by_file.get(&name.value) {
            return Ok(text.clone());
        }
        let text = self
            .files
            .text(&name.value)
            .map_err(|mistake| self.error(&name.place, mistake))?;
        let text = self.literal(text, &name.place)?;
        self.by_file.insert(name.value.clone(), text.clone());
        Ok(text)
    }

    fn generated(&mut self, asked: &GenerateFile) -> Result<Text, ScenarioError> {
        let place = &asked.tokens.place;
        let tokens = asked.tokens.value;
        if tokens == 0 {
            let mistake = Mistake::value("`tokens`", "must be at least 1");
            return Err(self.error(place, mistake));
        }
        if tokens > self.limits.tokens {
            let mistake = Mistake::TooLarge {
                what: "the generated text".to_owned(),
                limit: format!("{} tokens", self.limits.tokens),
            };
            return Err(self.error(place, mistake));
        }
        let tokens = usize::try_from(tokens).unwrap_or(usize::MAX);
        self.make(tokens, asked.seed, asked.kind, place)
    }

    fn make(
        &mut self,
        tokens: usize,
        seed: u64,
        kind: Kind,
        place: &Range<usize>,
    ) -> Result<Text, ScenarioError> {
        if let Some(text) = self.made.get(&(tokens, seed, kind)) {
            return Ok(text.clone());
        }
        let text = self.literal(generate(tokens, seed, kind), place)?;
        self.made.insert((tokens, seed, kind), text.clone());
        Ok(text)
    }

    /// Counts bytes against the limit on all texts together.
    pub(super) fn count(
        &mut self,
        bytes: usize,
        place: &Range<usize>,
    ) -> Result<(), ScenarioError> {
        let bytes = u64::try_from(bytes).unwrap_or(u64::MAX);
        self.total = self.total.saturating_add(bytes);
        if self.total <= self.limits.total {
            return Ok(());
        }
        let mistake = Mistake::TooLarge {
            what: "the scenario with all its texts".to_owned(),
            limit: size(self.limits.total),
        };
        Err(self.error(place, mistake))
    }
}

fn one_of(what: &str, keys: &str) -> Mistake {
    Mistake::value(what, format!("needs exactly one of {keys}"))
}
