//! What rules are judged over: the requests of a run, or of a prediction.

use super::metrics::Known;
use super::selection::{Dimension, Selection};
use crate::analysis::figures::{Figures, Longest, figures, longest};
use crate::analysis::samples::{Cell, Sample};
use crate::record::Outcome;
use crate::units::{Share, Tokens};
use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet};
use std::sync::Arc;

/// Requests that figures are taken over.
#[derive(Debug)]
pub struct Measured {
    samples: Vec<Sample>,
    longest: Longest,
    cells: BTreeSet<Arc<Cell>>,
    seed: u64,
    predicted: bool,
}

/// Whole conversations of each scenario.
pub(super) type Support = BTreeMap<Arc<str>, u64>;

/// The figures of a selection, and what they rest on.
#[derive(Debug)]
pub(super) struct Taken {
    pub(super) figures: Figures,
    pub(super) breaks: (u64, Option<Tokens>),
    pub(super) support: Support,
    /// Conversations, whole or not.
    pub(super) conversations: u64,
}

impl Taken {
    pub(super) fn known(&self) -> Known<'_> {
        Known {
            figures: &self.figures,
            breaks: self.breaks,
        }
    }
}

impl Measured {
    /// The requests of a run; intervals are drawn with its seed.
    pub fn run(samples: Vec<Sample>, seed: u64) -> Self {
        Self::new(samples, seed, false)
    }

    /// Requests that were never sent: `total` is what a tokenizer counted, `bound`
    /// what the cache model allows, and nothing was read.
    pub fn prediction(samples: Vec<Sample>) -> Self {
        Self::new(samples, 0, true)
    }

    fn new(samples: Vec<Sample>, seed: u64, predicted: bool) -> Self {
        Self {
            longest: longest(&samples),
            cells: samples
                .iter()
                .map(|sample| Arc::clone(&sample.cell))
                .collect(),
            samples,
            seed,
            predicted,
        }
    }

    /// Whether nothing was sent.
    pub fn is_predicted(&self) -> bool {
        self.predicted
    }

    /// What its requests belong to, each once.
    pub fn cells(&self) -> impl Iterator<Item = &Cell> {
        self.cells.iter().map(|cell| &**cell)
    }

    /// The names in a dimension, each once.
    pub fn names(&self, dimension: Dimension) -> BTreeSet<Arc<str>> {
        self.cells
            .iter()
            .map(|cell| Arc::clone(dimension.of(cell)))
            .collect()
    }

    /// Figures over what a selection holds; `None` where it holds nothing.
    pub(super) fn take(&self, selection: &Selection) -> Option<Taken> {
        let cells: HashSet<_> = self
            .cells
            .iter()
            .filter(|cell| selection.holds(cell))
            .collect();
        let chosen = self
            .samples
            .iter()
            .filter(|sample| cells.contains(&sample.cell));
        let chosen: Vec<&Sample> = chosen.collect();
        if chosen.is_empty() {
            return None;
        }
        let (support, conversations) = self.support(&chosen);
        let figures = if self.predicted {
            predicted(&chosen)
        } else {
            figures(&chosen, self.seed, &self.longest)
        };
        Some(Taken {
            figures,
            breaks: breaks(&chosen),
            support,
            conversations,
        })
    }

    /// Conversations of which every request has a count, by scenario, and how
    /// many conversations there are.
    fn support(&self, chosen: &[&Sample]) -> (Support, u64) {
        let mut counts: HashMap<&Arc<str>, (&Arc<str>, u64)> = HashMap::new();
        for sample in chosen {
            let entry = counts
                .entry(&sample.conversation)
                .or_insert((&sample.cell.scenario, 0));
            let known = if self.predicted {
                sample.total.is_some() && sample.bound.is_some()
            } else {
                sample.counted().is_some()
            };
            entry.1 += u64::from(known);
        }
        let conversations = counts.len() as u64;
        let mut support = Support::new();
        for (scenario, counted) in counts.into_values() {
            if Some(&counted) >= self.longest.get(scenario) {
                *support.entry(Arc::clone(scenario)).or_default() += 1;
            }
        }
        (support, conversations)
    }
}

/// Requests whose prefix broke, and what was lost; `None` where one was not counted.
fn breaks(chosen: &[&Sample]) -> (u64, Option<Tokens>) {
    let broken = chosen
        .iter()
        .filter(|sample| sample.outcome == Outcome::Ok)
        .filter_map(|sample| sample.broke.as_ref());
    let (mut count, mut lost) = (0, Some(Tokens(0)));
    for broke in broken {
        count += 1;
        lost = lost.zip(broke.lost).map(|(sum, lost)| sum + lost);
    }
    (count, lost)
}

/// What a prediction can say: nothing of what a server read, took or cost.
/// Computed is what the cache model leaves to be computed at best.
fn predicted(chosen: &[&Sample]) -> Figures {
    let of = |value: fn(&Sample) -> Option<Tokens>| -> Option<Tokens> {
        chosen.iter().map(|sample| value(sample)).sum()
    };
    let (total, bound) = (of(|sample| sample.total), of(|sample| sample.bound));
    let computed = total
        .zip(bound)
        .map(|(total, bound)| total.saturating_sub(bound));
    let conversations: HashSet<_> = chosen.iter().map(|sample| &sample.conversation).collect();
    let conversations = conversations.len() as u64;
    Figures {
        requests: chosen.len() as u64,
        conversations,
        total,
        bound,
        eligible: of(|sample| sample.eligible),
        computed,
        computed_per_conversation: computed.map(|sum| sum.0 as f64 / conversations as f64),
        achievable_share: bound
            .zip(total)
            .and_then(|(part, whole)| Share { part, whole }.fraction()),
        ..Figures::default()
    }
}
