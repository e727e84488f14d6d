//! Which numbers the units of a run have, from which their salts and nonces follow.
//!
//! Invariants: no two units of a session share a number; the same plan gives the same
//! numbers, in every shard of it.

use crate::load::{Beginning, Units};

/// Gives out the numbers of units, cell by cell.
pub(super) struct Numbering {
    /// Of the next cell, in a run whose conversations are counted; 0 is the whole run.
    next: u64,
    /// Cells of a run in which one of them has as many conversations as begin in time.
    uncounted: Option<usize>,
    position: usize,
    session: u32,
}

impl Numbering {
    /// For a `session` of a run; `uncounted` is how many cells it has, where one of them
    /// has as many conversations as begin in time.
    pub(super) fn new(uncounted: Option<usize>, session: u32) -> Self {
        Self {
            next: 1,
            uncounted,
            position: 0,
            session,
        }
    }

    /// Units of the next cell, and for how many conversations: in a run of many cells that
    /// end by time there may be fewer than asked for.
    pub(super) fn next(&mut self, begin: &Beginning) -> (Units, u32) {
        let position = self.position;
        self.position += 1;
        let Some(cells) = self.uncounted else {
            let units = Units::block(self.next);
            self.next += u64::from(begin.conversations) + 1;
            return (units, begin.conversations);
        };
        // How many there may be does not change when the run is gone on with.
        let most = Units::across(position, cells, 0).conversations();
        let most = u32::try_from(most).unwrap_or(u32::MAX);
        let units = Units::across(position, cells, self.session);
        (units, begin.conversations.min(most))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::load::beginning;
    use std::time::Duration;

    #[test]
    fn conversations_that_are_counted_are_numbered_one_after_the_other() {
        let level = "sessions=2".parse().unwrap();
        let begin = beginning(&level, Some(3), None, &[], 1);
        let mut numbering = Numbering::new(None, 0);
        assert_eq!(numbering.next(&begin), (Units::block(1), 3));
        assert_eq!(numbering.next(&begin), (Units::block(5), 3));
    }

    #[test]
    fn cells_that_end_by_time_have_room_for_as_many_conversations_as_there_are_numbers() {
        let level = "sessions=2".parse().unwrap();
        let begin = beginning(&level, None, Some(Duration::from_secs(1)), &[], 1);
        assert!(!begin.counted);
        for (cells, expected) in [(2, 1_000_000), (104, 238_094)] {
            for session in 0..3 {
                let mut numbering = Numbering::new(Some(cells), session);
                let (units, most) = numbering.next(&begin);
                assert_eq!(units, Units::across(0, cells, session));
                assert_eq!(most, expected, "the same in every session");
            }
        }
    }
}
