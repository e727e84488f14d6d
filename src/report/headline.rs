//! The first sentence of a report: built from the numbers, never wider than
//! they are.

use super::words::{count, dollars, mean_tokens, percent};
use crate::analysis::{Figures, Results, Total, TotalKey};

/// Which layout, how many computed tokens, what share, how sure, measured on
/// what. A sentence for each target, model and load level.
///
/// A run without an answer, or without a count, gets the sentence that is true.
pub fn headline(results: &Results) -> Vec<String> {
    if results.totals.is_empty() {
        return vec!["Nothing was measured: no request was sent.".to_owned()];
    }
    arenas(&results.totals)
        .into_iter()
        .map(|arena| {
            let sentence = sentence(arena, results);
            let simulated = results
                .targets
                .iter()
                .any(|target| target.simulated && target.name == arena[0].key.target);
            if simulated {
                format!("{sentence} Simulated: measured on the embedded server.")
            } else {
                sentence
            }
        })
        .collect()
}

/// Totals that can be compared: same target, model and load. They stand together.
pub(super) fn arenas(totals: &[Total]) -> Vec<&[Total]> {
    let place = |key: &TotalKey| (key.target.clone(), key.model.clone(), key.load.clone());
    totals
        .chunk_by(|a, b| place(&a.key) == place(&b.key))
        .collect()
}

fn sentence(arena: &[Total], results: &Results) -> String {
    let sum = |number: fn(&Figures) -> u64| arena.iter().map(|t| number(&t.figures)).sum::<u64>();
    let requests = sum(|figures| figures.requests);
    let answered = requests - sum(|figures| figures.failed);
    let at = match arenas(&results.totals).len() {
        0 | 1 => String::new(),
        _ => format!(
            "On {} ({}, {}): ",
            arena[0].key.target, arena[0].key.model, arena[0].key.load
        ),
    };
    if answered == 0 {
        return format!(
            "{at}Nothing can be said: none of {} was answered.",
            count(requests, "request")
        );
    }
    let ranked = ranked(arena);
    let partial: Vec<&str> = arena
        .iter()
        .filter(|total| total.figures.counted > 0)
        .filter(|total| total.figures.computed_per_conversation.is_none())
        .map(|total| &*total.key.configuration)
        .collect();
    let said = match ranked.as_slice() {
        [] if !partial.is_empty() => "No conversation was counted from its first request to its \
             last, so that nothing can be said of computed tokens per conversation."
            .to_owned(),
        [] => without_share(arena, answered),
        [only] => alone(only),
        [best, .., worst] => compared(best, worst),
    };
    let missing = requests - sum(|figures| figures.counted + figures.set_apart);
    let doubt = if missing > 0 && !ranked.is_empty() {
        format!(
            " Left out: {} of {requests} that failed or had no count.",
            count(missing, "request")
        )
    } else {
        String::new()
    };
    let unranked = if partial.is_empty() || ranked.is_empty() {
        String::new()
    } else {
        format!(
            " Not ranked, for want of a whole conversation: {}.",
            partial.join(", ")
        )
    };
    format!("{at}{said}{unranked}{doubt}")
}

/// Why no answer of an arena is in its shares.
fn without_share(arena: &[Total], answered: u64) -> String {
    if arena.iter().all(|total| total.figures.set_apart == 0) {
        return format!(
            "No share can be given: the server reported no usable count of cached tokens in {}.",
            count(answered, "answer")
        );
    }
    let reasons: [(fn(&Figures) -> u64, &str); 4] = [
        (
            |figures| figures.contaminated.requests,
            "of conversations that began on a cache that was not empty (set apart)",
        ),
        (
            |figures| figures.beyond_lifetime.requests,
            "behind a wait that the cache would not have survived (set apart)",
        ),
        (
            |figures| figures.gateway.requests,
            "from a gateway's own cache of answers, or behind its retries or fallbacks (set apart)",
        ),
        (
            |figures| figures.without_count,
            "without a usable count of cached tokens",
        ),
    ];
    let reasons = reasons.into_iter().filter_map(|(number, why)| {
        let number: u64 = arena.iter().map(|total| number(&total.figures)).sum();
        (number > 0).then(|| format!("{number} {why}"))
    });
    let reasons: Vec<String> = reasons.collect();
    format!(
        "No share can be given of {}: {}.",
        count(answered, "answer"),
        reasons.join(", ")
    )
}

/// Configurations with a whole conversation: by its cost where all of them have
/// one, else by its computed tokens. The least comes first.
fn ranked(arena: &[Total]) -> Vec<&Total> {
    let mut ranked: Vec<&Total> = arena
        .iter()
        .filter(|total| total.figures.computed_per_conversation.is_some())
        .collect();
    let computed = |total: &Total| total.figures.computed_per_conversation.unwrap_or(f64::MAX);
    ranked.sort_by(|a, b| computed(a).total_cmp(&computed(b)));
    let priced = |total: &&Total| total.figures.costs.per_conversation.is_some();
    if ranked.iter().all(priced) {
        ranked.sort_by_key(|total| total.figures.costs.per_conversation);
    }
    ranked
}

fn alone(total: &Total) -> String {
    let figures = &total.figures;
    let achievable = figures.achievable_share.map_or_else(String::new, |share| {
        format!(", where {} was achievable", percent(Some(share)))
    });
    let computed = mean_tokens(figures.computed_per_conversation);
    let name = &total.key.configuration;
    let lead = match cost(figures) {
        Some(cost) => {
            format!("{name} costs {cost} per conversation, leaves {computed} tokens to compute")
        }
        None => format!("{name} leaves {computed} tokens to compute per conversation"),
    };
    format!(
        "{lead} and reads {} of its prompt tokens from the cache ({}){achievable}.{}",
        percent(figures.cached_share),
        sureness(figures),
        beside(figures),
    )
}

fn compared(best: &Total, worst: &Total) -> String {
    let (low, high) = (&best.figures, &worst.figures);
    if low.computed_per_conversation == high.computed_per_conversation
        && low.costs.per_conversation == high.costs.per_conversation
    {
        let costs = cost(low).map_or_else(String::new, |cost| {
            format!("cost {cost} per conversation and ")
        });
        return format!(
            "All configurations {costs}leave the same {} tokens to compute per conversation; {} \
             reads {} of its prompt tokens from the cache ({}).",
            mean_tokens(low.computed_per_conversation),
            best.key.configuration,
            percent(low.cached_share),
            sureness(low),
        );
    }
    let computed = |figures: &Figures| mean_tokens(figures.computed_per_conversation);
    let read = |figures: &Figures| percent(figures.cached_share);
    let (first, last) = (&best.key.configuration, &worst.key.configuration);
    match cost(low).zip(cost(high)) {
        Some((least, most)) => format!(
            "{first} costs least: {least} per conversation, with {} tokens to compute and {} of its \
             prompt tokens read from the cache ({}).{} {last} costs most: {most}, with {} to compute \
             and {} read ({}).",
            computed(low),
            read(low),
            sureness(low),
            beside(low),
            computed(high),
            read(high),
            sureness(high),
        ),
        None => format!(
            "{first} leaves the fewest tokens to compute: {} per conversation, with {} of its \
             prompt tokens read from the cache ({}). {last} leaves the most: {}, with {} read ({}).",
            computed(low),
            read(low),
            sureness(low),
            computed(high),
            read(high),
            sureness(high),
        ),
    }
}

/// What a conversation costs.
fn cost(figures: &Figures) -> Option<String> {
    let cost = figures.costs.per_conversation;
    cost.map(|cost| dollars(Some(cost)))
}

/// What it would cost without a cache, and with the best possible one.
fn beside(figures: &Figures) -> String {
    let costs = &figures.costs;
    let Some(uncached) = costs.uncached_per_conversation else {
        return String::new();
    };
    let best = costs
        .best_per_conversation
        .map_or_else(String::new, |best| {
            format!(", and {} with all of its bounds read", dollars(Some(best)))
        });
    format!(
        " Without a cache it would cost {}{best}.",
        dollars(Some(uncached))
    )
}

/// The interval of the share, or why there is none.
fn sureness(figures: &Figures) -> String {
    match figures.cached_interval {
        Some(interval) => format!(
            "95 % interval {} to {}, {}",
            percent(Some(interval.low)),
            percent(Some(interval.high)),
            count(figures.conversations, "conversation"),
        ),
        None => format!(
            "{}: no interval",
            count(figures.conversations, "conversation")
        ),
    }
}
