//! The way to a server: directly, through a proxy, with TLS or without.

use super::settings::{ClientError, ProxyUrl};
use hyper_rustls::HttpsConnector;
use hyper_util::client::legacy::connect::HttpConnector;
use hyper_util::client::legacy::connect::proxy::Tunnel;
use hyper_util::client::proxy::matcher::Matcher;
use hyper_util::rt::TokioIo;
use reqwest::header::HeaderValue;
use rustls::ClientConfig;
use std::error::Error;
use std::time::Duration;
use tokio::io::{AsyncRead, AsyncWrite};
use tower_service::Service as _;

/// What bytes go over: a socket, with or without TLS.
pub(super) trait Stream: AsyncRead + AsyncWrite + Send + Unpin {}

impl<T: AsyncRead + AsyncWrite + Send + Unpin> Stream for T {}

type Direct = HttpsConnector<HttpConnector>;
type ConnectError = Box<dyn Error + Send + Sync>;

/// How often a connection that is silent asks whether the other end is there.
const ALIVE: Duration = Duration::from_secs(15);

/// How often it asks in vain before the connection counts as lost.
const UNHEARD: u32 = 3;

/// Makes connections.
#[derive(Clone, Debug)]
pub(super) struct Connector {
    direct: Direct,
    proxy: Option<Through>,
}

/// Who reads a request first.
#[derive(Clone, Copy, Debug)]
pub(super) enum Reader<'a> {
    /// Whoever answers it.
    Server,
    /// A proxy, which is told who asks where it wants to know.
    Proxy(Option<&'a HeaderValue>),
}

/// A proxy: asked for whole addresses without TLS, and for a tunnel with it.
#[derive(Clone, Debug)]
struct Through {
    uri: http::Uri,
    auth: Option<HeaderValue>,
    tunnel: HttpsConnector<Tunnel<Direct>>,
}

impl Connector {
    /// Ways that go through `proxy`, where there is one. A connection may take `limit`, and
    /// each address of a name its part of that, so that one that is dead hides no other.
    pub(super) fn new(
        tls: &ClientConfig,
        proxy: Option<&ProxyUrl>,
        limit: Duration,
    ) -> Result<Self, ClientError> {
        let mut tcp = HttpConnector::new();
        tcp.enforce_http(false);
        tcp.set_nodelay(true);
        tcp.set_connect_timeout(Some(limit));
        tcp.set_keepalive(Some(ALIVE));
        tcp.set_keepalive_interval(Some(ALIVE));
        tcp.set_keepalive_retries(Some(UNHEARD));
        let direct = HttpsConnector::from((tcp, tls.clone()));
        let proxy = proxy.map(|proxy| Through::new(proxy, &direct, tls));
        Ok(Self {
            direct,
            proxy: proxy.transpose()?,
        })
    }

    /// A connection for requests to `origin`.
    pub(super) async fn connect(
        &self,
        origin: &http::Uri,
    ) -> Result<Box<dyn Stream>, ConnectError> {
        match &self.proxy {
            Some(through) if is_secret(origin) => {
                let tunnel = through.tunnel.clone().call(origin.clone()).await?;
                Ok(Box::new(TokioIo::new(tunnel)))
            }
            through => {
                let to = through.as_ref().map_or(origin, |through| &through.uri);
                let direct = self.direct.clone().call(to.clone()).await?;
                Ok(Box::new(TokioIo::new(direct)))
            }
        }
    }

    /// Who reads the requests to `origin` on their way.
    pub(super) fn reader(&self, origin: &http::Uri) -> Reader<'_> {
        match &self.proxy {
            Some(through) if !is_secret(origin) => Reader::Proxy(through.auth.as_ref()),
            _ => Reader::Server,
        }
    }
}

impl Through {
    fn new(proxy: &ProxyUrl, direct: &Direct, tls: &ClientConfig) -> Result<Self, ClientError> {
        let anywhere = http::Uri::from_static("http://server.invalid");
        let matcher = Matcher::builder().all(proxy.0.as_str()).build();
        let found = matcher.intercept(&anywhere).ok_or(ClientError::Proxy)?;
        let (uri, mut auth) = (found.uri().clone(), found.basic_auth().cloned());
        let mut tunnel = Tunnel::new(uri.clone(), direct.clone());
        if let Some(auth) = &mut auth {
            auth.set_sensitive(true);
            tunnel = tunnel.with_auth(auth.clone());
        }
        let tunnel = HttpsConnector::from((tunnel, tls.clone()));
        Ok(Self { uri, auth, tunnel })
    }
}

fn is_secret(origin: &http::Uri) -> bool {
    origin.scheme() == Some(&http::uri::Scheme::HTTPS)
}
