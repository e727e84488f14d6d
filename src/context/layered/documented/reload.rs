//! Rebuilding the library of a loaded chat from what was saved: paths and
//! hashes, the texts read from the vault as it is now.

use super::pieces::{Kind, Piece, pieces};
use crate::context::Phrases;
use crate::context::view::{Note, UserTurn, Vault};
use std::collections::HashSet;
use std::sync::Arc;

/// What became of the pieces of a saved chat.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Recovered {
    /// The pieces that are still there, in the order in which they were sent.
    pub(super) pieces: Vec<Piece>,
    /// A sentence for each that is not what it was.
    pub(super) warnings: Vec<String>,
}

/// Recovers what `turns` brought. Pages, tabs and selections were fetched once
/// and come back as they were.
pub(super) fn recover(turns: &[&Arc<UserTurn>], vault: &Vault, phrases: &Phrases) -> Recovered {
    let mut out = Recovered::default();
    let mut warned: HashSet<String> = HashSet::new();
    for saved in turns.iter().flat_map(|turn| pieces(turn, phrases)) {
        let (piece, warning) = match saved.kind {
            Kind::Note => note(&saved, vault, phrases),
            Kind::Url | Kind::Tab | Kind::Selection => (Some(saved), None),
        };
        out.pieces.extend(piece);
        out.warnings
            .extend(warning.filter(|warning| warned.insert(warning.clone())));
    }
    out
}

fn note(saved: &Piece, vault: &Vault, phrases: &Phrases) -> (Option<Piece>, Option<String>) {
    let path = &saved.id;
    if let Some(found) = vault.get(path).filter(|note| note.text.is_some()) {
        let now = Piece::note(found, phrases);
        let changed = now.digest() != saved.digest();
        let said = changed.then(|| {
            format!("`{path}` has changed since the chat was saved: the library holds its new text")
        });
        return (Some(now), said);
    }
    match same_name(path, vault).as_slice() {
        [] => {
            let said = format!("`{path}` is gone since the chat was saved: the library lacks it");
            (None, Some(said))
        }
        [moved] => {
            let to = &moved.path;
            let said = format!("`{path}` was moved to `{to}` since the chat was saved");
            (Some(Piece::note(moved, phrases)), Some(said))
        }
        several => {
            let paths: Vec<String> = several.iter().map(|n| format!("`{}`", n.path)).collect();
            let said = format!(
                "`{path}` is gone and its name is ambiguous ({}): the library lacks it",
                paths.join(", ")
            );
            (None, Some(said))
        }
    }
}

/// Readable notes whose file name is that of `path`.
fn same_name<'a>(path: &str, vault: &'a Vault) -> Vec<&'a Note> {
    let name = |path: &str| path.rsplit('/').next().unwrap_or(path).to_owned();
    let wanted = name(path);
    vault
        .values()
        .filter(|note| note.text.is_some() && name(&note.path) == wanted)
        .collect()
}
