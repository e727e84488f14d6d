//! Time to first token against the tokens that prefill had to compute.

use super::results::TotalKey;
use super::samples::Sample;
use super::stats::{Line, line};
use schemars::JsonSchema;
use serde::Serialize;
use std::collections::HashMap;
use std::sync::Arc;

/// A straight line by ordinary least squares, its slope in microseconds for each
/// computed token and its intercept in microseconds; the interval of the slope is
/// drawn over conversations.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct Fit {
    /// Configuration; `None`: all of them.
    pub configuration: Option<Arc<str>>,
    /// Target.
    pub target: Arc<str>,
    /// Model.
    pub model: Arc<str>,
    /// Load level.
    pub load: Arc<str>,
    /// The line.
    pub line: Line,
}

/// Answered requests that have a count and a first token, by conversation.
type Points = Vec<Vec<(f64, f64)>>;

/// Lines through all requests of a target, model and load level, and through
/// those of each of its configurations; none where all computed the same number.
pub(super) fn fits(totals: &[(TotalKey, Vec<&Sample>)], seed: u64) -> Vec<Fit> {
    let same = |a: &(TotalKey, _), b: &(TotalKey, _)| a.0.is_beside(&b.0);
    let mut found = Vec::new();
    for arena in totals.chunk_by(same) {
        let each: Vec<(&TotalKey, Points)> = arena
            .iter()
            .map(|(key, samples)| (key, points(samples)))
            .collect();
        let Some((first, _)) = each.first() else {
            continue;
        };
        let all: Vec<_> = each
            .iter()
            .flat_map(|(_, points)| points.iter().cloned())
            .collect();
        if each.len() > 1 {
            found.extend(fit(first, None, &all, seed));
        }
        for (key, points) in each {
            found.extend(fit(
                key,
                Some(Arc::clone(&key.configuration)),
                &points,
                seed,
            ));
        }
    }
    found
}

fn fit(
    key: &TotalKey,
    configuration: Option<Arc<str>>,
    points: &[Vec<(f64, f64)>],
    seed: u64,
) -> Option<Fit> {
    Some(Fit {
        configuration,
        target: Arc::clone(&key.target),
        model: Arc::clone(&key.model),
        load: Arc::clone(&key.load),
        line: line(points, seed)?,
    })
}

/// Conversations in the order of their names, so that a seed means the same draw.
fn points(samples: &[&Sample]) -> Points {
    let mut units: HashMap<u32, (&Arc<str>, Vec<(f64, f64)>)> = HashMap::new();
    for sample in samples {
        let (Some((total, read)), Some(ttft)) = (sample.counted(), sample.ttft) else {
            continue;
        };
        let computed = total.saturating_sub(read).0 as f64;
        units
            .entry(sample.conversation_index)
            .or_insert_with(|| (&sample.conversation, Vec::new()))
            .1
            .push((computed, ttft.0 as f64));
    }
    let mut units: Vec<_> = units.into_values().collect();
    units.sort_unstable_by(|a, b| a.0.cmp(b.0));
    units.into_iter().map(|(_, points)| points).collect()
}
