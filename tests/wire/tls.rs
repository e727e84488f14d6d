//! TLS: whom the client trusts, and the same stamps behind it.

use super::server::read;
use super::*;
use rcgen::{CertifiedKey, generate_simple_self_signed};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use tokio::io::AsyncWriteExt as _;
use tokio::net::{TcpListener, TcpStream};
use tokio::task::JoinSet;
use tokio_rustls::TlsAcceptor;
use tokio_rustls::rustls::ServerConfig;
use tokio_rustls::rustls::crypto::aws_lc_rs::default_provider;
use tokio_rustls::rustls::pki_types::PrivateKeyDer;

/// A server of its own certificate, which it makes anew; it ends with the value.
struct Secret {
    port: u16,
    pem: String,
    connections: Arc<AtomicUsize>,
    _tasks: JoinSet<()>,
}

impl Secret {
    async fn start() -> Self {
        let names = vec!["localhost".to_owned()];
        let CertifiedKey { cert, signing_key } =
            generate_simple_self_signed(names).expect("a certificate");
        let key = PrivateKeyDer::try_from(signing_key.serialize_der()).expect("a key");
        let config = ServerConfig::builder_with_provider(Arc::new(default_provider()))
            .with_safe_default_protocol_versions()
            .expect("versions")
            .with_no_client_auth()
            .with_single_cert(vec![cert.der().clone()], key)
            .expect("its key");
        let acceptor = TlsAcceptor::from(Arc::new(config));
        let listener = TcpListener::bind("127.0.0.1:0").await.expect("a port");
        let port = listener.local_addr().expect("an address").port();
        let connections = Arc::<AtomicUsize>::default();
        let seen = Arc::clone(&connections);
        let mut tasks = JoinSet::new();
        tasks.spawn(async move {
            let mut clients = JoinSet::new();
            while let Ok((stream, _)) = listener.accept().await {
                seen.fetch_add(1, Ordering::SeqCst);
                clients.spawn(answer(acceptor.clone(), stream));
            }
        });
        Self {
            port,
            pem: cert.pem(),
            connections,
            _tasks: tasks,
        }
    }

    fn trusted(&self) -> Settings {
        Settings {
            ca: Some(self.pem.clone().into_bytes()),
            ..settings()
        }
    }

    fn request(&self) -> Outgoing {
        Outgoing {
            url: format!("https://localhost:{}/v1/chat/completions", self.port),
            headers: Vec::new(),
            body: Bytes::from(vec![b'x'; 200_000]),
            dialect: provider::find("openai-chat").expect("dialect"),
            stream: true,
            due: Micros(7),
        }
    }
}

/// How long it keeps those waiting who want to connect.
const SHAKES: Duration = Duration::from_millis(30);

async fn answer(acceptor: TlsAcceptor, stream: TcpStream) {
    tokio::time::sleep(SHAKES).await;
    let Ok(mut stream) = acceptor.accept(stream).await else {
        return;
    };
    while read(&mut stream).await.is_some() {
        for act in one_write(&super::stream()) {
            let Act::Send(bytes) = act else { continue };
            stream.write_all(&bytes).await.expect("written");
        }
        stream.flush().await.expect("flushed");
    }
}

#[tokio::test]
async fn an_answer_behind_tls_is_read_and_stamped_like_any_other() {
    let server = Secret::start().await;
    let client = Client::new(&server.trusted(), Instant::now()).expect("client");
    for _ in 0..3 {
        let exchange = sent(&client, server.request()).await;
        assert_whole("behind TLS", &exchange);
        let stamps = exchange.stamps;
        assert!(stamps.sent_us <= stamps.headers_us && stamps.headers_us <= stamps.first_text_us);
    }
    assert_eq!(server.connections.load(Ordering::SeqCst), 1);
}

#[tokio::test]
async fn the_time_until_a_connection_stands_is_in_no_time_to_first_token() {
    let server = Secret::start().await;
    let client = Client::new(&server.trusted(), Instant::now()).expect("client");
    let before = client.now();
    let exchange = sent(&client, server.request()).await;
    assert_whole("behind TLS", &exchange);
    let sent_at = exchange.stamps.sent_us.expect("sent");
    assert!(u128::from(sent_at.0 - before.0) >= SHAKES.as_micros());
}

#[tokio::test]
async fn nobody_is_trusted_who_is_not_known() {
    let (server, other) = (Secret::start().await, Secret::start().await);
    for trust in [settings(), other.trusted()] {
        let client = Client::new(&trust, Instant::now()).expect("client");
        let exchange = sent(&client, server.request()).await;
        let told = exchange.error.unwrap_or_default();
        assert_eq!(exchange.outcome, Outcome::Connect, "{told}");
        assert!(told.contains("certificate"), "{told}");
    }
}

#[tokio::test]
async fn a_proxy_gets_a_tunnel_and_reads_nothing_behind_it() {
    let server = Secret::start().await;
    let listener = TcpListener::bind("127.0.0.1:0").await.expect("a port");
    let address = listener.local_addr().expect("an address");
    let proxy = async {
        let (mut near, _) = listener.accept().await.expect("a connection");
        let asked = read(&mut near).await.expect("a request");
        let mut far = TcpStream::connect(("127.0.0.1", server.port))
            .await
            .expect("the server");
        near.write_all(b"HTTP/1.1 200 Go\r\n\r\n")
            .await
            .expect("written");
        let _cut = tokio::io::copy_bidirectional(&mut near, &mut far).await;
        asked
    };
    let mut settings = server.trusted();
    settings.proxy = Some(ProxyUrl(format!("http://user:hidden@{address}")));
    let exchange = async {
        let client = Client::new(&settings, Instant::now()).expect("client");
        sent(&client, server.request()).await
    };
    let (exchange, asked) = tokio::join!(exchange, proxy);
    assert_whole("through a tunnel", &exchange);
    let asked = asked.to_ascii_lowercase();
    let expected = format!("connect localhost:{} http/1.1\r\n", server.port);
    assert!(asked.starts_with(&expected), "{asked}");
    // `user:hidden` in base64.
    assert!(
        asked.contains("proxy-authorization: basic dxnlcjpoawrkzw4="),
        "{asked}"
    );
}
