//! Everything that a report shows, as data.

use super::difference::{Difference, Paired};
use super::evidence::{Evidence, evidence};
use super::figures::{Figures, figures, longest};
use super::fits::{Fit, fits};
use super::levels::LevelPlace;
use super::parallel::map;
use super::ranking::{Ranking, rankings};
use super::samples::{Cell, Sample, Samples};
use super::tables::{BreakTotal, TurnRow, break_totals, turns};
use super::unbilled::unbilled;
use crate::record::{Ending, Manifest};
use schemars::JsonSchema;
use serde::Serialize;
use std::borrow::Borrow;
use std::collections::HashMap;
use std::hash::Hash;
use std::sync::Arc;

/// Name and version of the form of `summary.json`.
pub const RESULTS_SCHEMA: &str = "prefixbench/results/1";

/// A row of the summary.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct SummaryRow {
    /// What it is about.
    pub cell: Cell,
    /// Its numbers.
    pub figures: Figures,
}

/// A configuration over all scenarios of a target, model and load level.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct Total {
    /// Which one.
    pub key: TotalKey,
    /// Its numbers.
    pub figures: Figures,
}

/// A configuration at a target, a model and a load level.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, JsonSchema)]
pub struct TotalKey {
    /// Configuration.
    pub configuration: Arc<str>,
    /// Target.
    pub target: Arc<str>,
    /// Model.
    pub model: Arc<str>,
    /// Load level.
    pub load: Arc<str>,
}

impl From<&Cell> for TotalKey {
    fn from(cell: &Cell) -> Self {
        Self {
            configuration: Arc::clone(&cell.configuration),
            target: Arc::clone(&cell.target),
            model: Arc::clone(&cell.model),
            load: Arc::clone(&cell.load),
        }
    }
}

impl TotalKey {
    /// Whether the two ran at the same target, model and load level, so that
    /// they can be compared.
    pub fn is_beside(&self, other: &Self) -> bool {
        self.target == other.target && self.model == other.model && self.load == other.load
    }
}

/// A configuration over the scenarios of one group.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct GroupTotal {
    /// The group.
    pub group: Arc<str>,
    /// Configuration, target, model and load level.
    pub key: TotalKey,
    /// Its numbers.
    pub figures: Figures,
}

/// What was measured on.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct TargetNote {
    /// Name.
    pub name: Arc<str>,
    /// Base URL without secrets.
    pub url: String,
    /// Dialect.
    pub dialect: Arc<str>,
    /// Model.
    pub model: Arc<str>,
    /// Whether it is the embedded server.
    pub simulated: bool,
    /// Seed of its run, with which its intervals are drawn.
    pub seed: u64,
    /// Cache model of the bounds.
    pub cache_model: Option<Arc<str>>,
    /// What counted the tokens of the bounds.
    pub tokenizer: Option<Arc<str>>,
    /// Day and source of its prices.
    pub price_source: Option<Arc<str>>,
}

/// What was compared.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
pub struct ConfigurationNote {
    /// Name.
    pub name: Arc<str>,
    /// The strategy that it is based on.
    pub base: Arc<str>,
}

/// The results of a run.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct Results {
    /// [`RESULTS_SCHEMA`].
    pub schema: &'static str,
    /// Version of the program that ran it.
    pub program: Arc<str>,
    /// Day of the run in UTC.
    pub date: String,
    /// How the run ended; `None`: it was killed, or still runs.
    pub ending: Option<Ending>,
    /// Seed of the run and of the intervals; beside other runs each target's own is drawn with.
    pub seed: u64,
    /// What was measured on.
    pub targets: Vec<TargetNote>,
    /// What was compared, in the order of every table.
    pub configurations: Vec<ConfigurationNote>,
    /// A row per group, scenario, configuration, target, model and load.
    pub rows: Vec<SummaryRow>,
    /// A row per configuration, target, model and load.
    pub totals: Vec<Total>,
    /// A row per group, configuration, target, model and load.
    pub groups: Vec<GroupTotal>,
    /// A row per cell and turn.
    pub turns: Vec<TurnRow>,
    /// Breaks by configuration, source and cause; most tokens lost first.
    pub breaks: Vec<BreakTotal>,
    /// How far to trust the rest.
    pub evidence: Evidence,
    /// Configurations against the first, pair by pair.
    pub differences: Vec<Difference>,
    /// The order of the configurations of each target, model and load level.
    pub rankings: Vec<Ranking>,
    /// Time to first token against computed tokens: first all configurations of
    /// a target, model and load level together, then each.
    pub fits: Vec<Fit>,
    /// What a person must know: lowercase sentences without a full stop.
    pub warnings: Vec<String>,
}

impl Results {
    /// The results of `samples`, in the manifest's order of scenarios,
    /// configurations and targets.
    pub fn new(manifest: &Manifest, samples: &Samples, warnings: Vec<String>) -> Self {
        let order = Order::new(manifest);
        let list = samples.list();
        let seed = |target: &str| samples.seed_of(target).unwrap_or(manifest.seed);
        let longest = longest(list);
        let cells = grouped(samples, Clone::clone, |cell| order.cell(cell));
        let totals = grouped(samples, |cell| TotalKey::from(cell), |key| order.total(key));
        let groups = grouped(
            samples,
            |cell| (Arc::clone(&cell.group), TotalKey::from(cell)),
            |(group, key)| (order.group(group), order.total(key)),
        );
        let paired = Paired::new(&totals, &longest);
        let rows = map(&cells, |(cell, samples)| SummaryRow {
            cell: cell.clone(),
            figures: figures(samples, seed(&cell.target), &longest),
        });
        let summed = map(&totals, |(key, samples)| Total {
            key: key.clone(),
            figures: figures(samples, seed(&key.target), &longest),
        });
        Self {
            schema: RESULTS_SCHEMA,
            program: Arc::clone(&manifest.program),
            date: manifest.started.date(),
            ending: manifest.ending.clone(),
            seed: manifest.seed,
            targets: targets(manifest, seed),
            configurations: configurations(manifest),
            groups: map(&groups, |((group, key), samples)| GroupTotal {
                group: Arc::clone(group),
                key: key.clone(),
                figures: figures(samples, seed(&key.target), &longest),
            }),
            turns: map(&cells, |(cell, samples)| turns(cell, samples)).concat(),
            breaks: break_totals(list, &order),
            evidence: evidence(list),
            differences: paired.differences(seed),
            rankings: rankings(&summed, &rows, &paired, seed),
            fits: fits(&totals, seed),
            rows,
            totals: summed,
            warnings: warnings.into_iter().chain(unbilled(list)).collect(),
        }
    }

    /// The seed with which intervals of a target are drawn: that of its run.
    pub fn seed_of(&self, target: &str) -> u64 {
        let known = self.targets.iter().find(|known| *known.name == *target);
        known.map_or(self.seed, |known| known.seed)
    }

    /// The ranking that a configuration stands in.
    pub fn ranking(&self, key: &TotalKey) -> Option<&Ranking> {
        self.rankings.iter().find(|ranking| ranking.is_of(key))
    }

    /// Whether any of it was measured on the embedded server.
    pub fn simulated(&self) -> bool {
        self.targets.iter().any(|target| target.simulated)
    }
}

fn configurations(manifest: &Manifest) -> Vec<ConfigurationNote> {
    let note = |facts: &crate::record::ConfigurationFacts| ConfigurationNote {
        name: Arc::clone(&facts.name),
        base: Arc::clone(&facts.base),
    };
    manifest.configurations.iter().map(note).collect()
}

fn targets(manifest: &Manifest, seed: impl Fn(&str) -> u64) -> Vec<TargetNote> {
    let note = |target: &crate::record::TargetFacts| TargetNote {
        name: Arc::clone(&target.name),
        url: target.url.as_str().to_owned(),
        dialect: Arc::clone(&target.dialect),
        model: Arc::clone(&target.model),
        simulated: target.simulated,
        seed: seed(&target.name),
        cache_model: target.cache_model.clone(),
        tokenizer: target.tokenizer.clone(),
        price_source: target.price.as_ref().map(|price| Arc::clone(&price.source)),
    };
    manifest.targets.iter().map(note).collect()
}

/// Places of names in the manifest; names that it lacks come behind, by name.
pub(super) struct Order {
    groups: HashMap<Arc<str>, usize>,
    scenarios: HashMap<Arc<str>, usize>,
    configurations: HashMap<Arc<str>, usize>,
    targets: HashMap<Arc<str>, usize>,
}

/// A place in a table: known names by place, others by name.
type Place = (usize, Arc<str>);

impl Order {
    pub(super) fn new(manifest: &Manifest) -> Self {
        fn places<N: Borrow<Arc<str>>>(names: impl Iterator<Item = N>) -> HashMap<Arc<str>, usize> {
            names
                .enumerate()
                .map(|(at, name)| (Arc::clone(name.borrow()), at))
                .collect()
        }
        Self {
            groups: first_places(manifest),
            scenarios: places(manifest.scenarios.iter().map(|facts| &facts.name)),
            configurations: places(manifest.configurations.iter().map(|facts| &facts.name)),
            targets: places(manifest.targets.iter().map(|facts| &facts.name)),
        }
    }

    fn place(places: &HashMap<Arc<str>, usize>, name: &Arc<str>) -> Place {
        (
            places.get(name).copied().unwrap_or(usize::MAX),
            Arc::clone(name),
        )
    }

    pub(super) fn group(&self, group: &Arc<str>) -> Place {
        Self::place(&self.groups, group)
    }

    pub(super) fn cell(&self, cell: &Cell) -> impl Ord + use<> {
        (
            self.group(&cell.group),
            Self::place(&self.scenarios, &cell.scenario),
            self.total(&TotalKey::from(cell)),
        )
    }

    pub(super) fn total(&self, key: &TotalKey) -> impl Ord + use<> {
        (
            Self::place(&self.targets, &key.target),
            Arc::clone(&key.model),
            LevelPlace::from(&key.load),
            Self::place(&self.configurations, &key.configuration),
        )
    }
}

/// The place at which each group first appears among the scenarios.
fn first_places(manifest: &Manifest) -> HashMap<Arc<str>, usize> {
    let mut places = HashMap::new();
    for (at, facts) in manifest.scenarios.iter().enumerate() {
        places.entry(Arc::clone(&facts.group)).or_insert(at);
    }
    places
}

/// Samples by a key of their cells, in the order that `place` gives the keys.
fn grouped<K: Eq + Hash + Clone, P: Ord>(
    samples: &Samples,
    key: impl Fn(&Cell) -> K,
    place: impl Fn(&K) -> P,
) -> Vec<(K, Vec<&Sample>)> {
    let mut groups: Vec<(K, Vec<&Sample>)> = Vec::new();
    let mut known: HashMap<K, usize> = HashMap::new();
    let of_cell: Vec<usize> = samples
        .cells()
        .iter()
        .map(|cell| {
            let key = key(cell);
            *known.entry(key.clone()).or_insert_with(|| {
                groups.push((key, Vec::new()));
                groups.len() - 1
            })
        })
        .collect();
    for sample in samples.list() {
        groups[of_cell[sample.cell_index as usize]].1.push(sample);
    }
    groups.sort_by_cached_key(|(key, _)| place(key));
    groups
}
