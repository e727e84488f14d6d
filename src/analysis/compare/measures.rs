//! What is compared, and what can be told of it.

use super::draws::intervals;
use super::matching::{Pair, Sums};
use crate::analysis::rules::{Facts, Unit};
use crate::analysis::stats::{FEWEST, Interval, quantile};

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
    /// The base's figure.
    pub base: Option<f64>,
    /// The candidate's figure.
    pub candidate: Option<f64>,
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
    /// Requests that it takes, for quantiles.
    takes: usize,
}

/// Number of [`MEASURES`].
const COUNT: usize = 9;

/// Everything that is compared, in the order of every table: what is paid for first.
static MEASURES: [Measure; COUNT] = [
    Measure {
        name: "computed_per_conversation",
        title: "computed tokens per conversation",
        unit: Unit::Tokens,
        better: Better::Lower,
        of: |sums| mean(sums, |one| Some(one.total - one.read)),
        takes: 0,
    },
    Measure {
        name: "cost_per_conversation_usd",
        title: "cost per conversation",
        unit: Unit::Dollars,
        better: Better::Lower,
        of: |sums| mean(sums, |one| one.cost),
        takes: 0,
    },
    Measure {
        name: "cached_share",
        title: "cached share",
        unit: Unit::Share,
        better: Better::Higher,
        of: |sums| ratio(sums, |one| Some(one.read), |one| Some(one.total)),
        takes: 0,
    },
    Measure {
        name: "achievable_share",
        title: "achievable share",
        unit: Unit::Share,
        better: Better::Higher,
        of: |sums| ratio(sums, |one| one.bound, |one| Some(one.total)),
        takes: 0,
    },
    Measure {
        name: "efficiency",
        title: "efficiency",
        unit: Unit::Share,
        better: Better::Higher,
        of: |sums| ratio(sums, |one| Some(one.read), |one| one.bound),
        takes: 0,
    },
    Measure {
        name: "total_per_conversation",
        title: "prompt tokens per conversation",
        unit: Unit::Tokens,
        better: Better::Neither,
        of: |sums| mean(sums, |one| Some(one.total)),
        takes: 0,
    },
    Measure {
        name: "ttft_p50_us",
        title: "time to first token, p50",
        unit: Unit::Micros,
        better: Better::Lower,
        of: |sums| time(sums, 0.5),
        takes: 10,
    },
    Measure {
        name: "ttft_p90_us",
        title: "time to first token, p90",
        unit: Unit::Micros,
        better: Better::Lower,
        of: |sums| time(sums, 0.9),
        takes: 50,
    },
    Measure {
        name: "ttft_p99_us",
        title: "time to first token, p99",
        unit: Unit::Micros,
        better: Better::Lower,
        of: |sums| time(sums, 0.99),
        takes: 500,
    },
];

fn mean(sums: &[&Sums], of: fn(&Sums) -> Option<f64>) -> Option<f64> {
    let sum: Option<f64> = sums.iter().map(|one| of(one)).sum();
    Some(sum? / (!sums.is_empty()).then_some(sums.len() as f64)?)
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

fn time(sums: &[&Sums], q: f64) -> Option<f64> {
    let all: Vec<f64> = sums
        .iter()
        .flat_map(|one| one.ttft.iter().copied())
        .collect();
    quantile(&all, q)
}

/// Every measure over some pairs.
pub(super) fn changes(
    pairs: &[&Pair],
    paired: bool,
    seed: u64,
    conditions: &Conditions,
) -> Vec<Change> {
    let base: Vec<&Sums> = pairs.iter().map(|pair| &pair.base).collect();
    let candidate: Vec<&Sums> = pairs.iter().map(|pair| &pair.candidate).collect();
    let requests = pairs.iter().map(|pair| pair.requests).sum();
    let difference = |base: &[&Sums], candidate: &[&Sums]| -> [Option<f64>; COUNT] {
        MEASURES
            .each_ref()
            .map(|measure| Some((measure.of)(candidate)? - (measure.of)(base)?))
    };
    let drawn = intervals(pairs.len(), requests, paired, seed, |places, others| {
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
            let same = pairs
                .iter()
                .all(|pair| (measure.of)(&[&pair.base]) == (measure.of)(&[&pair.candidate]));
            let told = told(
                measure,
                difference,
                interval,
                conditions,
                (pairs.len(), timed, same),
            );
            let known = matches!(told, Told::Clear { .. } | Told::Same | Told::Unclear);
            Change {
                name: measure.name,
                title: measure.title,
                unit: measure.unit,
                better: measure.better,
                base: sides.0,
                candidate: sides.1,
                difference: difference.filter(|_| known),
                interval: interval.filter(|_| known),
                told,
            }
        })
        .collect()
}

/// `n`: pairs, requests with a time, and whether no pair differs.
fn told(
    measure: &Measure,
    difference: Option<f64>,
    interval: Option<Interval>,
    conditions: &Conditions,
    (pairs, timed, same): (usize, usize, bool),
) -> Told {
    let forbidden = match measure.name {
        "achievable_share" | "efficiency" => conditions.bounds.as_ref(),
        _ if measure.unit == Unit::Micros => conditions.times.as_ref(),
        _ => None,
    };
    if let Some(why) = forbidden {
        return Told::Nothing(why.clone());
    }
    let Some(difference) = difference else {
        return Told::Nothing("not known on both sides".to_owned());
    };
    if pairs < FEWEST {
        return Told::TooFew(format!("{pairs} of {FEWEST} conversations"));
    }
    if timed < measure.takes {
        return Told::TooFew(format!("{timed} of {} requests", measure.takes));
    }
    if same {
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
