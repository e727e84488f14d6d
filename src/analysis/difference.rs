//! Paired differences between configurations.
//!
//! Two configurations are compared over the conversations that both have run:
//! same scenario, target, model, load and repeat. What differs between
//! scenarios then falls out of the difference.
//!
//! Invariants: what is said of a conversation is said of those that are whole on both
//! sides, as in every table; of fewer than six pairs there is no interval.

use super::figures::Longest;
use super::parallel::map;
use super::results::TotalKey;
use super::samples::Sample;
use super::stats::{FEWEST, Interval, Ratio, difference_interval, mean_interval};
use crate::units::Money;
use schemars::JsonSchema;
use serde::Serialize;

/// A difference, and how sure it is.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, JsonSchema)]
pub struct Estimate {
    /// Candidate less base.
    pub difference: f64,
    /// Its 95 % interval; `None`: cannot tell at this sample size.
    pub interval: Option<Interval>,
    /// Pairs of conversations that it is over.
    pub n: usize,
}

impl Estimate {
    /// Whether the interval leaves out 0.
    pub fn is_clear(&self) -> bool {
        self.interval
            .is_some_and(|interval| interval.low > 0.0 || interval.high < 0.0)
    }

    /// Whether there are too few pairs for anything to be told.
    pub fn is_of_too_few(&self) -> bool {
        self.n < FEWEST
    }
}

/// A configuration against another, over the conversations that both ran.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct Difference {
    /// What it is compared with.
    pub base: TotalKey,
    /// What is compared.
    pub candidate: TotalKey,
    /// Conversations that both ran.
    pub pairs: usize,
    /// Of the cached share, as a fraction of 1.
    pub cached_share: Option<Estimate>,
    /// Of the computed tokens of a conversation, over those that are whole on both sides.
    pub computed: Option<Estimate>,
    /// Of the cost of such a conversation, in US dollars; `None` where one request has no
    /// price.
    pub cost_usd: Option<Estimate>,
    /// Of the mean time to first token of a conversation's requests, in
    /// microseconds; over the conversations in which both have one.
    pub ttft_us: Option<Estimate>,
}

/// A counted request: conversation by group, scenario and repeat, then turn and request.
struct Counted<'a> {
    unit: (&'a str, &'a str, u32),
    request: (u32, u32),
    read: f64,
    total: f64,
    cost: Option<f64>,
    ttft: Option<f64>,
}

/// The counted requests of each configuration, target, model and load.
pub(super) struct Paired<'a> {
    all: Vec<(&'a TotalKey, Vec<Counted<'a>>)>,
    longest: &'a Longest,
}

impl<'a> Paired<'a> {
    pub(super) fn new(totals: &'a [(TotalKey, Vec<&'a Sample>)], longest: &'a Longest) -> Self {
        let counted = map(totals, |(_, samples)| counted(samples));
        let keys = totals.iter().map(|(key, _)| key);
        Self {
            all: keys.zip(counted).collect(),
            longest,
        }
    }

    /// Every configuration against the first one of its target, model and load that
    /// has a count; intervals are drawn with the seed of the target's run.
    pub(super) fn differences(&self, seed: impl Fn(&str) -> u64 + Sync) -> Vec<Difference> {
        let known: Vec<_> = self.all.iter().filter(|(_, all)| !all.is_empty()).collect();
        let mut pairs = Vec::new();
        for arena in known.chunk_by(|a, b| a.0.is_beside(b.0)) {
            if let Some((base, candidates)) = arena.split_first() {
                pairs.extend(candidates.iter().map(|candidate| (base.0, candidate.0)));
            }
        }
        map(&pairs, |(base, candidate)| {
            self.between(base, candidate, seed(&base.target))
        })
    }

    /// One configuration against another.
    pub(super) fn between(&self, base: &TotalKey, candidate: &TotalKey, seed: u64) -> Difference {
        let of = |key: &TotalKey| {
            let mut all = self.all.iter();
            all.find(|(known, _)| *known == key)
                .map_or(&[][..], |(_, counted)| counted)
        };
        difference(
            (base, of(base)),
            (candidate, of(candidate)),
            self.longest,
            seed,
        )
    }
}

/// In the order of conversations; of several counts of a request the last one.
fn counted<'a>(samples: &[&'a Sample]) -> Vec<Counted<'a>> {
    let mut counted: Vec<Counted<'_>> = samples
        .iter()
        .filter_map(|sample| {
            let (total, read) = sample.counted()?;
            Some(Counted {
                unit: (&*sample.cell.group, &*sample.cell.scenario, sample.repeat),
                request: (sample.place.0, sample.place.1),
                read: read.0 as f64,
                total: total.0 as f64,
                cost: sample.cost.map(Money::usd),
                ttft: sample.ttft.map(|ttft| ttft.0 as f64),
            })
        })
        .collect();
    counted.sort_by_key(|one| (one.unit, one.request));
    counted
}

/// What the two sides of a pair add up to, over the requests that have a count on
/// both: what one side failed at must not look like what it saved.
#[derive(Default)]
struct Pair<'a> {
    scenario: &'a str,
    requests: u64,
    shares: (Ratio, Ratio),
    computed: f64,
    cost: Option<f64>,
    ttft: (f64, f64),
    timed: f64,
}

impl Pair<'_> {
    fn add(&mut self, base: &Counted<'_>, candidate: &Counted<'_>, first: bool) {
        for (sums, one) in [(&mut self.shares.0, base), (&mut self.shares.1, candidate)] {
            sums.part += one.read;
            sums.whole += one.total;
        }
        self.requests += 1;
        self.computed += (candidate.total - candidate.read) - (base.total - base.read);
        let before = if first { Some(0.0) } else { self.cost };
        self.cost = before.and_then(|sum| Some(sum + candidate.cost? - base.cost?));
        if let Some((base, candidate)) = base.ttft.zip(candidate.ttft) {
            self.ttft.0 += base;
            self.ttft.1 += candidate;
            self.timed += 1.0;
        }
    }
}

/// Both sides stand in the same order.
fn pairs<'a>(base: &[Counted<'a>], candidate: &[Counted<'a>]) -> Vec<Pair<'a>> {
    let mut found: Vec<Pair<'a>> = Vec::new();
    let mut last = None;
    let mut rest = candidate.iter().peekable();
    for one in base {
        let place = (one.unit, one.request);
        while rest
            .next_if(|other| (other.unit, other.request) < place)
            .is_some()
        {}
        let Some(other) = rest.next_if(|other| (other.unit, other.request) == place) else {
            continue;
        };
        let first = last.replace(one.unit) != Some(one.unit);
        if first {
            found.push(Pair {
                scenario: one.unit.1,
                ..Pair::default()
            });
        }
        if let Some(pair) = found.last_mut() {
            pair.add(one, other, first);
        }
    }
    found
}

fn difference(
    base: (&TotalKey, &[Counted<'_>]),
    candidate: (&TotalKey, &[Counted<'_>]),
    longest: &Longest,
    seed: u64,
) -> Difference {
    let pairs = pairs(base.1, candidate.1);
    let shares: Vec<_> = pairs.iter().map(|pair| pair.shares).collect();
    let whole: Vec<&Pair<'_>> = pairs
        .iter()
        .filter(|pair| {
            longest
                .get(pair.scenario)
                .is_none_or(|most| pair.requests >= *most)
        })
        .collect();
    let computed: Vec<f64> = whole.iter().map(|pair| pair.computed).collect();
    let costs: Option<Vec<f64>> = whole.iter().map(|pair| pair.cost).collect();
    let timed = pairs.iter().filter(|pair| pair.timed > 0.0);
    let ttft: Vec<f64> = timed
        .map(|pair| (pair.ttft.1 - pair.ttft.0) / pair.timed)
        .collect();
    Difference {
        base: base.0.clone(),
        candidate: candidate.0.clone(),
        pairs: pairs.len(),
        cached_share: share_difference(&shares).map(|difference| Estimate {
            difference,
            interval: difference_interval(&shares, seed),
            n: shares.len(),
        }),
        computed: mean(&computed, seed),
        cost_usd: costs.and_then(|costs| mean(&costs, seed)),
        ttft_us: mean(&ttft, seed),
    }
}

/// `None` of no value.
fn mean(values: &[f64], seed: u64) -> Option<Estimate> {
    (!values.is_empty()).then(|| Estimate {
        difference: values.iter().sum::<f64>() / values.len() as f64,
        interval: mean_interval(values, seed),
        n: values.len(),
    })
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
