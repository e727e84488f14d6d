//! The client itself.

use super::address::Addresses;
use super::exchange::{self, Exchange};
use super::fault::{self, Fault, Phase};
use super::headers;
use super::outgoing::Outgoing;
use super::receive::Received;
use super::redact;
use super::room::{Held, Room};
use super::settings::{ClientError, Settings};
use crate::record::Outcome;
use crate::units::Micros;
use reqwest::header::{ACCEPT_ENCODING, HeaderMap, HeaderValue};
use reqwest::{Certificate, ClientBuilder, Proxy, redirect, retry};
use std::fmt;
use std::time::Duration;
use tokio::time::{Instant, timeout};
use tokio_util::sync::CancellationToken;

/// One pool of connections. A clone shares it.
#[derive(Clone)]
pub struct Client {
    pub(super) http: reqwest::Client,
    pub(super) settings: Settings,
    pub(super) epoch: Instant,
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
        let certificates = match &settings.ca {
            Some(pem) => Certificate::from_pem_bundle(pem).map_err(ClientError::Certificate)?,
            None => Vec::new(),
        };
        let with_system = builder(settings)?
            .tls_certs_merge(certificates.clone())
            .build();
        let http = with_system.or_else(|_none| {
            let alone = builder(settings)?.tls_certs_only(certificates);
            alone.build().map_err(ClientError::Build)
        })?;
        Ok(Self {
            http,
            settings: settings.clone(),
            epoch,
            addresses: Addresses::default(),
            room: Room::default(),
        })
    }

    /// Time since the run's start.
    pub fn now(&self) -> Micros {
        Micros::from(self.epoch.elapsed())
    }

    /// What an error of the connection to `url` means.
    pub(super) fn broken(&self, error: &reqwest::Error, phase: Phase, url: &str) -> Fault {
        let place = fault::place(url, self.settings.proxy.as_ref());
        fault::broken(error, phase, &place)
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
        let limit = self.settings.total;
        let fault = tokio::select! {
            biased;
            () = cancel.cancelled() => Some(aborted()),
            ended = timeout(limit, self.receive(&outgoing, body, &mut received)) => {
                ended.unwrap_or_else(|_late| Some(fault::timeout(Phase::Total, limit)))
            }
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

/// How long an unused connection is kept. Common servers close theirs after five
/// seconds (uvicorn, and so vLLM; llama.cpp), and a request that is just then
/// sent on it is lost.
const IDLE_CONNECTION: Duration = Duration::from_secs(4);

/// What all clients have in common: nothing is followed, repeated or remembered.
fn builder(settings: &Settings) -> Result<ClientBuilder, ClientError> {
    // Without the header any packing of answers would be welcome.
    let plain = HeaderMap::from_iter([(ACCEPT_ENCODING, HeaderValue::from_static("identity"))]);
    let builder = reqwest::Client::builder()
        .default_headers(plain)
        .user_agent(concat!("prefixbench/", env!("CARGO_PKG_VERSION")))
        .redirect(redirect::Policy::none())
        .retry(retry::never())
        .referer(false)
        .no_proxy()
        .connect_timeout(settings.connect)
        .pool_max_idle_per_host(usize::MAX)
        .pool_idle_timeout(IDLE_CONNECTION);
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
