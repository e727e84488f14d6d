//! What is said, in no provider's words.
//!
//! A [`Prompt`] is made of ordered [`Span`]s, each of which knows the source it
//! came from and how often that source is expected to change. Dialects turn a
//! prompt into a body and a body's answer into [`ChatEvent`]s; strategies build
//! prompts and know of the provider only what a [`Wire`] says.
//!
//! Invariants: text from outside is data from end to end (nothing here parses a
//! span's text), and a [`Text`] is shared, never copied, however many prompts
//! hold it.

mod escape;
mod event;
mod model_name;
mod prompt;
mod text;
mod usage;
mod wire;

pub(crate) use escape::escape;
pub use event::{ChatEvent, FinishReason};
pub use model_name::ModelName;
pub use prompt::{
    Block, CacheAsked, CacheMarker, Class, Content, Hints, Image, Message, Origin, Part,
    PlacedMessage, PlacedSpan, Prompt, Role, Span, Tool, ToolCall, Ttl,
};
pub use text::{Digest, Text};
pub use usage::{Usage, UsageOrigin};
pub use wire::{Family, MarkerRule, SummaryPlace, TailPlace, Wire};
