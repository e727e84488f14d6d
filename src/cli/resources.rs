//! What strategies are started with: phrases, the user's own builder, the user's
//! finished bodies.

use super::builder::Process;
use super::choice::Configurations;
use super::exit::{Exit, Failure};
use crate::chat::Text;
use crate::context::{Builder, Configuration, ContextError, Phrases, Setup};
use crate::conversation::{Nonce, Resources};
use crate::scenario::model::Scenario;
use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

/// Environment variables that hold keys of the program itself: nothing that it
/// starts needs them.
const KEY_VARIABLES: [&str; 2] = ["PREFIXBENCH_API_KEY", "PREFIXBENCH_SERVE_KEY"];

/// Largest file of bodies that is read.
const MAX_BODIES: u64 = 256 << 20;

/// The resources of one scenario.
pub(super) struct Files {
    phrases: Arc<Phrases>,
    configurations: BTreeMap<String, Configuration>,
    bodies: BTreeMap<PathBuf, Arc<[Text]>>,
    /// Folder of the scenario, where the commands that it names are started.
    folder: PathBuf,
    /// Configurations whose command stands in the scenario and not on the command line.
    own: BTreeSet<String>,
    /// The same of a plan, and its folder.
    planned: BTreeSet<String>,
    plan_folder: PathBuf,
    /// Environment variables that no builder gets to see.
    withheld: BTreeSet<String>,
}

impl Files {
    /// Reads what the chosen configurations of `scenario` need, and those that
    /// the scenario can switch to, so that nothing is missing in mid-run.
    pub(super) fn read(
        scenario: &Scenario,
        chosen: &[Configuration],
        given: &Configurations,
    ) -> Result<Self, Failure> {
        let mut configurations = BTreeMap::new();
        for configuration in chosen {
            configurations.insert(configuration.name.clone(), configuration.clone());
        }
        for name in scenario.configurations.keys() {
            if !configurations.contains_key(name) {
                configurations.insert(name.clone(), given.find(name, scenario)?);
            }
        }
        let mut bodies = BTreeMap::new();
        for configuration in chosen {
            check_needs(configuration)?;
            if let Some(path) = &configuration.options.raw {
                bodies.insert(path.clone(), read_bodies(path)?);
            }
        }
        let folder = scenario
            .path
            .parent()
            .map(Path::to_owned)
            .unwrap_or_default();
        let phrases = Arc::new(phrases(given.phrases.as_deref())?);
        let defined = scenario.configurations.iter();
        let own = defined.filter(|(_, spec)| spec.options.external.is_some());
        let own = own.map(|(name, _)| name.clone()).collect();
        let planned = given.planned.specs.iter();
        let planned = planned.filter(|(_, spec)| spec.options.external.is_some());
        let planned = planned.map(|(name, _)| name.clone()).collect();
        Ok(Self {
            own,
            planned,
            plan_folder: given.planned.folder.clone(),
            withheld: KEY_VARIABLES.map(str::to_owned).into(),
            phrases,
            configurations,
            bodies,
            folder,
        })
    }
}

impl Files {
    /// Keeps these environment variables from builders too.
    #[must_use]
    pub(super) fn withholding(mut self, names: &BTreeSet<String>) -> Self {
        self.withheld.extend(names.iter().cloned());
        self
    }
}

impl Resources for Files {
    fn configuration(&self, name: &str) -> Option<Configuration> {
        self.configurations
            .get(name)
            .cloned()
            .or_else(|| Configuration::built_in(name))
    }

    fn setup(&self, configuration: &Configuration, _: &str) -> Result<Setup, ContextError> {
        let options = configuration.options.clone();
        let builder = match &options.external {
            Some(external) => {
                let timeout = Duration::from_secs(external.timeout_s);
                let here = Path::new(".");
                let folder = if self.own.contains(&configuration.name) {
                    &self.folder
                } else if self.planned.contains(&configuration.name) {
                    &self.plan_folder
                } else {
                    here
                };
                let process = Process::start(&external.command, folder, timeout, &self.withheld)
                    .map_err(|said| ContextError::External { said })?;
                Some(Box::new(process) as Box<dyn Builder>)
            }
            None => None,
        };
        let bodies = options.raw.as_ref().and_then(|path| self.bodies.get(path));
        Ok(Setup {
            phrases: Arc::clone(&self.phrases),
            builder,
            bodies: bodies.cloned().unwrap_or_default(),
            options,
        })
    }
}

fn check_needs(configuration: &Configuration) -> Result<(), Failure> {
    let name = &configuration.name;
    match configuration.base.name {
        "external" if configuration.options.external.is_none() => Err(Failure::wrong(
            format!("configuration `{name}` has no command"),
            "give it with --builder 'python3 my_builder.py', or in the scenario as \
             `configurations: {mine: {base: external, external: {command: [python3, my_builder.py]}}}`",
        )),
        "raw" if configuration.options.raw.is_none() => Err(Failure::wrong(
            format!("configuration `{name}` has no file of bodies"),
            "give it with --bodies bodies.jsonl, or in the scenario as \
             `configurations: {mine: {base: raw, raw: bodies.jsonl}}`",
        )),
        _ => Ok(()),
    }
}

fn phrases(path: Option<&Path>) -> Result<Phrases, Failure> {
    let Some(path) = path else {
        return Ok(Phrases::default());
    };
    let shown = path.display();
    let json = fs::read_to_string(path).map_err(|error| unreadable("phrase book", path, &error))?;
    Phrases::with(&json).map_err(|error| {
        let reason = std::error::Error::source(&error).map(|source| format!(": {source}"));
        let message = format!("`{shown}`: {error}{}", reason.unwrap_or_default());
        Failure::wrong(message, "a phrase book is a JSON object of strings")
    })
}

fn read_bodies(path: &Path) -> Result<Arc<[Text]>, Failure> {
    let size = fs::metadata(path)
        .map_err(|error| unreadable("bodies", path, &error))?
        .len();
    if size > MAX_BODIES {
        let shown = path.display();
        let message = format!("`{shown}` holds {size} bytes of bodies, more than {MAX_BODIES}");
        return Err(Failure::new(Exit::WrongInput, message, None));
    }
    let text = fs::read_to_string(path).map_err(|error| unreadable("bodies", path, &error))?;
    // Blank lines stay, so that a fault is told by the line of the file.
    Ok(text
        .lines()
        .map(|line| Text::from(without_nonce(line)))
        .collect())
}

/// A body as `render` prints it begins with a nonce of zeros; the run puts in its own.
fn without_nonce(body: &str) -> String {
    body.replacen(&format!("\"{}\\n\\n", Nonce::ZERO), "\"", 1)
}

fn unreadable(what: &str, path: &Path, error: &std::io::Error) -> Failure {
    let message = format!("cannot read {what} `{}`: {error}", path.display());
    Failure::new(Exit::WrongInput, message, None)
}
