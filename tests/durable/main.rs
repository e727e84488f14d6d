//! Runs the real binary, kills it, fills its disk, changes its files and warms its
//! caches behind its back.
#![cfg(unix)]
#![expect(
    clippy::expect_used,
    reason = "a file, a process or a line that is not there is a failed test"
)]

mod folder;
mod killed;
mod ledger;
mod refused;
mod reset;
