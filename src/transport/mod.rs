//! The one HTTP client; it takes every time stamp.
//!
//! All dialects and all servers are timed by the same lines: the timed loop reads
//! chunks and stamps them, and everything is parsed after the last byte. So a
//! slow parser can make a run longer, but no latency.
//!
//! Invariants: nothing is sent twice and no redirect is followed; the size of an
//! answer, of its lines and of its events is bounded, and so is every wait; a
//! secret header's value is in no message, record or debug output; the class of
//! a failure comes from the type of the error and never from its text.

mod address;
mod call;
mod client;
mod exchange;
mod fault;
mod headers;
mod outgoing;
mod receive;
mod redact;
mod room;
mod settings;
mod stamped;

pub use call::{CallError, Reply};
pub use client::Client;
pub use exchange::Exchange;
pub use outgoing::{Header, Outgoing};
pub use room::Held;
pub use settings::{ClientError, ProxyUrl, Settings};
