//! The one HTTP client; it takes every time stamp.
//!
//! All dialects and all servers are timed by the same lines, with TLS and without: the
//! timed loop reads the connection, stamps what came and looks for the end of the
//! answer, and everything is parsed after the last byte. So the time that parsing takes is in
//! no latency of its own request; what it takes from the requests beside, on cores that are
//! full, `calibrate` and the lateness of a run show. The library's client, which hands each chunk from task to
//! task, cost as much as all the rest of a request; it makes the calls beside the
//! measured ones. Connections are made by libraries for both.
//!
//! Invariants: nothing is sent twice and no redirect is followed; the size of an
//! answer, of its lines and of its events is bounded, and so is every wait; a
//! secret header's value is in no message, record or debug output; the class of
//! a failure comes from the type of the error and never from its text.

mod address;
mod call;
mod client;
mod connect;
mod connection;
mod exchange;
mod fault;
mod headers;
mod http1;
mod outgoing;
mod patience;
mod pool;
mod receive;
mod redact;
mod request;
mod room;
mod settings;
mod tls;

pub use call::{CallError, Reply};
pub use client::Client;
pub use exchange::Exchange;
pub use outgoing::{Header, Outgoing};
pub use room::Held;
pub use settings::{ClientError, ProxyUrl, Settings};
