//! Measures, before rollout, how much of each request a model server takes from
//! its prefix cache under one prompt layout or another.
//!
//! A scenario describes a conversation as a person lives it. A configuration
//! turns the same conversation into prompts in its own way. The harness sends
//! them, records what the server counted, and says where the prefix broke.
//!
//! Modules, lowest first; each uses only those above it (`tests/architecture.rs`):
//!
//! * [`units`]: times, tokens, bytes, shares and money; the unit is in the type.
//! * [`chat`]: provider-neutral prompts, wires, events and usage.
//! * [`tokens`]: text to tokens, chat templates.
//! * [`cache`]: models of prefix caches.
//! * [`record`]: what a run leaves behind: manifest, records, span texts.
//! * [`provider`]: dialects: prompt to body, bytes to events.
//! * [`context`]: sources and the strategies that lay them out.
//! * [`scenario`]: files to checked scenarios.
//! * [`conversation`]: the message tree and the state of the world; yields requests.
//! * [`analysis`]: records to results.
//! * [`chart`]: results to figures, figures to pictures.
//! * [`report`]: results and figures to pages and tables.
//! * [`transport`]: the one HTTP client; takes every time stamp.
//! * [`load`]: cells, sessions, isolation, cancellation.
//! * [`server`]: the embedded model server.
//! * [`cli`]: one file per subcommand.

pub mod analysis;
pub mod cache;
pub mod chart;
pub mod chat;
pub mod cli;
pub mod context;
pub mod conversation;
pub mod load;
pub mod provider;
pub mod record;
pub mod report;
pub mod scenario;
pub mod server;
pub mod tokens;
pub mod transport;
pub mod units;
