//! Plan files: what is run, as one file that a run can be repeated from.
//!
//! [`load()`] reads the grammar and checks every name that can be checked without
//! a server. What flags can say as well is kept as [`Plan::settings`], under the
//! names of the flags, so that one place decides who goes before whom.
//!
//! Invariants: loading is pure but for the plan and the files of bodies that its
//! configurations name; no input makes it panic; every value that a later check may
//! refuse knows where it stands.

mod check;
mod grammar;
mod model;
mod schema;
mod values;

pub use model::{Embedded, Fleet, Limits, Plan, PlannedScenario};
pub use schema::{schema, schema_text};

use super::error::ScenarioError;
use super::files::{Files, plain};
use super::limits::Limits as Sizes;
use super::load::yaml::{Entries, Source, read};
use super::load::{LoadOptions, folder_of, text_of};
use grammar::PlanFile;
use serde::de::IgnoredAny;
use std::path::Path;

/// Reads and checks a plan file. Files that it names are relative to it.
///
/// # Errors
///
/// [`ScenarioError`] that says what is wrong and, within the file, where.
pub fn load(path: &Path, options: &LoadOptions) -> Result<Plan, ScenarioError> {
    let text = text_of(path, Sizes::default().scenario)?;
    let name = path.file_name().unwrap_or(path.as_os_str());
    let source = Source::new(&name.to_string_lossy(), plain(&text));
    let file: PlanFile = read(&source)?;
    let sizes = Sizes::default();
    let folder = folder_of(path);
    let files = Files::new(folder, options.outside_folder, sizes, text.as_bytes());
    check::plan(path, &file, source, files, sizes)
}

/// Whether the file at `path` is a plan and no scenario: it has `plan:` at its
/// top. A file that cannot be read is none.
pub fn is_plan(path: &Path) -> bool {
    let Ok(text) = text_of(path, Sizes::default().scenario) else {
        return false;
    };
    let source = Source::new("", plain(&text));
    match read::<Entries<IgnoredAny>>(&source) {
        Ok(entries) => entries.0.iter().any(|(key, _)| key.value == "plan"),
        // So that the mistakes of a broken plan are told as those of a plan.
        Err(_) => source.text().lines().any(|line| line.starts_with("plan:")),
    }
}

#[cfg(test)]
mod tests;
