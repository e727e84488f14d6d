//! Connections that are kept for further requests, by server.

use super::connection::Connection;
use std::collections::VecDeque;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;
use tokio::time::Instant;

/// How long an unused connection is kept. Common servers close theirs after five
/// seconds (uvicorn, and so vLLM; llama.cpp), and a request that is just then
/// sent on it is lost.
pub(super) const IDLE: Duration = Duration::from_secs(4);

/// A server, and the connections to it that nobody uses now.
#[derive(Debug)]
pub(super) struct Origin {
    /// Scheme, host and port.
    pub(super) uri: http::Uri,
    /// The one that was used last is behind.
    idle: Mutex<VecDeque<(Instant, Connection)>>,
}

impl Origin {
    pub(super) fn new(uri: http::Uri) -> Self {
        Self {
            uri,
            idle: Mutex::default(),
        }
    }

    /// The connection that was used last, of those that still stand.
    pub(super) fn take(&self) -> Option<Connection> {
        let mut idle = self.idle();
        while let Some((since, mut connection)) = idle.pop_back() {
            if since.elapsed() < IDLE && connection.is_idle() {
                return Some(connection);
            }
        }
        None
    }

    /// Keeps a connection for the next request, unless it can take none.
    pub(super) fn keep(&self, mut connection: Connection, now: Instant) {
        if !connection.is_idle() {
            return;
        }
        let mut idle = self.idle();
        while let Some((since, _)) = idle.front()
            && now.saturating_duration_since(*since) >= IDLE
        {
            idle.pop_front();
        }
        idle.push_back((now, connection));
    }

    fn idle(&self) -> MutexGuard<'_, VecDeque<(Instant, Connection)>> {
        self.idle.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
