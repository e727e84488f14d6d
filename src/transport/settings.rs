//! Limits and routes of a client.

use crate::provider::sse::SseLimits;
use std::error::Error;
use std::fmt;
use std::time::Duration;
use thiserror::Error;

/// Address of a proxy, hidden in debug output: it may hold a password.
#[derive(Clone, PartialEq, Eq)]
pub struct ProxyUrl(pub String);

impl fmt::Debug for ProxyUrl {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("…")
    }
}

/// What a client is built from. Every wait and every size has a limit.
#[derive(Clone, Debug)]
pub struct Settings {
    /// Until the connection stands, TLS included.
    pub connect: Duration,
    /// From there until the response's headers are there.
    pub headers: Duration,
    /// From the headers to the first byte of the answer; covers prefill where a
    /// server sends its headers before it.
    pub first_byte: Duration,
    /// Between two reads of an answer.
    pub idle: Duration,
    /// For the whole exchange.
    pub total: Duration,
    /// For a whole call beside the measured ones (`/metrics`, `/tokenize`).
    pub call: Duration,
    /// Further trusted certificates, PEM.
    pub ca: Option<Vec<u8>>,
    /// Proxy for all requests. The environment's is never taken by itself.
    pub proxy: Option<ProxyUrl>,
    /// Largest body of an answer, in bytes.
    pub max_body: usize,
    /// Most reads of one answer: a server that sends single bytes for ever must
    /// not fill the memory with time stamps.
    pub max_reads: usize,
    /// Longest line and largest event of a stream.
    pub sse: SseLimits,
}

impl Default for Settings {
    fn default() -> Self {
        Self {
            connect: Duration::from_secs(10),
            headers: Duration::from_mins(5),
            first_byte: Duration::from_mins(5),
            idle: Duration::from_mins(2),
            total: Duration::from_mins(15),
            call: Duration::from_secs(30),
            ca: None,
            proxy: None,
            max_body: 64 << 20,
            max_reads: 1 << 20,
            sse: SseLimits::default(),
        }
    }
}

impl Settings {
    /// Gives an answer up after `silence` without a sign of life, in whatever
    /// phase; the other limits stay, but never stand in the way of it.
    #[must_use]
    pub fn giving_up_after(self, silence: Duration) -> Self {
        Self {
            connect: self.connect.min(silence),
            headers: silence,
            first_byte: silence,
            idle: silence,
            total: self.total.max(silence.saturating_mul(3)),
            call: self.call.min(silence),
            ..self
        }
    }
}

type Cause = Box<dyn Error + Send + Sync>;

/// A client that cannot be built.
#[derive(Debug, Error)]
pub enum ClientError {
    /// The certificates are no PEM.
    #[error("the certificate file holds no usable certificate")]
    Certificate(#[source] Cause),
    /// The address of the proxy is none. It is not repeated: it may hold a password.
    #[error("the address of the proxy cannot be used")]
    Proxy,
    /// TLS could not be set up.
    #[error("cannot set up the HTTP client")]
    Build(#[source] Cause),
}
