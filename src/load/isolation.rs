//! What keeps one measurement's cache entries from another's.
//!
//! A unit (a conversation, a cell, or the whole run) gets a salt of its own
//! where the server separates caches by salt, and otherwise a nonce of its own
//! in the prompt. Where salts separate, or the cache is emptied before each unit, the
//! nonce is all zeros, so that bodies are those that `render` shows.

use super::target::Target;
use crate::chat::Digest;
use crate::conversation::{Nonce, NoncePlace};
use std::fmt;
use std::str::FromStr;
use std::sync::Arc;

/// What counts as one unit.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, clap::ValueEnum)]
pub enum Isolate {
    /// Every conversation starts on a cold cache.
    #[default]
    Conversation,
    /// The conversations of a cell share their cache.
    Cell,
    /// All conversations of the run share one cache.
    Run,
    /// Nothing is done: whatever the server still holds is found.
    None,
}

impl Isolate {
    /// The name as written on the command line.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Conversation => "conversation",
            Self::Cell => "cell",
            Self::Run => "run",
            Self::None => "none",
        }
    }
}

impl fmt::Display for Isolate {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

impl FromStr for Isolate {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        clap::ValueEnum::from_str(text, false)
    }
}

/// How one conversation is kept apart.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Isolation {
    /// `cache_salt`, where the server has it.
    pub salt: Option<Arc<str>>,
    /// The nonce in its prompts.
    pub nonce: Nonce,
    /// Where the nonce goes.
    pub place: NoncePlace,
    /// How many times the target's cache was emptied before it.
    pub epoch: u32,
}

/// Units of what is measured end here; those beside them begin, so that what warms a
/// server shares nothing with what is measured on it.
pub const MOST_UNITS: u64 = 50_000_000;

/// Numbers of the units of one cell: its own, and those of its conversations.
///
/// There are as many nonces as eight digits have values, so numbers are not to be wasted
/// on conversations that might be.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Units {
    /// Of the whole run.
    run: u64,
    /// Of the cell.
    cell: u64,
    /// From one conversation to the next.
    step: u64,
}

impl Units {
    /// Numbers that follow each other, for a cell whose conversations are counted. The
    /// first is the cell's.
    pub fn block(first: u64) -> Self {
        Self {
            run: 0,
            cell: first,
            step: 1,
        }
    }

    /// Numbers for the cell at `position`, from 0, of a run of so many `cells` of which
    /// nobody knows how many conversations they will have: those with the same number
    /// stand side by side, so that numbers grow with what has really been run.
    ///
    /// Sessions of a run share none: the first has odd multiples of the cells, the second
    /// odd multiples of twice as many, and so on.
    pub fn across(position: usize, cells: usize, session: u32) -> Self {
        // One more, which is the whole run.
        let cells = (cells as u64).saturating_add(1).min(MOST_UNITS);
        let run = cells << session.min(32);
        Self {
            run,
            cell: run + position as u64 + 1,
            step: 2 * run,
        }
    }

    /// How many conversations have numbers below [`MOST_UNITS`].
    pub fn conversations(self) -> u64 {
        MOST_UNITS.saturating_sub(self.cell + 1) / self.step
    }

    fn of(self, repeat: u32) -> u64 {
        // Below 2^26 times 2^33 times 2^32, cut to what a number holds.
        self.step
            .saturating_mul(u64::from(repeat))
            .saturating_add(self.cell)
    }
}

impl Isolation {
    /// Decides for the conversation that is `repeat` of the cell with these `units`.
    ///
    /// `run` is the run's nonce; with it and the same numbers the same salts
    /// and nonces come out again, and no two units of a run share one.
    pub fn of(isolate: Isolate, run: Nonce, target: &Target, units: Units, repeat: u32) -> Self {
        let unit = match isolate {
            Isolate::Conversation => units.of(repeat),
            Isolate::Cell => units.cell,
            Isolate::Run => units.run,
            Isolate::None => return Self::bare(target),
        };
        if target.resets {
            // What was there before is gone; nothing has to be told apart.
            return Self::bare(target);
        }
        Self::in_unit(run, target, unit)
    }

    /// A unit that nothing measured belongs to, for the cell with these `units`.
    pub fn beside(run: Nonce, target: &Target, units: Units) -> Self {
        Self::in_unit(run, target, MOST_UNITS.saturating_add(units.cell))
    }

    /// With nothing that keeps it apart.
    fn bare(target: &Target) -> Self {
        Self {
            salt: None,
            nonce: Nonce::ZERO,
            place: place(target),
            epoch: 0,
        }
    }

    fn in_unit(run: Nonce, target: &Target, unit: u64) -> Self {
        let bare = Self::bare(target);
        if target.salted {
            let salt = Digest::of(format!("{run}/{unit}").as_bytes()).to_string();
            let salt = Some(Arc::from(&salt[..24]));
            return Self { salt, ..bare };
        }
        Self {
            nonce: run.of_unit(unit),
            ..bare
        }
    }
}

fn place(target: &Target) -> NoncePlace {
    if target.tools_first {
        NoncePlace::Tools
    } else {
        NoncePlace::System
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeSet;

    fn target(salted: bool) -> Target {
        let dialect = crate::provider::find("openai-chat").unwrap();
        Target {
            salted,
            ..Target::at("here", "http://127.0.0.1:1/v1", dialect)
        }
    }

    fn of(isolate: Isolate, salted: bool, units: u64, repeat: u32) -> Isolation {
        let units = Units::block(units);
        Isolation::of(isolate, Nonce::draw(1), &target(salted), units, repeat)
    }

    #[test]
    fn conversations_are_units_of_their_own_only_where_asked() {
        for salted in [false, true] {
            let first = of(Isolate::Conversation, salted, 1, 1);
            assert_ne!(first, of(Isolate::Conversation, salted, 1, 2));
            assert_eq!(first, of(Isolate::Conversation, salted, 1, 1));
            assert_eq!(
                of(Isolate::Cell, salted, 1, 1),
                of(Isolate::Cell, salted, 1, 2)
            );
            assert_ne!(
                of(Isolate::Cell, salted, 1, 1),
                of(Isolate::Cell, salted, 4, 1)
            );
            assert_eq!(
                of(Isolate::Run, salted, 1, 1),
                of(Isolate::Run, salted, 4, 1)
            );
        }
    }

    #[test]
    fn no_two_units_of_a_large_run_share_a_nonce() {
        let nonces: BTreeSet<String> = (0..20_000)
            .map(|unit| of(Isolate::Conversation, false, unit, 1).nonce.to_string())
            .collect();
        assert_eq!(nonces.len(), 20_000);
    }

    #[test]
    fn cells_that_end_by_time_and_sessions_of_their_run_share_no_nonce() {
        const CELLS: usize = 104;
        let (run, target) = (Nonce::draw(1), target(false));
        let mut nonces = BTreeSet::new();
        let mut count = 0;
        for session in 0..4 {
            for cell in 0..CELLS {
                let units = Units::across(cell, CELLS, session);
                // Those that a nonce for each possible conversation would not have told apart.
                for repeat in [1, 2, 3, 4, 102, 103, 50_000, 50_001] {
                    if u64::from(repeat) > units.conversations() {
                        continue;
                    }
                    let of = Isolation::of(Isolate::Conversation, run, &target, units, repeat);
                    nonces.insert(of.nonce.to_string());
                    count += 1;
                }
                for isolate in [Isolate::Cell, Isolate::Run] {
                    let of = Isolation::of(isolate, run, &target, units, 1);
                    let new = nonces.insert(of.nonce.to_string());
                    count += usize::from(new || isolate == Isolate::Cell);
                }
                nonces.insert(Isolation::beside(run, &target, units).nonce.to_string());
                count += 1;
            }
        }
        assert_eq!(nonces.len(), count);
    }

    #[test]
    fn a_run_of_many_cells_that_end_by_time_has_numbers_for_all_that_it_may_run() {
        for (cells, session, expected) in [(1, 0, 12_499_999), (104, 0, 238_094), (104, 3, 29_761)]
        {
            let units = Units::across(cells - 1, cells, session);
            assert_eq!(units.conversations(), expected, "{cells} {session}");
            let last = u32::try_from(expected).unwrap();
            assert!(units.of(last) < MOST_UNITS && units.of(last + 1) >= MOST_UNITS);
        }
    }

    #[test]
    fn what_warms_a_server_shares_nothing_with_what_is_measured() {
        for salted in [false, true] {
            let (run, target) = (Nonce::draw(1), target(salted));
            let beside = Isolation::beside(run, &target, Units::block(7));
            let measured = (0..20_000).map(|unit| of(Isolate::Cell, salted, unit, 1));
            assert!(measured.into_iter().all(|unit| unit != beside), "{salted}");
        }
    }

    #[test]
    fn where_the_cache_is_emptied_bodies_are_as_rendered() {
        let target = Target {
            resets: true,
            ..target(true)
        };
        let units = Units::block(1);
        let isolation = Isolation::of(Isolate::Conversation, Nonce::draw(1), &target, units, 1);
        assert_eq!((isolation.salt, isolation.nonce), (None, Nonce::ZERO));
    }

    #[test]
    fn a_salt_leaves_the_body_as_rendered() {
        let isolation = of(Isolate::Conversation, true, 1, 1);
        assert_eq!(isolation.nonce, Nonce::ZERO);
        assert!(isolation.salt.is_some());
        assert_eq!(of(Isolate::None, true, 1, 1).salt, None);
    }
}
