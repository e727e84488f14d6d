//! What a reader must know before trusting a number.

use super::scenes::Arena;
use super::words::{count, dollars, percent, tokens};
use crate::analysis::{Evidence, LateCell, Results, Total};
use crate::record::Ending;
use crate::units::Share;

/// The heading above them.
pub(super) const LIMITS: &str = "What limits these numbers";

/// Sentences about the evidence, the most important first; empty where there is
/// nothing to say.
pub(super) fn notes(results: &Results) -> Vec<String> {
    let found = &results.evidence;
    let mut notes = Vec::new();
    match &results.ending {
        Some(Ending::Complete) => {}
        Some(Ending::Interrupted) => {
            notes.push("the run was interrupted: these are the requests until then".to_owned());
        }
        Some(Ending::Partial(why)) => notes.push(format!("a part of the run ended early: {why}")),
        Some(Ending::Limited(why)) => notes.push(format!("the run ended at its limit: {why}")),
        Some(Ending::Failed(why)) => notes.push(format!("the run ended early: {why}")),
        None => notes.push("the run has not ended, or was killed".to_owned()),
    }
    if found.failed_attempts() > 0 {
        let kinds: Vec<String> = found
            .outcomes
            .iter()
            .filter(|(outcome, _)| **outcome != "ok")
            .map(|(outcome, number)| format!("{outcome} {number}"))
            .collect();
        notes.push(format!(
            "{} of {} failed ({}): {}",
            found.failed_attempts(),
            count(found.attempts, "attempt"),
            of(found.failed_attempts(), found.attempts),
            kinds.join(", ")
        ));
    }
    notes.extend(counts(found));
    if !found.contradictory_at.is_empty() {
        let named = found.contradictory_at.join(", ");
        notes.push(format!(
            "counts that cannot be, kept raw in the records: {named}"
        ));
    }
    notes.extend(ranges(results));
    if found.beyond_lifetime > 0 {
        let (total, read) = found.beyond_lifetime_tokens;
        let share = Share {
            part: read,
            whole: total,
        };
        notes.push(format!(
            "{} ({}) after a wait that the cache would not survive, with {} of {} tokens ({}) read \
             from a cache that was still warm; their bound is 0, and they are in no share and in no \
             cost",
            sent(found.beyond_lifetime),
            of(found.beyond_lifetime, found.answered),
            tokens(Some(read)),
            tokens(Some(total)),
            percent(share.fraction()),
        ));
    }
    notes.extend(late(&found.late_cells, results));
    notes.extend(limited(found));
    if found.asked > 0 {
        notes.push(format!(
            "{} of {} held the words that the scenario expects",
            found.asked - found.missing_words,
            count(found.asked, "live answer"),
        ));
    }
    notes.extend(results.warnings.iter().cloned());
    notes
}

/// Between what bills lie where not every answer is in the costs.
fn ranges(results: &Results) -> Option<String> {
    let range = |total: &Total| {
        let costs = &total.figures.costs;
        let (least, most) = costs.least.zip(costs.most)?;
        let name = match Arena::from(&total.key).label(results) {
            place if place.is_empty() => total.key.configuration.to_string(),
            place => format!("{} on {place}", total.key.configuration),
        };
        let range = format!("{} to {}", dollars(Some(least)), dollars(Some(most)));
        let range = if least == most {
            dollars(Some(least))
        } else {
            range
        };
        Some(format!("{name} {range}"))
    };
    let ranges: Vec<String> = results.totals.iter().filter_map(range).collect();
    (!ranges.is_empty()).then(|| {
        let ranges = ranges.join(", ");
        let any = |part: fn(&Total) -> u64| results.totals.iter().any(|total| part(total) > 0);
        let silent = any(|total| total.figures.without_count);
        let apart = any(|total| total.figures.set_apart);
        let why = match (silent, apart) {
            (true, true) => "have no count or are set apart",
            (false, true) => "are set apart",
            _ => "have no count",
        };
        format!("some answers {why}; all answers together cost: {ranges}")
    })
}

/// At most so many late cells are named.
const NAMED: usize = 3;

fn late(cells: &[LateCell], results: &Results) -> Option<String> {
    let worst = cells.iter().map(|cell| cell.late_p99).max()?;
    let mut names: Vec<String> = cells
        .iter()
        .take(NAMED)
        .map(|LateCell { cell, .. }| {
            let place = Arena::from(cell).label(results);
            let place = if place.is_empty() {
                &*cell.load
            } else {
                &*place
            };
            format!("{}/{} at {place}", cell.scenario, cell.configuration)
        })
        .collect();
    if cells.len() > NAMED {
        names.push(format!("{} more", cells.len() - NAMED));
    }
    Some(format!(
        "{} late: the client itself sent up to {worst} after a request was due (p99), more than 1 % \
         of the median time to first token or more than 1 ms: {}",
        count(cells.len() as u64, "cell"),
        names.join(", ")
    ))
}

/// Who waited for limits, and for how long.
fn limited(found: &Evidence) -> Option<String> {
    let waits = &found.limited;
    (!waits.is_empty()).then(|| {
        format!(
            "{} ({}) waited for a limit before {} sent: half of them up to {}, the longest {}; that is \
             no part of the time to first token, but of the one from due",
            count(waits.requests, "request"),
            of(waits.requests, found.requests),
            if waits.requests == 1 { "it was" } else { "they were" },
            waits.p50,
            waits.max,
        )
    })
}

fn sent(number: u64) -> String {
    let was = if number == 1 { "was" } else { "were" };
    format!("{} {was} sent", count(number, "request"))
}

/// A part of all, as percent.
fn of(part: u64, all: u64) -> String {
    let share = (all > 0).then(|| part as f64 / all as f64);
    percent(share)
}

fn counts(found: &Evidence) -> impl Iterator<Item = String> {
    let (answered, sent) = (found.answered, found.requests);
    let late = (found.late > 0).then(|| {
        format!(
            "{} ({}) sent more than 10 ms late",
            count(found.late, "attempt"),
            of(found.late, found.attempts)
        )
    });
    let cases = [
        (
            found.absent,
            answered,
            "without any count of cached tokens (absent, which is not 0): left out of shares",
        ),
        (
            found.contradictory,
            answered,
            "with a count that cannot be: left out of shares",
        ),
        (
            found.unreliable,
            answered,
            "with a count that is known to be wrong on this route: left out of shares",
        ),
        (
            found.contaminated,
            answered,
            "of conversations that began on a cache that was not empty (contaminated): left out of \
             shares, and of every number per conversation",
        ),
        (
            found.answer_cache,
            answered,
            "that a gateway answered from its own cache of whole answers: no model was asked, and \
             they are set apart from shares, costs and latencies",
        ),
        (
            found.gateway_retried,
            answered,
            "that a gateway had sent again before it answered (its own retries): set apart from \
             shares, costs and latencies",
        ),
        (
            found.gateway_fallback,
            answered,
            "that a gateway had answered from elsewhere than where it asked first (its own \
             fallbacks): set apart from shares, costs and latencies",
        ),
        (
            found.above_bound,
            answered,
            "with a count above its bound: another tokenizer, another client or another cache",
        ),
        (
            found.off_step,
            answered,
            "with a count that is no multiple of the cache's step",
        ),
        (
            found.evicted,
            answered,
            "that read less than their conversation had just read, though the cache could still \
             hold as much: evicted, or answered by another server",
        ),
        (
            found.without_bound,
            answered,
            "without a bound: no achievable share where one is among them",
        ),
        (
            found.after_failure,
            sent,
            "that came after a failed turn of the same conversation",
        ),
        (
            found.idle_cut,
            sent,
            "behind a rest that was cut short: the scenario's time has passed, the server's has not",
        ),
        (found.retried, sent, "sent again after a failure"),
        (
            found.long_wait,
            sent,
            "not sent again, since the server asked for a longer wait than the longest that is \
             waited (--longest-wait); it was left alone for that long",
        ),
    ];
    cases
        .into_iter()
        .filter(|(number, ..)| *number > 0)
        .map(|(number, all, what)| {
            format!("{} ({}) {what}", count(number, "request"), of(number, all))
        })
        .chain(late)
}
