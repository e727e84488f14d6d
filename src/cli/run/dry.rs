//! What a run would send and what may be expected of it, with nothing sent; and the
//! questions that this answers before a run: does it stay within what its plan allows,
//! and may it spend that much?
//!
//! Every conversation is taken to begin on a cold cache and to run alone. So the
//! achievable share holds for `--isolate conversation`; where conversations share
//! a cache it can be more, and where a cache is too small for all of them, less.
//!
//! Invariant: what is said to be the most is never exceeded as long as no prompt has more
//! tokens than were counted here and no request is paid twice. What is sent beside what is
//! measured is in it.

mod assumed;
mod begun;
mod beside;
mod one;
mod pace;
mod rows;
mod shown;
mod spending;
mod whole;
mod width;

use super::plan::Planned;
use super::{Arguments, progress};
use crate::cli::exit::{Exit, Failure};
use crate::cli::output;
use crate::load::WarmUp;
use crate::units::{Money, Share, grouped};
pub(super) use assumed::dearest;
use rows::{Outlook, Part};
use std::collections::BTreeSet;
use tokio_util::sync::CancellationToken;
use whole::Whole;

/// Prints the plan of the run.
pub(super) fn run(given: &Arguments, planned: &Planned) -> Result<Exit, Failure> {
    let outlook = Outlook::new(given, planned)?;
    let own = outlook.whole(planned, Part::own(planned));
    let all = outlook.whole(planned, Part::all(planned));
    let repeats = width::repeats(given, &own.rows)?;
    output::data(&shown::shown(&own, &all, repeats.as_deref(), planned))?;
    for warning in warnings(planned) {
        output::warn(&warning);
    }
    for over in over(&all, planned) {
        output::warn(&format!("the run would not begin: {over}"));
    }
    if let Some(early) = early(&own, planned) {
        output::warn(&early);
    }
    Ok(Exit::Done)
}

fn warnings(planned: &Planned) -> BTreeSet<String> {
    let scenarios = planned.scenarios.iter();
    scenarios
        .flat_map(|scenario| planned.load.warnings(&planned.beginnings(scenario)))
        .collect()
}

/// Asks what has to be asked before a run. Returns the achievable shares of its cells, in
/// their order, where these were computed: for somebody who looks on, or because of a limit.
///
/// # Errors
///
/// A run that needs more than its plan allows, and one that may spend more than is
/// spent without asking.
pub(super) async fn before(
    given: &Arguments,
    planned: &Planned,
    stop: &CancellationToken,
) -> Result<Vec<Option<Share>>, Failure> {
    for warning in warnings(planned) {
        output::warn(&warning);
    }
    let plan = planned.plan.as_ref();
    let limited = planned.load.max_usd.is_some()
        || plan.is_some_and(|plan| plan.limits != crate::scenario::plan::Limits::default());
    let mut hosted = false;
    for target in &planned.targets {
        hosted |= assumed::Assumed::of(target, given, planned)?.hosted();
    }
    // With live replies the prompts are not known before.
    let watched = progress::is_watched(given.quiet) && !planned.live();
    if !limited && !hosted && !watched {
        return Ok(Vec::new());
    }
    let all = Outlook::new(given, planned)?.whole(planned, Part::all(planned));
    if let Some(over) = over(&all, planned).first() {
        return Err(Failure::wrong(
            over,
            "`--dry-run` shows what is needed; run less, or raise the limit",
        ));
    }
    if hosted && !given.yes {
        spending::ask(&all, given, planned, stop).await?;
    }
    // Nor is what a primed cache can give what was predicted of a cold one.
    if planned.live() || planned.warm_up == WarmUp::Prime {
        return Ok(Vec::new());
    }
    Ok(all.rows.iter().map(|row| row.achievable).collect())
}

/// Limits that are exceeded by the whole run.
fn over(all: &Whole, planned: &Planned) -> Vec<String> {
    let limits = planned.plan.as_ref().map(|plan| plan.limits);
    let limits = limits.unwrap_or_default();
    let (most, open_ended) = (all.most(), all.is_open_ended());
    let aside = match all.beside().requests {
        0 => String::new(),
        aside => format!(" ({} of them to warm up and to probe)", grouped(aside)),
    };
    let mut over = Vec::new();
    if let Some(limit) = limits.requests {
        let limit = grouped(limit);
        if open_ended {
            over.push(format!(
                "as many requests as the target gets through, and the limit is {limit}"
            ));
        } else if most.requests > limits.requests.unwrap_or(u64::MAX) {
            let needed = grouped(most.requests);
            over.push(format!(
                "{needed} requests{aside}, and the limit is {limit}"
            ));
        }
    }
    if let Some(limit) = limits.tokens {
        let needed = most.prompt + most.grown;
        if open_ended {
            over.push(format!(
                "as many prompt tokens as the target gets through, and the limit is {limit}"
            ));
        } else if needed > limit {
            over.push(format!("{needed} prompt tokens, and the limit is {limit}"));
        }
    }
    if let Some(limit) = planned.load.max_usd {
        if let Some(target) = all.unpriced() {
            over.push(format!(
                "its cost is limited, and what `{target}` charges is not known (`prices:` of a \
                 target says it, and --prices has those of models)"
            ));
        }
        let (probing, limit) = (all.paid_for_probing(), of_all(limit, planned));
        if probing > limit {
            over.push(format!(
                "probing its targets may cost {} USD, and the limit is {}",
                probing.decimal(),
                limit.decimal()
            ));
        }
    }
    over
}

/// What to say of a run that may reach its limit of money.
fn early(own: &Whole, planned: &Planned) -> Option<String> {
    let (limit, cost) = (planned.load.max_usd?, own.most().cost?);
    (cost > limit).then(|| {
        format!(
            "the run may cost up to {} USD with nothing read from a cache, and ends before it has \
             cost more than {}",
            cost.decimal(),
            limit.decimal()
        )
    })
}

/// What all shards of a run may spend where each of them has this limit.
fn of_all(limit: Money, planned: &Planned) -> Money {
    let shards = planned.shard.map_or(1, |shard| shard.count);
    Money(limit.0.saturating_mul(i128::from(shards)))
}
