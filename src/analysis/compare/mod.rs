//! One run against another, or one configuration against another.
//!
//! Conversations are matched by scenario, target, load level and repeat, and
//! requests by turn, so that what differs between scenarios falls out of every
//! difference, and what one side failed at does not look like what it saved. What is
//! said of a conversation is said of those that are whole on both sides.
//!
//! Invariants: a difference stands only where it can be told at this sample
//! size; what cannot be compared is left out and named, never shown as a number.

mod draws;
mod matching;
mod measures;
#[cfg(test)]
mod tests;

pub use measures::{Better, Change, Told};

use super::rules::Facts;
use super::samples::Sample;
use crate::record::Manifest;
use matching::{Pair, matched};
use std::collections::BTreeSet;
use std::sync::Arc;

/// One of the two runs.
#[derive(Clone, Copy)]
pub struct Side<'a> {
    /// What was run.
    pub manifest: &'a Manifest,
    /// Its requests.
    pub samples: &'a [Sample],
}

/// What is compared with what.
#[derive(Clone, Debug, Default)]
pub struct Choice {
    /// Configuration of the base and of the candidate; `None`: each with itself.
    pub configurations: Option<(String, String)>,
    /// Whether scenarios are compared whose files have changed.
    pub changed_scenarios: bool,
}

/// What a row is about.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Level {
    /// Every configuration together.
    All,
    /// A configuration over all scenarios.
    Configuration,
    /// A configuration in one scenario.
    Scenario(Arc<str>),
}

/// A difference of everything that is measured, over some conversations.
#[derive(Clone, Debug)]
pub struct Row {
    /// What it is about.
    pub level: Level,
    /// Configuration of the base and of the candidate; empty at [`Level::All`].
    pub configurations: (Arc<str>, Arc<str>),
    /// Target of the base and of the candidate.
    pub targets: (Arc<str>, Arc<str>),
    /// Load level.
    pub load: Arc<str>,
    /// Conversations that both have, with a count on both sides.
    pub pairs: usize,
    /// How many of them are independent of each other: the configurations of a scenario
    /// and repeat are one.
    pub independent: usize,
    /// Requests that both have counted.
    pub requests: usize,
    /// What has changed.
    pub changes: Vec<Change>,
}

/// One run against another.
#[derive(Clone, Debug)]
pub struct Comparison {
    /// What a person must know: lowercase sentences without a full stop.
    pub notes: Vec<String>,
    /// What was not compared, and why.
    pub left_out: Vec<String>,
    /// Whether conversations were drawn in pairs.
    pub paired: bool,
    /// The differences; none where nothing can be compared.
    pub rows: Vec<Row>,
}

/// Compares `candidate` with `base`. Intervals are drawn with the candidate's seed.
pub fn compare(base: Side<'_>, candidate: Side<'_>, choice: &Choice) -> Comparison {
    let (own, other) = (Facts::from(candidate.manifest), Facts::from(base.manifest));
    let mut left_out = Vec::new();
    let changed: BTreeSet<String> = own.changed_scenarios(&other).into_iter().collect();
    let skipped = if choice.changed_scenarios {
        BTreeSet::new()
    } else {
        changed.clone()
    };
    if !skipped.is_empty() {
        let names: Vec<&str> = skipped.iter().map(String::as_str).collect();
        left_out.push(format!(
            "changed between the two runs, so that a difference would be one of scenarios: {}",
            names.join(", ")
        ));
    }
    let mut notes = own.target_differences(&other, "the base");
    if choice.changed_scenarios && !changed.is_empty() {
        let names: Vec<&str> = changed.iter().map(String::as_str).collect();
        notes.push(format!(
            "compared although their files differ: {}",
            names.join(", ")
        ));
    }
    let paired = base.manifest.seed == candidate.manifest.seed;
    if !paired {
        notes.push(
            "the runs have different seeds: conversations of both are drawn apart, not in pairs, and \
             intervals are wider for it"
                .to_owned(),
        );
    }
    let found = matched(base, candidate, choice, &skipped);
    left_out.extend(found.left_out);
    notes.extend(found.notes);
    let conditions = measures::Conditions::new(&own, &other);
    let seed = candidate.manifest.seed;
    let rows = grouped(&found.pairs)
        .into_iter()
        .map(|(key, pairs)| row(key, &pairs, paired, seed, &conditions))
        .collect();
    Comparison {
        notes,
        left_out,
        paired,
        rows,
    }
}

/// What a row is about, its level last.
type Key = ((Arc<str>, Arc<str>), (Arc<str>, Arc<str>), Arc<str>, Level);

/// Pairs by row: each configuration with its scenarios behind it, and all
/// together where there are several configurations.
fn grouped(pairs: &[Pair]) -> Vec<(Key, Vec<&Pair>)> {
    let mut rows: Vec<(Key, Vec<&Pair>)> = Vec::new();
    let mut add = |key: Key, pair| match rows.iter_mut().find(|(known, _)| *known == key) {
        Some((_, members)) => members.push(pair),
        None => rows.push((key, vec![pair])),
    };
    let several = |number: usize| number > 1;
    let configurations: BTreeSet<_> = pairs.iter().map(|pair| &pair.configurations).collect();
    let scenarios: BTreeSet<_> = pairs.iter().map(|pair| &pair.scenario).collect();
    for pair in pairs {
        let key = |level| {
            let (targets, load) = (pair.targets.clone(), Arc::clone(&pair.load));
            (pair.configurations.clone(), targets, load, level)
        };
        if several(configurations.len()) {
            let (_, targets, load, level) = key(Level::All);
            let none: Arc<str> = Arc::from("");
            add(((Arc::clone(&none), none), targets, load, level), pair);
        }
        add(key(Level::Configuration), pair);
        if several(scenarios.len()) {
            add(key(Level::Scenario(Arc::clone(&pair.scenario))), pair);
        }
    }
    // All first, then each configuration with its scenarios, as they came.
    let order: Vec<_> = rows
        .iter()
        .map(|(key, _)| (key.0.clone(), key.1.clone(), key.2.clone()))
        .collect();
    let place = |key: &Key| {
        let own = (key.0.clone(), key.1.clone(), key.2.clone());
        let first = order.iter().position(|known| *known == own);
        (
            key.3 != Level::All,
            first,
            matches!(key.3, Level::Scenario(_)),
        )
    };
    rows.sort_by_key(|(key, _)| place(key));
    rows
}

fn row(
    (configurations, targets, load, level): Key,
    pairs: &[&Pair],
    paired: bool,
    seed: u64,
    conditions: &measures::Conditions,
) -> Row {
    let counted: Vec<&Pair> = pairs
        .iter()
        .filter(|pair| pair.requests > 0)
        .copied()
        .collect();
    Row {
        level,
        configurations,
        targets,
        load,
        pairs: counted.len(),
        independent: measures::independent(&counted),
        requests: pairs.iter().map(|pair| pair.requests).sum(),
        changes: measures::changes(pairs, paired, seed, conditions),
    }
}
