//! Conversations of two runs, side by side.

use super::{Choice, Side};
use crate::analysis::samples::Sample;
use crate::record::Manifest;
use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::sync::Arc;

/// Sums of one side of a pair, over the requests that both have counted.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct Sums {
    pub(super) total: f64,
    pub(super) read: f64,
    /// `None` where one of the requests has no bound.
    pub(super) bound: Option<f64>,
    /// `None` where one of the requests has no price.
    pub(super) cost: Option<f64>,
    /// Of requests that have a time on both sides, in microseconds.
    pub(super) ttft: Vec<f64>,
}

/// A conversation that both sides have.
#[derive(Clone, Debug)]
pub(super) struct Pair {
    pub(super) scenario: Arc<str>,
    pub(super) configurations: (Arc<str>, Arc<str>),
    pub(super) targets: (Arc<str>, Arc<str>),
    pub(super) load: Arc<str>,
    pub(super) base: Sums,
    pub(super) candidate: Sums,
    /// Requests that both have counted.
    pub(super) requests: usize,
}

pub(super) struct Matched {
    pub(super) pairs: Vec<Pair>,
    /// What has no counterpart.
    pub(super) left_out: Vec<String>,
    /// What has one that is not quite the same.
    pub(super) notes: Vec<String>,
}

/// What tells the conversations of one configuration apart.
#[derive(Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
struct Place {
    target: Arc<str>,
    load: Arc<str>,
    scenario: Arc<str>,
    repeat: u32,
}

/// Answered and counted requests of a conversation, by turn and request.
type Requests<'a> = BTreeMap<(u32, u32), &'a Sample>;

/// The conversations of a configuration; those without a single count have no requests.
type Conversations<'a> = BTreeMap<Place, Requests<'a>>;

/// Pairs in the order of the candidate's manifest, and what has no counterpart.
pub(super) fn matched(
    base: Side<'_>,
    candidate: Side<'_>,
    choice: &Choice,
    skipped: &BTreeSet<String>,
) -> Matched {
    let mut found = Matched {
        pairs: Vec::new(),
        left_out: Vec::new(),
        notes: Vec::new(),
    };
    let targets = targets(base.manifest, candidate.manifest);
    lonely_targets(
        base.manifest,
        candidate.manifest,
        &targets,
        &mut found.left_out,
    );
    let (before, now) = (
        conversations(base.samples, skipped),
        conversations(candidate.samples, skipped),
    );
    for (own, other) in configurations(base.manifest, candidate.manifest, choice, &mut found) {
        let empty = Conversations::new();
        let (before, now) = (
            before.get(&*other).unwrap_or(&empty),
            now.get(&*own).unwrap_or(&empty),
        );
        side_by_side(&mut found, (&other, before), (&own, now), &targets);
    }
    order(&mut found.pairs, candidate.manifest);
    found
}

/// Scenarios in the order of the manifest.
fn order(pairs: &mut [Pair], manifest: &Manifest) {
    let place = |name: &Arc<str>| {
        manifest
            .scenarios
            .iter()
            .position(|facts| facts.name == *name)
    };
    pairs.sort_by_key(|pair| place(&pair.scenario));
}

/// Names of targets that stand for each other: the same name, or the only one of each.
fn targets(base: &Manifest, candidate: &Manifest) -> HashMap<Arc<str>, Arc<str>> {
    if let ([other], [own]) = (base.targets.as_slice(), candidate.targets.as_slice()) {
        return HashMap::from([(Arc::clone(&own.name), Arc::clone(&other.name))]);
    }
    let own = candidate.targets.iter().map(|target| &target.name);
    let both = own.filter(|name| base.target(name).is_some());
    both.map(|name| (Arc::clone(name), Arc::clone(name)))
        .collect()
}

fn lonely_targets(
    base: &Manifest,
    candidate: &Manifest,
    both: &HashMap<Arc<str>, Arc<str>>,
    left_out: &mut Vec<String>,
) {
    for target in &candidate.targets {
        if !both.contains_key(&target.name) {
            left_out.push(format!(
                "target `{}`, which only the candidate has",
                target.name
            ));
        }
    }
    for target in &base.targets {
        if !both.values().any(|name| *name == target.name) {
            left_out.push(format!("target `{}`, which only the base has", target.name));
        }
    }
}

/// Candidate's and base's configuration of each comparison.
fn configurations(
    base: &Manifest,
    candidate: &Manifest,
    choice: &Choice,
    found: &mut Matched,
) -> Vec<(Arc<str>, Arc<str>)> {
    let (left_out, notes) = (&mut found.left_out, &mut found.notes);
    if let Some((other, own)) = &choice.configurations {
        return vec![(Arc::from(own.as_str()), Arc::from(other.as_str()))];
    }
    let mut both = Vec::new();
    for facts in &candidate.configurations {
        match base
            .configurations
            .iter()
            .find(|other| other.name == facts.name)
        {
            None => left_out.push(format!(
                "configuration `{}`, which only the candidate has",
                facts.name
            )),
            Some(other) => {
                if (&other.base, &other.options) != (&facts.base, &facts.options) {
                    notes.push(format!(
                        "the options of configuration `{}` differ between the two runs",
                        facts.name
                    ));
                }
                both.push((Arc::clone(&facts.name), Arc::clone(&other.name)));
            }
        }
    }
    for facts in &base.configurations {
        if !candidate
            .configurations
            .iter()
            .any(|own| own.name == facts.name)
        {
            left_out.push(format!(
                "configuration `{}`, which only the base has",
                facts.name
            ));
        }
    }
    both
}

/// Conversations by configuration.
fn conversations<'a>(
    samples: &'a [Sample],
    skipped: &BTreeSet<String>,
) -> HashMap<Arc<str>, Conversations<'a>> {
    let mut found: HashMap<Arc<str>, Conversations<'a>> = HashMap::new();
    for sample in samples
        .iter()
        .filter(|sample| !skipped.contains(&*sample.cell.scenario))
    {
        let cell = &sample.cell;
        let place = Place {
            target: Arc::clone(&cell.target),
            load: Arc::clone(&cell.load),
            scenario: Arc::clone(&cell.scenario),
            repeat: sample.repeat,
        };
        let configuration = found.entry(Arc::clone(&cell.configuration)).or_default();
        let requests = configuration.entry(place).or_default();
        if sample.counted().is_some() {
            let (turn, request, _) = sample.place;
            requests.insert((turn, request), sample);
        }
    }
    found
}

fn side_by_side(
    found: &mut Matched,
    (other, before): (&Arc<str>, &Conversations<'_>),
    (own, now): (&Arc<str>, &Conversations<'_>),
    targets: &HashMap<Arc<str>, Arc<str>>,
) {
    let (mut alone, mut uncounted, mut matched) = (0_usize, 0_usize, 0_usize);
    for (place, requests) in now {
        let Some(target) = targets.get(&place.target) else {
            continue;
        };
        let there = Place {
            target: Arc::clone(target),
            ..place.clone()
        };
        let Some(earlier) = before.get(&there) else {
            alone += 1;
            continue;
        };
        matched += 1;
        let both: Vec<_> = requests
            .iter()
            .filter_map(|(at, now)| Some((*earlier.get(at)?, *now)))
            .collect();
        uncounted += requests.len().max(earlier.len()) - both.len();
        if both.is_empty() {
            continue;
        }
        found.pairs.push(Pair {
            scenario: Arc::clone(&place.scenario),
            configurations: (Arc::clone(other), Arc::clone(own)),
            targets: (Arc::clone(target), Arc::clone(&place.target)),
            load: Arc::clone(&place.load),
            base: sums(both.iter().map(|(before, now)| (*before, *now))),
            candidate: sums(both.iter().map(|(before, now)| (*now, *before))),
            requests: both.len(),
        });
    }
    let missing = before.len().saturating_sub(matched);
    let name = if own == other {
        format!("`{own}`")
    } else {
        format!("`{own}` against `{other}`")
    };
    if alone + missing > 0 {
        let many = counted(alone + missing, "conversation");
        found.left_out.push(format!(
            "of {name}, {many} that only one side has (another scenario, load level or repeat)"
        ));
    }
    if uncounted > 0 {
        let many = counted(uncounted, "request");
        found
            .left_out
            .push(format!("of {name}, {many} with a count on one side only"));
    }
}

/// `1 request`, `2 requests`.
fn counted(number: usize, noun: &str) -> String {
    let plural = if number == 1 { "" } else { "s" };
    format!("{number} {noun}{plural}")
}

/// Sums of the first of each two requests.
fn sums<'a>(both: impl Iterator<Item = (&'a Sample, &'a Sample)>) -> Sums {
    let mut sums = Sums {
        bound: Some(0.0),
        cost: Some(0.0),
        ..Sums::default()
    };
    for (one, other) in both {
        let (total, read) = one.counted().unwrap_or_default();
        sums.total += total.0 as f64;
        sums.read += read.0 as f64;
        sums.bound = sums
            .bound
            .zip(one.bound)
            .map(|(sum, bound)| sum + bound.0 as f64);
        sums.cost = sums.cost.zip(one.cost).map(|(sum, cost)| sum + cost.usd());
        if other.ttft.is_some() {
            sums.ttft.extend(one.ttft.map(|ttft| ttft.0 as f64));
        }
    }
    sums
}
