//! The targets file: targets by name, with all that is known of each.
//!
//! It is `targets.yaml` beside the scenario, else in the working folder, unless
//! `--targets` names another. A flag goes before it, and it goes before a preset.
//!
//! Invariants: no key stands in it, only where keys come from; nothing of it is
//! sent anywhere before it is whole and right.

mod check;
mod entry;
mod error;
mod grammar;
mod mask;
mod show;

pub(super) use entry::{Entry, Prices};

use super::exit::Failure;
use super::target::Aim;
use crate::load::preset::{self, Preset};
use crate::provider;
use crate::record::PublicUrl;
use crate::scenario::files::read_at_most;
use crate::scenario::load::yaml::{Source, read};
use crate::scenario::names::nearest;
use error::TargetsError;
use std::collections::BTreeSet;
use std::io;
use std::path::{Path, PathBuf};

/// The name under which it is looked for.
pub(super) const FILE: &str = "targets.yaml";

/// Largest targets file, in bytes.
const LARGEST: u64 = 1 << 20;

/// Reads and checks a targets file.
pub(super) fn load(path: &Path) -> Result<Vec<Entry>, TargetsError> {
    let failed = |source| TargetsError::Read {
        path: path.to_owned(),
        source,
    };
    let bytes = read_at_most(path, LARGEST).map_err(failed)?;
    let text = String::from_utf8(bytes)
        .map_err(|error| failed(io::Error::new(io::ErrorKind::InvalidData, error)))?;
    let name = path
        .file_name()
        .unwrap_or(path.as_os_str())
        .to_string_lossy();
    let folder = path.parent().unwrap_or(Path::new("."));
    Ok(parse(&name, text, folder)?)
}

fn parse(
    name: &str,
    text: String,
    folder: &Path,
) -> Result<Vec<Entry>, crate::scenario::ScenarioError> {
    let source = Source::new(name, text);
    let read = read(&source).and_then(|file| check::entries(&source, file, folder));
    read.map_err(mask::masked)
}

/// The file that was named, else the first that is found beside `scenarios` or
/// in the working folder; `None` where there is none.
pub(super) fn file(given: Option<&Path>, scenarios: &[PathBuf]) -> Option<PathBuf> {
    if let Some(path) = given {
        return Some(path.to_owned());
    }
    let beside = scenarios.iter().map(|path| {
        let folder = if path.is_dir() {
            path
        } else {
            path.parent().unwrap_or(Path::new(""))
        };
        folder.join(FILE)
    });
    beside
        .chain([PathBuf::from(FILE)])
        .find(|path| path.is_file())
}

/// The target that `--target` names: an entry of the targets file, or a preset
/// whose address is the same for everyone. `None` where it is a URL.
pub(super) fn named(aim: &Aim, scenarios: &[PathBuf]) -> Result<Option<Entry>, Failure> {
    let Some(name) = aim.target.as_deref() else {
        return Ok(None);
    };
    let path = file(aim.targets.as_deref(), scenarios);
    let mut entries = match &path {
        // A file that nobody needs may have mistakes.
        Some(path) if !name.contains("://") || aim.targets.is_some() => {
            load(path).map_err(Failure::input)?
        }
        _ => Vec::new(),
    };
    if name.contains("://") {
        return Ok(None);
    }
    if let Some(at) = entries.iter().position(|entry| entry.name == name) {
        return Ok(Some(entries.swap_remove(at)));
    }
    match preset::find(name) {
        Some(preset) if preset.url_is_whole() => Ok(Some(of_preset(preset))),
        Some(preset) => Err(Failure::wrong(
            format!("preset `{name}` has an address that differs by account"),
            format!(
                "make an entry in {FILE} with `preset: {name}` and `url: {}`",
                preset.url
            ),
        )),
        None => Err(unknown(name, &entries, path.as_deref())),
    }
}

/// Environment variables that hold keys of these targets, and what else their
/// entries name in the environment.
pub(super) fn key_variables(
    aim: &Aim,
    targets: &[&String],
    scenarios: &[PathBuf],
) -> Result<BTreeSet<String>, Failure> {
    let mut names: BTreeSet<String> = aim.key_env.iter().cloned().collect();
    for target in targets {
        let aim = Aim {
            target: Some((*target).clone()),
            ..aim.clone()
        };
        if let Some(entry) = named(&aim, scenarios)? {
            names.extend(entry.variables());
        }
    }
    Ok(names)
}

/// `list targets`: the entries of the file, where there is one, and every preset.
pub(super) fn listing(given: Option<&Path>) -> Result<String, Failure> {
    let entries = match file(given, &[]) {
        Some(path) => load(&path).map_err(Failure::input)?,
        None => Vec::new(),
    };
    Ok(show::text(&entries))
}

fn unknown(name: &str, entries: &[Entry], path: Option<&Path>) -> Failure {
    let known = entries.iter().map(|entry| entry.name.as_str());
    let presets = preset::PRESETS.iter().map(|preset| preset.name);
    let help = match (nearest(name, known.chain(presets)), path) {
        (Some(near), _) => format!("did you mean `{near}`?"),
        (None, Some(path)) => format!(
            "neither {} nor a preset has this name; a URL begins with http://",
            path.display()
        ),
        (None, None) => format!(
            "there is no {FILE} here; a URL begins with http://, and presets are listed by `prefixbench list targets`"
        ),
    };
    // It may be a URL that lacks its scheme, with a key in it.
    let shown = PublicUrl::new(name);
    Failure::wrong(format!("unknown target `{shown}`"), help)
}

fn of_preset(preset: &'static Preset) -> Entry {
    let dialect = provider::find(preset.dialect).unwrap_or(provider::DIALECTS[0]);
    Entry::at(preset.name, preset.url, dialect).completed(preset)
}

#[cfg(test)]
mod tests;
