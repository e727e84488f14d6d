//! The client itself.

use super::address::Addresses;
use super::connect::Connector;
use super::exchange::{self, Exchange};
use super::fault::{self, Fault};
use super::headers;
use super::outgoing::Outgoing;
use super::pool::IDLE;
use super::receive::Received;
use super::redact;
use super::request::AGENT;
use super::room::{Held, Room};
use super::settings::{ClientError, Settings};
use super::tls;
use crate::record::Outcome;
use crate::units::Micros;
use reqwest::header::{ACCEPT_ENCODING, HeaderMap, HeaderValue};
use reqwest::{ClientBuilder, Proxy, redirect, retry};
use rustls::ClientConfig;
use std::fmt;
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;

/// One pool of connections. A clone shares it.
#[derive(Clone)]
pub struct Client {
    pub(super) http: reqwest::Client,
    pub(super) settings: Settings,
    pub(super) epoch: Instant,
    pub(super) connector: Connector,
    pub(super) addresses: Addresses,
    room: Room,
}

impl fmt::Debug for Client {
    /// Its limits; the client inside knows the proxy's password.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Client")
            .field("settings", &self.settings)
            .finish_non_exhaustive()
    }
}

impl Client {
    /// A client whose stamps count from `epoch`, the run's start.
    ///
    /// A machine without certificates of its own (a bare container) gets a client
    /// all the same: it trusts those of `settings.ca` only, so HTTPS to anyone else
    /// fails when it is tried, and plain HTTP works.
    ///
    /// # Errors
    ///
    /// [`ClientError`] where certificates or proxy cannot be used.
    pub fn new(settings: &Settings, epoch: Instant) -> Result<Self, ClientError> {
        let tls = tls::config(settings.ca.as_deref())?;
        let connector = Connector::new(&tls, settings.proxy.as_ref(), settings.connect)?;
        let http = builder(settings, tls)?.build();
        let http = http.map_err(|error| ClientError::Build(error.into()))?;
        Ok(Self {
            http,
            settings: settings.clone(),
            epoch,
            connector,
            addresses: Addresses::default(),
            room: Room::default(),
        })
    }

    /// Time since the run's start.
    pub fn now(&self) -> Micros {
        Micros::from(self.epoch.elapsed())
    }

    /// Where a request to `url` goes, for messages.
    pub(super) fn place(&self, url: &str) -> String {
        fault::place(url, self.settings.proxy.as_ref())
    }

    /// Waits until a body of so many bytes may be written. At once, but where very
    /// many long ones are on their way.
    pub async fn room(&self, bytes: usize) -> Held {
        self.room.take(bytes).await
    }

    /// Sends one attempt and reads its answer to the end, to a limit, or until
    /// `cancel`. Never fails: what went wrong is the exchange's outcome.
    ///
    /// The body is let go of as soon as the connection has it.
    pub async fn send(&self, mut outgoing: Outgoing, cancel: &CancellationToken) -> Exchange {
        let body = std::mem::take(&mut outgoing.body);
        let mut received = Received::default();
        let fault = tokio::select! {
            biased;
            () = cancel.cancelled() => Some(aborted()),
            ended = self.receive(&outgoing, body, &mut received) => ended.err(),
        };
        let ended = Instant::now();
        let secrets = headers::secrets(&outgoing.headers);
        let mut exchange = exchange::understand(
            received,
            fault,
            ended,
            &outgoing,
            self.epoch,
            self.settings.sse,
        );
        exchange.error = exchange.error.map(|error| redact::text(error, &secrets));
        redact::answer(&mut exchange.answer, &secrets);
        exchange
    }
}

/// What all clients have in common: nothing is followed, repeated or remembered.
fn builder(settings: &Settings, tls: ClientConfig) -> Result<ClientBuilder, ClientError> {
    // Without the header any packing of answers would be welcome.
    let plain = HeaderMap::from_iter([(ACCEPT_ENCODING, HeaderValue::from_static("identity"))]);
    let builder = reqwest::Client::builder()
        .default_headers(plain)
        .tls_backend_preconfigured(tls)
        .user_agent(AGENT)
        .redirect(redirect::Policy::none())
        .retry(retry::never())
        .referer(false)
        .no_proxy()
        .connect_timeout(settings.connect)
        .pool_idle_timeout(IDLE);
    match &settings.proxy {
        None => Ok(builder),
        Some(proxy) => {
            let proxy = Proxy::all(&proxy.0).map_err(|_hidden| ClientError::Proxy)?;
            Ok(builder.proxy(proxy))
        }
    }
}

fn aborted() -> Fault {
    Fault {
        outcome: Outcome::Aborted,
        message: "interrupted before the answer ended".to_owned(),
    }
}
