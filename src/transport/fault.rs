//! Why an exchange broke, by the type of the error.

use super::headers::shown;
use super::settings::ProxyUrl;
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

/// An answer whose body is packed, though none was asked for: it is not read, as its
/// pieces would come when the packer likes.
pub(super) fn packed(coding: &str) -> Fault {
    let coding: String = coding.chars().take(40).collect();
    Fault {
        outcome: Outcome::Malformed,
        message: format!(
            "the answer is compressed (`Content-Encoding: {}`), which was not asked for: switch \
             that off in the server or in the proxy before it",
            coding.escape_debug()
        ),
    }
}

/// Where a request goes, for messages: without what may be secret, and with the proxy
/// that it goes through.
pub(super) fn place(url: &str, proxy: Option<&ProxyUrl>) -> String {
    let url = shown(url);
    match proxy {
        Some(ProxyUrl(proxy)) => format!("`{url}` through the proxy `{}`", shown(proxy)),
        None => format!("`{url}`"),
    }
}

/// An error of the client in `phase`, while talking to [`place`].
pub(super) fn broken(error: &reqwest::Error, phase: Phase, place: &str) -> Fault {
    let why = reason(error);
    let (outcome, message) = if error.is_builder() {
        (
            Outcome::Connect,
            format!("{place} is no address that can be asked"),
        )
    } else if error.is_connect() && error.is_timeout() {
        (
            Outcome::Timeout,
            format!("no connection to {place} in time"),
        )
    } else if error.is_connect() {
        (
            Outcome::Connect,
            format!("cannot connect to {place}: {why}"),
        )
    } else if is_reset(error) {
        (
            Outcome::Reset,
            format!("the connection to {place} was reset"),
        )
    } else if is_no_http(error) {
        (
            Outcome::Malformed,
            format!("{place} does not answer in HTTP: {why}"),
        )
    } else if phase == Phase::Headers {
        (
            Outcome::Reset,
            format!("{place} closed the connection before it answered"),
        )
    } else if phase == Phase::FirstByte {
        (
            Outcome::Reset,
            format!("{place} closed the connection before the first byte of its answer"),
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
