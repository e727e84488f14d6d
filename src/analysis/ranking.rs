//! Which configuration costs a conversation least, and whether that can be told.
//!
//! Invariants: only configurations are ranked that completed every scenario, so that
//! all are ranked over the same mix; what was left out is named, with the scenarios
//! that it did not complete; how sure the order is, is told pair by pair.

use super::difference::{Difference, Estimate, Paired};
use super::results::{SummaryRow, Total, TotalKey};
use schemars::JsonSchema;
use serde::Serialize;
use std::sync::Arc;

/// What configurations are ranked by.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum RankedBy {
    /// The cost of a conversation.
    Cost,
    /// The computed tokens of a conversation: where one of them has no bill.
    ComputedTokens,
}

/// The configurations of a target, model and load level, the least first.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct Ranking {
    /// Target.
    pub target: Arc<str>,
    /// Model.
    pub model: Arc<str>,
    /// Load level.
    pub load: Arc<str>,
    /// What they are ranked by.
    pub by: RankedBy,
    /// Configurations that completed every scenario, the least first.
    pub order: Vec<Arc<str>>,
    /// Those that have counts and did not.
    pub left_out: Vec<Unfinished>,
    /// The second less the first, a conversation; `None` where there is no second.
    pub lead: Option<Estimate>,
    /// The last less the first, a conversation; `None` where there is no second.
    pub spread: Option<Estimate>,
}

/// A configuration that did not complete every scenario.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct Unfinished {
    /// Which one.
    pub configuration: Arc<str>,
    /// The scenarios of which it has no whole conversation.
    pub scenarios: Vec<Arc<str>>,
}

impl Ranking {
    /// Whether it is the ranking of that target, model and load level.
    pub fn is_of(&self, key: &TotalKey) -> bool {
        self.target == key.target && self.model == key.model && self.load == key.load
    }
}

/// The ranking of each target, model and load level; totals stand together by these.
pub(super) fn rankings(
    totals: &[Total],
    rows: &[SummaryRow],
    paired: &Paired<'_>,
    seed: impl Fn(&str) -> u64,
) -> Vec<Ranking> {
    totals
        .chunk_by(|a, b| a.key.is_beside(&b.key))
        .filter_map(|arena| {
            let key = &arena.first()?.key;
            Some(ranking(arena, rows, paired, seed(&key.target)))
        })
        .collect()
}

fn ranking(arena: &[Total], rows: &[SummaryRow], paired: &Paired<'_>, seed: u64) -> Ranking {
    let (by, ranked) = ranked(arena);
    let less_first = |of: &Total| {
        let first = ranked.first().filter(|first| first.key != of.key)?;
        estimate(by, &paired.between(&first.key, &of.key, seed))
    };
    let unranked = arena.iter().filter(|total| {
        total.figures.counted > 0 && total.figures.computed_per_conversation.is_none()
    });
    let key = &arena[0].key;
    Ranking {
        target: Arc::clone(&key.target),
        model: Arc::clone(&key.model),
        load: Arc::clone(&key.load),
        by,
        lead: ranked.get(1).and_then(|second| less_first(second)),
        spread: ranked.last().and_then(|last| less_first(last)),
        left_out: unranked.map(|total| unfinished(&total.key, rows)).collect(),
        order: ranked
            .iter()
            .map(|total| Arc::clone(&total.key.configuration))
            .collect(),
    }
}

/// Configurations that completed every scenario: by the cost of a conversation where all
/// of them have one, else by its computed tokens. The least comes first.
fn ranked(arena: &[Total]) -> (RankedBy, Vec<&Total>) {
    let computed = |total: &Total| total.figures.computed_per_conversation;
    let mut ranked: Vec<&Total> = arena
        .iter()
        .filter(|total| computed(total).is_some())
        .collect();
    ranked.sort_by(|a, b| {
        let of = |total| computed(total).unwrap_or(f64::MAX);
        of(a).total_cmp(&of(b))
    });
    let priced = |total: &&Total| total.figures.costs.per_conversation.is_some();
    if ranked.is_empty() || !ranked.iter().all(priced) {
        return (RankedBy::ComputedTokens, ranked);
    }
    ranked.sort_by_key(|total| total.figures.costs.per_conversation);
    (RankedBy::Cost, ranked)
}

fn estimate(by: RankedBy, difference: &Difference) -> Option<Estimate> {
    match by {
        RankedBy::Cost => difference.cost_usd,
        RankedBy::ComputedTokens => difference.computed,
    }
}

fn unfinished(key: &TotalKey, rows: &[SummaryRow]) -> Unfinished {
    let own = rows.iter().filter(|row| TotalKey::from(&row.cell) == *key);
    let lacking = own.filter(|row| row.figures.whole_conversations == 0);
    Unfinished {
        configuration: Arc::clone(&key.configuration),
        scenarios: lacking.map(|row| Arc::clone(&row.cell.scenario)).collect(),
    }
}
