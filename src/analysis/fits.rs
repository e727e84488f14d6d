//! Time to first token against the tokens that prefill had to compute.

use super::results::TotalKey;
use super::samples::Sample;
use super::stats::{Line, LineSums, line};
use schemars::JsonSchema;
use serde::Serialize;
use std::collections::HashMap;
use std::sync::Arc;

/// A straight line by ordinary least squares, its slope in microseconds for each
/// computed token and its intercept in microseconds. The interval of the slope is
/// drawn over conversations; where configurations are taken together, those of the same
/// scenario and repeat are one of them, since they are not independent.
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
pub(super) fn fits(totals: &[(TotalKey, Vec<&Sample>)], seed: impl Fn(&str) -> u64) -> Vec<Fit> {
    let same = |a: &(TotalKey, _), b: &(TotalKey, _)| a.0.is_beside(&b.0);
    let mut found = Vec::new();
    for arena in totals.chunk_by(same) {
        let Some((first, _)) = arena.first() else {
            continue;
        };
        let seed = seed(&first.target);
        if arena.len() > 1 {
            let all = arena
                .iter()
                .flat_map(|(_, samples)| samples.iter().copied());
            found.extend(fit(first, None, &sums(all), seed));
        }
        for (key, samples) in arena {
            let conversations = sums(samples.iter().copied());
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

/// What the answered requests of each scenario and repeat that have a count and a first
/// token add to a line.
pub(super) fn sums<'a, I>(samples: I) -> Vec<LineSums>
where
    I: Iterator<Item = &'a Sample>,
{
    let mut conversations: HashMap<(&str, u32), LineSums> = HashMap::new();
    for sample in samples {
        if let (Some((total, read)), Some(ttft)) = (sample.counted(), sample.ttft) {
            let unit = (&*sample.cell.scenario, sample.repeat);
            let conversation = conversations.entry(unit).or_default();
            conversation.add(total.saturating_sub(read).0 as f64, ttft.0 as f64);
        }
    }
    conversations.into_values().collect()
}
