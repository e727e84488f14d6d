//! Results by turn, and breaks by source and cause.

use super::results::{Order, TotalKey, grouped};
use super::samples::{Cell, Sample};
use crate::chat::Origin;
use crate::record::Outcome;
use crate::units::{Share, Tokens};
use serde::Serialize;
use std::cmp::Reverse;
use std::collections::HashMap;
use std::sync::Arc;

/// One turn of a cell, all its requests and conversations together.
#[derive(Clone, Debug, PartialEq, Serialize)]
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
    /// Breaks among the answered requests.
    pub breaks: u64,
    /// Source and cause of the first of them.
    pub break_example: Option<(Origin, Arc<str>)>,
}

/// The turns of every cell, in order.
pub(super) fn turns(list: &[Sample], order: &Order) -> Vec<TurnRow> {
    grouped(
        list,
        |sample| (Arc::clone(&sample.cell), sample.place.0),
        |(cell, turn)| (order.cell(cell), *turn),
    )
    .into_iter()
    .map(|((cell, turn), samples)| turn_row(&cell, turn, &samples))
    .collect()
}

fn turn_row(cell: &Cell, turn: u32, samples: &[&Sample]) -> TurnRow {
    let counts: Vec<_> = samples
        .iter()
        .filter_map(|sample| Some((sample.counted()?, sample.bound)))
        .collect();
    let any = !counts.is_empty();
    let share: Share = counts
        .iter()
        .map(|&((whole, part), _)| Share { part, whole })
        .sum();
    let bound = counts
        .iter()
        .map(|&(_, bound)| bound)
        .sum::<Option<Tokens>>()
        .filter(|_| any);
    let of_total = |part| Share {
        part,
        whole: share.whole,
    };
    let broken: Vec<_> = samples
        .iter()
        .filter(|sample| sample.outcome == Outcome::Ok)
        .filter_map(|sample| sample.broke.as_ref())
        .collect();
    TurnRow {
        cell: cell.clone(),
        turn,
        events: samples
            .iter()
            .find(|sample| !sample.events.is_empty())
            .map(|sample| sample.events.clone())
            .unwrap_or_default(),
        counted: counts.len() as u64,
        total: any.then_some(share.whole),
        read: any.then_some(share.part),
        bound,
        cached_share: share.fraction(),
        achievable_share: bound.and_then(|bound| of_total(bound).fraction()),
        breaks: broken.len() as u64,
        break_example: broken
            .first()
            .map(|broke| (broke.origin.clone(), Arc::clone(&broke.cause))),
    }
}

/// Breaks of a configuration in one source by one cause.
#[derive(Clone, Debug, PartialEq, Serialize)]
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
    for sample in list.iter().filter(|sample| sample.outcome == Outcome::Ok) {
        let Some(broke) = &sample.broke else {
            continue;
        };
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
