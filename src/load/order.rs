//! In which order cells and their conversations are run.
//!
//! A target drifts: it warms up, others use it, a cache fills. Where cells are run
//! one after the other, that drift looks like a difference between them; where
//! their conversations are interleaved at random, it meets all of them alike.
//!
//! A cell that has as many conversations as fit into its time is interleaved by its
//! time: each of its rounds is a slice of it, within which conversations follow each
//! other as they do without slices.
//!
//! Invariants: every conversation of every cell is in exactly one round, where it is
//! known which ones there will be; a round holds as many conversations as its cell runs
//! at once, or a slice of its time, so that the load within it is the cell's; the same
//! seed and cells give the same order on every machine.

use crate::chat::Digest;
use rand::SeedableRng;
use rand::seq::SliceRandom;
use rand_chacha::ChaCha8Rng;
use std::fmt;
use std::str::FromStr;
use std::time::Duration;

/// Slices that the time of a cell is cut into.
const SLICES: u32 = 10;

/// In which order cells and their conversations are run.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, clap::ValueEnum)]
pub enum Order {
    /// A cell after the other, as given.
    #[default]
    Given,
    /// Rounds of all cells, interleaved at random by the seed.
    Shuffled,
}

impl fmt::Display for Order {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Given => "given",
            Self::Shuffled => "shuffled",
        })
    }
}

impl FromStr for Order {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        clap::ValueEnum::from_str(text, false)
    }
}

/// How many conversations a cell has, and how many of them run at once.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Size {
    /// Conversations.
    pub repeats: u32,
    /// How many of them make a round; 0 counts as 1, and `usize::MAX` is a schedule,
    /// which is not cut.
    pub sessions: usize,
    /// There are as many conversations as begin within this time, and not as many as
    /// `repeats` says.
    pub lasts: Option<Duration>,
}

/// What of one cell is run without another in between.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Round {
    /// Position of the cell in the list that the order was made of.
    pub cell: usize,
    /// Which of its conversations.
    pub part: Part,
}

/// Conversations of a cell that make a round.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Part {
    /// These, by their numbers, from 1, ascending.
    Repeats(Vec<u32>),
    /// Those that begin, one after the other, until so much of the cell's time has passed.
    Until(Duration),
}

impl Size {
    fn rounds(self) -> u32 {
        if self.lasts.is_some() {
            return if self.is_whole() { 1 } else { SLICES };
        }
        self.repeats.div_ceil(self.at_once())
    }

    fn at_once(self) -> u32 {
        u32::try_from(self.sessions.max(1)).unwrap_or(u32::MAX)
    }

    fn is_whole(self) -> bool {
        self.sessions == usize::MAX
    }

    /// The round of this number, from 0.
    fn round(self, number: u32) -> Part {
        if let Some(lasts) = self.lasts {
            let slices = self.rounds();
            return Part::Until(lasts * (number + 1) / slices);
        }
        let first = number.saturating_mul(self.at_once());
        let last = first.saturating_add(self.at_once()).min(self.repeats);
        Part::Repeats((first + 1..=last).collect())
    }
}

/// The rounds of cells of these sizes.
///
/// Given: one round a cell. Shuffled: a cell's conversations stay in ascending
/// order among themselves, as a round is known by them, and what is drawn is which
/// cell's turn it is. `seed` is the run's.
pub fn rounds(order: Order, cells: &[Size], seed: u64) -> Vec<Round> {
    match order {
        Order::Given => {
            let whole = cells.iter().map(|size| Size {
                sessions: usize::MAX,
                ..*size
            });
            let all = whole.enumerate();
            all.map(|(cell, size)| Round {
                cell,
                part: size.round(0),
            })
            .collect()
        }
        Order::Shuffled => shuffled(cells, seed),
    }
}

fn shuffled(cells: &[Size], seed: u64) -> Vec<Round> {
    let turns = cells.iter().map(|size| size.rounds());
    let mut order: Vec<usize> = turns
        .enumerate()
        .flat_map(|(cell, rounds)| std::iter::repeat_n(cell, rounds as usize))
        .collect();
    // A purpose of its own, so that no other draw of the run follows from this one.
    let purpose = Digest::of(format!("order of cells {seed}").as_bytes());
    order.shuffle(&mut ChaCha8Rng::from_seed(purpose.0));
    let mut begun = vec![0_u32; cells.len()];
    order
        .into_iter()
        .map(|cell| {
            let part = cells[cell].round(begun[cell]);
            begun[cell] += 1;
            Round { cell, part }
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn size(repeats: u32, sessions: usize) -> Size {
        Size {
            repeats,
            sessions,
            lasts: None,
        }
    }

    fn repeats(round: Round) -> Vec<u32> {
        match round.part {
            Part::Repeats(repeats) => repeats,
            Part::Until(until) => panic!("a slice until {until:?}"),
        }
    }

    #[test]
    fn as_given_every_cell_is_one_round() {
        let cells = [size(2, 1), size(0, 4), size(3, 8)];
        let expected = [vec![1, 2], vec![], vec![1, 2, 3]];
        let found = rounds(Order::Given, &cells, 1);
        assert_eq!(found.into_iter().map(repeats).collect::<Vec<_>>(), expected);
    }

    #[test]
    fn a_shuffled_order_interleaves_cells_and_follows_from_the_seed() {
        let cells = [size(20, 1), size(20, 1)];
        let first = rounds(Order::Shuffled, &cells, 1);
        assert_eq!(first, rounds(Order::Shuffled, &cells, 1));
        assert_ne!(first, rounds(Order::Shuffled, &cells, 2));
        let changes = first.windows(2).filter(|pair| pair[0].cell != pair[1].cell);
        assert!(changes.count() > 5, "{first:?}");
    }

    #[test]
    fn the_order_of_a_seed_stays_what_it_is() {
        let cells = [size(2, 1), size(2, 1), size(2, 1)];
        let order = rounds(Order::Shuffled, &cells, 1);
        let cells: Vec<usize> = order.iter().map(|round| round.cell).collect();
        assert_eq!(cells, [2, 0, 1, 2, 1, 0]);
    }

    #[test]
    fn a_cell_that_ends_by_time_is_interleaved_by_slices_of_it() {
        let lasting = |sessions| Size {
            repeats: 1_000_000,
            sessions,
            lasts: Some(Duration::from_secs(20)),
        };
        let until = |seconds| Part::Until(Duration::from_secs(seconds));
        let given = rounds(Order::Given, &[lasting(2)], 1);
        assert_eq!(given.len(), 1);
        assert_eq!(given[0].part, until(20));
        let cells = [lasting(2), lasting(8), lasting(usize::MAX)];
        let order = rounds(Order::Shuffled, &cells, 1);
        assert_eq!(order.len(), 10 + 10 + 1, "a schedule is one whole");
        for cell in 0..2 {
            let of_cell = order.iter().filter(|round| round.cell == cell);
            let parts: Vec<Part> = of_cell.map(|round| round.part.clone()).collect();
            let expected: Vec<Part> = (1..=10).map(|slice| until(2 * slice)).collect();
            assert_eq!(parts, expected);
        }
        let changes = order.windows(2).filter(|pair| pair[0].cell != pair[1].cell);
        assert!(changes.count() > 5, "{order:?}");
    }

    proptest! {
        #[test]
        fn every_conversation_is_run_once_at_no_more_than_its_load(
            sizes in prop::collection::vec((0_u32..20, 0_usize..6), 0..6),
            seed: u64,
        ) {
            let cells: Vec<Size> = sizes.iter().map(|&(n, at_once)| size(n, at_once)).collect();
            let order = rounds(Order::Shuffled, &cells, seed);
            let mut run = vec![Vec::new(); cells.len()];
            for round in order {
                let cell = round.cell;
                let repeats = repeats(round);
                prop_assert!(repeats.len() <= cells[cell].sessions.max(1));
                prop_assert!(!repeats.is_empty());
                run[cell].extend(repeats);
            }
            for (cell, repeats) in cells.iter().zip(run) {
                prop_assert_eq!(repeats, (1..=cell.repeats).collect::<Vec<_>>());
            }
        }
    }
}
