//! What of a cell is still to be done: its conversations, and its time.
//!
//! Invariants: conversations come in ascending order, each once; a conversation that
//! had begun before the run was broken off comes whatever the time, since it is one of
//! those that began within it.

use std::ops::RangeInclusive;
use std::time::Duration;

/// What of a cell is still to be done. It outlives the rounds of the cell.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Todo {
    /// Numbers of conversations, the next one last.
    listed: Vec<u32>,
    /// All of these follow.
    rest: RangeInclusive<u32>,
    /// Conversations up to this number have begun before.
    begun: u32,
    /// How much of the cell's time has passed.
    pub passed: Duration,
    /// None begins later than this in the cell's time, but those that have begun before.
    pub until: Option<Duration>,
}

impl Todo {
    /// Conversations of these numbers, ascending; however long it takes.
    pub fn of(repeats: Vec<u32>) -> Self {
        Self::following(repeats, RangeInclusive::new(1, 0))
    }

    /// Conversations of these numbers, ascending, and those of `rest` behind them.
    pub fn following(mut repeats: Vec<u32>, rest: RangeInclusive<u32>) -> Self {
        repeats.reverse();
        Self {
            listed: repeats,
            rest,
            begun: 0,
            passed: Duration::ZERO,
            until: None,
        }
    }

    /// The same of a run that is gone on with: conversations up to the number `begun` had
    /// begun, and so much of the cell's time has passed.
    #[must_use]
    pub fn after(self, begun: u32, passed: Duration) -> Self {
        Self {
            begun,
            passed,
            ..self
        }
    }

    /// None begins later than this in the cell's time.
    #[must_use]
    pub fn until(self, until: Option<Duration>) -> Self {
        Self { until, ..self }
    }

    /// Takes other conversations, with the time as it is.
    pub fn go_on_with(&mut self, repeats: Vec<u32>) {
        let other = Self::of(repeats);
        (self.listed, self.rest) = (other.listed, other.rest);
    }

    /// Whether no conversation begins any more at this instant of the cell's time, but
    /// those that had begun before.
    pub(super) fn is_over(&self, at: Duration) -> bool {
        self.until.is_some_and(|until| at >= until)
    }

    /// Whether this conversation would begin now.
    pub fn begins(&self, repeat: u32) -> bool {
        repeat <= self.begun || !self.is_over(self.passed)
    }

    /// Whether a conversation is left that would begin now.
    pub fn is_left(&self) -> bool {
        self.has_one(self.passed)
    }

    /// Whether a conversation begins at this instant of the cell's time.
    pub(super) fn has_one(&self, at: Duration) -> bool {
        self.first()
            .is_some_and(|first| first <= self.begun || !self.is_over(at))
    }

    /// The conversation that begins at this instant of the cell's time.
    pub(super) fn next(&mut self, at: Duration) -> Option<u32> {
        if !self.has_one(at) {
            return None;
        }
        self.listed.pop().or_else(|| self.rest.next())
    }

    fn first(&self) -> Option<u32> {
        let listed = self.listed.last().copied();
        listed.or_else(|| (!self.rest.is_empty()).then_some(*self.rest.start()))
    }

    /// All of them, in order.
    pub(super) fn all(&self) -> Vec<u32> {
        let listed = self.listed.iter().rev().copied();
        listed.chain(self.rest.clone()).collect()
    }

    /// A round ended `at` this instant of the cell's time. What followed its last possible
    /// beginning is not counted: it let nobody begin.
    pub(super) fn pass(&mut self, at: Duration) {
        let until = self.until.unwrap_or(at);
        self.passed = self.passed.max(at.min(until));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const S: fn(u64) -> Duration = Duration::from_secs;

    #[test]
    fn time_keeps_others_from_beginning_but_not_those_that_had_begun() {
        let mut todo = Todo::following(vec![2, 4], 6..=1_000_000).after(5, S(3));
        todo.until = Some(S(10));
        assert_eq!(todo.next(S(10)), Some(2));
        assert_eq!(todo.next(S(99)), Some(4));
        assert_eq!(todo.next(S(10)), None);
        assert_eq!(todo.next(S(9)), Some(6));
        assert_eq!(todo.next(S(9)), Some(7));
        assert_eq!(todo.all().first(), Some(&8));
    }

    #[test]
    fn without_a_time_all_begin() {
        let mut todo = Todo::of(vec![1, 2]);
        assert_eq!((todo.next(S(1)), todo.next(S(99))), (Some(1), Some(2)));
        assert_eq!(todo.next(S(1)), None);
        todo.go_on_with(vec![3]);
        assert_eq!(todo.all(), [3]);
    }

    #[test]
    fn time_passes_up_to_the_last_possible_beginning() {
        let mut todo = Todo::of(Vec::new());
        todo.until = Some(S(10));
        for (at, passed) in [(4, 4), (3, 4), (12, 10)] {
            todo.pass(S(at));
            assert_eq!(todo.passed, S(passed));
        }
    }
}
