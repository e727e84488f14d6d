//! Joins the shards of a run into one run.
//!
//! Records are joined, not summaries: the merged folder holds every line of its
//! shards, and tables are made of it as of any other run.
//!
//! Invariants: only shards of one and the same run are joined, each of them once and
//! all of them; nothing is computed anew; the order of the lines follows from what
//! was run and not from the order in which the shards are named. Stamps count from
//! the start of the first shard; what lies between two stamps of a shard stays.

use super::error::WriteError;
use super::ledger::LedgerLine;
use super::lines::Lines;
use super::manifest::{Ending, Manifest, MergedShard, Setting, Shard, TargetFacts};
use super::read::{ReadError, Run};
use super::request::{AttemptKey, BoundRecord, RequestRecord, Stamps};
use super::write::RunWriter;
use crate::chat::Digest;
use crate::units::Micros;
use std::collections::{BTreeMap, HashMap};
use std::iter;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use thiserror::Error;

/// Runs that cannot be merged.
#[derive(Debug, Error)]
pub enum MergeError {
    /// One of them cannot be read.
    #[error(transparent)]
    Read(#[from] ReadError),
    /// The merged run cannot be written.
    #[error(transparent)]
    Write(#[from] WriteError),
    /// Nothing was given.
    #[error("there is nothing to merge")]
    Nothing,
    /// A run that is no shard.
    #[error("`{}` is no shard of a run", path.display())]
    Whole {
        /// The run.
        path: PathBuf,
    },
    /// A shard that was broken off.
    #[error("shard {shard} in `{}` has not come to its end", path.display())]
    Unfinished {
        /// The run.
        path: PathBuf,
        /// Which shard.
        shard: Shard,
    },
    /// A shard of which a part ended early.
    #[error("a part of shard {shard} in `{}` is missing: {why}", path.display())]
    Partial {
        /// The run.
        path: PathBuf,
        /// Which shard.
        shard: Shard,
        /// Why it ended early.
        why: String,
    },
    /// Two that are not of one run.
    #[error("`{}` and `{}` are not shards of one run: {what} differs", first.display(), second.display())]
    Apart {
        /// One of them.
        first: PathBuf,
        /// The other.
        second: PathBuf,
        /// What tells them apart.
        what: String,
    },
    /// A shard that is there twice.
    #[error("shard {shard} is in `{}` and in `{}`", first.display(), second.display())]
    Twice {
        /// Which shard.
        shard: Shard,
        /// Where it is.
        first: PathBuf,
        /// And where else.
        second: PathBuf,
    },
    /// Shards that are not there.
    #[error("of {count} shards, {missing} missing")]
    Missing {
        /// How many there must be.
        count: u32,
        /// Which ones, with the verb.
        missing: String,
    },
    /// A conversation that two shards have run.
    #[error("conversation `{conversation}` is in `{}` and in `{}`", first.display(), second.display())]
    TwiceRun {
        /// The conversation.
        conversation: Arc<str>,
        /// One shard.
        first: PathBuf,
        /// The other.
        second: PathBuf,
    },
}

impl MergeError {
    /// What to do about it.
    pub fn help(&self) -> &'static str {
        match self {
            Self::Read(error) => error.help(),
            Self::Write(error) => error.help(),
            Self::Nothing => "name the folders of all shards",
            Self::Whole { .. } => {
                "only what `run --shard` wrote can be merged; `report` shows several runs side by side"
            }
            Self::Unfinished { .. } => "go on with it by `prefixbench run --resume`, then merge",
            Self::Partial { .. } => {
                "go on with it by `prefixbench run --resume`, then merge; where that changes nothing, \
                 --partial takes it as it is"
            }
            Self::Apart { .. } => {
                "all shards of a run are begun with the same files, arguments, seed and nonce"
            }
            Self::Twice { .. } | Self::TwiceRun { .. } => "name each shard once",
            Self::Missing { .. } => "run the missing ones with --shard, and name all of them",
        }
    }
}

/// One shard, opened.
struct Part {
    run: Run,
    shard: Shard,
    /// How much later than the first one it began.
    shift: Micros,
}

/// Merges the shards in the folders `dirs` into a run in `out`. With `partial` those too
/// of which a part ended early; the merged run then says so.
///
/// # Errors
///
/// [`MergeError`]. Nothing is written before every manifest was found to fit.
pub fn merge(dirs: &[PathBuf], out: &Path, partial: bool) -> Result<Manifest, MergeError> {
    let parts = opened(dirs, partial)?;
    let manifest = merged(&parts);
    let keep_text = manifest
        .settings
        .get("no-text")
        .is_none_or(|setting| setting.value != true);
    let order = ordered(&parts, &manifest)?;
    let begun = Manifest {
        ended: None,
        ending: None,
        ..manifest.clone()
    };
    let mut writer = RunWriter::create(out, &begun, keep_text)?;
    for part in &parts {
        for span in part.run.spans()? {
            writer.store_span(&span?)?;
        }
    }
    requests(&parts, &order, &mut writer)?;
    bounds(&parts, &order, &mut writer)?;
    for part in &parts {
        for mut record in part.run.aside()? {
            shift(&mut record.stamps, part.shift);
            writer.aside(&record, &mut iter::empty())?;
        }
        for line in part.run.ledger()? {
            let at_us = Micros(line.at_us.0 + part.shift.0);
            writer.note(&LedgerLine { at_us, ..line })?;
        }
    }
    Ok(writer.finish_as(manifest)?)
}

/// All shards, in their order, found to be of one run and complete.
fn opened(dirs: &[PathBuf], partial: bool) -> Result<Vec<Part>, MergeError> {
    let mut parts: BTreeMap<Shard, Part> = BTreeMap::new();
    let mut first: Option<Run> = None;
    for dir in dirs {
        let run = Run::read(dir)?;
        let path = || dir.clone();
        let Some(shard) = run.manifest.shard else {
            return Err(MergeError::Whole { path: path() });
        };
        if let Some(first) = &first
            && let Some(what) = difference(&first.manifest, &run.manifest)
        {
            return Err(MergeError::Apart {
                first: first.dir().to_owned(),
                second: path(),
                what,
            });
        }
        if let Some(other) = parts.get(&shard) {
            return Err(MergeError::Twice {
                shard,
                first: other.run.dir().to_owned(),
                second: path(),
            });
        }
        match &run.manifest.ending {
            Some(Ending::Complete) => {}
            None | Some(Ending::Interrupted) => {
                return Err(MergeError::Unfinished {
                    path: path(),
                    shard,
                });
            }
            Some(Ending::Partial(why) | Ending::Limited(why) | Ending::Failed(why)) => {
                if !partial {
                    return Err(MergeError::Partial {
                        path: path(),
                        shard,
                        why: why.clone(),
                    });
                }
            }
        }
        if first.is_none() {
            first = Some(Run::read(dir)?);
        }
        let shift = Micros(0);
        parts.insert(shard, Part { run, shard, shift });
    }
    let Some(count) = parts.keys().next().map(|shard| shard.count) else {
        return Err(MergeError::Nothing);
    };
    all_there(&parts, count)?;
    let mut parts: Vec<Part> = parts.into_values().collect();
    let start = parts.iter().map(|part| part.run.manifest.started).min();
    for part in &mut parts {
        let started = part.run.manifest.started;
        part.shift = start.map(|start| started.since(start)).unwrap_or_default();
    }
    Ok(parts)
}

fn all_there(parts: &BTreeMap<Shard, Part>, count: u32) -> Result<(), MergeError> {
    let there = |index: &u32| {
        let index = *index;
        parts.contains_key(&Shard { index, count })
    };
    let missing: Vec<String> = (1..=count)
        .filter(|index| !there(index))
        .map(|index| index.to_string())
        .collect();
    let verb = if missing.len() == 1 { "is" } else { "are" };
    if missing.is_empty() {
        return Ok(());
    }
    Err(MergeError::Missing {
        count,
        missing: format!("{} {verb}", missing.join(", ")),
    })
}

/// What keeps two manifests from being those of two shards of one run.
fn difference(first: &Manifest, other: &Manifest) -> Option<String> {
    let count = |manifest: &Manifest| manifest.shard.map(|shard| shard.count);
    let targets = |manifest: &Manifest| manifest.targets.iter().map(placeless).collect::<Vec<_>>();
    let facts = [
        ("the format", first.format == other.format),
        ("the version of the program", first.program == other.program),
        ("the number of shards", count(first) == count(other)),
        ("the plan", first.plan_sha256 == other.plan_sha256),
        ("a scenario", first.scenarios == other.scenarios),
        (
            "a configuration",
            first.configurations == other.configurations,
        ),
        ("a target", targets(first) == targets(other)),
        ("the seed", first.seed == other.seed),
        (
            "a file that decides what is sent",
            files(first) == files(other),
        ),
        ("the nonce", first.nonce == other.nonce),
    ];
    let differs = facts.into_iter().find(|(_, same)| !same);
    differs.map(|(what, _)| what.to_owned()).or_else(|| {
        let names = first.settings.keys().chain(other.settings.keys());
        let value = |manifest: &Manifest, name: &str| {
            let setting = manifest.settings.get(name)?;
            let Setting { value, .. } = setting;
            Some(value.clone())
        };
        let mut shared = names.filter(|name| !OWN.contains(&name.as_str()));
        let name = shared.find(|name| value(first, name) != value(other, name))?;
        Some(format!("the setting `{name}`"))
    })
}

/// Hashes of the files that were named beside plan and scenarios.
fn files(manifest: &Manifest) -> Option<&BTreeMap<String, Digest>> {
    let invocation = manifest.invocation.as_ref()?;
    Some(&invocation.files)
}

/// Settings that shards need not share.
const OWN: &[&str] = &["shard", "shards", "timeout"];

/// A target's facts; an embedded server has another port in every process.
fn placeless(target: &TargetFacts) -> TargetFacts {
    let mut facts = target.clone();
    if facts.simulated {
        facts.url = super::PublicUrl::default();
    }
    facts
}

/// The manifest of the whole.
fn merged(parts: &[Part]) -> Manifest {
    let all = || parts.iter().map(|part| &part.run.manifest);
    let mut manifest = parts[0].run.manifest.clone();
    manifest.started = all()
        .map(|one| one.started)
        .min()
        .unwrap_or(manifest.started);
    manifest.ended = all().filter_map(|one| one.ended).max();
    let failed = all().find(|one| one.ending != Some(Ending::Complete));
    manifest.ending = failed
        .and_then(|one| one.ending.clone())
        .or(Some(Ending::Complete));
    manifest
        .settings
        .retain(|name, _| name != "shard" && name != "shards");
    manifest.shard = None;
    manifest.invocation = None;
    manifest.resumed = Vec::new();
    manifest.merged = parts
        .iter()
        .map(|part| MergedShard {
            shard: part.shard,
            started: part.run.manifest.started,
            ended: part.run.manifest.ended,
            host: part.run.manifest.host.clone(),
        })
        .collect();
    manifest
}

/// Where a record belongs: its cell in the order of the manifest, and its place there.
type Place = (usize, usize, usize, usize, Arc<str>, u32, u32, u32, u32);

/// A line: its shard, and its number in that shard's records.
type Line = (usize, usize);

/// Where every record of the merged run comes from, in order.
struct Order {
    lines: Vec<Line>,
    /// Position by attempt.
    positions: HashMap<AttemptKey, usize>,
}

fn ordered(parts: &[Part], manifest: &Manifest) -> Result<Order, MergeError> {
    let mut places: Vec<(Place, AttemptKey, Line)> = Vec::new();
    let mut ran: HashMap<Arc<str>, usize> = HashMap::new();
    for (number, part) in parts.iter().enumerate() {
        for (at, record) in part.run.requests()?.enumerate() {
            let record = record?;
            let first = *ran
                .entry(Arc::clone(&record.conversation))
                .or_insert(number);
            if first != number {
                return Err(MergeError::TwiceRun {
                    conversation: record.conversation,
                    first: parts[first].run.dir().to_owned(),
                    second: part.run.dir().to_owned(),
                });
            }
            places.push((place(&record, manifest), record.key(), (number, at)));
        }
    }
    places.sort_by(|a, b| (&a.0, a.2).cmp(&(&b.0, b.2)));
    let mut order = Order {
        lines: Vec::with_capacity(places.len()),
        positions: HashMap::with_capacity(places.len()),
    };
    for (position, (_, key, line)) in places.into_iter().enumerate() {
        order.lines.push(line);
        order.positions.insert(key, position);
    }
    Ok(order)
}

fn place(record: &RequestRecord, manifest: &Manifest) -> Place {
    let mut scenarios = manifest.scenarios.iter().map(|facts| &facts.name);
    let mut configurations = manifest.configurations.iter().map(|facts| &facts.name);
    let mut targets = manifest.targets.iter().map(|facts| &facts.name);
    let rank = |at: Option<usize>| at.unwrap_or(usize::MAX);
    (
        rank(scenarios.position(|name| *name == record.scenario)),
        rank(configurations.position(|name| *name == record.configuration)),
        rank(targets.position(|name| *name == record.target)),
        // Shorter ones first, so that levels of a load are in the order of their numbers.
        record.load.len(),
        Arc::clone(&record.load),
        record.repeat,
        record.turn,
        record.request,
        record.attempt,
    )
}

/// Writes the records in order. A shard's lines are read as they are needed; those
/// that come too early wait.
fn requests(parts: &[Part], order: &Order, writer: &mut RunWriter) -> Result<(), MergeError> {
    let mut sources = Vec::new();
    for part in parts {
        sources.push(Source {
            lines: part.run.requests()?,
            read: 0,
            waiting: HashMap::new(),
        });
    }
    for &(number, at) in &order.lines {
        let Some(mut record) = sources[number].line(at)? else {
            continue;
        };
        shift(&mut record.stamps, parts[number].shift);
        writer.append(&record, &mut iter::empty())?;
    }
    Ok(())
}

/// The records of a shard, to be asked for in any order.
struct Source {
    lines: Lines<RequestRecord>,
    read: usize,
    waiting: HashMap<usize, RequestRecord>,
}

impl Source {
    /// The record number `at`; `None` where the file was changed meanwhile.
    fn line(&mut self, at: usize) -> Result<Option<RequestRecord>, ReadError> {
        if let Some(record) = self.waiting.remove(&at) {
            return Ok(Some(record));
        }
        for record in self.lines.by_ref() {
            let number = self.read;
            self.read += 1;
            if number == at {
                return record.map(Some);
            }
            self.waiting.insert(number, record?);
        }
        Ok(None)
    }
}

fn shift(stamps: &mut Stamps, by: Micros) {
    let moved = |at: Micros| Micros(at.0 + by.0);
    let Stamps {
        due_us,
        first_due_us,
        ready_us,
        // A length of time, which moves with nothing.
        limited_us: _,
        sent_us,
        headers_us,
        first_event_us,
        first_text_us,
        first_answer_us,
        done_us,
    } = stamps;
    *due_us = moved(*due_us);
    for stamp in [
        first_due_us,
        ready_us,
        sent_us,
        headers_us,
        first_event_us,
        first_text_us,
        first_answer_us,
        done_us,
    ] {
        *stamp = stamp.map(moved);
    }
}

/// Writes what was computed, in the order of the records; the newest of each attempt.
fn bounds(parts: &[Part], order: &Order, writer: &mut RunWriter) -> Result<(), MergeError> {
    let mut found: BTreeMap<usize, BoundRecord> = BTreeMap::new();
    for part in parts {
        let Some(lines) = part.run.bounds()? else {
            continue;
        };
        for bound in lines {
            let bound = bound?;
            if let Some(&position) = order.positions.get(&bound.key()) {
                found.insert(position, bound);
            }
        }
    }
    let found: Vec<BoundRecord> = found.into_values().collect();
    writer.bounds(&found)?;
    Ok(())
}

#[cfg(test)]
#[path = "merge_tests.rs"]
mod tests;
