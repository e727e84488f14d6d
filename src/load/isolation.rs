//! What keeps one measurement's cache entries from another's.
//!
//! A unit (a conversation, a cell, or the whole run) gets a salt of its own
//! where the server separates caches by salt, and otherwise a nonce of its own
//! in the prompt. Where salts separate, the nonce is all zeros, so that bodies
//! are those that `render` shows.

use crate::chat::Digest;
use crate::conversation::{Nonce, NoncePlace};
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

/// How one conversation is kept apart.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Isolation {
    /// `cache_salt`, where the server has it.
    pub salt: Option<Arc<str>>,
    /// The nonce in its prompts.
    pub nonce: Nonce,
    /// Where the nonce goes.
    pub place: NoncePlace,
}

impl Isolation {
    /// Decides for the conversation named `conversation` of the cell named `cell`.
    ///
    /// `run` is the run's nonce; with it and the same names the same salts and
    /// nonces come out again.
    pub fn of(
        isolate: Isolate,
        run: Nonce,
        salted: bool,
        tools_first: bool,
        cell: &str,
        conversation: &str,
    ) -> Self {
        let place = if tools_first {
            NoncePlace::Tools
        } else {
            NoncePlace::System
        };
        let unit = match isolate {
            Isolate::Conversation => conversation,
            Isolate::Cell => cell,
            Isolate::Run => "run",
            Isolate::None => {
                return Self {
                    salt: None,
                    nonce: Nonce::default(),
                    place,
                };
            }
        };
        let digest = Digest::of(unit.as_bytes());
        if salted {
            let seed = format!("{run}/{unit}");
            let salt = Digest::of(seed.as_bytes()).to_string();
            let salt = Some(Arc::from(&salt[..24]));
            return Self {
                salt,
                nonce: Nonce::default(),
                place,
            };
        }
        let [a, b, c, d, e, f, g, h, ..] = digest.0;
        let nonce = run.of_unit(u64::from_le_bytes([a, b, c, d, e, f, g, h]));
        Self {
            salt: None,
            nonce,
            place,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(isolate: Isolate, salted: bool, conversation: &str) -> Isolation {
        Isolation::of(
            isolate,
            Nonce::draw(1),
            salted,
            false,
            "quickstart/dev",
            conversation,
        )
    }

    #[test]
    fn conversations_are_units_of_their_own_only_where_asked() {
        for salted in [false, true] {
            let first = of(Isolate::Conversation, salted, "quickstart/dev/1");
            let second = of(Isolate::Conversation, salted, "quickstart/dev/2");
            assert_ne!(first, second);
            assert_eq!(first, of(Isolate::Conversation, salted, "quickstart/dev/1"));
            let shared = of(Isolate::Cell, salted, "quickstart/dev/1");
            assert_eq!(shared, of(Isolate::Cell, salted, "quickstart/dev/2"));
        }
    }

    #[test]
    fn a_salt_leaves_the_body_as_rendered() {
        let isolation = of(Isolate::Conversation, true, "quickstart/dev/1");
        assert_eq!(isolation.nonce, Nonce::default());
        assert!(isolation.salt.is_some());
        assert_eq!(of(Isolate::None, true, "quickstart/dev/1").salt, None);
    }
}
