//! The head of a request, as bytes.

use super::address::Address;
use super::connect::Reader;
use super::fault::Fault;
use super::outgoing::Outgoing;
use crate::record::Outcome;
use bytes::Bytes;
use reqwest::header::{HeaderName, HeaderValue};

/// What asks.
pub(super) const AGENT: &str = concat!("prefixbench/", env!("CARGO_PKG_VERSION"));

/// The head of a POST of so many bytes. A header of the target stands in for one of
/// ours of the same name.
///
/// # Errors
///
/// A [`Fault`] where a header holds what none may; it says nothing of the value.
pub(super) fn head(
    address: &Address,
    outgoing: &Outgoing,
    length: usize,
    reader: Reader<'_>,
) -> Result<Bytes, Fault> {
    let mut head = Vec::with_capacity(512);
    head.extend_from_slice(b"POST ");
    if matches!(reader, Reader::Proxy(_)) {
        let origin = address.origin.uri.to_string();
        head.extend_from_slice(origin.trim_end_matches('/').as_bytes());
    }
    head.extend_from_slice(address.path.as_bytes());
    head.extend_from_slice(b" HTTP/1.1\r\n");
    let ours = [
        ("host", address.host.as_str()),
        ("user-agent", AGENT),
        ("accept", "*/*"),
        // Without it any packing of answers would be welcome.
        ("accept-encoding", "identity"),
        ("content-type", "application/json"),
    ];
    let given = |name: &str| {
        outgoing
            .headers
            .iter()
            .any(|header| header.name.eq_ignore_ascii_case(name))
    };
    let needed = outgoing.dialect.headers().iter().copied();
    for (name, value) in ours
        .into_iter()
        .chain(needed)
        .filter(|(name, _)| !given(name))
    {
        line(&mut head, name, value.as_bytes());
    }
    for header in &outgoing.headers {
        let name = HeaderName::try_from(&header.name).ok().filter(is_free);
        let value = HeaderValue::try_from(&header.value).ok();
        let (Some(name), Some(value)) = (name, value) else {
            return Err(unwritable(&header.name));
        };
        line(&mut head, name.as_str(), value.as_bytes());
    }
    if let Reader::Proxy(Some(auth)) = reader {
        line(&mut head, "proxy-authorization", auth.as_bytes());
    }
    line(&mut head, "content-length", length.to_string().as_bytes());
    head.extend_from_slice(b"\r\n");
    Ok(head.into())
}

/// Whether a target may say it: where a body ends is said by whoever writes it.
fn is_free(name: &HeaderName) -> bool {
    !matches!(name.as_str(), "content-length" | "transfer-encoding")
}

/// Whether a header of the target asks for the connection to be closed: nothing may be
/// sent on it after such a request (RFC 9112, section 9.6).
pub(super) fn closes(outgoing: &Outgoing) -> bool {
    let asks = |value: &str| {
        let mut options = value.split(',').map(str::trim);
        options.any(|option| option.eq_ignore_ascii_case("close"))
    };
    let mut headers = outgoing.headers.iter();
    headers.any(|header| header.name.eq_ignore_ascii_case("connection") && asks(&header.value))
}

fn line(head: &mut Vec<u8>, name: &str, value: &[u8]) {
    head.extend_from_slice(name.as_bytes());
    head.extend_from_slice(b": ");
    head.extend_from_slice(value);
    head.extend_from_slice(b"\r\n");
}

fn unwritable(name: &str) -> Fault {
    let name: String = name.chars().take(60).collect();
    Fault {
        outcome: Outcome::Connect,
        message: format!(
            "the header `{}` cannot be sent: its name or its value is none that HTTP allows here",
            name.escape_debug()
        ),
    }
}
