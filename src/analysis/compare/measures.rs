//! What is compared, and what can be told of it.

use super::draws::intervals;
use super::matching::{Pair, Sums, Whole};
use crate::analysis::rules::{Facts, Unit, takes};
use crate::analysis::stats::{FEWEST, Interval, rank};
use std::collections::{BTreeMap, BTreeSet};

/// Which way is the better one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Better {
    /// The larger number.
    Higher,
    /// The smaller number.
    Lower,
    /// Neither.
    Neither,
}

/// What can be told of a difference.
#[derive(Clone, Debug, PartialEq)]
pub enum Told {
    /// The interval leaves out 0, and the candidate is on this side of it: better or worse.
    Clear {
        /// Whether the candidate is better; `None` where neither way is.
        better: Option<bool>,
    },
    /// Not a single conversation differs.
    Same,
    /// The interval holds 0.
    Unclear,
    /// Too few conversations or requests, and how many it takes.
    TooFew(String),
    /// No evidence on one side, or not to be compared, and why.
    Nothing(String),
}

/// A figure of both sides, and their difference.
#[derive(Clone, Debug, PartialEq)]
pub struct Change {
    /// Its name, for programs: `cached_share`.
    pub name: &'static str,
    /// Its name, for a person.
    pub title: &'static str,
    /// What it is counted in.
    pub unit: Unit,
    /// Which way is the better one.
    pub better: Better,
    /// The base's figure; infinite where that is a time that too many failures leave open.
    pub base: Option<f64>,
    /// The candidate's figure.
    pub candidate: Option<f64>,
    /// Conversations that it is over, where these are fewer than the row's: those that are
    /// whole on both sides.
    pub over: Option<usize>,
    /// Candidate less base; `None` where it cannot be told.
    pub difference: Option<f64>,
    /// Its 95 % interval.
    pub interval: Option<Interval>,
    /// What can be told.
    pub told: Told,
}

/// Under what the two sides were made, as far as it forbids a comparison.
pub(super) struct Conditions {
    /// Why bounds cannot be compared.
    bounds: Option<String>,
    /// Why times cannot be compared.
    times: Option<String>,
}

impl Conditions {
    pub(super) fn new(own: &Facts, other: &Facts) -> Self {
        Self {
            bounds: own.bounds_differ(other, "the base"),
            times: own.differ(other, "simulated").then(|| {
                "one side was measured on the embedded server, which takes no real time".to_owned()
            }),
        }
    }
}

/// A measure, before it is computed.
struct Measure {
    name: &'static str,
    title: &'static str,
    unit: Unit,
    better: Better,
    of: fn(&[&Sums]) -> Option<f64>,
    /// What it is over.
    over: Over,
}

/// Which conversations a measure is over.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Over {
    /// All that both sides began.
    All,
    /// Those with requests that both sides asked.
    Asked,
    /// Those with requests that both sides counted.
    Counted,
    /// Those that are whole on both sides.
    Whole,
}

impl Over {
    fn holds(self, sums: &Sums) -> bool {
        match self {
            Self::All => true,
            Self::Asked => !sums.ttft.is_empty(),
            Self::Counted => sums.total > 0.0,
            Self::Whole => sums.whole.conversations > 0.0,
        }
    }
}

/// Number of [`MEASURES`].
const COUNT: usize = 10;

/// Everything that is compared, in the order of every table: what is paid for first.
static MEASURES: [Measure; COUNT] = [
    Measure {
        name: "failed_share",
        title: "requests that failed",
        unit: Unit::Share,
        better: Better::Lower,
        of: |sums| ratio(sums, |one| Some(one.failed), |one| Some(one.asked)),
        over: Over::All,
    },
    Measure {
        name: "computed_per_conversation",
        title: "computed tokens per conversation",
        unit: Unit::Tokens,
        better: Better::Lower,
        of: |sums| mean(sums, |one| Some(one.total - one.read)),
        over: Over::Whole,
    },
    Measure {
        name: "cost_per_conversation_usd",
        title: "cost per conversation",
        unit: Unit::Dollars,
        better: Better::Lower,
        of: |sums| mean(sums, |one| one.cost),
        over: Over::Whole,
    },
    Measure {
        name: "cached_share",
        title: "cached share",
        unit: Unit::Share,
        better: Better::Higher,
        of: |sums| ratio(sums, |one| Some(one.read), |one| Some(one.total)),
        over: Over::Counted,
    },
    Measure {
        name: "achievable_share",
        title: "achievable share",
        unit: Unit::Share,
        better: Better::Higher,
        of: |sums| ratio(sums, |one| one.bound, |one| Some(one.total)),
        over: Over::Counted,
    },
    Measure {
        name: "efficiency",
        title: "efficiency",
        unit: Unit::Share,
        better: Better::Higher,
        of: |sums| ratio(sums, |one| Some(one.read), |one| one.bound),
        over: Over::Counted,
    },
    Measure {
        name: "total_per_conversation",
        title: "prompt tokens per conversation",
        unit: Unit::Tokens,
        better: Better::Neither,
        of: |sums| mean(sums, |one| Some(one.total)),
        over: Over::Whole,
    },
    Measure {
        name: "ttft_p50_us",
        title: "time to first token, p50",
        unit: Unit::Micros,
        better: Better::Lower,
        of: |sums| time(sums, 0.5),
        over: Over::Asked,
    },
    Measure {
        name: "ttft_p90_us",
        title: "time to first token, p90",
        unit: Unit::Micros,
        better: Better::Lower,
        of: |sums| time(sums, 0.9),
        over: Over::Asked,
    },
    Measure {
        name: "ttft_p99_us",
        title: "time to first token, p99",
        unit: Unit::Micros,
        better: Better::Lower,
        of: |sums| time(sums, 0.99),
        over: Over::Asked,
    },
];

/// Of whole conversations.
fn mean(sums: &[&Sums], of: fn(&Whole) -> Option<f64>) -> Option<f64> {
    let sum: Option<f64> = sums.iter().map(|one| of(&one.whole)).sum();
    let n: f64 = sums.iter().map(|one| one.whole.conversations).sum();
    Some(sum? / (n > 0.0).then_some(n)?)
}

fn ratio(
    sums: &[&Sums],
    part: fn(&Sums) -> Option<f64>,
    whole: fn(&Sums) -> Option<f64>,
) -> Option<f64> {
    let parts: Option<f64> = sums.iter().map(|one| part(one)).sum();
    let wholes: Option<f64> = sums.iter().map(|one| whole(one)).sum();
    let whole = wholes.filter(|whole| *whole > 0.0)?;
    Some(parts? / whole)
}

/// Infinite where the quantile lies among the requests that were never answered.
fn time(sums: &[&Sums], q: f64) -> Option<f64> {
    let all = sums.iter().flat_map(|one| one.ttft.iter().copied());
    let mut sorted: Vec<f64> = all.collect();
    sorted.sort_by(f64::total_cmp);
    let (below, part) = rank(sorted.len(), q)?;
    let low = *sorted.get(below)?;
    if part <= 0.0 || low.is_infinite() {
        return Some(low);
    }
    Some(low + (*sorted.get(below + 1)? - low) * part)
}

/// Candidate less base; `None` where both are infinite.
fn less(base: Option<f64>, candidate: Option<f64>) -> Option<f64> {
    let difference = candidate? - base?;
    (!difference.is_nan()).then_some(difference)
}

/// The conversations of each scenario and repeat together, which are not independent of
/// each other: they are drawn as one.
fn units(pairs: &[&Pair]) -> Vec<(Sums, Sums)> {
    let mut units: BTreeMap<(usize, u32), (Sums, Sums)> = BTreeMap::new();
    let mut scenarios: Vec<&str> = Vec::new();
    for pair in pairs {
        let known = scenarios.iter().position(|name| **name == *pair.scenario);
        let scenario = known.unwrap_or_else(|| {
            scenarios.push(&pair.scenario);
            scenarios.len() - 1
        });
        let unit = units.entry((scenario, pair.repeat)).or_default();
        unit.0.join(&pair.base);
        unit.1.join(&pair.candidate);
    }
    units.into_values().collect()
}

/// What a measure rests on.
struct Rests {
    /// Conversations that are independent of each other.
    units: usize,
    /// Whether there are more conversations than these.
    joined: bool,
    /// Requests with a time, or never answered.
    timed: usize,
    /// Whether no pair differs.
    same: bool,
}

/// Independent conversations among `pairs`.
pub(super) fn independent(pairs: &[&Pair]) -> usize {
    let units: BTreeSet<_> = pairs
        .iter()
        .map(|pair| (&pair.scenario, pair.repeat))
        .collect();
    units.len()
}

/// Every measure over some pairs.
pub(super) fn changes(
    pairs: &[&Pair],
    paired: bool,
    seed: u64,
    conditions: &Conditions,
) -> Vec<Change> {
    let units = units(pairs);
    let base: Vec<&Sums> = units.iter().map(|unit| &unit.0).collect();
    let candidate: Vec<&Sums> = units.iter().map(|unit| &unit.1).collect();
    let requests = pairs.iter().map(|pair| pair.requests).sum();
    let difference = |base: &[&Sums], candidate: &[&Sums]| -> [Option<f64>; COUNT] {
        MEASURES
            .each_ref()
            .map(|measure| less((measure.of)(base), (measure.of)(candidate)))
    };
    let drawn = intervals(units.len(), requests, paired, seed, |places, others| {
        let base: Vec<&Sums> = places.iter().map(|&at| base[at]).collect();
        let candidate: Vec<&Sums> = others.iter().map(|&at| candidate[at]).collect();
        difference(&base, &candidate)
    });
    let timed = base.iter().map(|one| one.ttft.len()).sum();
    let differences = difference(&base, &candidate);
    let found = MEASURES.iter().zip(differences.into_iter().zip(drawn));
    found
        .map(|(measure, (difference, interval))| {
            let sides = ((measure.of)(&base), (measure.of)(&candidate));
            let held = pairs.iter().filter(|pair| measure.over.holds(&pair.base));
            let held: Vec<&Pair> = held.copied().collect();
            let rests = Rests {
                units: independent(&held),
                joined: units.len() < pairs.len(),
                timed,
                same: held
                    .iter()
                    .all(|pair| (measure.of)(&[&pair.base]) == (measure.of)(&[&pair.candidate])),
            };
            let told = told(measure, (sides, difference, interval), conditions, &rests);
            let known = matches!(told, Told::Clear { .. } | Told::Same | Told::Unclear);
            let counted = pairs.iter().filter(|pair| pair.requests > 0).count();
            Change {
                name: measure.name,
                title: measure.title,
                unit: measure.unit,
                better: measure.better,
                base: sides.0,
                candidate: sides.1,
                over: (measure.over == Over::Whole && held.len() < counted).then_some(held.len()),
                difference: difference.filter(|_| known),
                interval: interval.filter(|_| known),
                told,
            }
        })
        .collect()
}

/// Both sides' figures, their difference, and its interval.
type Found = ((Option<f64>, Option<f64>), Option<f64>, Option<Interval>);

fn told(
    measure: &Measure,
    (sides, difference, interval): Found,
    conditions: &Conditions,
    rests: &Rests,
) -> Told {
    let forbidden = match measure.name {
        "achievable_share" | "efficiency" => conditions.bounds.as_ref(),
        _ if measure.unit == Unit::Micros => conditions.times.as_ref(),
        _ => None,
    };
    if let Some(why) = forbidden {
        return Told::Nothing(why.clone());
    }
    if let Some(why) = endless(sides) {
        return Told::Nothing(why.to_owned());
    }
    let Some(difference) = difference else {
        let none = measure.over == Over::Whole && rests.units == 0;
        let why = if none {
            "no conversation is whole on both sides"
        } else {
            "not known on both sides"
        };
        return Told::Nothing(why.to_owned());
    };
    if rests.units < FEWEST {
        let kind = if rests.joined { "independent " } else { "" };
        return Told::TooFew(format!("{} of {FEWEST} {kind}conversations", rests.units));
    }
    let most = takes(measure.name).map_or(0, |(requests, _)| requests);
    if (rests.timed as u64) < most {
        return Told::TooFew(format!("{} of {most} requests", rests.timed));
    }
    if rests.same {
        return Told::Same;
    }
    match interval {
        Some(interval) if interval.low > 0.0 || interval.high < 0.0 => Told::Clear {
            better: match measure.better {
                Better::Higher => Some(difference > 0.0),
                Better::Lower => Some(difference < 0.0),
                Better::Neither => None,
            },
        },
        Some(_) => Told::Unclear,
        None => Told::Nothing("not known in every resample".to_owned()),
    }
}

/// Why infinite times have no difference.
fn endless((base, candidate): (Option<f64>, Option<f64>)) -> Option<&'static str> {
    let endless = |side: Option<f64>| side.is_some_and(f64::is_infinite);
    match (endless(base), endless(candidate)) {
        (true, true) => Some("too many requests failed on both sides"),
        (true, false) => Some("too many requests of the base failed"),
        (false, true) => Some("too many requests of the candidate failed"),
        (false, false) => None,
    }
}
