//! `compare`: one run against another, pair by pair.

use super::exit::{Exit, Failure};
use super::measured::{self, MeasuredRun};
use super::output;
use crate::analysis::compare::{Choice, Comparison, Side, compare};
use crate::record::Manifest;
use crate::report::compare as shown;
use std::io::{self, IsTerminal as _};
use std::path::{Path, PathBuf};

/// Compare a run with another, or a configuration with another, conversation by conversation
///
/// Differences are candidate less base, over the conversations that both ran, with 95 % intervals
/// drawn by the run's seed. What cannot be told at this sample size is not shown as a number.
#[derive(clap::Args)]
pub(super) struct Arguments {
    /// Folder of the run that is compared with
    base: PathBuf,

    /// Folder of the run that is compared; with --config and --base-config the base's may be left out
    candidate: Option<PathBuf>,

    /// Compare this configuration only
    #[arg(long, value_name = "NAME")]
    config: Option<String>,

    /// With this configuration of the base, instead of the one of the same name
    #[arg(long, value_name = "NAME", requires = "config")]
    base_config: Option<String>,

    /// Compare scenarios too whose files have changed between the runs
    #[arg(long)]
    changed_scenarios: bool,

    /// How it is printed
    #[arg(long, value_enum, default_value_t = Format::Text)]
    format: Format,
}

#[derive(Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
enum Format {
    /// For reading
    Text,
    /// For a program
    Json,
    /// For a pull request
    Markdown,
}

pub(super) fn run(arguments: &Arguments) -> Result<Exit, Failure> {
    let candidate = arguments.candidate.as_deref().unwrap_or(&arguments.base);
    let names = names(arguments)?;
    if same(&arguments.base, candidate) && names.as_ref().is_none_or(|(base, own)| base == own) {
        return Err(Failure::wrong(
            "a run is compared with itself",
            "name another run, or two configurations with --base-config X --config Y",
        ));
    }
    let (base, own) = (measured::read(&arguments.base)?, measured::read(candidate)?);
    if let Some((other, name)) = &names {
        known(&base.manifest, other, &arguments.base)?;
        known(&own.manifest, name, candidate)?;
    }
    let choice = Choice {
        configurations: names,
        changed_scenarios: arguments.changed_scenarios,
    };
    let mut found = compare(side(&base), side(&own), &choice);
    noted(&mut found, "the base", &base);
    if !same(&arguments.base, candidate) {
        noted(&mut found, "the candidate", &own);
    }
    if found.rows.is_empty() {
        let help = "compare runs of the same scenarios; --changed-scenarios takes those whose files changed";
        let message = format!("nothing can be compared{}", list(&found.left_out));
        return Err(Failure::wrong(message, help));
    }
    let about = [
        about(&arguments.base, &base.manifest),
        about(candidate, &own.manifest),
    ];
    output::data(&rendered(&found, &about, arguments.format)?)?;
    Ok(Exit::Done)
}

/// Configuration of the base and of the candidate, where any is named.
fn names(arguments: &Arguments) -> Result<Option<(String, String)>, Failure> {
    let Some(own) = &arguments.config else {
        return Ok(None);
    };
    if own.contains(',') {
        return Err(Failure::wrong(
            format!("`{own}` is more than one configuration"),
            "compare one at a time, or all of both runs without --config",
        ));
    }
    let base = arguments.base_config.as_ref().unwrap_or(own);
    Ok(Some((base.clone(), own.clone())))
}

fn same(a: &Path, b: &Path) -> bool {
    let place = |path: &Path| path.canonicalize().unwrap_or_else(|_| path.to_owned());
    place(a) == place(b)
}

fn known(manifest: &Manifest, name: &str, dir: &Path) -> Result<(), Failure> {
    let known: Vec<&str> = manifest
        .configurations
        .iter()
        .map(|facts| &*facts.name)
        .collect();
    if known.contains(&name) {
        return Ok(());
    }
    let near = crate::scenario::names::nearest(name, known.iter().copied());
    let near = near
        .map(|near| format!("did you mean `{near}`? "))
        .unwrap_or_default();
    Err(Failure::wrong(
        format!("run `{}` has no configuration `{name}`", dir.display()),
        format!("{near}it has: {}", known.join(", ")),
    ))
}

fn side(run: &MeasuredRun) -> Side<'_> {
    Side {
        manifest: &run.manifest,
        samples: run.samples.list(),
    }
}

fn noted(found: &mut Comparison, name: &str, run: &MeasuredRun) {
    let notes = run.notes.iter().map(|note| format!("{name}: {note}"));
    found.notes.extend(notes);
}

fn list(said: &[String]) -> String {
    if said.is_empty() {
        String::new()
    } else {
        format!("; left out: {}", said.join("; "))
    }
}

/// What a run is, in a line.
fn about(dir: &Path, manifest: &Manifest) -> String {
    let simulated = manifest.targets.iter().any(|target| target.simulated);
    let targets: Vec<&str> = manifest
        .targets
        .iter()
        .map(|target| &*target.name)
        .collect();
    format!(
        "{} ({}, on {}{})",
        dir.display(),
        manifest.started.date(),
        targets.join(", "),
        if simulated { ", simulated" } else { "" }
    )
}

fn rendered(found: &Comparison, about: &[String; 2], format: Format) -> Result<String, Failure> {
    match format {
        Format::Text => Ok(shown::text(found, about, io::stdout().is_terminal())),
        Format::Markdown => Ok(shown::markdown(found, about)),
        Format::Json => {
            shown::json(found, about).map_err(|error| Failure::new(Exit::Unexpected, error, None))
        }
    }
}
