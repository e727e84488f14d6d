//! What a run will do, settled before anything is sent.

use super::Arguments;
use crate::cli::exit::Failure;
use crate::cli::resources;
use crate::cli::settings::Settings;
use crate::context::Configuration;
use crate::conversation::{Nonce, Resources};
use crate::load::{Cell, Isolate, Limits, Target};
use crate::record::{ConfigurationFacts, Manifest, PublicUrl, ScenarioFacts, TargetFacts};
use crate::scenario::model::{Replies, Scenario};
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

/// A run, settled.
pub(super) struct Planned {
    pub(super) scenarios: Vec<Arc<Scenario>>,
    names: Vec<String>,
    /// For every scenario, its configurations and what they are started with.
    chosen: Vec<(Vec<Configuration>, Arc<dyn Resources>)>,
    repeats: u32,
    sessions: usize,
    pub(super) isolate: Isolate,
    pub(super) limits: Limits,
    pub(super) seed: u64,
    pub(super) nonce: Nonce,
}

impl Planned {
    pub(super) fn new(given: &Arguments, settings: &mut Settings) -> Result<Self, Failure> {
        let scenarios = given.files.load_all()?;
        let names = given.configurations.chosen();
        let mut chosen = Vec::new();
        for scenario in &scenarios {
            let find = |name: &String| given.configurations.find(name, scenario);
            let found: Vec<Configuration> = names.iter().map(find).collect::<Result<_, _>>()?;
            let files = resources::Files::read(scenario, &found, &given.configurations)?;
            let files: Arc<dyn Resources> = Arc::new(files);
            chosen.push((found, files));
        }
        let live = any_live(&scenarios);
        let seed = settings.resolve("seed", given.seed, 1)?;
        let repeats = settings.resolve("repeat", given.repeat, 1)?;
        let sessions = settings.resolve("sessions", given.sessions, 1)?;
        let limits = Limits {
            max_tokens: settings.resolve(
                "max-tokens",
                given.max_tokens,
                if live { 512 } else { 16 },
            )?,
            retries: settings.resolve("retries", given.retries, 2)?,
            longest_wait: Duration::from_mins(1),
        };
        let nonce = nonce(given.nonce.as_deref())?;
        let isolate = given.isolate.unwrap_or_default();
        settings.note("isolate", isolate.as_str(), given.isolate.is_some());
        Ok(Self {
            scenarios,
            names,
            chosen,
            repeats,
            sessions,
            isolate,
            limits,
            seed,
            nonce,
        })
    }

    /// Whether answers of the model are part of later prompts.
    pub(super) fn live(&self) -> bool {
        any_live(&self.scenarios)
    }

    /// Every scenario under every configuration, in the order given.
    pub(super) fn cells(&mut self, target: &Arc<Target>) -> Vec<Arc<Cell>> {
        let mut cells = Vec::new();
        for (scenario, (configurations, resources)) in self.scenarios.iter().zip(&self.chosen) {
            for configuration in configurations {
                cells.push(Arc::new(Cell {
                    scenario: Arc::clone(scenario),
                    configuration: configuration.clone(),
                    target: Arc::clone(target),
                    load: Arc::from(format!("sessions={}", self.sessions)),
                    resources: Arc::clone(resources),
                    // 0 is the unit of the whole run.
                    units: 1 + cells.len() as u64 * (u64::from(self.repeats) + 1),
                    repeats: self.repeats,
                    sessions: self.sessions,
                }));
            }
        }
        cells
    }

    /// What is known of the run before its first request.
    pub(super) fn manifest(
        &self,
        given: &Arguments,
        mut settings: Settings,
        target: &Target,
    ) -> Manifest {
        settings.note("no-text", given.no_text, given.no_text);
        settings.note(
            "config",
            self.names.clone(),
            !given.configurations.names.is_empty(),
        );
        let mut manifest = Manifest::begin(self.seed, &self.nonce.to_string());
        manifest.settings = settings.into_map();
        manifest.scenarios = self
            .scenarios
            .iter()
            .map(|scenario| ScenarioFacts {
                name: Arc::clone(&scenario.name),
                group: Arc::clone(&scenario.group),
                sha256: scenario.digest,
            })
            .collect();
        let mut known = std::collections::BTreeSet::new();
        let all = self
            .chosen
            .iter()
            .flat_map(|(configurations, _)| configurations);
        manifest.configurations = all
            .filter(|configuration| known.insert(configuration.name.clone()))
            .map(|configuration| ConfigurationFacts {
                name: Arc::from(configuration.name.as_str()),
                base: Arc::from(configuration.base.name),
                options: serde_json::to_value(&configuration.options).unwrap_or_default(),
            })
            .collect();
        manifest.targets = vec![facts(target)];
        manifest
    }
}

fn any_live(scenarios: &[Arc<Scenario>]) -> bool {
    let mut replies = scenarios.iter().map(|scenario| scenario.replies);
    replies.any(|replies| replies == Replies::Live)
}

fn facts(target: &Target) -> TargetFacts {
    TargetFacts {
        name: Arc::clone(&target.name),
        url: PublicUrl::new(&target.url),
        dialect: Arc::from(target.dialect.name()),
        model: Arc::clone(&target.model),
        cache_model: target
            .cache
            .as_ref()
            .map(|model| Arc::from(model.to_string())),
        simulated: target.simulated(),
        tokenizer: None,
        lifetime_ms: target
            .lifetime
            .and_then(|span| u64::try_from(span.as_millis()).ok()),
        tolerance: target.tolerance.tokens,
        tolerance_permille: target.tolerance.permille,
        price: target.price.clone(),
    }
}

/// The nonce that was given, or one drawn from the system.
pub(in crate::cli) fn nonce(given: Option<&str>) -> Result<Nonce, Failure> {
    match given {
        Some(text) => Nonce::parse(text).ok_or_else(|| {
            Failure::wrong(
                format!("`{text}` is no nonce"),
                "a nonce is eight digits, as the manifest of a run shows it",
            )
        }),
        None => Ok(Nonce::draw(entropy())),
    }
}

/// Different in every process, so that no run finds what another left in a cache.
fn entropy() -> u64 {
    use std::hash::{BuildHasher, RandomState};
    RandomState::new().hash_one("nonce of a run")
}

/// The folder that was given, or one named by the run's start and scenario.
pub(super) fn folder(
    given: &Arguments,
    scenarios: &[Arc<Scenario>],
    manifest: &Manifest,
) -> PathBuf {
    if let Some(dir) = &given.out {
        return dir.clone();
    }
    let what = match scenarios {
        [only] => only.name.to_string(),
        several => format!("{}-scenarios", several.len()),
    };
    PathBuf::from("reports").join(format!("{}-{what}", manifest.started.compact()))
}
