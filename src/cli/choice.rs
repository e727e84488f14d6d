//! Which scenarios, and which configurations of them.

use super::exit::{Exit, Failure};
use crate::context::{Configuration, strategy};
use crate::scenario::model::{ConfigurationSpec, Scenario};
use crate::scenario::{LoadOptions, ScenarioError};
use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// Without `--config`.
pub(super) const DEFAULT_CONFIGURATIONS: &[&str] =
    &["inline", "dev", "layered", "turn-context", "append-only"];

/// Scenario files on the command line.
#[derive(clap::Args)]
pub(super) struct Files {
    /// Scenario files; a folder stands for every .yaml file in it
    #[arg(value_name = "SCENARIO")]
    pub(super) scenarios: Vec<PathBuf>,

    /// Let scenarios name files outside their own folder
    #[arg(long)]
    pub(super) outside_folder: bool,
}

impl Files {
    /// The files, folders replaced by what they hold, in the order of their names.
    pub(super) fn paths(&self) -> Result<Vec<PathBuf>, Failure> {
        if self.scenarios.is_empty() {
            return Err(Failure::wrong(
                "no scenario is named",
                "name a scenario file, or a folder of them",
            ));
        }
        let mut paths = Vec::new();
        for given in &self.scenarios {
            if given.is_dir() {
                paths.extend(yaml_files(given)?);
            } else {
                paths.push(given.clone());
            }
        }
        Ok(paths)
    }

    /// Reads and checks one file.
    pub(super) fn load(&self, path: &Path) -> Result<Scenario, Failure> {
        let options = LoadOptions {
            outside_folder: self.outside_folder,
        };
        crate::scenario::load(path, &options).map_err(|error: ScenarioError| Failure::input(error))
    }

    /// Reads and checks all of them; names must differ.
    pub(super) fn load_all(&self) -> Result<Vec<Arc<Scenario>>, Failure> {
        let mut by_name = BTreeMap::new();
        let mut scenarios = Vec::new();
        for path in self.paths()? {
            let scenario = self.load(&path)?;
            if let Some(other) = by_name.insert(Arc::clone(&scenario.name), path.clone()) {
                return Err(Failure::wrong(
                    format!(
                        "scenario `{}` is in {} and in {}",
                        scenario.name,
                        other.display(),
                        path.display()
                    ),
                    "records go by the scenario's name; rename one of them",
                ));
            }
            scenarios.push(Arc::new(scenario));
        }
        Ok(scenarios)
    }
}

fn yaml_files(folder: &Path) -> Result<Vec<PathBuf>, Failure> {
    let unreadable = |error| {
        let folder = folder.display();
        Failure::new(
            Exit::WrongInput,
            format!("cannot read folder `{folder}`: {error}"),
            None,
        )
    };
    let mut files = Vec::new();
    for entry in fs::read_dir(folder).map_err(unreadable)? {
        let path = entry.map_err(unreadable)?.path();
        if path
            .extension()
            .is_some_and(|extension| extension == "yaml" || extension == "yml")
        {
            files.push(path);
        }
    }
    if files.is_empty() {
        return Err(Failure::wrong(
            format!("folder `{}` holds no scenario", folder.display()),
            "scenario files end in .yaml",
        ));
    }
    files.sort();
    Ok(files)
}

/// Configurations on the command line.
#[derive(clap::Args)]
pub(super) struct Configurations {
    /// Configurations, separated by commas [default: inline,dev,layered,turn-context,append-only]
    #[arg(long = "config", value_name = "NAMES", value_delimiter = ',')]
    pub(super) names: Vec<String>,

    /// A phrase book (JSON) in place of the shipped wording
    #[arg(long, value_name = "FILE")]
    pub(super) phrases: Option<PathBuf>,

    /// Command of the `external` configuration, run by a shell in the current folder
    #[arg(long, value_name = "COMMAND")]
    pub(super) builder: Option<String>,

    /// Finished bodies of the `raw` configuration: a JSONL file, one body a turn
    #[arg(long, value_name = "FILE")]
    pub(super) bodies: Option<PathBuf>,

    /// What a plan file defines.
    #[arg(skip)]
    pub(super) planned: Defined,
}

/// Configurations that a plan file defines.
#[derive(Clone, Debug, Default)]
pub(super) struct Defined {
    /// The plan's folder, where commands that it names are started.
    pub(super) folder: PathBuf,
    /// By name.
    pub(super) specs: BTreeMap<String, ConfigurationSpec>,
}

impl Configurations {
    /// The names that were chosen, or the default ones.
    pub(super) fn chosen(&self) -> Vec<String> {
        if self.names.is_empty() {
            DEFAULT_CONFIGURATIONS
                .iter()
                .map(|name| (*name).to_owned())
                .collect()
        } else {
            self.names.clone()
        }
    }

    /// The configuration of that name, as the scenario, the plan or the program defines it,
    /// with what the command line adds.
    ///
    /// # Errors
    ///
    /// A name that neither knows, with the nearest that would have done.
    pub(super) fn find(&self, name: &str, scenario: &Scenario) -> Result<Configuration, Failure> {
        let own = scenario.configurations.get(name);
        let planned = self.planned.specs.get(name);
        if own.is_some() && planned.is_some() {
            return Err(Failure::wrong(
                format!(
                    "configuration `{name}` is defined by the plan and by scenario `{}`",
                    scenario.name
                ),
                "rename one of them, so that tables cannot be misread",
            ));
        }
        let mut found = match own.or(planned) {
            Some(spec) => strategy::find(&spec.base).map(|base| Configuration {
                name: name.to_owned(),
                base,
                options: spec.options.clone(),
            }),
            None => Configuration::built_in(name),
        }
        .ok_or_else(|| unknown(name, scenario))?;
        if found.base.name == "external" && found.options.external.is_none() {
            found.options.external = self.builder.as_ref().map(|command| shell(command));
        }
        if found.base.name == "raw" && found.options.raw.is_none() {
            found.options.raw.clone_from(&self.bodies);
        }
        Ok(found)
    }
}

fn shell(command: &str) -> crate::context::configuration::External {
    crate::context::configuration::External {
        command: vec!["sh".to_owned(), "-c".to_owned(), command.to_owned()],
        timeout_s: 30,
    }
}

fn unknown(name: &str, scenario: &Scenario) -> Failure {
    let own = scenario.configurations.keys().map(String::as_str);
    let built_in = strategy::STRATEGIES.iter().map(|kind| kind.name);
    let known: Vec<&str> = built_in.chain(own).collect();
    let help = match crate::scenario::names::nearest(name, known.iter().copied()) {
        Some(near) => format!("did you mean `{near}`? known: {}", known.join(", ")),
        None => format!("known: {}", known.join(", ")),
    };
    Failure::wrong(format!("unknown configuration `{name}`"), help)
}
