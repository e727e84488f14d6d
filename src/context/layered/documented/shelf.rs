//! The library of `layered`: everything that was attached, in order of first
//! appearance.
//!
//! Invariants: an entry never changes and never goes; a changed text is a new
//! version behind all that is there.

use super::pieces::Piece;
use crate::chat::Digest;
use std::collections::HashMap;
use std::sync::Arc;

/// A piece with its version, from 1.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Entry {
    pub(super) piece: Piece,
    pub(super) version: usize,
}

/// How a piece relates to what is there.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Known {
    /// The same text is there, as this version.
    Same(usize),
    /// It is not there; it would be this version.
    New(usize),
}

/// The library.
#[derive(Clone, Debug, Default)]
pub(super) struct Shelf {
    entries: Vec<Entry>,
    by_id: HashMap<(Arc<str>, &'static str), Vec<Digest>>,
}

fn id(piece: &Piece) -> (Arc<str>, &'static str) {
    let kind = match piece.kind {
        super::pieces::Kind::Note => "note",
        super::pieces::Kind::Url => "url",
        super::pieces::Kind::Tab => "tab",
        super::pieces::Kind::Selection => "selection",
    };
    (piece.id.clone(), kind)
}

impl Shelf {
    /// Whether the text of `piece` is there.
    pub(super) fn known(&self, piece: &Piece) -> Known {
        let versions = self.by_id.get(&id(piece)).map_or(&[][..], Vec::as_slice);
        match versions.iter().position(|digest| *digest == piece.digest()) {
            Some(at) => Known::Same(at + 1),
            None => Known::New(versions.len() + 1),
        }
    }

    /// Takes a piece in, where the library takes it and does not have it.
    pub(super) fn add(&mut self, piece: Piece) {
        if let (Known::New(version), true) = (self.known(&piece), piece.promoted) {
            self.by_id
                .entry(id(&piece))
                .or_default()
                .push(piece.digest());
            self.entries.push(Entry { piece, version });
        }
    }

    /// Its entries, oldest first.
    pub(super) fn entries(&self) -> &[Entry] {
        &self.entries
    }

    /// The library without entries of the ids that `turn` brings: the fault of
    /// 2025-01-25.
    pub(super) fn without(&self, turn: &[Piece]) -> Self {
        let mut shelf = Self::default();
        for entry in &self.entries {
            if !turn.iter().any(|piece| id(piece) == id(&entry.piece)) {
                shelf.add(entry.piece.clone());
            }
        }
        shelf
    }

    /// A hash of the first `count` entries; `None` where there are fewer.
    pub(super) fn hash(&self, count: usize) -> Option<Digest> {
        let mut bytes = Vec::with_capacity(count * 64);
        for entry in self.entries.get(..count)? {
            bytes.extend_from_slice(&Digest::of(entry.piece.id.as_bytes()).0);
            bytes.extend_from_slice(&entry.piece.digest().0);
        }
        Some(Digest::of(&bytes))
    }
}
