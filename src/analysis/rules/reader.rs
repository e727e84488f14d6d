//! A place in a rule's text, and what can be wrong there.

use super::metrics::Unit;
use super::units::Mark;
use std::ops::Range;

/// What is wrong, before it is tied to its text.
pub(super) struct Mistake {
    pub(super) at: Range<usize>,
    pub(super) said: String,
    pub(super) label: String,
    pub(super) help: String,
}

impl Mistake {
    pub(super) fn at(
        at: Range<usize>,
        said: impl Into<String>,
        label: impl Into<String>,
        help: impl Into<String>,
    ) -> Self {
        Self {
            at,
            said: said.into(),
            label: label.into(),
            help: help.into(),
        }
    }
}

/// A place in a text.
pub(super) struct Reader<'a> {
    pub(super) text: &'a str,
    pub(super) at: usize,
    pub(super) end: usize,
    pub(super) deep: usize,
    /// The last blanks and comments that were passed over.
    passed: Range<usize>,
    marks: Vec<Mark>,
}

impl<'a> Reader<'a> {
    pub(super) fn new(text: &'a str, range: Range<usize>) -> Self {
        Self {
            text,
            at: range.start,
            end: range.end,
            deep: 0,
            passed: range.start..range.start,
            marks: Vec::new(),
        }
    }

    /// Notes that a part of the rule that began at `start` ends here.
    pub(super) fn mark(&mut self, start: usize, unit: Option<Unit>) {
        let end = if self.at == self.passed.end {
            self.passed.start
        } else {
            self.at
        };
        let at = start..end.max(start);
        self.marks.push(Mark { at, unit });
    }

    /// The marks of the rule that was read.
    pub(super) fn marks(&mut self) -> Vec<Mark> {
        std::mem::take(&mut self.marks)
    }

    pub(super) fn rest(&self) -> &'a str {
        self.text.get(self.at..self.end).unwrap_or_default()
    }

    pub(super) fn peek(&self) -> Option<char> {
        self.rest().chars().next()
    }

    /// Passes over blanks and a comment.
    pub(super) fn blanks(&mut self) {
        let from = self.at;
        let rest = self.rest();
        let behind = rest.trim_start();
        self.at += rest.len() - behind.len();
        if behind.starts_with('#') {
            self.at = self.end;
        }
        if from == self.passed.end {
            self.passed.end = self.at;
        } else {
            self.passed = from..self.at;
        }
    }

    /// Takes `token` and the blanks behind it, if it stands here.
    pub(super) fn take(&mut self, token: &str) -> bool {
        let there = self.rest().starts_with(token);
        if there {
            self.at += token.len();
            self.blanks();
        }
        there
    }

    /// Takes letters as long as they fit.
    pub(super) fn letters(&mut self, fit: impl Fn(char) -> bool) -> &'a str {
        let rest = self.rest();
        let end = rest.find(|letter| !fit(letter)).unwrap_or(rest.len());
        self.at += end;
        &rest[..end]
    }

    /// What stands here, as a range and in words.
    pub(super) fn here(&self) -> (Range<usize>, String) {
        match self.peek() {
            None | Some('#') => (self.at..self.at, "the rule ends here".to_owned()),
            Some(letter) => (
                self.at..self.at + letter.len_utf8(),
                format!("`{letter}` is not expected"),
            ),
        }
    }

    pub(super) fn wrong<T>(
        &self,
        said: impl Into<String>,
        help: impl Into<String>,
    ) -> Result<T, Mistake> {
        let (at, label) = self.here();
        Err(Mistake::at(at, said, label, help))
    }
}
