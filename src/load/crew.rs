//! The conversations of a cell that are open: who begins when, who has ended.

use super::cell::{Cell, CellEnd, Runner};
use crate::units::Micros;
use std::sync::Arc;
use std::time::Duration;
use tokio::task::{JoinError, JoinSet};
use tokio_util::sync::CancellationToken;

/// How long before its arrival a conversation is prepared, so that building its first
/// prompt does not make it late.
const LEAD: Duration = Duration::from_millis(250);

/// Conversations of one cell.
pub(super) struct Crew<'a> {
    runner: &'a Runner,
    cell: &'a Arc<Cell>,
    open: JoinSet<Result<(), CellEnd>>,
    /// Why conversations ended early, in the order in which they did.
    reasons: Vec<CellEnd>,
    /// Ends those in flight.
    give_up: CancellationToken,
    /// Only keeps others from beginning.
    no_more: CancellationToken,
}

impl<'a> Crew<'a> {
    pub(super) fn new(runner: &'a Runner, cell: &'a Arc<Cell>) -> Self {
        let give_up = runner.setup.stop.child_token();
        Self {
            runner,
            cell,
            open: JoinSet::new(),
            reasons: Vec::new(),
            no_more: give_up.child_token(),
            give_up,
        }
    }

    fn begin(&mut self, repeat: u32, arrival: Option<Micros>) {
        let cell = Arc::clone(self.cell);
        let (stop, begin) = (self.give_up.clone(), self.no_more.clone());
        let runner = self.runner;
        self.open
            .spawn(runner.conversation(cell, repeat, arrival, stop, begin));
    }

    /// A conversation ended. The first reason comes before all that follow from it.
    fn ended(&mut self, ended: Result<Result<(), CellEnd>, JoinError>) {
        match ended {
            Ok(Ok(())) => {}
            Ok(Err(end)) => {
                self.no_more.cancel();
                if matches!(end, CellEnd::Refused { .. }) {
                    self.give_up.cancel();
                }
                // Two tell whether one is a mere consequence; a million would only fill the memory.
                if self.reasons.len() < 64 {
                    self.reasons.push(end);
                }
            }
            Err(join) => match join.try_into_panic() {
                Ok(panic) => std::panic::resume_unwind(panic),
                // Nobody cancels single conversations.
                Err(_cancelled) => self.no_more.cancel(),
            },
        }
    }

    /// Begins one whenever fewer are open than are allowed.
    pub(super) async fn closed(&mut self, changes: &[(Duration, usize)], repeats: &[u32]) {
        let started = self.runner.setup.client.now();
        let mut waiting = repeats.iter();
        loop {
            while let Some(ended) = self.open.try_join_next() {
                self.ended(ended);
            }
            let now = self.runner.setup.client.now();
            let since = Duration::from_micros(now.0.saturating_sub(started.0));
            let over = self.cell.until.is_some_and(|until| since >= until);
            if over || self.no_more.is_cancelled() {
                return;
            }
            let (allowed, change) = allowed(changes, since);
            if self.open.len() < allowed {
                let Some(&repeat) = waiting.next() else {
                    return;
                };
                self.begin(repeat, None);
                continue;
            }
            let wake = [change, self.cell.until].into_iter().flatten().min();
            if self.open.is_empty() && wake.is_none() {
                return;
            }
            let rest = wake.map(|at| at.saturating_sub(since));
            self.wait_for(rest).await;
        }
    }

    /// Waits until a conversation ends, `rest` has passed, or no more are to begin.
    async fn wait_for(&mut self, rest: Option<Duration>) {
        let (no_more, rested) = (self.no_more.clone(), rest.is_some());
        tokio::select! {
            biased;
            () = no_more.cancelled() => {}
            Some(ended) = self.open.join_next() => self.ended(ended),
            () = tokio::time::sleep(rest.unwrap_or_default()), if rested => {}
        }
    }

    /// Begins each when it is due, whatever became of the others.
    pub(super) async fn open(&mut self, times: &[Duration], repeats: &[u32]) {
        let time = |repeat: u32| times.get((repeat as usize).checked_sub(1)?).copied();
        let Some(first) = repeats.first().and_then(|&repeat| time(repeat)) else {
            return;
        };
        let now = self.runner.setup.client.now();
        let started = now.0 + Micros::from(LEAD).0;
        for &repeat in repeats {
            let Some(at) = time(repeat) else { continue };
            let due = started + Micros::from(at.saturating_sub(first)).0;
            loop {
                if self.no_more.is_cancelled() {
                    return;
                }
                let now = self.runner.setup.client.now().0 + Micros::from(LEAD).0;
                if now >= due {
                    break;
                }
                self.wait_for(Some(Duration::from_micros(due - now))).await;
            }
            self.begin(repeat, Some(Micros(due)));
        }
    }

    /// Waits for all of them. Returns why conversations ended early.
    pub(super) async fn wait(mut self) -> Vec<CellEnd> {
        while let Some(ended) = self.open.join_next().await {
            self.ended(ended);
        }
        self.reasons
    }
}

/// How many may be open so long after the start, and when that changes.
fn allowed(changes: &[(Duration, usize)], since: Duration) -> (usize, Option<Duration>) {
    let begun = changes.partition_point(|(at, _)| *at <= since);
    let now = begun.checked_sub(1).map_or(0, |last| changes[last].1);
    (now, changes.get(begun).map(|(at, _)| *at))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_allowed_follows_the_changes() {
        let s = Duration::from_secs;
        let changes = [(s(0), 1), (s(10), 4), (s(20), 2)];
        for (since, expected) in [
            (0, (1, Some(s(10)))),
            (9, (1, Some(s(10)))),
            (10, (4, Some(s(20)))),
            (20, (2, None)),
            (99, (2, None)),
        ] {
            assert_eq!(allowed(&changes, s(since)), expected, "{since}");
        }
        assert_eq!(allowed(&[], s(1)), (0, None));
    }
}
