//! What a run will do, settled before anything is sent.

mod manifest;

use super::dry::dearest;
use super::levels::Load;
use super::numbering::Numbering;
use super::state::{self, EvictionProbe};
use super::{Arguments, Place, shard};
use crate::analysis::cost::{Moment, buckets};
use crate::cache::Model;
use crate::cli::exit::Failure;
use crate::cli::settings::Settings;
pub(super) use crate::cli::target::EMBEDDED;
use crate::cli::target::{Aim, parse_model};
use crate::cli::{output, planned, resources, serve, targets as target_files};
use crate::context::Configuration;
use crate::conversation::{Nonce, Resources};
use crate::load::limits::{Budget, Gate, Tariff};
use crate::load::{
    self, Beginning, Cell, Isolate, Limits, Order, Part, Round, Size, Target, WarmUp,
};
use crate::record::{Manifest, PublicUrl, Shard, WallTime};
use crate::scenario::duration;
use crate::scenario::model::{Action, Replies, Scenario};
use crate::scenario::names::nearest;
use crate::scenario::plan::Plan;
use crate::server::{PROFILES, Profile};
use std::collections::BTreeSet;
use std::convert::Infallible;
use std::fmt;
use std::path::{Path, PathBuf};
use std::str::FromStr;
use std::sync::Arc;
use std::time::Duration;

/// A run, settled.
pub(super) struct Planned {
    pub(super) plan: Option<Plan>,
    pub(super) scenarios: Vec<Arc<Scenario>>,
    names: Vec<String>,
    /// For every scenario, its configurations and what they are started with.
    pub(super) chosen: Vec<Chosen>,
    /// Names or URLs, each once.
    pub(super) targets: Vec<String>,
    /// Profile of the embedded server, where it is a target.
    profile: Option<&'static Profile>,
    /// How conversations begin, and what holds them back.
    pub(super) load: Load,
    pub(super) order: Order,
    pub(super) isolate: Isolate,
    pub(super) limits: Limits,
    pub(super) seed: u64,
    pub(super) nonce: Nonce,
    /// The part of it that this process does.
    pub(super) shard: Option<Shard>,
    pub(super) warm_up: WarmUp,
    pub(super) eviction_probe: EvictionProbe,
    /// Whether targets are probed first.
    pub(super) probes: bool,
    /// Whether tokens are counted with a tokenizer that was given.
    pub(super) counts_with_own: bool,
}

impl Planned {
    pub(super) fn new(
        given: &Arguments,
        plan: Option<Plan>,
        settings: &mut Settings,
    ) -> Result<Self, Failure> {
        let scenarios = given.files.load_all()?;
        let usual = planned::usual(plan.as_ref());
        let names = settings.list("config", &given.configurations.names, usual)?;
        once("configuration", &names)?;
        let targets = targets(given, settings)?;
        let chosen = chosen(given, &scenarios, &names, &targets)?;
        let embedded = targets.iter().any(|target| target == EMBEDDED);
        let profile = if embedded {
            Some(profile(given, plan.as_ref(), settings)?)
        } else {
            None
        };
        let live = any_live(&scenarios);
        let max_tokens = if live { 512 } else { 16 };
        let order = settings.resolve("order", given.order, Order::default())?;
        let mut load = Load::new(&given.load, given.repeat, settings)?;
        load.shuffled = order == Order::Shuffled;
        if load.sweep.is_some() && order == Order::Shuffled {
            return Err(Failure::wrong(
                "a sweep goes from low to high, and the order is to be shuffled",
                "leave out `--order shuffled`, or name the levels by --load",
            ));
        }
        let given_nonce = state::given_nonce(given, settings)?;
        let shard = shard::chosen(given, settings)?;
        let isolate = settings.resolve("isolate", given.isolate, Isolate::default())?;
        shard::fits(shard, isolate, given_nonce.is_some(), load.sweep.is_some())?;
        let planned = Self {
            seed: settings.resolve("seed", given.seed, 1)?,
            order,
            isolate,
            limits: Limits {
                max_tokens: settings.resolve("max-tokens", given.max_tokens, max_tokens)?,
                retries: settings.resolve("retries", given.retries, 2)?,
                longest_wait: load.longest_wait,
                longest_idle: longest_idle(given, settings)?,
            },
            load,
            nonce: match given_nonce {
                Some(nonce) => nonce,
                None => nonce(None)?,
            },
            shard,
            warm_up: settings.resolve("warm-up", given.warm_up, WarmUp::default())?,
            eviction_probe: settings.resolve(
                "eviction-probe",
                given.eviction_probe,
                EvictionProbe::default(),
            )?,
            probes: given.probe,
            counts_with_own: given.aim.tokenizer.is_some(),
            plan,
            scenarios,
            names,
            chosen,
            targets,
            profile,
        };
        for scenario in &planned.scenarios {
            let weight = planned.weight(scenario);
            planned.load.weighs(&scenario.name, weight)?;
        }
        Ok(planned)
    }

    /// Tells of scenarios that really rest: only the embedded server's clock can jump.
    pub(super) fn tell_idling(&self, places: &[Place]) {
        let real = places.iter().any(|place| place.server.is_none());
        if !real || self.limits.longest_idle.is_some() {
            return;
        }
        for scenario in &self.scenarios {
            let rest: Duration = scenario.steps.iter().map(|step| idle(&step.action)).sum();
            if rest >= Duration::from_mins(1) {
                let minutes = rest.as_secs() / 60;
                output::warn(&format!(
                    "`{}` idles for {minutes} min in each conversation, which a real server has to wait out; \
                     --longest-idle cuts that short",
                    scenario.name
                ));
            }
        }
    }

    /// Whether answers of the model are part of later prompts.
    pub(super) fn live(&self) -> bool {
        any_live(&self.scenarios)
    }

    /// Profile, cache model and lifetime of the embedded server.
    pub(super) fn embedded(
        &self,
        aim: &Aim,
    ) -> Result<(&'static Profile, Model, Option<Duration>), Failure> {
        let profile = self.profile.unwrap_or(&PROFILES[0]);
        let own = self.plan.as_ref().map(|plan| plan.embedded.clone());
        let own = own.unwrap_or_default();
        let cache = match own.cache {
            Some(cache) => cache,
            None => parse_model(profile.model)?,
        };
        let asked = aim.lifetime.map(Duration::from_secs);
        Ok((profile, cache, own.lifetime.or(asked).or(profile.lifetime)))
    }

    /// How many times as many conversations as a plain scenario this one has.
    fn weight(&self, scenario: &Scenario) -> u32 {
        let planned = self.plan.iter().flat_map(|plan| &plan.scenarios);
        let weight = planned
            .filter(|planned| planned.path == scenario.path)
            .map(|planned| planned.weight)
            .next();
        weight.unwrap_or(1)
    }

    /// How the scenario's cells begin, level by level.
    pub(super) fn beginnings(&self, scenario: &Scenario) -> Vec<Beginning> {
        let weight = self.weight(scenario);
        let levels = self.load.levels.iter();
        levels
            .map(|level| self.load.beginning(level, weight, self.seed))
            .collect()
    }

    /// Every scenario under every configuration at every target and load level,
    /// in the order given, with the units of this `session` of the run.
    ///
    /// # Errors
    ///
    /// Two targets of one name: their records could not be told apart.
    pub(super) fn cells(
        &self,
        targets: &[Arc<Target>],
        session: u32,
    ) -> Result<Vec<Arc<Cell>>, Failure> {
        let mut known = BTreeSet::new();
        if let Some(twice) = targets.iter().find(|target| !known.insert(&target.name)) {
            return Err(Failure::wrong(
                format!("target `{}` is named twice", twice.name),
                "records go by the target's name; take one of them out",
            ));
        }
        let beginnings = self.scenarios.iter();
        let beginnings: Vec<Vec<Beginning>> = beginnings
            .map(|scenario| self.beginnings(scenario))
            .collect();
        let mut numbering = self.numbering(targets.len(), &beginnings, session);
        let mut cells = Vec::new();
        let scenarios = self.scenarios.iter().zip(&self.chosen).zip(&beginnings);
        for ((scenario, (configurations, resources)), beginnings) in scenarios {
            for configuration in configurations {
                for target in targets {
                    for (level, begin) in self.load.levels.iter().zip(beginnings) {
                        let load = self.load.label(level);
                        let (units, repeats) = numbering.next(begin);
                        cells.push(Arc::new(Cell {
                            scenario: Arc::clone(scenario),
                            configuration: configuration.clone(),
                            target: Arc::clone(target),
                            suffix: self.suffix(targets, target, &load),
                            load,
                            resources: Arc::clone(resources),
                            units,
                            repeats,
                            counted: begin.counted,
                            until: begin.until,
                            opening: begin.opening.clone(),
                        }));
                    }
                }
            }
        }
        Ok(cells)
    }

    fn numbering(&self, targets: usize, levels: &[Vec<Beginning>], session: u32) -> Numbering {
        let configurations = self.chosen.iter().map(|(configurations, _)| configurations);
        let cells = configurations.zip(levels);
        let cells = cells.map(|(configurations, levels)| configurations.len() * levels.len());
        let cells = cells.sum::<usize>() * targets;
        let counted = levels.iter().flatten().all(|begin| begin.counted);
        Numbering::new((!counted).then_some(cells), session)
    }

    /// What tells cells of one scenario and configuration apart, where they are several.
    fn suffix(&self, targets: &[Arc<Target>], target: &Target, load: &str) -> Arc<str> {
        let mut suffix = String::new();
        if targets.len() > 1 {
            suffix.push('@');
            suffix.push_str(&target.name);
        }
        if self.load.levels.len() > 1 {
            suffix.push('@');
            suffix.push_str(load);
        }
        Arc::from(suffix)
    }

    /// What holds requests to `target` back. `budget` is the run's.
    pub(super) fn gate(&self, target: &Target, budget: &Arc<Budget>) -> Gate {
        let tariff = match target.price.clone() {
            None => Tariff::free(),
            Some(mut price) => {
                let kept_ms = target
                    .lifetime
                    .and_then(|span| u64::try_from(span.as_millis()).ok());
                if kept_ms.is_none() {
                    // What cannot be reckoned holds nothing back; the rest does.
                    price.storage_hour = None;
                }
                let bound = price.clone();
                let now = move || Moment {
                    at_ms: Some(WallTime::now().epoch_ms()),
                    kept_ms,
                };
                Tariff::new(
                    move |usage| Some(buckets(&price, usage, now())?.sum()),
                    move |prompt, output| {
                        dearest(&bound, kept_ms, prompt, output).unwrap_or_default()
                    },
                )
            }
        };
        let Load {
            quotas,
            longest_wait,
            ..
        } = &self.load;
        let quotas = quotas.within(target.rates);
        Gate::new(quotas, Arc::clone(budget), tariff, *longest_wait)
    }

    /// In which order their conversations are run. An order that was drawn is noted.
    pub(super) fn rounds(&self, cells: &[Arc<Cell>], settings: &mut Settings) -> Vec<Round> {
        let sizes: Vec<Size> = cells
            .iter()
            .map(|cell| Size {
                repeats: cell.repeats,
                sessions: cell.opening.round(),
                lasts: cell.until.filter(|_| !cell.counted),
            })
            .collect();
        let rounds = load::rounds(self.order, &sizes, self.seed);
        if self.order == Order::Shuffled {
            let shown = rounds.iter().map(|round| {
                let name = cells[round.cell].name();
                match &round.part {
                    Part::Until(until) => format!("{name} until {}", duration::shown(*until)),
                    Part::Repeats(repeats) => match repeats.as_slice() {
                        [first, .., last] => format!("{name}/{first}-{last}"),
                        [only] => format!("{name}/{only}"),
                        [] => name,
                    },
                }
            });
            settings.drawn("schedule", "order", shown.collect::<Vec<_>>());
        }
        rounds
    }
}

/// Records go by names, so that nothing may be named twice.
fn once<T: Ord + fmt::Display>(what: &str, names: &[T]) -> Result<(), Failure> {
    let mut known = BTreeSet::new();
    match names.iter().find(|name| !known.insert(*name)) {
        Some(twice) => Err(Failure::wrong(
            format!("{what} `{twice}` is named twice"),
            "records could not be told apart; take one of them out",
        )),
        None => Ok(()),
    }
}

/// Real time that a step lets pass.
fn idle(action: &Action) -> Duration {
    match action {
        Action::Idle(span) => *span,
        Action::Approve { during, .. } => during.iter().map(|step| idle(&step.action)).sum(),
        _ => Duration::ZERO,
    }
}

/// How long a real server rests at most, where that was said.
fn longest_idle(given: &Arguments, settings: &mut Settings) -> Result<Option<Duration>, Failure> {
    let seconds = settings.optional("longest-idle", given.longest_idle)?;
    Ok(seconds.map(Duration::from_secs))
}

fn any_live(scenarios: &[Arc<Scenario>]) -> bool {
    let mut replies = scenarios.iter().map(|scenario| scenario.replies);
    replies.any(|replies| replies == Replies::Live)
}

/// Configurations of a scenario, and what they are started with.
pub(super) type Chosen = (Vec<Configuration>, Arc<dyn Resources>);

/// For every scenario, the configurations of these names and their resources.
fn chosen(
    given: &Arguments,
    scenarios: &[Arc<Scenario>],
    names: &[String],
    of_run: &[String],
) -> Result<Vec<Chosen>, Failure> {
    let remote: Vec<&String> = of_run.iter().filter(|name| *name != EMBEDDED).collect();
    let withheld = target_files::key_variables(&given.aim, &remote, &given.files.scenarios)?;
    let mut chosen = Vec::new();
    for scenario in scenarios {
        let find = |name: &String| given.configurations.find(name, scenario);
        let found: Vec<Configuration> = names.iter().map(find).collect::<Result<_, _>>()?;
        let files = resources::Files::read(scenario, &found, &given.configurations)?;
        let files: Arc<dyn Resources> = Arc::new(files.withholding(&withheld));
        chosen.push((found, files));
    }
    Ok(chosen)
}

/// A target as it was written; shown without what could be a key.
#[derive(Clone)]
struct Written(String);

impl fmt::Display for Written {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(PublicUrl::new(&self.0).as_str())
    }
}

impl FromStr for Written {
    type Err = Infallible;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        Ok(Self(text.to_owned()))
    }
}

fn targets(given: &Arguments, settings: &mut Settings) -> Result<Vec<String>, Failure> {
    let flag: Vec<Written> = given.aim.target.iter().cloned().map(Written).collect();
    let default = vec![Written(EMBEDDED.to_owned())];
    let targets = settings.list("target", &flag, default)?;
    Ok(targets.into_iter().map(|Written(target)| target).collect())
}

/// The profile of the embedded server; one that a plan names and nobody knows is
/// shown where it stands.
fn profile(
    given: &Arguments,
    plan: Option<&Plan>,
    settings: &mut Settings,
) -> Result<&'static Profile, Failure> {
    let usual = PROFILES[0].name.to_owned();
    let name = settings.resolve("profile", given.aim.profile.clone(), usual)?;
    serve::profile(&name).map_err(|failure| match plan {
        Some(plan) if plan.setting("profile").contains(&name) => {
            let known: Vec<&str> = PROFILES.iter().map(|profile| profile.name).collect();
            let near = nearest(&name, known.iter().copied());
            let help = match near {
                Some(near) => format!("did you mean `{near}`?"),
                None => format!("known: {}", known.join(", ")),
            };
            Failure::input(plan.error("profile", 0, "is no profile", help))
        }
        _ => failure,
    })
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

/// The folder that was given, or one named by the run's start and its plan or scenario.
pub(super) fn folder(given: &Arguments, planned: &Planned, manifest: &Manifest) -> PathBuf {
    if let Some(dir) = &given.out {
        return dir.clone();
    }
    let what = match (&planned.plan, planned.scenarios.as_slice()) {
        (Some(plan), _) => plan.name.to_string(),
        (None, [only]) => only.name.to_string(),
        (None, several) => format!("{}-scenarios", several.len()),
    };
    let name = format!("{}-{what}", manifest.started.compact());
    let numbered = (2..).map(|number| format!("{name}-{number}"));
    let names = std::iter::once(name.clone()).chain(numbered);
    let mut folders = names.map(|name| Path::new("reports").join(name));
    // Another run may have begun in the same second.
    folders.find(|folder| !folder.exists()).unwrap_or_default()
}
