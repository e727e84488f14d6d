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

/// Units beside those of cells and conversations begin here, so that what warms a
/// server shares nothing with what is measured on it.
const BESIDE: u64 = 50_000_000;

impl Isolation {
    /// Decides for the conversation that is `repeat` of the cell whose unit
    /// numbers begin at `units`.
    ///
    /// `run` is the run's nonce; with it and the same numbers the same salts
    /// and nonces come out again, and no two units of a run share one.
    pub fn of(isolate: Isolate, run: Nonce, target: &Target, units: u64, repeat: u32) -> Self {
        let unit = match isolate {
            Isolate::Conversation => units + u64::from(repeat),
            Isolate::Cell => units,
            Isolate::Run => 0,
            Isolate::None => return Self::bare(target),
        };
        if target.resets {
            // What was there before is gone; nothing has to be told apart.
            return Self::bare(target);
        }
        Self::in_unit(run, target, unit)
    }

    /// A unit that nothing measured belongs to, for the cell whose unit numbers begin
    /// at `units`.
    pub fn beside(run: Nonce, target: &Target, units: u64) -> Self {
        Self::in_unit(run, target, BESIDE + units)
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
    fn what_warms_a_server_shares_nothing_with_what_is_measured() {
        for salted in [false, true] {
            let (run, target) = (Nonce::draw(1), target(salted));
            let beside = Isolation::beside(run, &target, 7);
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
        let isolation = Isolation::of(Isolate::Conversation, Nonce::draw(1), &target, 1, 1);
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
