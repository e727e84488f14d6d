//! Conversations of two runs, side by side.

use super::{Choice, Side};
use crate::analysis::figures::{Longest, longest};
use crate::analysis::samples::Sample;
use crate::record::{Manifest, Outcome};
use crate::units::Money;
use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::sync::Arc;

/// Sums of one side of a pair, over the requests that both have counted.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Sums {
    pub(super) total: f64,
    pub(super) read: f64,
    /// `None` where one of the requests has no bound.
    pub(super) bound: Option<f64>,
    /// Of conversations that are whole on both sides.
    pub(super) whole: Whole,
    /// Of requests that both sides asked, in microseconds; infinite where it was never
    /// answered, so that failures are in view.
    pub(super) ttft: Vec<f64>,
    /// Requests that both sides asked, and of these those never answered.
    pub(super) asked: f64,
    pub(super) failed: f64,
}

/// Sums of whole conversations: what is said of a conversation is said of these, as in
/// every report.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Whole {
    pub(super) conversations: f64,
    pub(super) total: f64,
    pub(super) read: f64,
    /// `None` where one of the requests has no price.
    pub(super) cost: Option<f64>,
}

impl Default for Sums {
    fn default() -> Self {
        Self {
            total: 0.0,
            read: 0.0,
            bound: Some(0.0),
            whole: Whole {
                conversations: 0.0,
                total: 0.0,
                read: 0.0,
                cost: Some(0.0),
            },
            ttft: Vec::new(),
            asked: 0.0,
            failed: 0.0,
        }
    }
}

/// The sum of two that are known.
fn both(a: Option<f64>, b: Option<f64>) -> Option<f64> {
    Some(a? + b?)
}

impl Sums {
    /// Takes another conversation in.
    pub(super) fn join(&mut self, other: &Self) {
        self.total += other.total;
        self.read += other.read;
        self.bound = both(self.bound, other.bound);
        self.whole.conversations += other.whole.conversations;
        self.whole.total += other.whole.total;
        self.whole.read += other.whole.read;
        self.whole.cost = both(self.whole.cost, other.whole.cost);
        self.ttft.extend_from_slice(&other.ttft);
        self.asked += other.asked;
        self.failed += other.failed;
    }
}

/// A conversation that both sides have.
#[derive(Clone, Debug)]
pub(super) struct Pair {
    pub(super) scenario: Arc<str>,
    pub(super) repeat: u32,
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

/// The requests of a conversation, by turn and request.
#[derive(Default)]
struct Requests<'a> {
    /// Answered and counted ones.
    counted: BTreeMap<(u32, u32), &'a Sample>,
    /// All, each with its time to first token: infinite where no attempt was answered,
    /// `None` where the answer has none.
    asked: BTreeMap<(u32, u32), Option<f64>>,
}

impl<'a> Requests<'a> {
    fn add(&mut self, sample: &'a Sample) {
        let (turn, request, _) = sample.place;
        let answered = sample.outcome == Outcome::Ok;
        let time = match sample.ttft {
            _ if !answered => Some(f64::INFINITY),
            ttft => ttft.map(|ttft| ttft.0 as f64),
        };
        let known = self.asked.entry((turn, request)).or_insert(time);
        if answered {
            *known = time;
        }
        if sample.counted().is_some() {
            self.counted.insert((turn, request), sample);
        }
    }
}

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
    let longest = (longest(base.samples), longest(candidate.samples));
    for (own, other) in configurations(base.manifest, candidate.manifest, choice, &mut found) {
        let empty = Conversations::new();
        let (before, now) = (
            before.get(&*other).unwrap_or(&empty),
            now.get(&*own).unwrap_or(&empty),
        );
        side_by_side(
            &mut found,
            (&other, before),
            (&own, now),
            &targets,
            [&longest.0, &longest.1],
        );
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
        configuration.entry(place).or_default().add(sample);
    }
    found
}

fn side_by_side(
    found: &mut Matched,
    (other, before): (&Arc<str>, &Conversations<'_>),
    (own, now): (&Arc<str>, &Conversations<'_>),
    targets: &HashMap<Arc<str>, Arc<str>>,
    longest: [&Longest; 2],
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
            .counted
            .iter()
            .filter_map(|(at, now)| Some((*earlier.counted.get(at)?, *now)))
            .collect();
        uncounted += requests.counted.len().max(earlier.counted.len()) - both.len();
        let most = longest.map(|longest| longest.get(&place.scenario).copied());
        let most = most.into_iter().flatten().max().unwrap_or_default();
        let whole = both.len() as u64 >= most && !both.is_empty();
        found.pairs.push(Pair {
            scenario: Arc::clone(&place.scenario),
            repeat: place.repeat,
            configurations: (Arc::clone(other), Arc::clone(own)),
            targets: (Arc::clone(target), Arc::clone(&place.target)),
            load: Arc::clone(&place.load),
            base: sums(both.iter().map(|(before, _)| *before), whole).with_times(earlier, requests),
            candidate: sums(both.iter().map(|(_, now)| *now), whole).with_times(requests, earlier),
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

/// Sums of counted requests, those of one side of a pair.
fn sums<'a, I>(counted: I, whole: bool) -> Sums
where
    I: Iterator<Item = &'a Sample>,
{
    let mut sums = Sums::default();
    let mut cost = Some(0.0);
    for one in counted {
        let (total, read) = one.counted().unwrap_or_default();
        sums.total += total.0 as f64;
        sums.read += read.0 as f64;
        sums.bound = both(sums.bound, one.bound.map(|bound| bound.0 as f64));
        cost = both(cost, one.cost.map(Money::usd));
    }
    if whole {
        sums.whole = Whole {
            conversations: 1.0,
            total: sums.total,
            read: sums.read,
            cost,
        };
    }
    sums
}

impl Sums {
    /// With the times of the requests that the other side asked too.
    fn with_times(mut self, own: &Requests<'_>, other: &Requests<'_>) -> Self {
        for (at, time) in &own.asked {
            let Some(there) = other.asked.get(at) else {
                continue;
            };
            self.asked += 1.0;
            self.failed += f64::from(u8::from(*time == Some(f64::INFINITY)));
            if there.is_some() {
                self.ttft.extend(*time);
            }
        }
        self
    }
}
