//! Wording of the modelled program that its phrase file does not hold.
//!
//! Only tests load it, as data to compare with; the project has words of its
//! own. Where the phrase file has an entry, that one counts.

/// Key in the phrase book, and the original's words.
pub(crate) const LACKING: [(&str, &str); 6] = [
    ("note_unreadable", "[Error: Could not process file]"),
    ("embedded_note_missing", "Embedded note not found"),
    (
        "embedded_heading_missing",
        "Embedded note heading \"{heading}\" not found in {path}",
    ),
    (
        "embedded_block_missing",
        "Embedded note block reference \"{block}\" not found in {path}",
    ),
    ("summarised_mark", "[SUMMARIZED]"),
    ("untitled", "Untitled"),
];
