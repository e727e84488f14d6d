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

/// Names of the built-in configurations.
const BUILT_IN: &[&str] = &[
    "inline",
    "dev",
    "lever-off",
    "parts",
    "turn-context",
    "layered",
    "copilot-3.1",
    "copilot-4",
    "append-only",
    "external",
    "raw",
];

/// Options that only these bases read.
const ONLY: &[(&str, &[&str])] = &[
    ("external", &["external"]),
    ("raw", &["raw"]),
    ("prompt_prefix", &["dev", "lever-off"]),
    ("drop_current_from_library", &["layered"]),
];

/// The registry's names; before any strategy is registered, those of the design.
fn known() -> Vec<&'static str> {
    if STRATEGIES.is_empty() {
        BUILT_IN.to_vec()
    } else {
        STRATEGIES.iter().map(|kind| kind.name).collect()
    }
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
        let places: [(&str, Option<&Range<usize>>); 4] = [
            ("external", file.external.as_ref().map(|at| &at.place)),
            ("raw", file.raw.as_ref().map(|at| &at.place)),
            (
                "prompt_prefix",
                file.prompt_prefix.as_ref().map(|at| &at.place),
            ),
            (
                "drop_current_from_library",
                file.drop_current_from_library.as_ref().map(|at| &at.place),
            ),
        ];
        for (option, place) in places {
            let bases = ONLY.iter().find(|(name, _)| *name == option);
            if let (Some(place), Some((_, bases))) = (place, bases)
                && !bases.contains(&base)
            {
                let mistake = Mistake::value(
                    format_args!("`{option}`"),
                    format!("is an option of {} only", bases.join(" and ")),
                );
                return Err(self.error(place, mistake));
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
