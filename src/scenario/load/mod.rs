//! Scenario files to checked scenarios.
//!
//! The only module that names the YAML crate (in `yaml` and `translate`), which changes quickly.

pub(super) mod grammar;
pub(super) mod steps;
pub(super) mod texts;
mod translate;
pub(super) mod values;
pub(crate) mod yaml;

use super::check;
use super::error::{Mistake, ScenarioError};
use super::files::{Files, plain, read_at_most};
use super::limits::{Limits, size};
use super::model::Scenario;
use grammar::ScenarioFile;
use std::io;
use std::path::Path;
use yaml::Source;

/// What a scenario may do.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct LoadOptions {
    /// Name files outside its folder, also through `..` and links.
    pub outside_folder: bool,
}

/// Reads and checks a scenario file. Files that it names are relative to it.
///
/// # Errors
///
/// [`ScenarioError`] that says what is wrong and, within the file, where.
pub fn load(path: &Path, options: &LoadOptions) -> Result<Scenario, ScenarioError> {
    let limits = Limits::default();
    let text = text_of(path, limits.scenario)?;
    let name = path
        .file_name()
        .unwrap_or(path.as_os_str())
        .to_string_lossy();
    checked(path, &name, &text, folder_of(path), *options, limits)
}

/// The text of a scenario or plan file of at most `limit` bytes.
pub(super) fn text_of(path: &Path, limit: u64) -> Result<String, ScenarioError> {
    let failed = |source| ScenarioError::Read {
        path: path.to_owned(),
        source,
    };
    if path.is_dir() {
        return Err(failed(io::Error::from(io::ErrorKind::IsADirectory)));
    }
    let bytes = read_at_most(path, limit).map_err(|error| match error.kind() {
        io::ErrorKind::FileTooLarge => failed(io::Error::other(format!(
            "it is too large: the limit is {}",
            size(limit)
        ))),
        _ => failed(error),
    })?;
    String::from_utf8(bytes).map_err(|error| {
        failed(io::Error::new(
            io::ErrorKind::InvalidData,
            error.utf8_error(),
        ))
    })
}

/// The folder that a file's own names are relative to.
pub(super) fn folder_of(path: &Path) -> &Path {
    match path.parent() {
        Some(folder) if !folder.as_os_str().is_empty() => folder,
        _ => Path::new("."),
    }
}

/// Checks a scenario that is already in memory. `name` is what messages call it;
/// files that it names are relative to `folder`.
///
/// # Errors
///
/// As [`load`].
pub fn load_str(
    name: &str,
    text: &str,
    folder: &Path,
    options: &LoadOptions,
) -> Result<Scenario, ScenarioError> {
    checked(
        Path::new(name),
        name,
        text,
        folder,
        *options,
        Limits::default(),
    )
}

fn checked(
    path: &Path,
    name: &str,
    text: &str,
    folder: &Path,
    options: LoadOptions,
    limits: Limits,
) -> Result<Scenario, ScenarioError> {
    let source = Source::new(name, plain(text));
    if u64::try_from(text.len()).unwrap_or(u64::MAX) > limits.scenario {
        let mistake = Mistake::TooLarge {
            what: format!("`{name}`"),
            limit: size(limits.scenario),
        };
        return Err(source.error(0..0, mistake));
    }
    let file: ScenarioFile = yaml::read(&source)?;
    let files = Files::new(folder, options.outside_folder, limits, text.as_bytes());
    check::scenario(path, &file, source, files, limits)
}

#[cfg(test)]
pub(super) use tests::shown;

#[cfg(test)]
mod tests;
