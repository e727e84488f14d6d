//! Paired differences between configurations.
//!
//! Two configurations are compared over the conversations that both have run:
//! same scenario, target, model, load and repeat. What differs between
//! scenarios then falls out of the difference.

use super::results::{Order, TotalKey};
use super::samples::{Cell, Sample};
use super::stats::{Interval, Ratio, difference_interval, mean_interval};
use serde::Serialize;
use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;

/// A difference, and how sure it is.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Estimate {
    /// Candidate less base.
    pub difference: f64,
    /// Its 95 % interval; `None`: cannot tell at this sample size.
    pub interval: Option<Interval>,
}

impl Estimate {
    /// Whether the interval leaves out 0.
    pub fn is_clear(&self) -> bool {
        self.interval
            .is_some_and(|interval| interval.low > 0.0 || interval.high < 0.0)
    }
}

/// A configuration against another, over the conversations that both ran.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Difference {
    /// What it is compared with.
    pub base: TotalKey,
    /// What is compared.
    pub candidate: TotalKey,
    /// Conversations that both ran.
    pub pairs: usize,
    /// Of the cached share, as a fraction of 1.
    pub cached_share: Option<Estimate>,
    /// Of the computed tokens of a conversation.
    pub computed: Option<Estimate>,
}

/// What tells the conversations of one configuration apart.
type Place = (Arc<str>, Arc<str>, u32);

/// Read and total of a configuration's counted requests, by conversation.
type Conversations = BTreeMap<Place, BTreeMap<(u32, u32), Ratio>>;

/// Every configuration against the first one of its target, model and load.
pub(super) fn differences(list: &[Sample], order: &Order, seed: u64) -> Vec<Difference> {
    let mut by_key: HashMap<TotalKey, Conversations> = HashMap::new();
    for sample in list {
        let Some((total, read)) = sample.counted() else {
            continue;
        };
        let (turn, request, _) = sample.place;
        by_key
            .entry(TotalKey::from(&*sample.cell))
            .or_default()
            .entry(place(&sample.cell, sample.repeat))
            .or_default()
            .insert(
                (turn, request),
                Ratio {
                    part: read.0 as f64,
                    whole: total.0 as f64,
                },
            );
    }
    let mut all: Vec<_> = by_key.into_iter().collect();
    all.sort_by_cached_key(|(key, _)| order.total(key));
    let mut found = Vec::new();
    let mut base: Option<&(TotalKey, Conversations)> = None;
    for candidate in &all {
        match base {
            Some(base) if comparable(&base.0, &candidate.0) => {
                found.push(difference(base, candidate, seed));
            }
            _ => base = Some(candidate),
        }
    }
    found
}

fn place(cell: &Cell, repeat: u32) -> Place {
    (Arc::clone(&cell.group), Arc::clone(&cell.scenario), repeat)
}

fn comparable(a: &TotalKey, b: &TotalKey) -> bool {
    a.target == b.target && a.model == b.model && a.load == b.load
}

fn difference(
    (base, base_units): &(TotalKey, Conversations),
    (candidate, candidate_units): &(TotalKey, Conversations),
    seed: u64,
) -> Difference {
    let pairs: Vec<(Ratio, Ratio)> = base_units
        .iter()
        .filter_map(|(place, base)| counted_in_both(base, candidate_units.get(place)?))
        .collect();
    let computed: Vec<f64> = pairs
        .iter()
        .map(|(base, candidate)| (candidate.whole - candidate.part) - (base.whole - base.part))
        .collect();
    Difference {
        base: base.clone(),
        candidate: candidate.clone(),
        pairs: pairs.len(),
        cached_share: share_difference(&pairs).map(|difference| Estimate {
            difference,
            interval: difference_interval(&pairs, seed),
        }),
        computed: (!computed.is_empty()).then(|| Estimate {
            difference: computed.iter().sum::<f64>() / computed.len() as f64,
            interval: mean_interval(&computed, seed),
        }),
    }
}

/// Sums of both sides over the requests that have a count on both: what one
/// side failed at must not look like what it saved.
fn counted_in_both(
    base: &BTreeMap<(u32, u32), Ratio>,
    candidate: &BTreeMap<(u32, u32), Ratio>,
) -> Option<(Ratio, Ratio)> {
    let (mut sums, mut any) = ((Ratio::default(), Ratio::default()), false);
    for (request, one) in base {
        let Some(other) = candidate.get(request) else {
            continue;
        };
        any = true;
        sums.0.part += one.part;
        sums.0.whole += one.whole;
        sums.1.part += other.part;
        sums.1.whole += other.whole;
    }
    any.then_some(sums)
}

fn share_difference(pairs: &[(Ratio, Ratio)]) -> Option<f64> {
    let share = |side: fn(&(Ratio, Ratio)) -> Ratio| {
        let (part, whole) = pairs.iter().map(side).fold((0.0, 0.0), |sum, unit| {
            (sum.0 + unit.part, sum.1 + unit.whole)
        });
        (whole > 0.0).then(|| part / whole)
    };
    Some(share(|pair| pair.1)? - share(|pair| pair.0)?)
}
