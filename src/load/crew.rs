//! The conversations of a cell that are open: who begins when, who has ended.
//!
//! A closed cell has seats: on each one conversation follows the other, on one task, so
//! that nobody has to be woken between them. Whether another begins is decided by
//! whoever has a free seat.

use super::cell::{Cell, CellEnd, Runner};
use super::todo::Todo;
use crate::units::Micros;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;
use tokio::task::{JoinError, JoinSet};
use tokio_util::sync::CancellationToken;

/// How long before its arrival a conversation is prepared, so that building its first
/// prompt does not make it late.
const LEAD: Duration = Duration::from_millis(250);

/// Conversations of one cell.
pub(super) struct Crew {
    all: Arc<All>,
    /// Tasks at work: a seat each, or a conversation that was due.
    open: JoinSet<()>,
}

/// What all conversations of a cell have in common while it runs.
struct All {
    runner: Runner,
    cell: Arc<Cell>,
    /// Why conversations ended early, in the order in which they did.
    reasons: Mutex<Vec<CellEnd>>,
    /// Ends those in flight.
    give_up: CancellationToken,
    /// Only keeps others from beginning.
    no_more: CancellationToken,
}

impl All {
    /// One conversation, from its beginning to its end.
    async fn conversation(&self, repeat: u32, arrival: Option<Micros>) {
        let (stop, begin) = (self.give_up.clone(), self.no_more.clone());
        let cell = Arc::clone(&self.cell);
        let conversation = self.runner.conversation(cell, repeat, arrival, stop, begin);
        if let Err(end) = conversation.await {
            self.ended(end);
        }
    }

    /// A conversation ended early. The first reason comes before all that follow from it.
    fn ended(&self, end: CellEnd) {
        if matches!(end, CellEnd::Away(_)) {
            // The others go on.
            return;
        }
        let refused = matches!(end, CellEnd::Refused { .. });
        let mut reasons = locked(&self.reasons);
        // Two tell whether one is a mere consequence; a million would only fill the memory.
        if reasons.len() < 64 {
            reasons.push(end);
        }
        drop(reasons);
        self.no_more.cancel();
        if refused {
            self.give_up.cancel();
        }
    }
}

/// The seats of a closed cell.
struct Seats {
    all: Arc<All>,
    /// How many there are from when on.
    changes: Vec<(Duration, usize)>,
    /// When they were put up, and how much of the cell's time had passed by then.
    started: Micros,
    passed: Duration,
    line: Mutex<Line>,
}

/// Who waits for a seat.
struct Line {
    /// Conversations that have not begun.
    waiting: Todo,
    /// Seats that are taken.
    taken: usize,
}

/// What the crew of a closed cell does next.
enum Step {
    /// Somebody takes a seat.
    Begin(u32),
    /// Nothing changes before this.
    Wait(Option<Duration>),
    /// Nobody else begins.
    Done,
}

impl Seats {
    /// What is to be done now. A seat that begins a conversation is taken by it.
    fn step(&self) -> Step {
        let at = self.at();
        let mut line = locked(&self.line);
        if self.all.no_more.is_cancelled() || !line.waiting.has_one(at) {
            return Step::Done;
        }
        let (allowed, change) = self.allowed(&line, at);
        if line.taken < allowed {
            let Some(repeat) = line.waiting.next(at) else {
                return Step::Done;
            };
            line.taken += 1;
            return Step::Begin(repeat);
        }
        let until = line.waiting.until.filter(|until| at < *until);
        let wake = [change, until].into_iter().flatten().min();
        if line.taken == 0 && wake.is_none() {
            return Step::Done;
        }
        Step::Wait(wake.map(|wake| wake.saturating_sub(at)))
    }

    /// The next one on a seat that has become free; the seat is given up where there
    /// is none.
    fn next(&self) -> Option<u32> {
        let at = self.at();
        let mut line = locked(&self.line);
        let (allowed, _) = self.allowed(&line, at);
        let next = if self.all.no_more.is_cancelled() || line.taken > allowed {
            None
        } else {
            line.waiting.next(at)
        };
        line.taken -= usize::from(next.is_none());
        next
    }

    /// Now, in the cell's time.
    fn at(&self) -> Duration {
        let now = self.all.runner.setup.client.now();
        self.passed + Duration::from_micros(now.0.saturating_sub(self.started.0))
    }

    /// How many may be open at this instant of the cell's time, and when that changes.
    /// Those that had begun before have a seat also where a ramp ended in none.
    fn allowed(&self, line: &Line, at: Duration) -> (usize, Option<Duration>) {
        let (allowed, change) = allowed(&self.changes, at);
        let owed = usize::from(line.waiting.is_over(at));
        (allowed.max(owed), change)
    }
}

fn locked<T>(what: &Mutex<T>) -> MutexGuard<'_, T> {
    what.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Crew {
    pub(super) fn new(runner: &Runner, cell: &Arc<Cell>) -> Self {
        let give_up = runner.setup.stop.child_token();
        Self {
            all: Arc::new(All {
                runner: runner.clone(),
                cell: Arc::clone(cell),
                reasons: Mutex::default(),
                no_more: give_up.child_token(),
                give_up,
            }),
            open: JoinSet::new(),
        }
    }

    /// A task ended, and said itself why where that was early.
    fn ended(&self, ended: Result<(), JoinError>) {
        match ended.map_err(JoinError::try_into_panic) {
            Ok(()) => {}
            Err(Ok(panic)) => std::panic::resume_unwind(panic),
            // Nobody cancels single conversations.
            Err(Err(_cancelled)) => self.all.no_more.cancel(),
        }
    }

    /// Begins one whenever fewer are open than are allowed, until all have ended. Leaves
    /// in `todo` what has not begun.
    pub(super) async fn closed(&mut self, changes: &[(Duration, usize)], todo: &mut Todo) {
        let seats = Arc::new(Seats {
            all: Arc::clone(&self.all),
            changes: changes.to_vec(),
            started: self.all.runner.setup.client.now(),
            passed: todo.passed,
            line: Mutex::new(Line {
                waiting: std::mem::replace(todo, Todo::of(Vec::new())),
                taken: 0,
            }),
        });
        self.fill(&seats).await;
        while let Some(ended) = self.open.join_next().await {
            self.ended(ended);
        }
        let mut line = locked(&seats.line);
        line.waiting.pass(seats.at());
        *todo = std::mem::replace(&mut line.waiting, Todo::of(Vec::new()));
    }

    /// Fills the seats, until nobody else begins on one that is free now.
    async fn fill(&mut self, seats: &Arc<Seats>) {
        loop {
            while let Some(ended) = self.open.try_join_next() {
                self.ended(ended);
            }
            match seats.step() {
                Step::Begin(first) => self.seat(Arc::clone(seats), first),
                Step::Wait(rest) => self.wait_for(rest).await,
                Step::Done => return,
            }
        }
    }

    /// A task on which one conversation follows the other.
    fn seat(&mut self, seats: Arc<Seats>, first: u32) {
        self.open.spawn(async move {
            let mut next = Some(first);
            while let Some(repeat) = next {
                seats.all.conversation(repeat, None).await;
                next = seats.next();
            }
        });
    }

    /// Waits until a conversation ends, `rest` has passed, or no more are to begin.
    async fn wait_for(&mut self, rest: Option<Duration>) {
        let (no_more, rested) = (self.all.no_more.clone(), rest.is_some());
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
        // A run that is gone on with does not wait for what has been run.
        let again = self.all.runner.setup.begin.session > 0;
        let first = repeats.first().and_then(|&repeat| time(repeat));
        let first = first.filter(|_| again).unwrap_or_default();
        let now = self.all.runner.setup.client.now();
        let started = now.0 + Micros::from(LEAD).0;
        for &repeat in repeats {
            let Some(at) = time(repeat) else { continue };
            let due = started + Micros::from(at.saturating_sub(first)).0;
            loop {
                if self.all.no_more.is_cancelled() {
                    return;
                }
                let now = self.all.runner.setup.client.now().0 + Micros::from(LEAD).0;
                if now >= due {
                    break;
                }
                self.wait_for(Some(Duration::from_micros(due - now))).await;
            }
            let all = Arc::clone(&self.all);
            let due = Some(Micros(due));
            self.open
                .spawn(async move { all.conversation(repeat, due).await });
        }
    }

    /// Waits for all of them. Returns why conversations ended early.
    pub(super) async fn wait(mut self) -> Vec<CellEnd> {
        while let Some(ended) = self.open.join_next().await {
            self.ended(ended);
        }
        std::mem::take(&mut *locked(&self.all.reasons))
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
