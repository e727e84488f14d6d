//! The first sentence of a report: built from the numbers, never wider than
//! they are.

use super::words::{count, dollars, mean_tokens, percent};
use crate::analysis::stats::FEWEST;
use crate::analysis::{Figures, RankedBy, Ranking, Results, Total, TotalKey};

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
    let Some(ranking) = results.ranking(&arena[0].key) else {
        return format!("{at}Nothing can be said.");
    };
    let ranked: Vec<&Total> = ranking
        .order
        .iter()
        .filter_map(|name| arena.iter().find(|total| total.key.configuration == *name))
        .collect();
    let unranked = unranked(ranking);
    let said = match ranked.as_slice() {
        [] if !ranking.left_out.is_empty() && arena.iter().any(|t| t.figures.counted > 0) => {
            return format!(
                "{at}Nothing is ranked: no configuration was counted in every scenario from a \
                 conversation's first request to its last.{unranked}"
            );
        }
        [] => return format!("{at}{}", without_share(arena, answered)),
        [only] => alone(only),
        [best, .., worst] => compared(best, worst, ranking),
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

/// Which configurations are not ranked, and why.
fn unranked(ranking: &Ranking) -> String {
    if ranking.left_out.is_empty() {
        return String::new();
    }
    let named: Vec<String> = ranking
        .left_out
        .iter()
        .map(|one| format!("{} ({})", one.configuration, one.scenarios.join(", ")))
        .collect();
    format!(
        " Not ranked, for want of a whole conversation of a scenario: {}.",
        named.join("; ")
    )
}

/// Why the order of the ranked cannot be told; `None` where it can.
fn doubt(ranking: &Ranking) -> Option<String> {
    match ranking.spread {
        Some(spread) if spread.is_clear() => None,
        Some(spread) if spread.is_of_too_few() => Some(format!(
            "from {} of each (it takes {FEWEST})",
            count(spread.n as u64, "conversation")
        )),
        Some(spread) => Some(format!(
            "at this sample size ({})",
            count(spread.n as u64, "pair")
        )),
        None => Some("without conversations that are whole in both".to_owned()),
    }
}

/// That the first two of several cannot be told apart, where the first and the last can.
fn close(ranking: &Ranking) -> String {
    match (ranking.order.as_slice(), ranking.lead) {
        ([first, second, _, ..], Some(lead)) if !lead.is_clear() => {
            format!(" {first} and {second} cannot be told apart at this sample size.")
        }
        _ => String::new(),
    }
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

fn compared(best: &Total, worst: &Total, ranking: &Ranking) -> String {
    let (low, high) = (&best.figures, &worst.figures);
    if low.computed_per_conversation == high.computed_per_conversation
        && low.costs.per_conversation == high.costs.per_conversation
    {
        return equal(best);
    }
    let computed = |figures: &Figures| mean_tokens(figures.computed_per_conversation);
    let read = |figures: &Figures| percent(figures.cached_share);
    let (first, last) = (&best.key.configuration, &worst.key.configuration);
    let doubt = doubt(ranking);
    let sure = doubt.is_none();
    let verb = |now: &'static str, then: &'static str| if sure { now } else { then };
    let what = match ranking.by {
        RankedBy::Cost => "costs least",
        RankedBy::ComputedTokens => "leaves the fewest tokens to compute",
    };
    let lead = if sure { "" } else { "In this run " };
    let close = doubt.map_or_else(
        || close(ranking),
        |why| format!(" Which configuration {what} in general cannot be told {why}."),
    );
    let sure_of_first = sureness(low);
    let sure_of_last = Some(sureness(high)).filter(|last| *last != sure_of_first);
    let sure_of_last = sure_of_last.map_or_else(String::new, |sure| format!(" ({sure})"));
    let costs = cost(low).zip(cost(high));
    match costs.filter(|_both| ranking.by == RankedBy::Cost) {
        Some((least, most)) => format!(
            "{lead}{first} {} least: {least} per conversation, with {} tokens to compute and {} of its \
             prompt tokens read from the cache ({sure_of_first}).{} {last} {} most: {most}, with {} to \
             compute and {} read{sure_of_last}.{close}",
            verb("costs", "cost"),
            computed(low),
            read(low),
            beside(low),
            verb("costs", "cost"),
            computed(high),
            read(high),
        ),
        None => format!(
            "{lead}{first} {} the fewest tokens to compute: {} per conversation, with {} of its \
             prompt tokens read from the cache ({sure_of_first}). {last} {} the most: {}, with {} \
             read{sure_of_last}.{close}",
            verb("leaves", "left"),
            computed(low),
            read(low),
            verb("leaves", "left"),
            computed(high),
            read(high),
        ),
    }
}

fn equal(one: &Total) -> String {
    let figures = &one.figures;
    let costs = cost(figures).map_or_else(String::new, |cost| {
        format!("cost {cost} per conversation and ")
    });
    format!(
        "All configurations {costs}leave the same {} tokens to compute per conversation; {} \
         reads {} of its prompt tokens from the cache ({}).",
        mean_tokens(figures.computed_per_conversation),
        one.key.configuration,
        percent(figures.cached_share),
        sureness(figures),
    )
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

/// The interval of the share, or why there is none, and how many conversations the
/// numbers are of.
fn sureness(figures: &Figures) -> String {
    let all = count(figures.conversations, "conversation");
    let whole = if figures.whole_conversations < figures.conversations {
        format!(
            ", {} of them whole: what is said of a conversation is of these",
            figures.whole_conversations
        )
    } else {
        String::new()
    };
    match figures.cached_interval {
        Some(interval) => format!(
            "95 % interval {} to {}, {all}{whole}",
            percent(Some(interval.low)),
            percent(Some(interval.high)),
        ),
        None => format!("{all}: too few for an interval{whole}"),
    }
}
