//! From the grammar's types to a checked plan.

mod pace;
mod state;

use super::grammar::{FleetFile, OrderFile, PlanFile, RoutingFile};
use super::model::{Embedded, Fleet, Plan, PlannedScenario};
use super::values::ScenarioEntry;
use crate::cache::{Model, Routing};
use crate::chat::Family;
use crate::provider;
use crate::scenario::check::Check;
use crate::scenario::duration;
use crate::scenario::error::{Mistake, ScenarioError};
use crate::scenario::files::Files;
use crate::scenario::limits::Limits as Sizes;
use crate::scenario::load::folder_of;
use crate::scenario::load::yaml::{At, Source};
use crate::scenario::names::nearest;
use crate::scenario::pace::MOST_SESSIONS;
use crate::units::Tokens;
use std::collections::{BTreeMap, BTreeSet};
use std::ops::Range;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

/// Walks a plan.
struct Walk {
    check: Check,
    settings: BTreeMap<&'static str, Vec<String>>,
    places: BTreeMap<&'static str, Vec<Range<usize>>>,
}

/// Checks a whole file.
pub(super) fn plan(
    path: &Path,
    file: &PlanFile,
    source: Source,
    files: Files,
    sizes: Sizes,
) -> Result<Plan, ScenarioError> {
    let mut walk = Walk {
        check: Check::new(source.clone(), files, sizes),
        settings: BTreeMap::new(),
        places: BTreeMap::new(),
    };
    let name = walk.check.name(&file.plan, "`plan`")?;
    let scenarios = walk.scenarios(&file.scenarios, folder_of(path))?;
    let configurations = walk.check.configurations(&file.configurations)?;
    walk.chosen(file)?;
    walk.targets(file)?;
    walk.load(file)?;
    walk.state(file);
    walk.pace(file, folder_of(path))?;
    let embedded = walk.embedded(file)?;
    let limits = walk.limits(&file.limits)?;
    let rules = walk.rules(&file.rules)?;
    let fleet = file.fleet.as_ref().map(|fleet| {
        if file.lifetime.is_some() {
            let said = "is predicted without a lifetime";
            return walk.wrong(&fleet.place, "`fleet`", said);
        }
        walk.fleet(&fleet.value)
    });
    Ok(Plan {
        name,
        about: Arc::from(file.about.as_deref().unwrap_or_default().trim()),
        path: path.to_owned(),
        digest: walk.check.texts.files.digest(),
        scenarios,
        configurations,
        embedded,
        limits,
        rules,
        fleet: fleet.transpose()?,
        settings: walk.settings,
        source,
        places: walk.places,
    })
}

impl Walk {
    /// Keeps a setting and where it stands.
    #[expect(
        clippy::needless_pass_by_value,
        reason = "callers hand over what they made"
    )]
    fn set(&mut self, name: &'static str, value: impl ToString, place: &Range<usize>) {
        self.settings
            .entry(name)
            .or_default()
            .push(value.to_string());
        self.places.entry(name).or_default().push(place.clone());
    }

    fn wrong<T>(
        &self,
        place: &Range<usize>,
        what: &str,
        said: impl Into<String>,
    ) -> Result<T, ScenarioError> {
        Err(self.check.error(place, Mistake::value(what, said)))
    }

    fn scenarios(
        &mut self,
        list: &At<Vec<At<ScenarioEntry>>>,
        folder: &Path,
    ) -> Result<Vec<PlannedScenario>, ScenarioError> {
        let mut scenarios = Vec::new();
        for entry in &list.value {
            let (file, place, weight) = match &entry.value {
                ScenarioEntry::File(file) => (file, &entry.place, None),
                ScenarioEntry::Map(map) => (&map.file.value, &map.file.place, map.weight.as_ref()),
            };
            if let Some(zero) = weight.filter(|weight| weight.value == 0) {
                return self.wrong(&zero.place, "`weight`", "must be at least 1");
            }
            let path = folder.join(file);
            if !path.is_file() {
                let kind = if path.is_dir() {
                    std::io::ErrorKind::IsADirectory
                } else {
                    std::io::ErrorKind::NotFound
                };
                let mistake = Mistake::File {
                    name: file.clone(),
                    source: kind.into(),
                };
                return Err(self.check.error(place, mistake));
            }
            let weight = weight.map_or(1, |weight| weight.value);
            scenarios.push(PlannedScenario { path, weight });
        }
        if scenarios.is_empty() {
            return self.wrong(&list.place, "`scenarios`", "names no scenario");
        }
        Ok(scenarios)
    }

    /// Names of configurations to run; without any, the defaults and the plan's own.
    fn chosen(&mut self, file: &PlanFile) -> Result<(), ScenarioError> {
        let Some(names) = &file.config else {
            return Ok(());
        };
        self.filled_list("`config`", names)?;
        for name in &names.value {
            self.check.known_configuration(name)?;
            self.set("config", &name.value, &name.place);
        }
        Ok(())
    }

    /// A list that has entries, each once.
    fn filled_list(&self, what: &str, list: &At<Vec<At<String>>>) -> Result<(), ScenarioError> {
        if list.value.is_empty() {
            return self.wrong(&list.place, what, "is an empty list");
        }
        let mut seen = BTreeSet::new();
        for at in &list.value {
            self.check.filled(at, "the name")?;
            if !seen.insert(at.value.as_str()) {
                let said = format!("names `{}` twice", at.value);
                return self.wrong(&at.place, what, said);
            }
        }
        Ok(())
    }

    fn targets(&mut self, file: &PlanFile) -> Result<(), ScenarioError> {
        if let Some(targets) = &file.targets {
            self.filled_list("`targets`", targets)?;
            for target in &targets.value {
                self.set("target", &target.value, &target.place);
            }
        }
        if let Some(model) = &file.model {
            let name = self.check.filled(model, "`model`")?;
            self.set("model", name, &model.place);
        }
        if let Some(dialect) = &file.dialect {
            let known = provider::DIALECTS.iter().map(|dialect| dialect.name());
            self.known("dialect", dialect, &known.collect::<Vec<_>>())?;
        }
        if let Some(wire) = &file.wire {
            let known = Family::ALL.iter().map(|family| family.as_str());
            self.known("wire", wire, &known.collect::<Vec<_>>())?;
        }
        if let Some(model) = &file.cache_model {
            let parsed = self.model(model)?;
            self.set("cache-model", parsed, &model.place);
        }
        if let Some(lifetime) = &file.lifetime {
            let seconds = self.lifetime(lifetime)?.as_secs();
            self.set("lifetime", seconds, &lifetime.place);
        }
        Ok(())
    }

    /// A word that must be one of `known`.
    fn known(
        &mut self,
        setting: &'static str,
        at: &At<String>,
        known: &[&str],
    ) -> Result<(), ScenarioError> {
        if !known.contains(&at.value.as_str()) {
            let mistake = Mistake::UnknownName {
                what: setting,
                name: at.value.clone(),
                nearest: nearest(&at.value, known.iter().copied()).map(str::to_owned),
                help: format!("known: {}", known.join(", ")),
            };
            return Err(self.check.error(&at.place, mistake));
        }
        self.set(setting, &at.value, &at.place);
        Ok(())
    }

    fn model(&self, at: &At<String>) -> Result<Model, ScenarioError> {
        at.value.parse().map_err(|error: crate::cache::ModelError| {
            let mistake = Mistake::value("`cache_model`", format!("is no cache model: {error}"))
                .helped("`prefixbench list cache-models` shows how they are written");
            self.check.error(&at.place, mistake)
        })
    }

    /// A lifetime in whole seconds, at least one.
    fn lifetime(&self, at: &At<String>) -> Result<Duration, ScenarioError> {
        let span =
            duration::parse(&at.value).or_else(|said| self.wrong(&at.place, "`lifetime`", said))?;
        if span.as_secs() == 0 || span.subsec_nanos() != 0 {
            return self.wrong(
                &at.place,
                "`lifetime`",
                "must be whole seconds, at least one",
            );
        }
        Ok(span)
    }

    fn load(&mut self, file: &PlanFile) -> Result<(), ScenarioError> {
        if let Some(repeat) = &file.repeat {
            self.at_least_one("repeat", repeat)?;
        }
        if let Some(sessions) = &file.sessions {
            let levels = sessions.entries();
            if levels.is_empty() {
                return self.wrong(&sessions.place, "`sessions`", "is an empty list");
            }
            let mut seen = BTreeSet::new();
            for (level, place) in levels {
                if !(1..=MOST_SESSIONS).contains(&level) {
                    return self.wrong(place, "`sessions`", "must be from 1 to 1,000,000");
                }
                if !seen.insert(level) {
                    return self.wrong(place, "`sessions`", format!("names {level} twice"));
                }
                self.set("sessions", level, place);
            }
        }
        if let Some(tokens) = &file.max_tokens {
            self.at_least_one("max-tokens", tokens)?;
        }
        if let Some(order) = &file.order {
            let word = match order.value {
                OrderFile::Given => "given",
                OrderFile::Shuffled => "shuffled",
            };
            self.set("order", word, &order.place);
        }
        if let Some(retries) = &file.retries {
            self.set("retries", retries.value, &retries.place);
        }
        if let Some(seed) = &file.seed {
            self.set("seed", seed.value, &seed.place);
        }
        Ok(())
    }

    fn at_least_one(&mut self, name: &'static str, at: &At<u32>) -> Result<(), ScenarioError> {
        if at.value == 0 {
            let what = format!("`{}`", name.replace('-', "_"));
            return self.wrong(&at.place, &what, "must be at least 1");
        }
        self.set(name, at.value, &at.place);
        Ok(())
    }

    fn embedded(&mut self, file: &PlanFile) -> Result<Embedded, ScenarioError> {
        let own = &file.embedded;
        if let Some(profile) = &own.profile {
            let name = self.check.filled(profile, "`profile`")?;
            self.set("profile", name, &profile.place);
        }
        let lifetime = own.lifetime.as_ref().map(|at| self.lifetime(at));
        let cache = own.cache_model.as_ref().map(|at| self.model(at));
        Ok(Embedded {
            cache: cache.transpose()?,
            lifetime: lifetime.transpose()?,
        })
    }

    fn rules(&mut self, rules: &[At<String>]) -> Result<Vec<String>, ScenarioError> {
        for rule in rules {
            self.check.filled(rule, "the rule")?;
            self.places
                .entry("rules")
                .or_default()
                .push(rule.place.clone());
        }
        Ok(rules
            .iter()
            .map(|rule| rule.value.trim().to_owned())
            .collect())
    }

    fn fleet(&self, file: &FleetFile) -> Result<Fleet, ScenarioError> {
        let zero = |name: &str, place| self.wrong(place, name, "must be at least 1");
        if file.sessions.value == 0 {
            return zero("`sessions`", &file.sessions.place);
        }
        if file.capacity.value == 0 {
            return zero("`capacity`", &file.capacity.place);
        }
        if file.replicas.value == 0 {
            return zero("`replicas`", &file.replicas.place);
        }
        let mut routing = Vec::new();
        for (way, place) in file.routing.entries() {
            let way = match way {
                RoutingFile::RoundRobin => Routing::RoundRobin,
                RoutingFile::Sticky => Routing::Sticky,
                RoutingFile::Prefix => Routing::Prefix,
            };
            if routing.contains(&way) {
                let said = format!("names `{}` twice", way.as_str());
                return self.wrong(place, "`routing`", said);
            }
            routing.push(way);
        }
        if routing.is_empty() {
            return self.wrong(&file.routing.place, "`routing`", "is an empty list");
        }
        Ok(Fleet {
            sessions: file.sessions.value,
            capacity: Tokens(file.capacity.value),
            replicas: file.replicas.value,
            routing,
        })
    }
}
