//! A request as it is handed to the client.

use crate::provider::Dialect;
use crate::units::Micros;
use bytes::Bytes;
use std::fmt;

/// A request header.
#[derive(Clone, PartialEq, Eq)]
pub struct Header {
    /// Name.
    pub name: String,
    /// Value; shown by nothing where it is secret.
    pub value: String,
    /// Whether it may hold a key.
    pub secret: bool,
}

impl Header {
    /// A header that anyone may see.
    pub fn plain(name: impl Into<String>, value: impl Into<String>) -> Self {
        Self {
            name: name.into(),
            value: value.into(),
            secret: false,
        }
    }

    /// A header that holds a key: never in a message, a log or a compression table.
    pub fn secret(name: impl Into<String>, value: impl Into<String>) -> Self {
        Self {
            secret: true,
            ..Self::plain(name, value)
        }
    }
}

impl fmt::Debug for Header {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let value = if self.secret { "…" } else { &self.value };
        write!(f, "{}: {value}", self.name)
    }
}

/// One attempt of one request.
#[derive(Clone)]
pub struct Outgoing {
    /// The whole address.
    pub url: String,
    /// Headers beside content type and length.
    pub headers: Vec<Header>,
    /// The exact bytes.
    pub body: Bytes,
    /// How the answer is read.
    pub dialect: &'static dyn Dialect,
    /// Whether a stream was asked for.
    pub stream: bool,
    /// When it should be sent, from the run's start; only passed on.
    pub due: Micros,
}

impl fmt::Debug for Outgoing {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Outgoing")
            .field("url", &self.url)
            .field("headers", &self.headers)
            .field("bytes", &self.body.len())
            .field("dialect", &self.dialect.name())
            .finish_non_exhaustive()
    }
}
