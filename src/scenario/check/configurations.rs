//! Configurations of the scenario's own.

use super::Check;
use crate::context::configuration::External;
use crate::context::{Options, STRATEGIES};
use crate::scenario::error::{Mistake, ScenarioError};
use crate::scenario::load::grammar::ConfigurationFile;
use crate::scenario::load::yaml::{At, Entries};
use crate::scenario::model::ConfigurationSpec;
use crate::scenario::names::nearest;
use std::collections::BTreeMap;
use std::ops::Range;

fn known() -> Vec<&'static str> {
    STRATEGIES.iter().map(|kind| kind.name).collect()
}

/// `a, b and c`.
fn enumerated(names: &[&str]) -> String {
    match names {
        [] => "no configuration".to_owned(),
        [one] => (*one).to_owned(),
        [first @ .., last] => format!("{} and {last}", first.join(", ")),
    }
}

impl ConfigurationFile {
    /// The options that are set, with their places.
    fn given(&self) -> Vec<(&'static str, &Range<usize>)> {
        let Self {
            base: _,
            markers,
            marker_ttl,
            tail,
            summary,
            timestamps,
            memory_form,
            prompt_cache_key,
            affinity_header,
            reasoning,
            window,
            prompt_prefix,
            drop_current_from_library,
            external,
            raw,
        } = self;
        let all = [
            ("markers", place(markers.as_ref())),
            ("marker_ttl", place(marker_ttl.as_ref())),
            ("tail", place(tail.as_ref())),
            ("summary", place(summary.as_ref())),
            ("timestamps", place(timestamps.as_ref())),
            ("memory_form", place(memory_form.as_ref())),
            ("prompt_cache_key", place(prompt_cache_key.as_ref())),
            ("affinity_header", place(affinity_header.as_ref())),
            ("reasoning", place(reasoning.as_ref())),
            ("window", place(window.as_ref())),
            ("prompt_prefix", place(prompt_prefix.as_ref())),
            (
                "drop_current_from_library",
                place(drop_current_from_library.as_ref()),
            ),
            ("external", place(external.as_ref())),
            ("raw", place(raw.as_ref())),
        ];
        let set = all.into_iter();
        set.filter_map(|(name, place)| Some((name, place?)))
            .collect()
    }
}

fn place<T>(at: Option<&At<T>>) -> Option<&Range<usize>> {
    at.map(|at| &at.place)
}

fn value<T: Clone>(at: Option<&At<T>>) -> Option<T> {
    at.map(|at| at.value.clone())
}

impl Check {
    pub(in crate::scenario) fn configurations(
        &mut self,
        entries: &Entries<At<ConfigurationFile>>,
    ) -> Result<BTreeMap<String, ConfigurationSpec>, ScenarioError> {
        let mut specs = BTreeMap::new();
        for (name, file) in &entries.0 {
            self.name(name, "the configuration's name")?;
            if known().contains(&name.value.as_str()) {
                let mistake = Mistake::Exists {
                    what: "built-in configuration",
                    name: name.value.clone(),
                    help: "choose another name, so that tables cannot be misread",
                };
                return Err(self.error(&name.place, mistake));
            }
            if name.value.contains(',') {
                let mistake = Mistake::value("the configuration's name", "holds a comma");
                return Err(self.error(&name.place, mistake));
            }
            let spec = self.configuration(file)?;
            self.configurations.push(name.value.clone());
            specs.insert(name.value.clone(), spec);
        }
        Ok(specs)
    }

    fn configuration(
        &mut self,
        At {
            value: file, place, ..
        }: &At<ConfigurationFile>,
    ) -> Result<ConfigurationSpec, ScenarioError> {
        let base = self.built_in(&file.base)?;
        self.only(file, base)?;
        self.needed(file, base, place)?;
        self.sensible(file)?;
        let raw = match &file.raw {
            None => None,
            Some(path) => Some(
                self.texts
                    .files
                    .raw(&path.value.to_string_lossy())
                    .map_err(|mistake| self.error(&path.place, mistake))?,
            ),
        };
        Ok(ConfigurationSpec {
            base: base.to_owned(),
            options: Options {
                markers: value(file.markers.as_ref()),
                marker_ttl: value(file.marker_ttl.as_ref()),
                tail: value(file.tail.as_ref()),
                summary: value(file.summary.as_ref()),
                timestamps: value(file.timestamps.as_ref()),
                memory_form: value(file.memory_form.as_ref()),
                prompt_cache_key: value(file.prompt_cache_key.as_ref()),
                affinity_header: value(file.affinity_header.as_ref()),
                reasoning: value(file.reasoning.as_ref()),
                window: value(file.window.as_ref()),
                prompt_prefix: value(file.prompt_prefix.as_ref()),
                drop_current_from_library: value(file.drop_current_from_library.as_ref()),
                external: value(file.external.as_ref()),
                raw,
            },
        })
    }

    fn built_in(&self, at: &At<String>) -> Result<&'static str, ScenarioError> {
        let known = known();
        let name = at.value.as_str();
        if let Some(name) = known.iter().find(|known| **known == name) {
            return Ok(name);
        }
        let mistake = Mistake::UnknownName {
            what: "configuration",
            name: name.to_owned(),
            nearest: nearest(name, known.iter().copied()).map(str::to_owned),
            help: format!("built in are: {}", known.join(", ")),
        };
        Err(self.error(&at.place, mistake))
    }

    /// Refuses an option that its base would read over.
    fn only(&self, file: &ConfigurationFile, base: &str) -> Result<(), ScenarioError> {
        let reads = |name: &str, option: &str| {
            let kind = STRATEGIES.iter().find(|kind| kind.name == name);
            kind.is_some_and(|kind| kind.options.contains(&option))
        };
        for (option, place) in file.given() {
            if !reads(base, option) {
                let readers = known().into_iter().filter(|name| reads(name, option));
                let readers: Vec<&str> = readers.collect();
                let said = format!(
                    "is an option of {} only, not of `{base}`",
                    enumerated(&readers)
                );
                return Err(self.error(place, Mistake::value(format_args!("`{option}`"), said)));
            }
        }
        Ok(())
    }

    /// Bases that are nothing without their option.
    fn needed(
        &self,
        file: &ConfigurationFile,
        base: &str,
        place: &Range<usize>,
    ) -> Result<(), ScenarioError> {
        let name = match base {
            "external" if file.external.is_none() => "external",
            "raw" if file.raw.is_none() => "raw",
            _ => return Ok(()),
        };
        Err(self.error(place, Mistake::Missing { name }))
    }

    /// Refuses values that could only fail later.
    fn sensible(&self, file: &ConfigurationFile) -> Result<(), ScenarioError> {
        if let Some(external) = &file.external {
            let External { command, timeout_s } = &external.value;
            let said = if command.first().is_none_or(String::is_empty) {
                "names no program in `command`"
            } else if *timeout_s == 0 {
                "has a `timeout_s` of 0"
            } else {
                ""
            };
            if !said.is_empty() {
                return Err(self.error(&external.place, Mistake::value("`external`", said)));
            }
        }
        match &file.window {
            Some(window) if window.value == 0 => Err(self.error(
                &window.place,
                Mistake::value("`window`", "must be at least 1"),
            )),
            _ => Ok(()),
        }
    }

    /// The name in a `configuration` step.
    pub(in crate::scenario) fn known_configuration(
        &self,
        at: &At<String>,
    ) -> Result<(), ScenarioError> {
        if self.configurations.contains(&at.value) {
            return Ok(());
        }
        let own = self.configurations.iter().map(String::as_str);
        let near = nearest(&at.value, own).map(str::to_owned);
        match (self.built_in(at), near) {
            (Ok(_), _) => Ok(()),
            (Err(_), Some(near)) => Err(self.error(
                &at.place,
                Mistake::UnknownName {
                    what: "configuration",
                    name: at.value.clone(),
                    nearest: Some(near),
                    help: String::new(),
                },
            )),
            (Err(error), None) => Err(error),
        }
    }
}
