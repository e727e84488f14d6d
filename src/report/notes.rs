//! What a reader must know before trusting a number.

use super::words::{count, percent, tokens};
use crate::analysis::{LateCell, Results};
use crate::record::Ending;
use crate::units::Share;

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
            "{} of {} failed: {}",
            found.failed_attempts(),
            count(found.attempts, "attempt"),
            kinds.join(", ")
        ));
    }
    notes.extend(counts(results));
    if !found.contradictory_at.is_empty() {
        let named = found.contradictory_at.join(", ");
        notes.push(format!(
            "counts that cannot be, kept raw in the records: {named}"
        ));
    }
    if found.beyond_lifetime > 0 {
        let (total, read) = found.beyond_lifetime_tokens;
        let share = Share {
            part: read,
            whole: total,
        };
        notes.push(format!(
            "{} after a wait that the cache would not survive, with {} of {} tokens ({}) read from \
             a cache that was still warm; their bound is 0",
            sent(found.beyond_lifetime),
            tokens(Some(read)),
            tokens(Some(total)),
            percent(share.fraction()),
        ));
    }
    notes.extend(late(&found.late_cells));
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

/// At most so many late cells are named.
const NAMED: usize = 3;

fn late(cells: &[LateCell]) -> Option<String> {
    let worst = cells.iter().map(|cell| cell.late_p99).max()?;
    let mut names: Vec<String> = cells
        .iter()
        .take(NAMED)
        .map(|LateCell { cell, .. }| {
            format!("{}/{} {}", cell.scenario, cell.configuration, cell.load)
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

fn sent(number: u64) -> String {
    let was = if number == 1 { "was" } else { "were" };
    format!("{} {was} sent", count(number, "request"))
}

fn counts(results: &Results) -> impl Iterator<Item = String> {
    let found = &results.evidence;
    let cases = [
        (
            found.absent,
            "without any count of cached tokens (absent, which is not 0): left out of shares",
        ),
        (
            found.contradictory,
            "with a count that cannot be: left out of shares",
        ),
        (
            found.unreliable,
            "with a count that is known to be wrong on this route: left out of shares",
        ),
        (
            found.contaminated,
            "that began a conversation on a cache that was not empty (contaminated): the whole \
             conversation is left out of shares",
        ),
        (
            found.above_bound,
            "with a count above its bound: another tokenizer, another client or another cache",
        ),
        (
            found.off_step,
            "with a count that is no multiple of the cache's step",
        ),
        (
            found.without_bound,
            "without a bound: no achievable share where one is among them",
        ),
        (
            found.after_failure,
            "that came after a failed turn of the same conversation",
        ),
        (
            found.idle_cut,
            "behind a rest that was cut short: the scenario's time has passed, the server's has not",
        ),
        (found.retried, "sent again after a failure"),
        (found.late, "sent more than 10 ms late"),
    ];
    cases
        .into_iter()
        .filter(|(number, _)| *number > 0)
        .map(|(number, what)| format!("{} {what}", count(number, "request")))
}
