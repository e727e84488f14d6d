//! How many conversations of a cell begin, and how long that takes.
//!
//! A closed cell is one of seats: on each a conversation follows the other for as long
//! as the seat is there, and the last one goes on to its end.

use crate::load::MOST_CONVERSATIONS;
use std::time::Duration;

/// Conversations of a cell.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Begun {
    /// `None`: as many as the target gets through in the time given, which nobody knows.
    pub(super) conversations: Option<u64>,
    /// At least this long, by schedule and think time.
    pub(super) at_least: Duration,
    /// About this long, where the target's speed is known.
    pub(super) about: Option<Duration>,
}

/// What decides about a closed cell.
#[derive(Clone, Copy, Debug)]
pub(super) struct Closed<'a> {
    /// So many seats from each instant on.
    pub(super) changes: &'a [(Duration, usize)],
    /// No conversation begins later.
    pub(super) until: Option<Duration>,
    /// No more conversations begin.
    pub(super) ceiling: u64,
    /// How long one takes, where that is known, and what is thought in it.
    pub(super) one: Option<Duration>,
    pub(super) thought: Duration,
}

impl Closed<'_> {
    /// How many begin. Where quotas hold them back it may be fewer.
    pub(super) fn begun(self) -> Begun {
        let one = self.one.filter(|one| !one.is_zero());
        let unbounded = self.ceiling >= u64::from(MOST_CONVERSATIONS);
        match (self.until, one) {
            (None, _) => {
                let most = self.changes.iter().map(|(_, seats)| *seats).max();
                let rounds = rounds(self.ceiling, most.unwrap_or(1));
                Begun {
                    conversations: Some(self.ceiling),
                    at_least: self.thought.saturating_mul(rounds),
                    about: self.one.map(|one| one.saturating_mul(rounds)),
                }
            }
            (Some(until), None) => Begun {
                conversations: (!unbounded).then_some(self.ceiling),
                at_least: if unbounded { until } else { Duration::ZERO },
                about: None,
            },
            (Some(until), Some(one)) => {
                let (begun, end) = self.seated(until, one);
                let (conversations, about) = if begun <= self.ceiling {
                    (begun, end)
                } else {
                    (self.ceiling, self.reached(one))
                };
                Begun {
                    conversations: Some(conversations),
                    at_least: if unbounded { until } else { Duration::ZERO },
                    about: Some(about),
                }
            }
        }
    }

    /// Conversations of `one` that begin on all seats before `until`, and the end of the
    /// last one.
    fn seated(&self, until: Duration, one: Duration) -> (u64, Duration) {
        // Seats that are there: since when, and how many of that age.
        let mut seats: Vec<(Duration, usize)> = Vec::new();
        let (mut now, mut begun, mut end) = (0, 0_u64, Duration::ZERO);
        let mut leave = |since: Duration, many: usize, at: Duration| {
            let each = ratio(at.saturating_sub(since), one);
            begun = begun.saturating_add(each.saturating_mul(many as u64));
            let rounds = u32::try_from(each).unwrap_or(u32::MAX);
            end = end.max(since + one.saturating_mul(rounds));
        };
        for &(at, many) in self.changes.iter().filter(|(at, _)| *at < until) {
            if many > now {
                seats.push((at, many - now));
            }
            let mut going = now.saturating_sub(many);
            while going > 0
                && let Some((since, of_age)) = seats.pop()
            {
                let leaving = going.min(of_age);
                leave(since, leaving, at);
                going -= leaving;
                if of_age > leaving {
                    seats.push((since, of_age - leaving));
                }
            }
            now = many;
        }
        for (since, many) in seats {
            leave(since, many, until);
        }
        (begun, end)
    }

    /// When as many conversations of `one` as there are at most have come to their end.
    fn reached(&self, one: Duration) -> Duration {
        if let [(_, seats)] = self.changes {
            return one.saturating_mul(rounds(self.ceiling, *seats));
        }
        let mut left = self.ceiling as f64 * one.as_secs_f64();
        let mut ends = self.changes.iter().skip(1).map(|(at, _)| *at);
        for &(at, seats) in self.changes {
            let span = ends
                .next()
                .map_or(f64::INFINITY, |end| end.saturating_sub(at).as_secs_f64());
            let within = left / (seats.max(1) as f64);
            if within <= span {
                let end = at.as_secs_f64() + within;
                return Duration::try_from_secs_f64(end)
                    .unwrap_or(Duration::MAX)
                    .max(one);
            }
            left -= span * seats as f64;
        }
        one
    }
}

/// How often all seats are taken for so many conversations.
fn rounds(conversations: u64, seats: usize) -> u32 {
    let rounds = conversations.div_ceil(seats.max(1) as u64);
    u32::try_from(rounds).unwrap_or(u32::MAX)
}

/// How many begin on a seat that is there for `span`.
#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "not negative; what is too large becomes the largest"
)]
fn ratio(span: Duration, one: Duration) -> u64 {
    (span.as_secs_f64() / one.as_secs_f64()).ceil() as u64
}

#[cfg(test)]
mod tests {
    use super::*;

    fn s(seconds: u64) -> Duration {
        Duration::from_secs(seconds)
    }

    fn closed(changes: &[(Duration, usize)], until: Option<u64>, ceiling: u64) -> Closed<'_> {
        Closed {
            changes,
            until: until.map(s),
            ceiling,
            one: Some(s(2)),
            thought: Duration::ZERO,
        }
    }

    #[test]
    fn a_number_of_conversations_takes_as_many_rounds_as_it_fills_seats() {
        for (seats, count, seconds) in [(1, 5, 10), (4, 5, 4), (4, 3, 2), (4, 0, 0)] {
            let begun = closed(&[(s(0), seats)], None, count).begun();
            assert_eq!(begun.conversations, Some(count));
            assert_eq!(begun.about, Some(s(seconds)), "{count} on {seats}");
        }
    }

    #[test]
    fn each_seat_is_used_for_as_long_as_it_is_there() {
        let most = u64::from(MOST_CONVERSATIONS);
        let ramp: Vec<(Duration, usize)> = (0..).map(|at| s(at * 4)).zip(1..=50).collect();
        let cases: &[(&[(Duration, usize)], u64, u64, u64)] = &[
            (&[(s(0), 3)], 10, 15, 10),
            // The last one begins at 10 s and ends at 12.
            (&[(s(0), 3)], 11, 18, 12),
            // One for 30 s and seven for 20 s.
            (&[(s(0), 1), (s(10), 8)], 30, 15 + 70, 30),
            // Six go after 10 s, and two stay.
            (&[(s(0), 8), (s(10), 2)], 30, 30 + 30, 30),
            (
                &[(s(0), 2), (s(10), 5), (s(20), 1), (s(30), 4)],
                40,
                15 + 10 + 20 + 15,
                40,
            ),
            // Seats of 200, 196, … 4 s: half of what all of them would take all the time.
            (&ramp, 200, 2 * (1..=50).sum::<u64>(), 200),
        ];
        for (changes, until, count, seconds) in cases {
            let begun = closed(changes, Some(*until), most).begun();
            let expected = Begun {
                conversations: Some(*count),
                at_least: s(*until),
                about: Some(s(*seconds)),
            };
            assert_eq!(begun, expected, "{changes:?}");
        }
    }

    #[test]
    fn a_number_that_is_reached_before_the_time_ends_it() {
        let begun = closed(&[(s(0), 4)], Some(100), 10).begun();
        assert_eq!((begun.conversations, begun.about), (Some(10), Some(s(6))));
        // 10 s of one seat are five; the other ten take a second on ten seats each.
        let begun = closed(&[(s(0), 1), (s(10), 10)], Some(100), 15).begun();
        assert_eq!((begun.conversations, begun.about), (Some(15), Some(s(12))));
    }

    #[test]
    fn of_a_target_whose_speed_is_not_known_only_a_number_is_known() {
        for (ceiling, known) in [(7, Some(7)), (u64::from(MOST_CONVERSATIONS), None)] {
            let unknown = Closed {
                one: None,
                ..closed(&[(Duration::ZERO, 1)], Some(60), ceiling)
            };
            assert_eq!(unknown.begun().conversations, known);
        }
    }
}
