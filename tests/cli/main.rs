//! Runs the real binary, as a person would: in a folder of its own, with no
//! environment but what a test gives it.
#![expect(
    clippy::expect_used,
    reason = "a file, a process or a line that is not there is a failed test"
)]

mod after;
mod breakpoints;
mod explain;
mod faults;
mod folder;
mod gateways;
mod input;
mod interrupt;
mod naive;
mod outside;
mod same_bytes;
mod secrets;
mod servers;
mod simulator;
