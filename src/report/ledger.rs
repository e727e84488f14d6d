//! What the ledger says that a reader of the results must know.

use crate::record::ledger::{ConversationFact, Held};
use crate::record::{Fact, LedgerLine, Manifest};
use crate::units::Micros;
use std::time::Duration;

/// Sentences about a run that was broken off, and about caches that did not hold what
/// they were to hold; lowercase, without a full stop.
pub(super) fn notes(manifest: &Manifest, ledger: &[LedgerLine]) -> Vec<String> {
    let mut notes = Vec::new();
    if !manifest.resumed.is_empty() {
        notes.push(resumed(manifest, ledger));
    }
    let evicted: Vec<&str> = ledger
        .iter()
        .filter_map(|line| match &line.fact {
            Fact::Probe(probe) if probe.held == Held::Nothing => Some(&*probe.cell),
            _ => None,
        })
        .collect();
    if let Some((first, more)) = evicted.split_first() {
        let others = and_others(more.len());
        notes.push(format!(
            "at the end of {first}{others} the cache held nothing of the first prompt any more: it \
             was too small, too short-lived, or never kept it"
        ));
    }
    notes.extend(unready(ledger));
    notes.extend(rested(ledger));
    notes
}

fn resumed(manifest: &Manifest, ledger: &[LedgerLine]) -> String {
    let again = ledger.iter().map(|line| match &line.fact {
        Fact::Superseded(superseded) => superseded.conversations.len(),
        _ => 0,
    });
    let times = match manifest.resumed.len() {
        1 => "once".to_owned(),
        times => format!("{times} times"),
    };
    let again = match again.sum() {
        0 => "nothing had to be run again".to_owned(),
        1 => "1 conversation was run again".to_owned(),
        again => format!("{again} conversations were run again"),
    };
    format!("the run was broken off and gone on with {times}; {again}")
}

/// Entries that were primed and could not be read back.
fn unready(ledger: &[LedgerLine]) -> Option<String> {
    let mut cells = ledger.iter().filter_map(|line| match &line.fact {
        Fact::WarmUp(warm_up) if warm_up.readable == Some(false) => Some(&warm_up.cell),
        _ => None,
    });
    let first = cells.next()?;
    let others = and_others(cells.count());
    Some(format!(
        "what primed {first}{others} was not to be read back from the cache"
    ))
}

/// Conversations that rested for longer than the cache lives.
fn rested(ledger: &[LedgerLine]) -> Option<String> {
    let beyond =
        |fact: &&ConversationFact| fact.lifetime_us.is_some_and(|life| fact.idle_us > life);
    let mut rested = ledger
        .iter()
        .filter_map(|line| match &line.fact {
            Fact::Conversation(fact) => Some(&**fact),
            _ => None,
        })
        .filter(beyond);
    let first = rested.next()?;
    let others = and_others(rested.count());
    let seconds = |span: Micros| Duration::from(span).as_secs();
    Some(format!(
        "{}{others} really rested for longer than the cache lives ({} s, and it lives {} s)",
        first.conversation,
        seconds(first.idle_us),
        seconds(first.lifetime_us.unwrap_or_default())
    ))
}

fn and_others(more: usize) -> String {
    match more {
        0 => String::new(),
        1 => " and 1 other".to_owned(),
        more => format!(" and {more} others"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::record::ledger::{Ended, Probe, Start, Superseded, WarmUp};
    use crate::record::{Resumption, WallTime};
    use std::sync::Arc;

    fn line(fact: Fact) -> LedgerLine {
        LedgerLine::new(Micros(0), fact)
    }

    fn probe(cell: &str, held: Held) -> LedgerLine {
        line(Fact::Probe(Probe {
            cell: Arc::from(cell),
            conversation: Arc::from(cell),
            held,
            total: None,
            read: None,
            after_us: Micros(0),
        }))
    }

    #[test]
    fn a_quiet_ledger_says_nothing() {
        let ledger = [probe("a/dev", Held::Whole), probe("a/inline", Held::Untold)];
        assert_eq!(notes(&Manifest::begin(1, "0"), &ledger), [] as [&str; 0]);
    }

    #[test]
    fn what_was_run_again_and_what_was_lost_is_told() {
        let mut manifest = Manifest::begin(1, "0");
        let at = WallTime::parse("2026-11-30T10:00:00Z").expect("a time");
        let from_us = Micros(1);
        manifest.resumed = vec![Resumption { at, from_us }; 2];
        let superseded = Superseded {
            session: 1,
            conversations: vec![Arc::from("a/dev/1"), Arc::from("a/dev/2")],
        };
        let warm_up = WarmUp {
            cell: Arc::from("a/dev"),
            mode: Arc::from("prime"),
            nonce: Arc::from("0"),
            salt: None,
            requests: 8,
            read: None,
            readable: Some(false),
        };
        let conversation = ConversationFact {
            conversation: Arc::from("a/dev/1"),
            session: 0,
            order: 1,
            salt: None,
            nonce: Arc::from("0"),
            epoch: 0,
            began_us: Micros(0),
            attempts: 2,
            idle_us: Micros(700_000_000),
            lifetime_us: Some(Micros(600_000_000)),
            start: Start::Cold,
            read: None,
            as_expected: None,
            ended: Ended::Complete,
        };
        let ledger = [
            line(Fact::Superseded(superseded)),
            probe("a/dev", Held::Nothing),
            probe("a/inline", Held::Nothing),
            line(Fact::WarmUp(warm_up)),
            line(Fact::Conversation(Box::new(conversation))),
        ];
        let said = notes(&manifest, &ledger).join("\n");
        for expected in [
            "gone on with 2 times; 2 conversations were run again",
            "at the end of a/dev and 1 other the cache held nothing",
            "what primed a/dev was not to be read back",
            "a/dev/1 really rested for longer than the cache lives (700 s, and it lives 600 s)",
        ] {
            assert!(said.contains(expected), "{expected}:\n{said}");
        }
    }
}
