//! The client itself.

use super::exchange::{self, Exchange};
use super::fault::{self, Fault, Phase};
use super::headers;
use super::outgoing::Outgoing;
use super::receive::Received;
use super::settings::{ClientError, Settings};
use crate::record::Outcome;
use crate::units::Micros;
use reqwest::{Certificate, Proxy, redirect, retry};
use tokio::time::{Instant, timeout};
use tokio_util::sync::CancellationToken;

/// One pool of connections. A clone shares it.
#[derive(Clone, Debug)]
pub struct Client {
    pub(super) http: reqwest::Client,
    pub(super) settings: Settings,
    pub(super) epoch: Instant,
}

impl Client {
    /// A client whose stamps count from `epoch`, the run's start.
    ///
    /// # Errors
    ///
    /// [`ClientError`] where certificates or proxy cannot be used.
    pub fn new(settings: &Settings, epoch: Instant) -> Result<Self, ClientError> {
        let mut builder = reqwest::Client::builder()
            .user_agent(concat!("prefixbench/", env!("CARGO_PKG_VERSION")))
            .redirect(redirect::Policy::none())
            .retry(retry::never())
            .referer(false)
            .no_proxy()
            .connect_timeout(settings.connect)
            .pool_max_idle_per_host(usize::MAX);
        if let Some(pem) = &settings.ca {
            let certificates =
                Certificate::from_pem_bundle(pem).map_err(ClientError::Certificate)?;
            builder = builder.tls_certs_merge(certificates);
        }
        if let Some(proxy) = &settings.proxy {
            builder = builder.proxy(Proxy::all(proxy).map_err(|_hidden| ClientError::Proxy)?);
        }
        Ok(Self {
            http: builder.build().map_err(ClientError::Build)?,
            settings: settings.clone(),
            epoch,
        })
    }

    /// Time since the run's start.
    pub fn now(&self) -> Micros {
        Micros::from(self.epoch.elapsed())
    }

    /// Sends one attempt and reads its answer to the end, to a limit, or until
    /// `cancel`. Never fails: what went wrong is the exchange's outcome.
    pub async fn send(&self, outgoing: Outgoing, cancel: &CancellationToken) -> Exchange {
        let mut received = Received::default();
        let limit = self.settings.total;
        let fault = tokio::select! {
            biased;
            () = cancel.cancelled() => Some(aborted()),
            ended = timeout(limit, self.receive(&outgoing, &mut received)) => {
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
        exchange.error = exchange.error.map(|error| headers::redact(error, &secrets));
        exchange.answer.error = exchange.answer.error.map(|mut error| {
            error.message = headers::redact(error.message, &secrets);
            error
        });
        exchange
    }
}

fn aborted() -> Fault {
    Fault {
        outcome: Outcome::Aborted,
        message: "interrupted before the answer ended".to_owned(),
    }
}
