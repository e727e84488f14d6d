//! The timed loop: reads, stamps, and does nothing else.

use super::client::Client;
use super::fault::{self, Fault, Phase};
use super::headers::{recorded, secrets, shown};
use super::outgoing::{Header, Outgoing};
use super::stamped::{Handover, Stamped};
use crate::record::Outcome;
use bytes::Bytes;
use reqwest::header::{CONTENT_ENCODING, CONTENT_TYPE, HeaderMap, HeaderValue, LOCATION};
use reqwest::{Body, Request, RequestBuilder, Response};
use std::pin::pin;
use tokio::time::{Instant, sleep_until, timeout};

/// What has arrived, and when. Kept by the caller, so that an exchange that is
/// cancelled still has what came before.
#[derive(Debug, Default)]
pub(super) struct Received {
    pub(super) handover: Handover,
    pub(super) status: Option<u16>,
    pub(super) headers_at: Option<Instant>,
    pub(super) headers: Vec<(String, String)>,
    /// Where a redirect points, without its query.
    pub(super) location: Option<String>,
    /// Whether the headers promise server-sent events.
    pub(super) says_stream: bool,
    /// How the body is packed, where it is.
    pub(super) coding: Option<String>,
    /// All bytes of the body so far.
    pub(super) bytes: Vec<u8>,
    /// For each read, where in `bytes` it ended and when it was there.
    pub(super) reads: Vec<(usize, Instant)>,
    /// Bytes since the last line end of a stream.
    pub(super) line: usize,
}

impl Client {
    /// Sends and reads to the end; `None` where the answer ended by itself.
    pub(super) async fn receive(
        &self,
        outgoing: &Outgoing,
        body: Bytes,
        received: &mut Received,
    ) -> Option<Fault> {
        let url = &outgoing.url;
        let request = match self.request(outgoing, body, &received.handover) {
            Ok(request) => request,
            Err(error) => return Some(self.broken(&error, Phase::Headers, url)),
        };
        let limit = self.settings.connect + self.settings.headers;
        let response = match timeout(limit, self.http.execute(request)).await {
            Err(_late) => return Some(fault::timeout(Phase::Headers, limit)),
            Ok(Err(error)) => return Some(self.broken(&error, Phase::Headers, url)),
            Ok(Ok(response)) => response,
        };
        received.headers_at = Some(Instant::now());
        received.status = Some(response.status().as_u16());
        received.says_stream = says_stream(&response);
        received.coding = coding(response.headers());
        let location = response
            .headers()
            .get(LOCATION)
            .and_then(|place| place.to_str().ok());
        received.location = location.map(shown);
        received.headers = recorded(response.headers(), &secrets(&outgoing.headers));
        self.read(response, received, url).await
    }

    async fn read(
        &self,
        mut response: Response,
        received: &mut Received,
        url: &str,
    ) -> Option<Fault> {
        let (mut phase, mut limit) = (Phase::FirstByte, self.settings.first_byte);
        let mut last = Instant::now();
        // One timer for the whole answer: what comes only moves the time that it is held
        // against once it has run out, since to set it anew for each read would cost more
        // than the read.
        let mut patience = pin!(sleep_until(last + limit));
        loop {
            let chunk = tokio::select! {
                biased;
                chunk = response.chunk() => chunk,
                () = &mut patience => {
                    if last + limit <= Instant::now() {
                        return Some(fault::timeout(phase, limit));
                    }
                    patience.as_mut().reset(last + limit);
                    continue;
                }
            };
            last = Instant::now();
            match chunk {
                Err(error) => return Some(self.broken(&error, phase, url)),
                Ok(None) => return None,
                Ok(Some(chunk)) => {
                    if let Some(too_large) = self.take(&chunk, last, received) {
                        return Some(too_large);
                    }
                }
            }
            if phase == Phase::FirstByte {
                (phase, limit) = (Phase::Body, self.settings.idle);
                // A shorter wait than the one before must not run out late.
                patience.as_mut().reset(last + limit);
            }
        }
    }

    fn take(&self, chunk: &[u8], at: Instant, received: &mut Received) -> Option<Fault> {
        let settings = &self.settings;
        let too_large = |what: &str, limit: usize| {
            Some(Fault {
                outcome: Outcome::TooLarge,
                message: format!("the answer is larger than {limit} {what}"),
            })
        };
        if received.bytes.len() + chunk.len() > settings.max_body {
            return too_large("bytes", settings.max_body);
        }
        if received.reads.len() >= settings.max_reads {
            return too_large("reads", settings.max_reads);
        }
        received.bytes.extend_from_slice(chunk);
        received.reads.push((received.bytes.len(), at));
        if received.says_stream {
            let end = chunk
                .iter()
                .rposition(|&byte| byte == b'\n' || byte == b'\r');
            received.line = end.map_or(received.line + chunk.len(), |end| chunk.len() - end - 1);
            if received.line > settings.sse.line {
                return too_large("bytes in one line", settings.sse.line);
            }
        }
        None
    }

    fn request(
        &self,
        outgoing: &Outgoing,
        body: Bytes,
        handover: &Handover,
    ) -> reqwest::Result<Request> {
        let body = Stamped::new(body, handover.clone());
        let builder = match self.addresses.parts(&outgoing.url) {
            Some(url) => self.http.post(url),
            // Says by itself that it is none.
            None => self.http.post(&outgoing.url),
        };
        let builder = builder.header(CONTENT_TYPE, HeaderValue::from_static("application/json"));
        // What the dialect needs, unless the target has its own.
        let missing = outgoing.dialect.headers().iter().filter(|(name, _)| {
            let given = |header: &Header| header.name.eq_ignore_ascii_case(name);
            !outgoing.headers.iter().any(given)
        });
        let builder = missing.fold(builder, |builder, (name, value)| {
            builder.header(*name, *value)
        });
        with_headers(builder, &outgoing.headers)
            .body(Body::wrap(body))
            .build()
    }
}

/// Adds headers, the secret ones marked as such. A header that cannot be written
/// is handed on as it is, so that building the request fails.
pub(super) fn with_headers(builder: RequestBuilder, headers: &[Header]) -> RequestBuilder {
    headers.iter().fold(builder, |builder, header| {
        match HeaderValue::try_from(header.value.as_str()) {
            Ok(mut value) => {
                value.set_sensitive(header.secret);
                builder.header(header.name.as_str(), value)
            }
            Err(_) => builder.header(header.name.as_str(), header.value.as_str()),
        }
    })
}

/// What packs a body; none where it is as it is.
pub(super) fn coding(headers: &HeaderMap) -> Option<String> {
    let coding = headers.get(CONTENT_ENCODING)?.to_str().ok()?.trim();
    (!coding.is_empty() && !coding.eq_ignore_ascii_case("identity")).then(|| coding.to_owned())
}

fn says_stream(response: &Response) -> bool {
    let kind = response.headers().get(CONTENT_TYPE);
    kind.and_then(|kind| kind.to_str().ok())
        .is_some_and(|kind| {
            let kind = kind.trim_start().as_bytes();
            let stream = b"text/event-stream";
            kind.len() >= stream.len() && kind[..stream.len()].eq_ignore_ascii_case(stream)
        })
}
