//! Time to first token against the tokens that prefill had to compute.

use super::results::TotalKey;
use super::samples::Sample;
use super::stats::{Line, LineSums, line};
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

/// Lines through all requests of a target, model and load level, and through
/// those of each of its configurations; none where all computed the same number.
pub(super) fn fits(totals: &[(TotalKey, Vec<&Sample>)], seed: u64) -> Vec<Fit> {
    let same = |a: &(TotalKey, _), b: &(TotalKey, _)| a.0.is_beside(&b.0);
    let mut found = Vec::new();
    for arena in totals.chunk_by(same) {
        let each: Vec<(&TotalKey, Vec<LineSums>)> = arena
            .iter()
            .map(|(key, samples)| (key, sums(samples)))
            .collect();
        let Some((first, _)) = each.first() else {
            continue;
        };
        let all: Vec<_> = each
            .iter()
            .flat_map(|(_, conversations)| conversations.iter().copied())
            .collect();
        if each.len() > 1 {
            found.extend(fit(first, None, &all, seed));
        }
        for (key, conversations) in each {
            found.extend(fit(
                key,
                Some(Arc::clone(&key.configuration)),
                &conversations,
                seed,
            ));
        }
    }
    found
}

fn fit(
    key: &TotalKey,
    configuration: Option<Arc<str>>,
    conversations: &[LineSums],
    seed: u64,
) -> Option<Fit> {
    Some(Fit {
        configuration,
        target: Arc::clone(&key.target),
        model: Arc::clone(&key.model),
        load: Arc::clone(&key.load),
        line: line(conversations, seed)?,
    })
}

/// What each conversation's answered requests that have a count and a first token add
/// to a line.
pub(super) fn sums(samples: &[&Sample]) -> Vec<LineSums> {
    let mut conversations: HashMap<u32, LineSums> = HashMap::new();
    for sample in samples {
        if let (Some((total, read)), Some(ttft)) = (sample.counted(), sample.ttft) {
            let conversation = conversations.entry(sample.conversation_index).or_default();
            conversation.add(total.saturating_sub(read).0 as f64, ttft.0 as f64);
        }
    }
    conversations.into_values().collect()
}
