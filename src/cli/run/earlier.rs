//! What earlier sessions of a run have done, so that it is not done again.

use crate::load::{Cell, Isolate};
use crate::record::Unfinished;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::time::Duration;

/// What was done in earlier sessions of a run, and stays.
#[derive(Default)]
pub(super) struct Earlier {
    /// Conversations that are not run again.
    pub(super) kept: BTreeSet<Arc<str>>,
    /// By the position of the cell.
    pub(super) cells: BTreeMap<usize, Done>,
}

/// What was done of a cell.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Done {
    /// Conversations that are not run again.
    pub(super) finished: BTreeSet<u32>,
    /// The last conversation of which anything was recorded that is to stand in the run.
    pub(super) begun: Option<u32>,
    /// How much of the cell's own time has passed.
    pub(super) passed: Duration,
}

impl Done {
    /// Whether nothing is left of the cell.
    fn is_whole(&self, cell: &Cell) -> bool {
        let over = cell.ends_by_time() && cell.until.is_some_and(|until| self.passed >= until);
        let last = if over {
            self.begun.unwrap_or(0)
        } else {
            cell.repeats
        };
        self.finished.range(..=last).count() as u64 >= u64::from(last)
    }
}

impl Earlier {
    /// What of `cells` was done before and stays. Where the conversations of a cell share
    /// its cache, it is run again whole: the rest of it alone would find another cache
    /// than the whole.
    pub(super) fn of(unfinished: &Unfinished, cells: &[Arc<Cell>], isolate: Isolate) -> Self {
        let mut finished = numbers(&unfinished.finished);
        let mut begun = numbers(&unfinished.begun);
        let mut set_aside = numbers(&unfinished.set_aside);
        let mut earlier = Self::default();
        for (number, cell) in cells.iter().enumerate() {
            let name = cell.name();
            let passed = unfinished.passed.get(&*name).copied();
            let done = Done {
                finished: finished.remove(&name).unwrap_or_default(),
                begun: last_begun(
                    &begun.remove(&name).unwrap_or_default(),
                    &set_aside.remove(&name).unwrap_or_default(),
                    isolate,
                ),
                passed: Duration::from_micros(passed.unwrap_or_default().0),
            };
            if isolate != Isolate::Cell || done.is_whole(cell) {
                let names = done
                    .finished
                    .iter()
                    .map(|&repeat| cell.conversation(repeat));
                earlier.kept.extend(names.map(Arc::from));
                earlier.cells.insert(number, done);
            }
        }
        earlier
    }
}

/// The last conversation of a cell that has to come to its end, of those that have begun and
/// those that were set aside: a session may have been killed before it ran them again. A cell
/// that is run again whole has nothing to do with what it began before, once it has begun.
fn last_begun(begun: &BTreeSet<u32>, set_aside: &BTreeSet<u32>, isolate: Isolate) -> Option<u32> {
    let (begun, set_aside) = (begun.last().copied(), set_aside.last().copied());
    match isolate {
        Isolate::Cell => begun.or(set_aside),
        _ => begun.max(set_aside),
    }
}

/// The numbers of conversations, by their cell.
fn numbers(names: &BTreeSet<Arc<str>>) -> BTreeMap<String, BTreeSet<u32>> {
    let mut by_cell: BTreeMap<String, BTreeSet<u32>> = BTreeMap::new();
    for name in names {
        // A conversation is called by its cell and its number.
        let Some((cell, repeat)) = name.rsplit_once('/') else {
            continue;
        };
        if let Ok(repeat) = repeat.parse() {
            by_cell.entry(cell.to_owned()).or_default().insert(repeat);
        }
    }
    by_cell
}
