//! Why an exchange broke, by the type of the error.

use super::headers::shown;
use super::http1::NoHttp;
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

/// An answer whose body is packed, as this header says, though none was asked for: it is not read, as its
/// pieces would come when the packer likes.
pub(super) fn packed(header: &str) -> Fault {
    let header: String = header.chars().take(60).collect();
    Fault {
        outcome: Outcome::Malformed,
        message: format!(
            "the answer is compressed (`{}`), which was not asked for: switch \
             that off in the server or in the proxy before it",
            header.escape_debug()
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

type Cause = dyn Error + 'static;

/// An address of nothing that could be asked.
pub(super) fn no_address(place: &str) -> Fault {
    Fault {
        outcome: Outcome::Connect,
        message: format!("{place} is no address that can be asked"),
    }
}

/// No connection to [`place`] within its limit.
pub(super) fn unconnected_in_time(place: &str) -> Fault {
    Fault {
        outcome: Outcome::Timeout,
        message: format!("no connection to {place} in time"),
    }
}

/// No connection to [`place`], for this reason.
pub(super) fn unconnected(error: &Cause, place: &str) -> Fault {
    let mut causes = chain(error).filter_map(|inner| inner.downcast_ref::<io::Error>());
    if causes.any(|inner| inner.kind() == ErrorKind::TimedOut) {
        return unconnected_in_time(place);
    }
    Fault {
        outcome: Outcome::Connect,
        message: format!("cannot connect to {place}: {}", reason(error)),
    }
}

/// An error of the library's client in `phase`, while talking to [`place`].
pub(super) fn failed(error: &reqwest::Error, phase: Phase, place: &str) -> Fault {
    if error.is_builder() {
        no_address(place)
    } else if error.is_connect() && error.is_timeout() {
        unconnected_in_time(place)
    } else if error.is_connect() {
        unconnected(error, place)
    } else {
        broken(error, phase, place)
    }
}

/// An error of a connection to [`place`] in `phase`.
pub(super) fn broken(error: &Cause, phase: Phase, place: &str) -> Fault {
    if is_reset(error) {
        Fault {
            outcome: Outcome::Reset,
            message: format!("the connection to {place} was reset"),
        }
    } else if is_no_http(error) {
        Fault {
            outcome: Outcome::Malformed,
            message: format!("{place} does not answer in HTTP: {}", reason(error)),
        }
    } else {
        ended(phase, place)
    }
}

/// A connection to [`place`] that ended in `phase`.
pub(super) fn ended(phase: Phase, place: &str) -> Fault {
    let (outcome, message) = match phase {
        Phase::Headers => (
            Outcome::Reset,
            format!("{place} closed the connection before it answered"),
        ),
        Phase::FirstByte => (
            Outcome::Reset,
            format!("{place} closed the connection before the first byte of its answer"),
        ),
        Phase::Body | Phase::Total => (
            Outcome::Cut,
            "the connection ended in the middle of the answer".to_owned(),
        ),
    };
    Fault { outcome, message }
}

fn chain(error: &Cause) -> impl Iterator<Item = &Cause> {
    std::iter::successors(Some(error), |&inner| inner.source())
}

/// The innermost error: what the system said.
fn reason(error: &Cause) -> String {
    let innermost = chain(error).last().unwrap_or(error);
    innermost.to_string()
}

fn is_reset(error: &Cause) -> bool {
    chain(error)
        .filter_map(|inner| inner.downcast_ref::<io::Error>())
        .any(|inner| {
            matches!(
                inner.kind(),
                ErrorKind::ConnectionReset | ErrorKind::ConnectionAborted | ErrorKind::BrokenPipe
            )
        })
}

fn is_no_http(error: &Cause) -> bool {
    chain(error).any(|inner| {
        let ours = inner.is::<NoHttp>();
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
        ours || parse || chunks
    })
}
