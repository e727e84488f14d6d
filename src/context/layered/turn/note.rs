//! A note as a block of context.

use crate::context::layered::embed::{self, Reading};
use crate::context::layered::files::extension;
use crate::context::layered::format;
use crate::context::layered::release::Release;
use crate::context::layered::units::escape;
use crate::context::view::Note;

/// The block of a note behind a blank line; empty for a kind of file that the
/// chain does not read.
pub(crate) fn note_block(release: Release, tag: &str, note: &Note, reading: Reading<'_>) -> String {
    if !reading.plus && !readable(release, extension(&note.path)) {
        return String::new();
    }
    // Release 3.1 does not escape titles yet.
    let title = match release {
        Release::V31 => note.title().to_owned(),
        Release::V4 => escape(note.title()),
    };
    if note.text.is_none() {
        let error = reading.phrases.get("note_unreadable");
        return format::unreadable(tag, &title, note, error);
    }
    let body = embed::body(note, reading);
    format!("\n\n{}", format::note(tag, &title, note, &body))
}

/// Whether a chain without tools reads files of this kind.
fn readable(release: Release, extension: &str) -> bool {
    const BINARY: [&str; 12] = [
        "pdf", "png", "jpg", "jpeg", "gif", "webp", "bmp", "svg", "mp3", "mp4", "docx", "epub",
    ];
    match release {
        Release::V31 => matches!(extension, "md" | "canvas"),
        Release::V4 => !BINARY.contains(&extension),
    }
}
