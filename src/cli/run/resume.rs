//! Goes on with a run that was broken off: with its own arguments, and only where
//! what it was begun with is still the same.

use super::earlier::Earlier;
use super::levels::Usd;
use super::plan::Planned;
use super::{Arguments, Place, not_written};
use crate::chat::Digest;
use crate::cli::exit::{Exit, Failure};
use crate::cli::settings::Settings;
use crate::cli::target::variable;
use crate::cli::{output, outputs};
use crate::load::{Cell, Isolate, StartState, Target};
use crate::record::{
    Ending, Invocation, Manifest, PublicUrl, RunWriter, Setting, SettingOrigin, Unfinished,
};
use crate::units::Micros;
use clap::Parser;
use std::collections::{BTreeMap, BTreeSet};
use std::ffi::{OsStr, OsString};
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// What the program was called with and what follows from it.
pub(super) enum Start {
    /// A new run.
    Anew(Box<Arguments>, Invocation),
    /// One that goes on.
    Again(Box<Arguments>, Box<Again>),
    /// One that has nothing left to do, and whether its tables are not wanted.
    Finished(PathBuf, bool),
}

/// A run that goes on.
pub(super) struct Again {
    unfinished: Unfinished,
    /// Where its clock goes on.
    pub(super) from: Micros,
}

/// The arguments of a run as they were stored.
#[derive(Parser)]
#[command(name = "prefixbench run", no_binary_name = true)]
struct Stored {
    #[command(flatten)]
    arguments: Arguments,
}

/// Arguments that say where the run is and how loudly it goes; they are not stored,
/// and may differ when it goes on. Each with whether a value follows.
const OWN: &[(&str, bool)] = &[
    ("--out", true),
    ("--resume", true),
    ("--quiet", false),
    ("-q", false),
    ("--no-report", false),
];

/// Arguments that whoever goes on may decide anew, beside [`OWN`]: what may be spent.
const SPENDING: &[(&str, bool)] = &[("--yes", false), ("--ask-above", true), ("--max-usd", true)];

/// Decides what is begun; `raw` are the arguments behind `run`.
pub(super) fn start(arguments: Arguments, raw: &[OsString]) -> Result<Start, Failure> {
    let Some(dir) = arguments.resume.clone() else {
        let invocation = invocation(&arguments, raw)?;
        return Ok(Start::Anew(Box::new(arguments), invocation));
    };
    let more = without(SPENDING, without(OWN, raw.to_vec()));
    if let Some(more) = more.first() {
        let shown = PublicUrl::new(&more.to_string_lossy());
        return Err(Failure::wrong(
            format!("`--resume` goes on with a run as it was begun, and `{shown}` would change it"),
            "give --resume alone; only --quiet, --no-report, --yes, --ask-above and --max-usd may stand \
             beside it",
        ));
    }
    // Whole, since the working folder may change.
    let whole = std::path::absolute(&dir).unwrap_or_else(|_none| dir.clone());
    let mut unfinished = Unfinished::open(&whole).map_err(not_written)?;
    if let Some(most) = arguments.load.max_usd {
        bounded(&mut unfinished.manifest, most);
    }
    let manifest = &unfinished.manifest;
    if manifest.ending == Some(Ending::Complete) {
        return Ok(Start::Finished(dir, arguments.no_report));
    }
    same_program(manifest, &dir)?;
    let Some(invocation) = manifest.invocation.clone() else {
        return Err(Failure::wrong(
            format!(
                "the run in `{}` does not say what it was begun with",
                dir.display()
            ),
            "a merged run, or one of an earlier version, cannot be gone on with; begin a new one",
        ));
    };
    if invocation.withheld {
        return Err(Failure::wrong(
            "an address among the arguments of the run held what could be a secret, and was not kept",
            "begin a new run, with keys in variables and not in addresses",
        ));
    }
    to_its_place(&whole, &invocation)?;
    let mut again = stored(&invocation, &dir)?;
    again.nonce = Some(manifest.nonce.to_string());
    again.nonce_from = None;
    (again.shard, again.shards) = (manifest.shard, None);
    again.no_report |= arguments.no_report;
    again.quiet |= arguments.quiet;
    again.yes |= arguments.yes;
    again.ask_above = arguments.ask_above.or(again.ask_above);
    same_files(&invocation, &again)?;
    let from = unfinished.clock();
    let run = Again { unfinished, from };
    Ok(Start::Again(Box::new(again), Box::new(run)))
}

/// Puts another bound of what the run may cost in the place of that it was begun with.
fn bounded(manifest: &mut Manifest, most: Usd) {
    let setting = Setting {
        value: most.to_string().into(),
        origin: SettingOrigin::Flag,
    };
    manifest.settings.insert("max-usd".to_owned(), setting);
    if let Some(invocation) = &mut manifest.invocation {
        let arguments = std::mem::take(&mut invocation.arguments);
        invocation.arguments = without(&[("--max-usd", true)], arguments);
        // Before all others: behind a `--` it would be no flag.
        invocation.arguments.insert(0, format!("--max-usd={most}"));
    }
}

fn same_program(manifest: &Manifest, dir: &Path) -> Result<(), Failure> {
    let now = Manifest::begin(0, "");
    if (manifest.format, &manifest.program) == (now.format, &now.program) {
        return Ok(());
    }
    let Manifest {
        program, format, ..
    } = manifest;
    Err(Failure::wrong(
        format!(
            "the run in `{}` was begun by prefixbench {program} (format {format}), and this is {} (format {})",
            dir.display(),
            now.program,
            now.format
        ),
        "go on with it by the version that began it, or begin a new run; `report` reads it all the same",
    ))
}

/// Goes to the folder that the run was begun in, where that is known.
fn to_its_place(dir: &Path, invocation: &Invocation) -> Result<(), Failure> {
    let Some(up) = &invocation.folder else {
        return Ok(());
    };
    let moved = dir
        .canonicalize()
        .and_then(|dir| std::env::set_current_dir(dir.join(up)));
    moved.map_err(|error| {
        Failure::wrong(
            format!(
                "cannot go to where the run in `{}` was begun: {error}",
                dir.display()
            ),
            "put the run's folder back to where it was written",
        )
    })
}

/// A path as it is called from the working folder.
pub(super) fn from_here(path: &Path) -> PathBuf {
    let here = Path::new(".").canonicalize();
    let below = here.and_then(|here| {
        let path = path.canonicalize()?;
        Ok(path.strip_prefix(here).map(Path::to_owned).unwrap_or(path))
    });
    match below {
        Ok(below) if path.is_absolute() && !below.as_os_str().is_empty() => below,
        _ => path.to_owned(),
    }
}

fn stored(invocation: &Invocation, dir: &Path) -> Result<Arguments, Failure> {
    let parsed = Stored::try_parse_from(&invocation.arguments);
    let parsed = parsed.map_err(|error| {
        Failure::wrong(
            format!(
                "the arguments of the run in `{}` cannot be read: {}",
                dir.display(),
                error.kind()
            ),
            "its manifest was changed; begin a new run",
        )
    })?;
    Ok(parsed.arguments)
}

/// What is stored of the arguments, so that they can be used again. Never a key: of a
/// URL nothing that could be one, and of keys only the names of their variables.
fn invocation(arguments: &Arguments, raw: &[OsString]) -> Result<Invocation, Failure> {
    if let Some(name) = &arguments.aim.key_env
        && variable(name).is_none()
    {
        // The likeliest mistake is a key in its place, so it is neither kept nor repeated.
        return Err(Failure::wrong(
            "the environment variable that `--key-env` names is not set",
            "give the name of the variable that holds the key, and set it",
        ));
    }
    let given = without(OWN, raw.to_vec()).into_iter().map(|argument| {
        argument.into_string().map_err(|argument| {
            Failure::wrong(
                format!("argument `{}` is no text", argument.to_string_lossy()),
                "name files whose names are UTF-8: they are kept with the run",
            )
        })
    });
    let given: Vec<String> = given.collect::<Result<_, Failure>>()?;
    let stored: Vec<String> = given.iter().map(|argument| public(argument)).collect();
    Ok(Invocation {
        withheld: stored != given,
        arguments: stored,
        folder: None,
        files: hashes(arguments)?,
    })
}

/// The arguments without those that `flags` names, each with whether a value follows.
fn without<T: AsRef<OsStr>>(flags: &[(&str, bool)], arguments: Vec<T>) -> Vec<T> {
    let mut kept = Vec::new();
    let mut arguments = arguments.into_iter();
    let mut literal = false;
    while let Some(argument) = arguments.next() {
        let text = argument.as_ref().to_string_lossy().into_owned();
        literal |= text == "--";
        let flag = flags.iter().find(|(name, value)| {
            text == *name || (*value && text.starts_with(&format!("{name}=")))
        });
        match flag.filter(|_| !literal) {
            Some((name, true)) if text == *name => {
                arguments.next();
            }
            Some(_) => {}
            None => kept.push(argument),
        }
    }
    kept
}

/// An argument without what could be a secret in a URL.
fn public(argument: &str) -> String {
    match argument.split_once("://") {
        None => argument.to_owned(),
        Some((before, _)) => {
            let url = before.rfind(|c: char| !c.is_ascii_alphanumeric());
            let (name, url) = argument.split_at(url.map_or(0, |at| at + 1));
            format!("{name}{}", PublicUrl::new(url))
        }
    }
}

/// Hashes of the files that decide what is sent or counted, beside plan and scenarios.
fn hashes(arguments: &Arguments) -> Result<BTreeMap<String, Digest>, Failure> {
    let named = [
        ("--phrases", &arguments.configurations.phrases),
        ("--bodies", &arguments.configurations.bodies),
        ("--tokenizer", &arguments.aim.tokenizer),
    ];
    let named = named
        .into_iter()
        .filter_map(|(flag, path)| Some((flag.to_owned(), path.clone()?)));
    let mut hashes = BTreeMap::new();
    for (flag, path) in named.chain(arguments.load.traces()) {
        let bytes = std::fs::read(&path).map_err(|error| {
            Failure::wrong(
                format!(
                    "cannot read `{}`, which {flag} names: {error}",
                    path.display()
                ),
                "name a file that is there",
            )
        })?;
        hashes.insert(flag, Digest::of(&bytes));
    }
    Ok(hashes)
}

const CHANGED: &str = "restore it, or begin a new run; what was measured stays and can be reported";

fn same_files(invocation: &Invocation, arguments: &Arguments) -> Result<(), Failure> {
    let now = hashes(arguments)?;
    let mut then = invocation.files.iter();
    match then.find(|(flag, hash)| now.get(*flag) != Some(*hash)) {
        Some((flag, _)) => Err(Failure::wrong(
            format!("the file that `{flag}` names has changed since the run began"),
            CHANGED,
        )),
        None => Ok(()),
    }
}

impl Again {
    pub(super) fn settings(&self) -> Settings {
        Settings::of_run(&self.unfinished.manifest.settings)
    }

    /// Refuses a plan, a scenario or a configuration that is no longer what it was.
    pub(super) fn same_plan(&self, given: &Arguments, planned: &Planned) -> Result<(), Failure> {
        let then = &self.unfinished.manifest;
        let now = planned.manifest(given, Settings::of_run(&BTreeMap::new()), &[]);
        let changed = |what: String| {
            Err(Failure::wrong(
                format!("{what} has changed since the run began"),
                CHANGED,
            ))
        };
        if then.plan_sha256 != now.plan_sha256 {
            let name = planned
                .plan
                .as_ref()
                .map(|plan| format!(" `{}`", plan.name));
            return changed(format!("plan{}", name.unwrap_or_default()));
        }
        for facts in &then.scenarios {
            let same = now.scenarios.iter().any(|now| now == facts);
            if !same {
                return changed(format!("scenario `{}`", facts.name));
            }
        }
        if then.scenarios.len() != now.scenarios.len() {
            return changed("the list of scenarios".to_owned());
        }
        for facts in &then.configurations {
            if !now.configurations.contains(facts) {
                return changed(format!("configuration `{}`", facts.name));
            }
        }
        if then.configurations.len() != now.configurations.len() {
            return changed("the list of configurations".to_owned());
        }
        if then.seed != now.seed {
            return changed("the seed".to_owned());
        }
        Ok(())
    }

    /// Refuses targets that are no longer what they were.
    pub(super) fn same_targets(&self, targets: &[Arc<Target>]) -> Result<(), Failure> {
        let then = &self.unfinished.manifest.targets;
        for (facts, target) in then.iter().zip(targets) {
            let cache = target.cache.as_ref().map(ToString::to_string);
            let differs = [
                ("name", facts.name.to_string(), target.name.to_string()),
                (
                    "dialect",
                    facts.dialect.to_string(),
                    target.dialect.name().to_owned(),
                ),
                ("model", facts.model.to_string(), target.model.to_string()),
                (
                    "cache model",
                    shown(facts.cache_model.as_deref()),
                    shown(cache.as_deref()),
                ),
            ];
            // One of the run's own is at another port each time.
            let url = PublicUrl::new(&target.url);
            let differs = differs.into_iter().chain(
                (!facts.simulated).then(|| ("address", facts.url.to_string(), url.to_string())),
            );
            if let Some((what, then, now)) = differs.into_iter().find(|(_, a, b)| a != b) {
                return Err(Failure::wrong(
                    format!(
                        "target `{}` is not what it was: its {what} was `{then}` and is `{now}`",
                        facts.name
                    ),
                    "go on with the server that the run was begun on, or begin a new run",
                ));
            }
        }
        Ok(())
    }

    /// What of `cells` was done before and stays.
    pub(super) fn earlier(&self, cells: &[Arc<Cell>], isolate: Isolate) -> Earlier {
        Earlier::of(&self.unfinished, cells, isolate)
    }

    /// What the runner of a target begins from.
    pub(super) fn beginning(&self, Place { target, server, .. }: &Place) -> StartState {
        let before = self.unfinished.epochs.get(&target.name).copied();
        StartState {
            session: self.unfinished.session(),
            // A server of the run's own has ended with its session, and its cache too.
            epoch: before.unwrap_or(0) + u32::from(server.is_some()),
            ..StartState::default()
        }
    }

    /// Which session of the run this is.
    pub(super) fn session(&self) -> u32 {
        self.unfinished.session()
    }

    /// Opens the folder for what is still to come.
    pub(super) fn go_on(self, kept: &BTreeSet<Arc<str>>) -> Result<RunWriter, Failure> {
        self.unfinished.go_on(kept, self.from).map_err(not_written)
    }
}

fn shown(text: Option<&str>) -> String {
    text.unwrap_or("not known").to_owned()
}

/// From a run's folder to the one it was begun in, where that lies above it.
pub(super) fn way_back(dir: &Path) -> Option<String> {
    let (run, here) = (
        dir.canonicalize().ok()?,
        Path::new(".").canonicalize().ok()?,
    );
    let below = run.strip_prefix(here).ok()?;
    let up = below.components().map(|_| "..").collect::<Vec<_>>();
    (!up.is_empty()).then(|| up.join("/"))
}

/// The arguments of a run whose [`way_back`] is known, with paths below the folder that
/// it was begun in named from there: the run may be published, and its machine's
/// folders are nobody's business.
pub(super) fn portable(arguments: Vec<String>) -> Vec<String> {
    let plain = std::env::current_dir().ok();
    let whole = Path::new(".").canonicalize().ok();
    let here: Vec<PathBuf> = plain.into_iter().chain(whole).collect();
    let named = |argument: String| named_from(&here, &argument).unwrap_or(argument);
    arguments.into_iter().map(named).collect()
}

/// `--flag=/here/file` as `--flag=file`; `None` where the argument is no path below `here`.
fn named_from(here: &[PathBuf], argument: &str) -> Option<String> {
    let value = argument.rfind('=').map_or(0, |at| at + 1);
    let (name, path) = argument.split_at(value);
    let below = here
        .iter()
        .find_map(|here| Path::new(path).strip_prefix(here).ok())?;
    let below = if below.as_os_str().is_empty() {
        Path::new(".")
    } else {
        below
    };
    Some(format!("{name}{}", below.display()))
}

/// Tells of a run that has nothing left to do, and makes its tables again: it may have
/// been killed over them.
pub(super) fn nothing_left(dir: &Path, no_report: bool) -> Result<Exit, Failure> {
    output::tell(&format!(
        "the run in `{}` is finished: every conversation came to its end",
        dir.display()
    ));
    if !no_report {
        let results = outputs::rebuild(dir, None)?;
        output::data(&outputs::terminal(&results))?;
    }
    Ok(Exit::Done)
}

#[cfg(test)]
#[path = "resume_tests.rs"]
mod tests;
