//! What must be known of a request to trust its count.

use crate::cache::Model;
use crate::chat::UsageOrigin;
use crate::record::{BoundRecord, Outcome, RequestRecord, TargetFacts};
use crate::units::Tokens;
use std::collections::HashSet;
use std::sync::Arc;

/// Flags that the bound of a request gives rise to.
///
/// * `beyond_lifetime`: the scenario waited longer than the cache lives, but
///   the server's clock did not: its count is not what the scenario asks for.
/// * `above_bound`: more read than the cache could hold, beyond the target's
///   tolerance: another tokenizer, another client, a cache of whole answers.
/// * `contaminated`: the same of the first request of a conversation that was kept
///   apart, and so should have begun on a known cache.
///   Where there is no bound: of the first request under a salt or nonce of its own,
///   or behind a reset.
/// * `off_step`: a count that is no multiple of the cache's step.
/// * `evicted`: less read than the conversation's previous request had read,
///   though the cache could still hold as much: it was evicted, or another
///   server answered.
pub(super) fn of(
    record: &RequestRecord,
    bound: &BoundRecord,
    target: &TargetFacts,
    known: &Known<'_>,
) -> Vec<Arc<str>> {
    let mut flags = Vec::new();
    let mut raise = |flag: &str| flags.push(Arc::from(flag));
    if known.beyond_lifetime {
        raise("beyond_lifetime");
    }
    let Some(read) = read(record) else {
        return flags;
    };
    let tolerance = tolerance(target, record.usage.total);
    let above = bound.bound.is_some_and(|bound| read > bound + tolerance);
    if above && !known.beyond_lifetime {
        raise("above_bound");
        if known.isolated && record.turn == 1 && record.request == 1 {
            raise(CONTAMINATED);
        }
    }
    // Where nothing counts the prompt's tokens, a fresh unit must still begin cold.
    if bound.bound.is_none() && known.fresh && read > tolerance.max(HIDDEN) {
        raise(CONTAMINATED);
    }
    let step = known.model.and_then(step);
    if step.is_some_and(|step| off(read, step) > tolerance) {
        raise("off_step");
    }
    let slack = tolerance + Tokens(step.unwrap_or_default());
    let held = known.before.filter(|before| bound.bound >= Some(*before));
    if held.is_some_and(|before| read + slack < before) {
        raise("evicted");
    }
    flags
}

/// What is known of a request besides its record and its bound.
pub(super) struct Known<'a> {
    /// The target's cache model.
    pub(super) model: Option<&'a Model>,
    /// Whether the scenario alone has waited for longer than the cache lives.
    pub(super) beyond_lifetime: bool,
    /// Whether its unit was kept apart from others.
    pub(super) isolated: bool,
    /// Whether it is the first of such a unit.
    pub(super) fresh: bool,
    /// What the conversation's previous request read.
    pub(super) before: Option<Tokens>,
}

/// The count of an answered request that the server reported, and no gateway in its
/// place.
pub(super) fn read(record: &RequestRecord) -> Option<Tokens> {
    let counted = record.outcome == Outcome::Ok && record.usage.origin == UsageOrigin::Reported;
    let read = record.usage.read.filter(|_| counted)?;
    (!record.is_of_gateway()).then_some(read)
}

/// What was found of a conversation's first request holds for all of it: its later
/// requests build on the same cache.
pub(super) fn spread(found: &mut [BoundRecord]) {
    let is = |flag: &Arc<str>| &**flag == CONTAMINATED;
    let contaminated: HashSet<Arc<str>> = found
        .iter()
        .filter(|bound| bound.flags.iter().any(is))
        .map(|bound| Arc::clone(&bound.conversation))
        .collect();
    for bound in found {
        if contaminated.contains(&bound.conversation) && !bound.flags.iter().any(is) {
            bound.flags.push(Arc::from(CONTAMINATED));
        }
    }
}

const CONTAMINATED: &str = "contaminated";

/// What the count of a prompt of `total` tokens may be off by.
fn tolerance(target: &TargetFacts, total: Option<Tokens>) -> Tokens {
    let share = total.unwrap_or_default().0 * u64::from(target.tolerance_permille) / 1_000;
    target.tolerance.max(Tokens(share))
}

/// Tokens that a provider's own hidden text may bring into every prompt.
/// Source: the margin of 64 tokens that hosted providers' counts are given.
const HIDDEN: Tokens = Tokens(64);

/// Counts of this model are multiples of this many tokens.
fn step(model: &Model) -> Option<u64> {
    let size = match model {
        Model::Blocks { size, .. }
        | Model::Align { size, .. }
        | Model::Steps { size, .. }
        | Model::Intervals { step: size, .. } => size,
        Model::Radix { page } => page,
        _ => return None,
    };
    Some(size.get() as u64)
}

/// How far `read` is from the nearest multiple of `step`, which is not 0.
fn off(read: Tokens, step: u64) -> Tokens {
    let above = read.0 % step;
    Tokens(above.min(step - above))
}
