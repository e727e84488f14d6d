//! The timed loop: reads, stamps, and does nothing else.

use super::address::Address;
use super::client::Client;
use super::connection::Connection;
use super::fault::{self, Fault, Phase};
use super::headers::{recorded, secrets, shown};
use super::http1::{self, Body, Head};
use super::outgoing::Outgoing;
use super::patience::Patience;
use super::request;
use crate::record::Outcome;
use bytes::{Buf as _, Bytes};
use std::io;
use std::pin::pin;
use tokio::time::{Instant, timeout};

/// What has arrived, and when. Kept by the caller, so that an exchange that is
/// cancelled still has what came before.
#[derive(Debug, Default)]
pub(super) struct Received {
    /// When the connection was given the request.
    pub(super) handover: Option<Instant>,
    pub(super) status: Option<u16>,
    pub(super) headers_at: Option<Instant>,
    pub(super) headers: Vec<(String, String)>,
    /// Where a redirect points, without its query.
    pub(super) location: Option<String>,
    /// Whether the headers promise server-sent events.
    pub(super) says_stream: bool,
    /// The header that says how the body is packed, where it is.
    pub(super) coding: Option<String>,
    /// All bytes of the body so far.
    pub(super) bytes: Vec<u8>,
    /// For each read, where in `bytes` it ended and when it was there.
    pub(super) reads: Vec<(usize, Instant)>,
    /// Bytes since the last line end of a stream.
    pub(super) line: usize,
}

impl Client {
    /// Sends a request and reads its answer until it ends by itself.
    ///
    /// # Errors
    ///
    /// What stopped it before; what came until then is in `received`.
    pub(super) async fn receive(
        &self,
        outgoing: &Outgoing,
        body: Bytes,
        received: &mut Received,
    ) -> Result<(), Fault> {
        let url = &outgoing.url;
        let address = self
            .addresses
            .parts(url)
            .ok_or_else(|| fault::no_address(&self.place(url)))?;
        let reader = self.connector.reader(&address.origin.uri);
        let head = request::head(&address, outgoing, body.len(), reader)?;
        let settings = &self.settings;
        let (timer, end) = Patience::timer(settings);
        let timer = pin!(timer);
        let mut patience = Patience::new(timer, end);
        let mut connection = self.connection(&address, url).await?;
        connection.send(head, body);
        let handover = Instant::now();
        received.handover = Some(handover);
        patience.expect(Phase::Headers, settings.headers, handover);
        let mut reading = Reading {
            client: self,
            connection,
            patience,
            url,
        };
        let body = reading.head(outgoing, received).await?;
        let ended = reading.body(body, received).await?;
        if let Some(now) = ended.filter(|_| !request::closes(outgoing)) {
            address.origin.keep(reading.connection, now);
        }
        Ok(())
    }

    /// A connection that was used before, or a new one.
    async fn connection(&self, address: &Address, url: &str) -> Result<Connection, Fault> {
        if let Some(connection) = address.origin.take() {
            return Ok(connection);
        }
        let connecting = self.connector.connect(&address.origin.uri);
        match timeout(self.settings.connect, connecting).await {
            Ok(Ok(stream)) => Ok(Connection::new(stream)),
            Ok(Err(error)) => Err(fault::unconnected(&*error, &self.place(url))),
            Err(_late) => Err(fault::unconnected_in_time(&self.place(url))),
        }
    }
}

/// Reads one answer from a connection.
struct Reading<'a> {
    client: &'a Client,
    connection: Connection,
    patience: Patience<'a>,
    url: &'a str,
}

impl Reading<'_> {
    /// Waits for more of the answer. `None` where the connection ended.
    async fn more(&mut self) -> Result<Option<Instant>, Fault> {
        let read = tokio::select! {
            biased;
            read = self.connection.more() => read,
            late = self.patience.runs_out(self.client.settings.total) => return Err(late),
        };
        let now = Instant::now();
        if self.patience.phase == Phase::Body {
            self.patience.last = now;
        }
        match read {
            Ok(0) => Ok(None),
            Ok(_) => Ok(Some(now)),
            // TLS that is not closed as it should be.
            Err(error) if error.kind() == io::ErrorKind::UnexpectedEof => Err(self.ended()),
            Err(error) => Err(fault::broken(&error, self.patience.phase, &self.place())),
        }
    }

    /// Reads the head and notes what it says.
    async fn head(
        &mut self,
        outgoing: &Outgoing,
        received: &mut Received,
    ) -> Result<Answered, Fault> {
        loop {
            let Some(at) = self.more().await? else {
                return Err(self.ended());
            };
            while !self.connection.unread.is_empty() {
                let head = http1::head(&self.connection.unread);
                let Some(head) = head.map_err(|error| self.no_http(error))? else {
                    break;
                };
                let (status, length) = (head.status, head.length);
                let answered = Answered {
                    at,
                    body: head.body,
                    keep: head.keep,
                };
                if status >= 200 {
                    received.note(&head, at, &secrets(&outgoing.headers));
                }
                self.connection.unread.advance(length);
                if status >= 200 {
                    return Ok(answered);
                }
                // An interim answer is a sign of life.
                self.patience.last = at;
            }
        }
    }

    /// Reads the body to its end. When that came, where the connection can be kept.
    async fn body(
        &mut self,
        answered: Answered,
        received: &mut Received,
    ) -> Result<Option<Instant>, Fault> {
        let settings = &self.client.settings;
        let Answered {
            mut at,
            mut body,
            keep,
        } = answered;
        self.patience
            .expect(Phase::FirstByte, settings.first_byte, at);
        loop {
            let before = received.bytes.len();
            let taken = body.take(&mut self.connection.unread, &mut received.bytes);
            if received.bytes.len() > before {
                self.client.stamp(received, before, at)?;
                if self.patience.phase == Phase::FirstByte {
                    self.patience.expect(Phase::Body, settings.idle, at);
                }
            }
            taken.map_err(|error| self.no_http(error))?;
            if body.is_whole() {
                return Ok(keep.then_some(at));
            }
            at = match self.more().await? {
                Some(at) => at,
                None if body == Body::UntilClosed => return Ok(None),
                None => return Err(self.ended()),
            };
        }
    }

    fn ended(&self) -> Fault {
        fault::ended(self.patience.phase, &self.place())
    }

    fn no_http(&self, error: http1::NoHttp) -> Fault {
        fault::broken(&error, self.patience.phase, &self.place())
    }

    fn place(&self) -> String {
        self.client.place(self.url)
    }
}

/// What the body needs to know of the head.
struct Answered {
    at: Instant,
    body: Body,
    keep: bool,
}

impl Received {
    fn note(&mut self, head: &Head<'_>, at: Instant, secrets: &[String]) {
        self.headers_at = Some(at);
        self.status = Some(head.status);
        self.says_stream = head.header("content-type").is_some_and(is_stream);
        self.coding = head.coding();
        self.location = head.header("location").map(shown);
        let headers = head.headers.iter();
        self.headers = recorded(headers.map(|(name, value)| (*name, &**value)), secrets);
    }
}

impl Client {
    /// Stamps what came of the body behind `before`.
    fn stamp(&self, received: &mut Received, before: usize, at: Instant) -> Result<(), Fault> {
        let settings = &self.settings;
        let too_large = |what: &str, limit: usize| Fault {
            outcome: Outcome::TooLarge,
            message: format!("the answer is larger than {limit} {what}"),
        };
        if received.bytes.len() > settings.max_body {
            received.bytes.truncate(before);
            return Err(too_large("bytes", settings.max_body));
        }
        if received.reads.len() >= settings.max_reads {
            received.bytes.truncate(before);
            return Err(too_large("reads", settings.max_reads));
        }
        received.reads.push((received.bytes.len(), at));
        if received.says_stream {
            let new = &received.bytes[before..];
            let end = memchr::memrchr2(b'\n', b'\r', new);
            received.line = end.map_or(received.line + new.len(), |end| new.len() - end - 1);
            if received.line > settings.sse.line {
                return Err(too_large("bytes in one line", settings.sse.line));
            }
        }
        Ok(())
    }
}

fn is_stream(kind: &str) -> bool {
    let (kind, stream) = (kind.trim_start().as_bytes(), b"text/event-stream");
    kind.len() >= stream.len() && kind[..stream.len()].eq_ignore_ascii_case(stream)
}
