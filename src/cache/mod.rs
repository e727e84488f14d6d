//! Models of prefix caches, as data and pure functions.
//!
//! One implementation, used both for bounds and inside the embedded server.
