//! Sources, and the strategies that lay them out in a prompt.
//!
//! A strategy gets a [`Chain`] (one path through the conversation, with the
//! state of every source as sampled for each message) and answers with a
//! [`Prompt`](crate::chat::Prompt). It knows of the provider only what the
//! chain's wire says. Each strategy is a file or folder here and a line in
//! [`STRATEGIES`].
//!
//! Invariants: strategies are pure (same chain, same prompt: no clock, no
//! machine, no environment); text from outside never becomes structure.

mod append_only;
mod body;
mod changed;
pub mod configuration;
mod external;
mod inline;
pub mod keeps;
pub mod layered;
mod marks;
pub mod phrases;
mod raw;
pub mod registry;
pub mod render;
mod replay;
mod special;
pub mod stored;
pub mod strategy;
#[cfg(test)]
pub(crate) mod testing;
pub mod turn;
pub mod view;

pub use changed::changed;
pub use configuration::{Configuration, Options};
pub use phrases::Phrases;
pub use stored::Stored;
pub use strategy::{Builder, ContextError, Plan, STRATEGIES, Setup, Strategy, StrategyKind};
pub use view::Chain;
