//! One run through one scenario under one configuration.
//!
//! A [`Conversation`] takes the scenario's steps one after the other, keeps the
//! tree of messages and the state of the world, and hands out the requests that
//! are due. Whoever drives it sends them, however they like, and gives back what
//! was answered.
//!
//! Invariants: it does no I/O and reads no clock, environment or random source,
//! so that the same scenario, configuration, wire and answers give the same
//! prompts on every machine; a message is sampled once, at the instant it is
//! sent, and what a strategy stores with it is written then and never again.
//!
//! The clock: a message is sent at the instant that the clock shows when its
//! step begins; then the clock moves by
//! [`USER_STEP`](crate::scenario::model::USER_STEP), for the answer and for the
//! person to read and type. So the first message of a scenario is sent at its
//! start, and a `wait` after a message comes on top of that. An edited message
//! is a send like any other; a regeneration moves nothing.

mod compact;
mod drive;
mod nonce;
mod request;
mod setup;
mod steps;
mod tree;
mod window;
mod work;
mod world;

pub use drive::Conversation;
pub use nonce::{Nonce, NoncePlace};
pub use request::{Next, Pending, PurposeLabel, Reply};
pub use setup::{ConversationSetup, Resources, Served, Shipped};

#[cfg(test)]
mod append_only_tests;
#[cfg(test)]
mod builder_tests;
#[cfg(test)]
mod cost_tests;
#[cfg(test)]
mod properties;
#[cfg(test)]
mod samples;
#[cfg(test)]
mod stored_tests;
#[cfg(test)]
mod tests;
#[cfg(test)]
mod window_tests;
