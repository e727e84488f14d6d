//! Models of prefix caches, as data and pure functions.
//!
//! A [`Model`] is the rule by which a server reuses the start of a prompt; a
//! [`Cache`] is its state. There is one implementation, used both for the
//! bounds of a report and inside the embedded server, so that the two cannot
//! drift apart; `tests/` check it against a naive simulator and against what a
//! real vLLM counted.
//!
//! Invariants: a request's bound never exceeds what it shares with earlier
//! prompts under the same salt, except under `slots`, which knows no salt;
//! cost is linear in the prompt's length; nothing here reads a clock, so that
//! lifetimes run in whatever time the caller counts.

mod fleet;
pub mod known;
mod lean;
mod model;
mod pool;
mod rules;
mod slots;
mod state;
mod tree;
mod written;

#[cfg(test)]
mod tests;

pub use fleet::{Fleet, FleetOptions, FleetPrompt, Replica, Routing, Sharing};
pub use model::{MODELS, Model, ModelError};
pub use state::{Admitted, Cache, Handle, Query, Wishes};
