//! Connections that are kept for further requests, by server.

use super::connection::Connection;
use std::collections::VecDeque;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};
use std::time::Duration;
use tokio::time::{Instant, sleep};
use tokio_util::task::TaskTracker;

/// How long an unused connection is kept. Common servers close theirs after five
/// seconds (uvicorn, and so vLLM; llama.cpp), and a request that is just then
/// sent on it is lost.
pub(super) const IDLE: Duration = Duration::from_secs(4);

/// A server, and the connections to it that nobody uses now.
#[derive(Debug)]
pub(super) struct Origin {
    /// Scheme, host and port.
    pub(super) uri: http::Uri,
    idle: Mutex<Idle>,
    /// Who looks after those; nobody waits for it, as it ends with this.
    watch: TaskTracker,
}

#[derive(Debug, Default)]
struct Idle {
    /// The one that was used last is behind.
    connections: VecDeque<(Instant, Connection)>,
    /// Whether somebody will look whether they are still to be kept.
    watched: bool,
}

impl Idle {
    /// Lets go of those that have been unused for too long.
    fn prune(&mut self, now: Instant) {
        while let Some((since, _)) = self.connections.front()
            && now.saturating_duration_since(*since) >= IDLE
        {
            self.connections.pop_front();
        }
    }
}

impl Origin {
    pub(super) fn new(uri: http::Uri) -> Self {
        Self {
            uri,
            idle: Mutex::default(),
            watch: TaskTracker::new(),
        }
    }

    /// The connection that was used last, of those that still stand.
    pub(super) fn take(&self) -> Option<Connection> {
        let mut idle = self.idle();
        while let Some((since, mut connection)) = idle.connections.pop_back() {
            if since.elapsed() < IDLE && connection.is_idle() {
                return Some(connection);
            }
        }
        None
    }

    /// Keeps a connection for the next request, unless it can take none. One that nobody
    /// asks for is closed when it has been unused for too long.
    pub(super) fn keep(self: &Arc<Self>, mut connection: Connection, now: Instant) {
        if !connection.is_idle() {
            return;
        }
        let mut idle = self.idle();
        idle.prune(now);
        idle.connections.push_back((now, connection));
        if !std::mem::replace(&mut idle.watched, true) {
            self.watch.spawn(watch(Arc::downgrade(self)));
        }
    }

    fn idle(&self) -> MutexGuard<'_, Idle> {
        self.idle.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Lets go of connections that nobody uses, until there are none.
async fn watch(origin: Weak<Origin>) {
    loop {
        sleep(IDLE).await;
        let Some(origin) = origin.upgrade() else {
            return;
        };
        let mut idle = origin.idle();
        idle.prune(Instant::now());
        if idle.connections.is_empty() {
            idle.watched = false;
            return;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test(start_paused = true)]
    async fn a_connection_that_nobody_asks_for_is_closed() {
        let origin = Arc::new(Origin::new(http::Uri::from_static("http://a.invalid")));
        for _ in 0..2 {
            let (ours, theirs) = tokio::io::duplex(64);
            let since = Instant::now();
            origin.keep(Connection::new(Box::new(ours)), since);
            let mut end = theirs;
            let closed = tokio::io::AsyncReadExt::read(&mut end, &mut [0; 1]).await;
            assert_eq!(closed.ok(), Some(0));
            assert!(since.elapsed() >= IDLE);
        }
        assert!(origin.take().is_none());
    }
}
