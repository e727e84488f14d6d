//! The embedded model server: real HTTP, a real cache, no model.
//!
//! It renders prompts with the bundled vocabulary, keeps a [`crate::cache`] as
//! the server that its profile imitates would, takes the time that a stated
//! speed gives, and answers with words drawn from a seed. It writes its own
//! wire text and never uses `provider` or `transport`, so that the two sides
//! check each other.
//!
//! Invariants: whatever it sends is marked as simulated, by the header
//! [`SIMULATED`] and, where the format has one, by the system fingerprint; the
//! same prompt and seed give the same answer; a request's blocks are given
//! back before its last byte is sent, so that a serial client's next request
//! finds them; no request blocks a worker that others are timed on.

mod admin;
mod ask;
mod canned;
mod engine;
mod faults;
mod options;
mod profile;
mod refusal;
mod reply;
mod respond;
mod routes;
mod stream;
mod template;
mod usage;
mod vendor;
mod wire;

pub use engine::Stats;
pub use faults::{FAULTS, Fault, FaultError, Faults};
pub use options::{Options, Speed};
pub use profile::{Habit, PROFILES, Profile, find_profile};
pub use template::{TEMPLATES, Template};

use axum::serve::ListenerExt as _;
use canned::Canned;
use engine::Engine;
use routes::Shared;
use std::io;
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;
use tokio::net::{TcpListener, TcpSocket};
use tokio::time::timeout;
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;

/// Header that every answer carries, with the value `1`.
pub const SIMULATED: &str = "x-prefixbench-simulated";

/// What stands in `system_fingerprint`.
pub const FINGERPRINT: &str = "prefixbench-simulated";

/// Field of the usage of a stream: when its first token was handed to the
/// connection, in microseconds from when the request was there.
pub const FIRST_TOKEN: &str = "simulated_first_token_us";

/// How long a shutdown waits for connections that it has told to end.
const DRAIN: Duration = Duration::from_secs(5);

/// Starts embedded servers.
#[derive(Debug)]
pub struct Server;

/// A running embedded server. Dropping it stops it without waiting.
#[derive(Debug)]
pub struct Handle {
    address: SocketAddr,
    engine: Arc<Engine>,
    stop: CancellationToken,
    tasks: TaskTracker,
}

/// Connections that may stand before they are taken. With the usual 128, some of a
/// thousand clients that come at once would be turned away and try again a second later.
const WAITING: u32 = 4096;

fn listen(address: SocketAddr) -> io::Result<TcpListener> {
    let socket = match address {
        SocketAddr::V4(_) => TcpSocket::new_v4()?,
        SocketAddr::V6(_) => TcpSocket::new_v6()?,
    };
    // As a listener that is bound directly does: a port may be used again at once.
    #[cfg(unix)]
    socket.set_reuseaddr(true)?;
    socket.bind(address)?;
    socket.listen(WAITING)
}

impl Server {
    /// Starts a server and returns once it listens.
    ///
    /// Must be called within a tokio runtime.
    ///
    /// # Errors
    ///
    /// Where the address cannot be bound.
    pub async fn start(options: Options) -> io::Result<Handle> {
        let listener = listen(options.addr)?;
        let address = listener.local_addr()?;
        let (stop, tasks) = (CancellationToken::new(), TaskTracker::new());
        if let Some(tokens) = options.canned {
            let delay = options.speed.overhead;
            let canned = Canned::new(&options.model, tokens, delay, options.faults.clone());
            tasks.spawn(canned.serve(listener, stop.clone(), tasks.clone()));
            return Ok(Handle {
                address,
                engine: Arc::new(Engine::new(&options)),
                stop,
                tasks,
            });
        }
        // Without this a small event waits for the acknowledgement of the last.
        let resets = options.faults.any(Fault::Reset);
        let listener = listener.tap_io(move |connection| {
            if resets && let Err(error) = connection.set_zero_linger() {
                tracing::warn!(%error, "connections end without a reset");
            }
            if let Err(error) = connection.set_nodelay(true) {
                tracing::debug!(%error, "small writes may be held back");
            }
        });
        let engine = Arc::new(Engine::new(&options));
        let warm = Arc::clone(&engine);
        // Awaited, since the first answer would else have its time in its own.
        tokio::task::spawn_blocking(move || warm.warm_up())
            .await
            .map_err(io::Error::other)?;
        let shared = Shared::new(options, Arc::clone(&engine), stop.clone(), tasks.clone());
        let stopped = stop.clone().cancelled_owned();
        let service = axum::serve(listener, routes::router(shared)).with_graceful_shutdown(stopped);
        tasks.spawn(async move {
            if let Err(error) = service.await {
                tracing::warn!(%error, "the embedded server stopped");
            }
        });
        Ok(Handle {
            address,
            engine,
            stop,
            tasks,
        })
    }
}

impl Handle {
    /// Where it listens.
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// Base URL without a version: `http://127.0.0.1:PORT`.
    pub fn origin(&self) -> String {
        format!("http://{}", self.address)
    }

    /// Base URL of the versioned interface, as targets write it: `.../v1`.
    pub fn url(&self) -> String {
        format!("{}/v1", self.origin())
    }

    /// Base URL for a dialect that targets name: its paths begin elsewhere on
    /// Gemini and Bedrock.
    pub fn url_for(&self, dialect: &str) -> String {
        match dialect {
            "gemini" => format!("{}/v1beta", self.origin()),
            "bedrock" => self.origin(),
            _ => self.url(),
        }
    }

    /// What it has counted so far.
    pub fn stats(&self) -> Stats {
        self.engine.stats()
    }

    /// Moves its clock forward, so that entries age without anyone waiting.
    pub fn advance(&self, by: Duration) {
        self.engine.advance(by);
    }

    /// Empties its cache; refused, with `false`, while a request runs.
    pub fn reset(&self) -> bool {
        self.engine.reset()
    }

    /// Ends all connections, those that hang too, and waits for them.
    pub async fn shutdown(self) {
        self.stop.cancel();
        self.tasks.close();
        if timeout(DRAIN, self.tasks.wait()).await.is_err() {
            tracing::warn!("connections of the embedded server did not end in time");
        }
    }
}

impl Drop for Handle {
    fn drop(&mut self) {
        self.stop.cancel();
    }
}
