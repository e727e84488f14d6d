//! One configuration on several targets or models, over the requests that all of them
//! answered with a count.
//!
//! Invariants: a request is the same on two targets where it has the same scenario,
//! repeat, turn and number in its turn; what one of them did not count is in no side,
//! unless that one counted nothing at all.

use super::TotalKey;
use super::samples::{Sample, Samples};
use super::stats::{Interval, Ratio, ratio_interval};
use crate::units::{Share, Tokens};
use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;

/// A configuration at a load level, on all targets and models that it ran on.
#[derive(Clone, Debug, PartialEq)]
pub struct Across {
    /// Configuration.
    pub configuration: Arc<str>,
    /// Load level.
    pub load: Arc<str>,
    /// At least two.
    pub sides: Vec<Side>,
}

/// What one of them made of the requests that all have counted.
#[derive(Clone, Debug, PartialEq)]
pub struct Side {
    /// Configuration, target, model and load level.
    pub key: TotalKey,
    /// Cached share; `None` where nothing is in common.
    pub share: Option<f64>,
    /// Achievable share; `None` where a bound is not known.
    pub achievable: Option<f64>,
    /// Requests that all sides counted; 0 where this one counted none.
    pub requests: u64,
    /// Requests that this one counted, those that another lacks among them.
    pub counted: u64,
    /// Read and all tokens of each conversation, in the order of their names.
    units: Vec<Ratio>,
}

impl Side {
    /// The 95 % interval of the share; `None` below two conversations.
    pub fn interval(&self, seed: u64) -> Option<Interval> {
        ratio_interval(&self.units, seed)
    }

    /// Conversations that these requests belong to.
    pub fn conversations(&self) -> u64 {
        self.units.len() as u64
    }
}

/// A place in the plan of a run: scenario and its group, repeat, turn, request.
type Request = (u32, u32, u32, u32);

/// What one side counted.
type Counted<'a> = HashMap<Request, &'a Sample>;

/// The sides of a configuration at a load level.
type Sides<'a> = BTreeMap<TotalKey, Counted<'a>>;

/// Every configuration and load level with two targets or models.
pub(super) fn across(samples: &Samples) -> Vec<Across> {
    let mut scenarios = HashMap::new();
    let mut keys: BTreeMap<(Arc<str>, Arc<str>), Sides<'_>> = BTreeMap::new();
    let mut of_cell = Vec::new();
    for cell in samples.cells() {
        let next = scenarios.len();
        let scenario = *scenarios
            .entry((&cell.group, &cell.scenario))
            .or_insert(next);
        let place = (Arc::clone(&cell.configuration), Arc::clone(&cell.load));
        let key = TotalKey::from(&**cell);
        let sides = keys.entry(place.clone()).or_default();
        sides.entry(key.clone()).or_default();
        of_cell.push((u32::try_from(scenario).unwrap_or(u32::MAX), place, key));
    }
    keys.retain(|_, sides| sides.len() > 1);
    for sample in samples.list() {
        let (scenario, place, key) = &of_cell[sample.cell_index as usize];
        let side = keys.get_mut(place).and_then(|sides| sides.get_mut(key));
        if let Some(side) = side.filter(|_| sample.counted().is_some()) {
            let (turn, request, _) = sample.place;
            side.insert((*scenario, sample.repeat, turn, request), sample);
        }
    }
    let compared = keys
        .into_iter()
        .map(|((configuration, load), sides)| Across {
            configuration,
            load,
            sides: compared(&sides),
        });
    compared.collect()
}

fn compared(sides: &Sides<'_>) -> Vec<Side> {
    let some: Vec<&Counted<'_>> = sides.values().filter(|side| !side.is_empty()).collect();
    let shared = |request: &Request| some.iter().all(|side| side.contains_key(request));
    let side = |(key, counted): (&TotalKey, &Counted<'_>)| {
        let mut conversations: BTreeMap<&Arc<str>, Ratio> = BTreeMap::new();
        let (mut read, mut bound) = (Share::default(), Some(Tokens(0)));
        let mut requests = 0;
        for (_, sample) in counted.iter().filter(|(request, _)| shared(request)) {
            let Some((total, taken)) = sample.counted() else {
                continue;
            };
            requests += 1;
            read.part += taken;
            read.whole += total;
            bound = bound.zip(sample.bound).map(|(sum, one)| sum + one);
            let unit = conversations.entry(&sample.conversation).or_default();
            unit.part += taken.0 as f64;
            unit.whole += total.0 as f64;
        }
        let whole = read.whole;
        Side {
            key: key.clone(),
            share: read.fraction(),
            achievable: bound.and_then(|part| Share { part, whole }.fraction()),
            requests,
            counted: counted.len() as u64,
            units: conversations.into_values().collect(),
        }
    };
    sides.iter().map(side).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::analysis::testing::{counted, manifest};
    use crate::record::RequestRecord;

    fn on(target: &str, conversation: &str, turn: u32, tokens: (u64, u64)) -> RequestRecord {
        let (total, read) = tokens;
        let mut record = counted("dev", 1, turn, (total, read, 0)).0;
        record.target = Arc::from(target);
        record.conversation = Arc::from(conversation);
        record
    }

    #[test]
    fn targets_are_compared_over_the_requests_that_all_of_them_counted() {
        // The second target ends the conversation after two turns, and reads more of them.
        let records = [
            on("a", "a1", 1, (100, 0)),
            on("a", "a1", 2, (200, 100)),
            on("a", "a1", 3, (700, 600)),
            on("b", "b1", 1, (100, 0)),
            on("b", "b1", 2, (200, 150)),
        ];
        let found = across(&Samples::of(&manifest(), &records, &[]));
        let [only] = found.as_slice() else {
            panic!("{found:?}");
        };
        let sides: Vec<_> = only
            .sides
            .iter()
            .map(|side| (&*side.key.target, side.share, side.requests, side.counted))
            .collect();
        assert_eq!(
            sides,
            [("a", Some(100.0 / 300.0), 2, 3), ("b", Some(0.5), 2, 2)]
        );
        assert_eq!(only.sides[0].conversations(), 1);
        assert_eq!(only.sides[0].interval(1), None);
        assert_eq!(only.sides[0].achievable, None, "no bound");
    }

    #[test]
    fn a_target_that_counted_nothing_takes_nothing_from_the_others() {
        let mut silent = on("c", "c1", 1, (100, 0));
        silent.usage.origin = crate::chat::UsageOrigin::Absent;
        silent.usage.read = None;
        let records = [
            on("a", "a1", 1, (100, 50)),
            on("b", "b1", 2, (200, 150)),
            silent,
        ];
        let found = across(&Samples::of(&manifest(), &records, &[]));
        let shares: Vec<_> = found[0]
            .sides
            .iter()
            .map(|side| (side.share, side.requests, side.counted))
            .collect();
        let none = (None, 0, 1);
        assert_eq!(shares, [none, none, (None, 0, 0)], "nothing in common");
        let one = across(&Samples::of(&manifest(), &records[..1], &[]));
        assert_eq!(one, [], "one target only");
    }
}
