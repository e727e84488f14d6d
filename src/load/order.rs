//! In which order cells and their conversations are run.
//!
//! A target drifts: it warms up, others use it, a cache fills. Where cells are run
//! one after the other, that drift looks like a difference between them; where
//! their conversations are interleaved at random, it meets all of them alike.
//!
//! Invariants: every conversation of every cell is in exactly one round; a round
//! holds as many conversations as its cell runs at once, so that the load within
//! it is the cell's; the same seed and cells give the same order on every machine.

use crate::chat::Digest;
use rand::SeedableRng;
use rand::seq::SliceRandom;
use rand_chacha::ChaCha8Rng;
use std::fmt;
use std::str::FromStr;

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
    /// How many of them make a round; 0 counts as 1.
    pub sessions: usize,
}

/// Conversations of one cell that are begun together.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Round {
    /// Position of the cell in the list that the order was made of.
    pub cell: usize,
    /// Their numbers, from 1, ascending.
    pub repeats: Vec<u32>,
}

/// The rounds of cells of these sizes.
///
/// Given: one round a cell. Shuffled: a cell's conversations stay in ascending
/// order among themselves, as a round is known by them, and what is drawn is which
/// cell's turn it is. `seed` is the run's.
pub fn rounds(order: Order, cells: &[Size], seed: u64) -> Vec<Round> {
    match order {
        Order::Given => {
            let all = cells.iter().enumerate();
            all.map(|(cell, size)| Round {
                cell,
                repeats: (1..=size.repeats).collect(),
            })
            .collect()
        }
        Order::Shuffled => shuffled(cells, seed),
    }
}

fn shuffled(cells: &[Size], seed: u64) -> Vec<Round> {
    let turns = cells.iter().map(|size| {
        let at_once = u32::try_from(size.sessions.max(1)).unwrap_or(u32::MAX);
        size.repeats.div_ceil(at_once)
    });
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
            let Size { repeats, sessions } = cells[cell];
            let at_once = u32::try_from(sessions.max(1)).unwrap_or(u32::MAX);
            let first = begun[cell] + 1;
            let last = begun[cell].saturating_add(at_once).min(repeats);
            begun[cell] = last;
            Round {
                cell,
                repeats: (first..=last).collect(),
            }
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn size(repeats: u32, sessions: usize) -> Size {
        Size { repeats, sessions }
    }

    #[test]
    fn as_given_every_cell_is_one_round() {
        let cells = [size(2, 1), size(0, 4), size(3, 8)];
        let expected = [vec![1, 2], vec![], vec![1, 2, 3]];
        let found = rounds(Order::Given, &cells, 1);
        assert_eq!(
            found
                .into_iter()
                .map(|round| round.repeats)
                .collect::<Vec<_>>(),
            expected
        );
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
                prop_assert!(round.repeats.len() <= cells[round.cell].sessions.max(1));
                prop_assert!(!round.repeats.is_empty());
                run[round.cell].extend(round.repeats);
            }
            for (cell, repeats) in cells.iter().zip(run) {
                prop_assert_eq!(repeats, (1..=cell.repeats).collect::<Vec<_>>());
            }
        }
    }
}
