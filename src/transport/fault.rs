//! Why an exchange broke, by the type of the error.

use super::headers::shown;
use crate::record::Outcome;
use std::error::Error;
use std::io::{self, ErrorKind};
use std::time::Duration;

/// The part of an exchange that something happened in.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Phase {
    /// Until the headers are there.
    Headers,
    /// From there to the first byte.
    FirstByte,
    /// Behind the first byte.
    Body,
    /// All of it.
    Total,
}

/// A class and a sentence for a person.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Fault {
    pub(super) outcome: Outcome,
    pub(super) message: String,
}

/// A wait that took longer than its limit.
pub(super) fn timeout(phase: Phase, limit: Duration) -> Fault {
    let what = match phase {
        Phase::Headers => "no response",
        Phase::FirstByte => "no byte of the answer",
        Phase::Body => "the answer stopped: nothing more",
        Phase::Total => "the answer did not end",
    };
    Fault {
        outcome: Outcome::Timeout,
        message: format!("{what} within {limit:?}"),
    }
}

/// An error of the client in `phase`, while talking to `url`.
pub(super) fn broken(error: &reqwest::Error, phase: Phase, url: &str) -> Fault {
    let url = shown(url);
    let why = reason(error);
    let (outcome, message) = if error.is_builder() {
        (
            Outcome::Connect,
            format!("`{url}` is no address that can be asked"),
        )
    } else if error.is_connect() && error.is_timeout() {
        (
            Outcome::Timeout,
            format!("no connection to `{url}` in time"),
        )
    } else if error.is_connect() {
        (
            Outcome::Connect,
            format!("cannot connect to `{url}`: {why}"),
        )
    } else if is_reset(error) {
        (
            Outcome::Reset,
            format!("the connection to `{url}` was reset"),
        )
    } else if is_no_http(error) {
        (
            Outcome::Malformed,
            format!("`{url}` does not answer in HTTP: {why}"),
        )
    } else if phase == Phase::Headers {
        (
            Outcome::Reset,
            format!("`{url}` closed the connection before it answered"),
        )
    } else {
        (
            Outcome::Cut,
            "the connection ended in the middle of the answer".to_owned(),
        )
    };
    Fault { outcome, message }
}

fn chain(error: &reqwest::Error) -> impl Iterator<Item = &(dyn Error + 'static)> {
    std::iter::successors(error.source(), |&inner| inner.source())
}

/// The innermost error: what the system said.
fn reason(error: &reqwest::Error) -> String {
    chain(error)
        .last()
        .map_or_else(|| "unknown reason".to_owned(), ToString::to_string)
}

fn is_reset(error: &reqwest::Error) -> bool {
    chain(error)
        .filter_map(|inner| inner.downcast_ref::<io::Error>())
        .any(|inner| {
            matches!(
                inner.kind(),
                ErrorKind::ConnectionReset | ErrorKind::ConnectionAborted | ErrorKind::BrokenPipe
            )
        })
}

fn is_no_http(error: &reqwest::Error) -> bool {
    chain(error).any(|inner| {
        let parse = inner
            .downcast_ref::<hyper::Error>()
            .is_some_and(|inner| inner.is_parse() || inner.is_parse_too_large());
        // Chunk sizes that are none come as errors of input.
        let chunks = inner.downcast_ref::<io::Error>().is_some_and(|inner| {
            matches!(
                inner.kind(),
                ErrorKind::InvalidInput | ErrorKind::InvalidData
            )
        });
        parse || chunks
    })
}
