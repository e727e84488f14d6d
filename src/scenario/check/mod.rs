//! From the grammar's types to a checked scenario.
//!
//! The steps are walked once, in order, with a small picture of the world as it
//! is at each of them, so that a note, a turn or a memory entry that does not
//! exist *at that point* is found before anything is sent.

mod attach;
mod configurations;
mod label;
mod notes;
mod sources;
mod steps;
mod turns;
mod user;
mod world;

use super::error::{Mistake, ScenarioError};
use super::files::Files;
use super::generate::Kind;
use super::limits::Limits;
use super::load::grammar::{ClockFile, RepliesFile, ScenarioFile, StartFile};
use super::load::texts::TextFile;
use super::load::yaml::{At, Entries, Source};
use super::model::{Replies, Scenario, Start};
use super::names::nearest;
use super::texts::{Texts, filler};
use super::tools;
use crate::chat::{Text, Tool};
use crate::context::view::{Memory, MemoryEntry, Moment};
use jiff::civil::DateTime;
use jiff::tz::TimeZone;
use std::ops::Range;
use std::path::Path;
use std::sync::Arc;
use world::World;

/// Date and time at which a scenario begins unless it says otherwise.
const START: &str = "2026-10-16T09:00";

/// Walks a scenario.
pub(super) struct Check {
    pub(super) texts: Texts,
    limits: Limits,
    world: World,
    /// Names that `configuration` steps may use, beside the built-in ones.
    configurations: Vec<String>,
}

/// Checks a whole file.
pub(super) fn scenario(
    path: &Path,
    file: &ScenarioFile,
    source: Source,
    files: Files,
    limits: Limits,
) -> Result<Scenario, ScenarioError> {
    let mut check = Check::new(source, files, limits);
    let name = check.name(&file.scenario, "`scenario`")?;
    let group = file.group.as_ref();
    let group = group.map_or_else(|| Ok(Arc::from("")), |group| check.name(group, "`group`"))?;
    let clock = check.clock(file.clock.as_ref())?;
    check.world.begin(&clock);
    let configurations = check.configurations(&file.configurations)?;
    let start = check.start(file, &clock)?;
    let vault = check.vault(file, &clock)?;
    let urls = check.pages(&file.urls)?;
    let tabs = check.pages(&file.tabs)?;
    check.world.urls.extend(urls.keys().cloned());
    check.world.tabs.extend(tabs.keys().cloned());
    let steps = check.steps(&file.steps.value, false)?;
    if check.world.turns.is_empty() {
        let mistake = Mistake::value("`steps`", "send nothing")
            .helped("a scenario needs at least one `user` step");
        return Err(check.texts.error(&file.steps.place, mistake));
    }
    Ok(Scenario {
        name,
        group,
        about: Arc::from(file.about.as_deref().unwrap_or_default().trim()),
        path: path.to_owned(),
        digest: check.texts.files.digest(),
        clock,
        start,
        vault,
        urls,
        tabs,
        replies: match file.replies {
            RepliesFile::Scripted => Replies::Scripted,
            RepliesFile::Live => Replies::Live,
        },
        steps,
        configurations,
    })
}

impl Check {
    /// Nothing checked yet.
    pub(super) fn new(source: Source, files: Files, limits: Limits) -> Self {
        Self {
            texts: Texts::new(source, files, limits),
            limits,
            world: World::default(),
            configurations: Vec::new(),
        }
    }

    pub(super) fn error(&self, place: &Range<usize>, mistake: Mistake) -> ScenarioError {
        self.texts.error(place, mistake)
    }

    /// A name of the writer's own: it becomes part of tables and file names.
    pub(super) fn name(&self, at: &At<String>, what: &str) -> Result<Arc<str>, ScenarioError> {
        let name = at.value.as_str();
        let said = if name.trim().is_empty() {
            "is empty"
        } else if name.chars().count() > 100 {
            "is longer than 100 characters"
        } else if name
            .chars()
            .any(|c| c.is_control() || c == '/' || c == '\\')
        {
            "holds a slash or a control character"
        } else if name != name.trim() {
            "begins or ends with a blank"
        } else {
            return Ok(Arc::from(name));
        };
        Err(self.error(&at.place, Mistake::value(what, said)))
    }

    /// A string that must not be empty.
    pub(super) fn filled(&self, at: &At<String>, what: &str) -> Result<Arc<str>, ScenarioError> {
        if at.value.trim().is_empty() {
            return Err(self.error(&at.place, Mistake::value(what, "is empty")));
        }
        Ok(Arc::from(at.value.as_str()))
    }

    fn clock(&self, file: Option<&ClockFile>) -> Result<Moment, ScenarioError> {
        let none = ClockFile::default();
        let ClockFile { start, zone } = file.unwrap_or(&none);
        let zone = match zone {
            Some(zone) => self.zone(zone)?,
            None => TimeZone::UTC,
        };
        let text = start.as_ref().map_or(START, |start| start.value.trim());
        // The parser would read over an offset; here the zone says where.
        let local = |text: &&str| {
            text.chars()
                .all(|c| c.is_ascii_digit() || "-:. Tt".contains(c))
        };
        let at = Some(text)
            .filter(local)
            .and_then(|text| text.parse::<DateTime>().ok())
            .filter(|local| local.year() >= 1970)
            .and_then(|local| local.to_zoned_datetime(zone.clone()).ok());
        match (at, start) {
            (Some(at), _) => Ok(Moment {
                at: at.timestamp(),
                zone,
            }),
            (None, start) => {
                let place = start.as_ref().map_or(0..0, |start| start.place.clone());
                let mistake = Mistake::value("`start`", "is no date and time")
                    .helped("write it like `2026-10-16T09:00`, from 1970 on; `zone` says where");
                Err(self.error(&place, mistake))
            }
        }
    }

    /// A time zone by its name; the database is part of the program.
    fn zone(&self, at: &At<String>) -> Result<TimeZone, ScenarioError> {
        let name = at.value.trim();
        jiff::tz::db().get(name).map_err(|_| {
            let known: Vec<String> = jiff::tz::db()
                .available()
                .map(|name| name.as_str().to_owned())
                .collect();
            self.error(
                &at.place,
                Mistake::UnknownName {
                    what: "time zone",
                    name: name.to_owned(),
                    nearest: nearest(name, known.iter().map(String::as_str)).map(str::to_owned),
                    help: "write an IANA name like `Europe/Berlin`".to_owned(),
                },
            )
        })
    }

    fn start(&mut self, file: &ScenarioFile, clock: &Moment) -> Result<Start, ScenarioError> {
        let StartFile {
            project,
            artifacts,
            web_search,
            memory_guard,
            timestamps,
            memory,
            skills,
            other,
        } = &file.start;
        let system = match &file.system {
            Some(text) => self.texts.text(text)?,
            None => self
                .texts
                .filler("system", 0, filler::SYSTEM, Kind::Prose, &(0..0))?,
        };
        let tools = match &file.tools {
            Some(text) => self.tools(text)?,
            None => Arc::default(),
        };
        self.world.set_tools(&tools);
        let model = file.model.as_ref();
        let start = Start {
            system,
            tools,
            model: model.map(|at| self.filled(at, "`model`")).transpose()?,
            project: self.project(project.as_ref())?.flatten(),
            artifacts: self.artifacts(artifacts.as_ref())?.flatten(),
            memory_guard: self.memory_guard(memory_guard.as_ref())?.flatten(),
            skills: self.skills(skills.as_ref())?.unwrap_or_default(),
            web_search: self.web_search(web_search.as_ref())?.flatten(),
            memory: self.memory(memory.as_ref(), clock)?,
            timestamps: *timestamps,
            other: self
                .other(other)?
                .into_iter()
                .filter_map(|(key, text)| Some((key, text?)))
                .collect(),
        };
        self.world.project.clone_from(&start.project);
        self.world.artifacts.clone_from(&start.artifacts);
        self.world.memory_guard.clone_from(&start.memory_guard);
        self.world.web_search.clone_from(&start.web_search);
        self.world.skills = !start.skills.is_empty();
        self.world.other.extend(start.other.iter().cloned());
        let keys = start.memory.entries.iter().map(|entry| entry.key.clone());
        self.world.memory.extend(keys);
        Ok(start)
    }

    fn tools(&mut self, at: &At<TextFile>) -> Result<Arc<[Tool]>, ScenarioError> {
        let json = self.texts.text(at)?;
        tools::parse(&json).map_err(|said| self.error(&at.place, Mistake::value("the tools", said)))
    }

    fn entry(
        &mut self,
        key: &At<String>,
        text: &At<TextFile>,
    ) -> Result<(Arc<str>, Text), ScenarioError> {
        Ok((self.filled(key, "the key")?, self.texts.text(text)?))
    }

    fn remembered(
        &mut self,
        entries: &Entries<At<TextFile>>,
        clock: &Moment,
    ) -> Result<Memory, ScenarioError> {
        let mut memory = Memory {
            on: true,
            entries: Vec::with_capacity(entries.0.len()),
        };
        for (key, value) in &entries.0 {
            let (key, value) = self.entry(key, value)?;
            memory.entries.push(MemoryEntry {
                key,
                value,
                updated: clock.clone(),
            });
        }
        Ok(memory)
    }
}
