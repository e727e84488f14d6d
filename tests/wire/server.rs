//! A server that plays what it is told to, byte by byte.

use std::net::SocketAddr;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;
use tokio::io::{AsyncRead, AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};
use tokio::task::JoinSet;

/// One thing that the server does with a request.
#[derive(Clone, Debug)]
pub(crate) enum Act {
    /// Writes bytes in one piece.
    Send(Vec<u8>),
    /// Writes bytes one by one, each in a write of its own.
    Drip(Vec<u8>),
    /// Writes bytes over and over.
    Flood(Vec<u8>),
    /// Waits some milliseconds.
    Wait(u64),
    /// Does nothing more and keeps the connection.
    Hang,
    /// Closes the connection by a reset.
    Reset,
    /// Closes the connection.
    Close,
}

#[derive(Default)]
struct Seen {
    requests: Mutex<Vec<String>>,
    connections: AtomicUsize,
}

/// A running server; it ends with the value.
pub(crate) struct Server {
    address: SocketAddr,
    seen: Arc<Seen>,
    _tasks: JoinSet<()>,
}

impl Server {
    /// Answers the first request with the first script, and so on; the last one
    /// answers all that follow.
    pub(crate) async fn start(scripts: Vec<Vec<Act>>) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0")
            .await
            .expect("loopback port");
        let address = listener.local_addr().expect("address");
        let seen = Arc::<Seen>::default();
        let mut tasks = JoinSet::new();
        tasks.spawn(accept(listener, Arc::new(scripts), Arc::clone(&seen)));
        Self {
            address,
            seen,
            _tasks: tasks,
        }
    }

    /// An address on it.
    pub(crate) fn url(&self, path: &str) -> String {
        format!("http://{}{path}", self.address)
    }

    /// The requests so far, head and body.
    pub(crate) fn requests(&self) -> Vec<String> {
        self.seen.requests.lock().expect("no panic").clone()
    }

    /// Connections so far.
    pub(crate) fn connections(&self) -> usize {
        self.seen.connections.load(Ordering::SeqCst)
    }
}

async fn accept(listener: TcpListener, scripts: Arc<Vec<Vec<Act>>>, seen: Arc<Seen>) {
    let mut clients = JoinSet::new();
    while let Ok((mut stream, _)) = listener.accept().await {
        seen.connections.fetch_add(1, Ordering::SeqCst);
        let (scripts, seen) = (Arc::clone(&scripts), Arc::clone(&seen));
        clients.spawn(async move {
            stream.set_nodelay(true).expect("nodelay");
            while let Some(request) = read(&mut stream).await {
                let at = {
                    let mut requests = seen.requests.lock().expect("no panic");
                    requests.push(request);
                    requests.len() - 1
                };
                let script = &scripts[at.min(scripts.len() - 1)];
                if !play(&mut stream, script).await {
                    return;
                }
            }
        });
    }
}

/// A whole request, or nothing once the client has gone.
pub(crate) async fn read(stream: &mut (impl AsyncRead + Unpin)) -> Option<String> {
    let mut bytes = Vec::new();
    loop {
        let text = String::from_utf8_lossy(&bytes);
        if let Some(head) = text.find("\r\n\r\n") {
            let lower = text[..head].to_ascii_lowercase();
            let length = lower
                .lines()
                .find_map(|line| line.strip_prefix("content-length:"))
                .map_or(0, |value| value.trim().parse().expect("a length"));
            if bytes.len() >= head + 4 + length {
                return Some(text.into_owned());
            }
        }
        let mut buffer = [0; 4096];
        match stream.read(&mut buffer).await {
            Ok(0) | Err(_) => return None,
            Ok(count) => bytes.extend_from_slice(&buffer[..count]),
        }
    }
}

/// Whether the connection still stands afterwards.
async fn play(stream: &mut TcpStream, script: &[Act]) -> bool {
    for act in script {
        let written = match act {
            Act::Send(bytes) => stream.write_all(bytes).await,
            Act::Drip(bytes) => drip(stream, bytes).await,
            Act::Flood(bytes) => loop {
                if let Err(gone) = stream.write_all(bytes).await {
                    break Err(gone);
                }
                tokio::task::yield_now().await;
            },
            Act::Wait(span) => {
                tokio::time::sleep(Duration::from_millis(*span)).await;
                Ok(())
            }
            Act::Hang => std::future::pending().await,
            Act::Reset => {
                stream.set_zero_linger().expect("linger");
                return false;
            }
            Act::Close => return false,
        };
        if written.is_err() {
            return false;
        }
    }
    true
}

async fn drip(stream: &mut TcpStream, bytes: &[u8]) -> std::io::Result<()> {
    for byte in bytes {
        stream.write_all(&[*byte]).await?;
        stream.flush().await?;
        tokio::task::yield_now().await;
    }
    Ok(())
}
