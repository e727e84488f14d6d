//! Results by turn, and breaks by source and cause.

use super::latency::latency;
use super::results::{Order, TotalKey};
use super::samples::{Cell, Sample};
use crate::chat::Origin;
use crate::record::{Break, Outcome};
use crate::units::{Share, Tokens};
use schemars::JsonSchema;
use serde::Serialize;
use std::cmp::Reverse;
use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;

/// One turn of a cell, all its requests and conversations together.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct TurnRow {
    /// What it belongs to.
    pub cell: Cell,
    /// The turn, from 1.
    pub turn: u32,
    /// Steps between the previous turn and this one.
    pub events: Vec<Arc<str>>,
    /// Requests that the shares are computed from.
    pub counted: u64,
    /// Prompt tokens; `None` where nothing was counted.
    pub total: Option<Tokens>,
    /// Of these, taken from the cache.
    pub read: Option<Tokens>,
    /// What of these the cache model could return; `None` where one has no bound.
    pub bound: Option<Tokens>,
    /// `read / total`.
    pub cached_share: Option<f64>,
    /// `bound / total`.
    pub achievable_share: Option<f64>,
    /// Requests with a bound above 0.
    pub hit_chances: u64,
    /// Of these, those that read all of it.
    pub full_hits: u64,
    /// Breaks among the answered requests.
    pub breaks: u64,
    /// Tokens lost behind them; `None` where nothing could count one of them.
    pub lost: Option<Tokens>,
    /// Source and cause of the first of them.
    pub break_example: Option<(Origin, Arc<str>)>,
    /// Half of the turn's requests had their first token sooner.
    pub ttft_p50_us: Option<f64>,
}

/// The turns of a cell, in order.
pub(super) fn turns(cell: &Cell, samples: &[&Sample]) -> Vec<TurnRow> {
    let mut turns: BTreeMap<u32, Turn<'_>> = BTreeMap::new();
    for &sample in samples {
        turns.entry(sample.place.0).or_default().add(sample);
    }
    let row = |(turn, sums): (u32, Turn<'_>)| sums.row(cell, turn);
    turns.into_iter().map(row).collect()
}

/// Sums of a turn.
#[derive(Default)]
struct Turn<'a> {
    events: Option<&'a Arc<[Arc<str>]>>,
    counted: u64,
    share: Share,
    bound: Tokens,
    without_bound: bool,
    hit_chances: u64,
    full_hits: u64,
    breaks: u64,
    lost: Tokens,
    without_lost: bool,
    example: Option<&'a Break>,
    ttft_us: Vec<u64>,
}

impl<'a> Turn<'a> {
    fn add(&mut self, sample: &'a Sample) {
        if !sample.events.is_empty() {
            self.events = self.events.or(Some(&sample.events));
        }
        if sample.outcome != Outcome::Ok {
            return;
        }
        self.ttft_us.extend(sample.ttft.map(|ttft| ttft.0));
        if let Some(broke) = sample.broke.as_deref() {
            self.breaks += 1;
            self.lost += broke.lost.unwrap_or_default();
            self.without_lost |= broke.lost.is_none();
            self.example = self.example.or(Some(broke));
        }
        let Some((whole, part)) = sample.counted() else {
            return;
        };
        self.counted += 1;
        self.share = self.share + Share { part, whole };
        self.without_bound |= sample.bound.is_none();
        let bound = sample.bound.unwrap_or_default();
        self.bound += bound;
        self.hit_chances += u64::from(bound.0 > 0);
        self.full_hits += u64::from(bound.0 > 0 && part >= bound);
    }

    fn row(mut self, cell: &Cell, turn: u32) -> TurnRow {
        let any = self.counted > 0;
        let bound = (any && !self.without_bound).then_some(self.bound);
        let of_total = |part| Share {
            part,
            whole: self.share.whole,
        };
        TurnRow {
            cell: cell.clone(),
            turn,
            events: self
                .events
                .map(|events| events.to_vec())
                .unwrap_or_default(),
            counted: self.counted,
            total: any.then_some(self.share.whole),
            read: any.then_some(self.share.part),
            bound,
            cached_share: self.share.fraction(),
            achievable_share: bound.and_then(|bound| of_total(bound).fraction()),
            hit_chances: self.hit_chances,
            full_hits: self.full_hits,
            breaks: self.breaks,
            lost: (!self.without_lost).then_some(self.lost),
            break_example: self
                .example
                .map(|broke| (broke.origin.clone(), Arc::clone(&broke.cause))),
            ttft_p50_us: latency(&mut self.ttft_us, 1.0, 0).p50_us,
        }
    }
}

/// Breaks of a configuration in one source by one cause.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct BreakTotal {
    /// The configuration, and where it ran.
    pub key: TotalKey,
    /// The source.
    pub origin: Origin,
    /// The cause.
    pub cause: Arc<str>,
    /// How often.
    pub breaks: u64,
    /// Tokens lost behind the breaks; `None` where nothing could count them.
    pub lost: Option<Tokens>,
}

/// Breaks by configuration, source and cause; within a configuration the most
/// tokens lost first.
pub(super) fn break_totals(list: &[Sample], order: &Order) -> Vec<BreakTotal> {
    type Counted = HashMap<(TotalKey, Origin, Arc<str>), (u64, Option<Tokens>)>;
    let mut found = Counted::new();
    let answered = list.iter().filter(|sample| sample.outcome == Outcome::Ok);
    for (sample, broke) in answered.filter_map(|sample| Some((sample, sample.broke.as_ref()?))) {
        let key = (
            TotalKey::from(&*sample.cell),
            broke.origin.clone(),
            Arc::clone(&broke.cause),
        );
        let (breaks, lost) = found.entry(key).or_insert((0, Some(Tokens(0))));
        *breaks += 1;
        *lost = lost.zip(broke.lost).map(|(sum, lost)| sum + lost);
    }
    let mut totals: Vec<_> = found
        .into_iter()
        .map(|((key, origin, cause), (breaks, lost))| BreakTotal {
            key,
            origin,
            cause,
            breaks,
            lost,
        })
        .collect();
    totals.sort_by_cached_key(|total| {
        (
            order.total(&total.key),
            Reverse(total.lost),
            Reverse(total.breaks),
            total.origin.clone(),
            Arc::clone(&total.cause),
        )
    });
    totals
}
