//! Calls beside the measured ones: `/metrics`, `/v1/models`, `/tokenize`, resets.

use super::client::Client;
use super::fault::{self, Fault, Phase};
use super::headers::{recorded, secrets};
use super::http1::packs;
use super::outgoing::Header;
use super::redact;
use crate::record::Outcome;
use reqwest::RequestBuilder;
use reqwest::header::{CONTENT_ENCODING, CONTENT_TYPE, HeaderMap, HeaderValue};
use serde_json::Value;
use thiserror::Error;
use tokio::time::timeout;

/// A response in one piece.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Reply {
    /// HTTP status, of success or not.
    pub status: u16,
    /// Headers worth recording, names in lowercase.
    pub headers: Vec<(String, String)>,
    /// The body.
    pub body: Vec<u8>,
}

impl Reply {
    /// A header's value; names are lowercase.
    pub fn header(&self, name: &str) -> Option<&str> {
        let kept = self.headers.iter().find(|(kept, _)| kept == name);
        kept.map(|(_, value)| value.as_str())
    }

    /// The body as text; bytes that are no UTF-8 become U+FFFD.
    pub fn text(&self) -> String {
        String::from_utf8_lossy(&self.body).into_owned()
    }

    /// The body as JSON; `None` where it is none or the status is one of failure.
    pub fn json(&self) -> Option<Value> {
        let good = (200..300).contains(&self.status);
        good.then(|| serde_json::from_slice(&self.body).ok())
            .flatten()
    }
}

/// A call that got no response.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[error("{message}")]
pub struct CallError {
    /// The class.
    pub outcome: Outcome,
    /// What happened, in one line.
    pub message: String,
}

impl Client {
    /// Fetches `url`.
    ///
    /// # Errors
    ///
    /// [`CallError`] where no whole response came within the limits. A status of
    /// failure is a reply.
    pub async fn get(&self, url: &str, headers: &[Header]) -> Result<Reply, CallError> {
        self.call(self.http.get(url), url, headers).await
    }

    /// Posts a JSON body to `url`.
    ///
    /// # Errors
    ///
    /// As [`Client::get`].
    pub async fn post_json(
        &self,
        url: &str,
        headers: &[Header],
        body: &Value,
    ) -> Result<Reply, CallError> {
        let json = HeaderValue::from_static("application/json");
        let request = self
            .http
            .post(url)
            .header(CONTENT_TYPE, json)
            .body(body.to_string());
        self.call(request, url, headers).await
    }

    async fn call(
        &self,
        request: RequestBuilder,
        url: &str,
        headers: &[Header],
    ) -> Result<Reply, CallError> {
        let limit = self.settings.call;
        let request = with_headers(request, headers);
        let secrets = secrets(headers);
        let called = timeout(limit, self.exchange_whole(request, url, &secrets)).await;
        let result = called.unwrap_or_else(|_late| Err(fault::timeout(Phase::Total, limit)));
        match result {
            Ok(reply) => Ok(Reply {
                body: redact::body(reply.body, &secrets),
                ..reply
            }),
            Err(fault) => Err(CallError {
                outcome: fault.outcome,
                message: redact::text(fault.message, &secrets),
            }),
        }
    }

    async fn exchange_whole(
        &self,
        request: RequestBuilder,
        url: &str,
        secrets: &[String],
    ) -> Result<Reply, Fault> {
        let place = self.place(url);
        let broken = |phase| {
            let place = &place;
            move |error: reqwest::Error| fault::failed(&error, phase, place)
        };
        let mut response = request.send().await.map_err(broken(Phase::Headers))?;
        let status = response.status().as_u16();
        let said = response.headers();
        let pairs = said
            .iter()
            .map(|(name, value)| (name.as_str(), value.as_bytes()));
        let headers = recorded(pairs, secrets);
        if let Some(coding) = packed(said) {
            return Err(fault::packed(&coding));
        }
        let mut body = Vec::new();
        while let Some(chunk) = response.chunk().await.map_err(broken(Phase::Body))? {
            if body.len() + chunk.len() > self.settings.max_body {
                return Err(Fault {
                    outcome: Outcome::TooLarge,
                    message: format!("the answer is larger than {} bytes", self.settings.max_body),
                });
            }
            body.extend_from_slice(&chunk);
        }
        Ok(Reply {
            status,
            headers,
            body,
        })
    }
}

fn packed(headers: &HeaderMap) -> Option<String> {
    let mut said = headers.get_all(CONTENT_ENCODING).iter();
    let coding = said.find_map(|value| value.to_str().ok().filter(|said| packs(said)))?;
    Some(format!("Content-Encoding: {coding}"))
}

/// Adds headers, the secret ones marked as such. A header that cannot be written
/// is handed on as it is, so that building the request fails.
fn with_headers(builder: RequestBuilder, headers: &[Header]) -> RequestBuilder {
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
