//! How long is waited, and for what.

use super::fault::{self, Fault, Phase};
use super::settings::Settings;
use std::pin::Pin;
use std::time::Duration;
use tokio::time::{Instant, Sleep, sleep_until};

/// How long each wait may take. One timer serves a whole exchange: what comes only moves
/// the time that it is held against once it has run out, since to set it anew for each
/// read would cost more than the read.
pub(super) struct Patience<'a> {
    timer: Pin<&'a mut Sleep>,
    /// When the whole exchange must be over.
    end: Instant,
    /// What is waited for.
    pub(super) phase: Phase,
    limit: Duration,
    /// When something last came.
    pub(super) last: Instant,
}

impl<'a> Patience<'a> {
    /// A timer that runs out before any wait of an exchange can, and when the exchange
    /// must be over.
    pub(super) fn timer(settings: &Settings) -> (Sleep, Instant) {
        let start = Instant::now();
        let shortest = settings.headers.min(settings.first_byte).min(settings.idle);
        let end = later(start, settings.total);
        (sleep_until(later(start, shortest).min(end)), end)
    }

    /// What [`Patience::timer`] gave; nothing is expected yet.
    pub(super) fn new(timer: Pin<&'a mut Sleep>, end: Instant) -> Self {
        Self {
            timer,
            end,
            phase: Phase::Total,
            limit: Duration::ZERO,
            last: end,
        }
    }

    /// From `at` on, each wait may take `limit`.
    pub(super) fn expect(&mut self, phase: Phase, limit: Duration, at: Instant) {
        (self.phase, self.limit, self.last) = (phase, limit, at);
        // A shorter wait than the one before must not run out late.
        let due = self.due();
        if due < self.timer.deadline() {
            self.timer.as_mut().reset(due);
        }
    }

    fn due(&self) -> Instant {
        later(self.last, self.limit).min(self.end)
    }

    /// Returns when something has taken too long.
    pub(super) async fn runs_out(&mut self, total: Duration) -> Fault {
        loop {
            self.timer.as_mut().await;
            let now = Instant::now();
            if self.end <= now {
                return fault::timeout(Phase::Total, total);
            }
            if self.due() <= now {
                return fault::timeout(self.phase, self.limit);
            }
            let due = self.due();
            self.timer.as_mut().reset(due);
        }
    }
}

/// A limit that nobody reaches is none.
fn later(at: Instant, limit: Duration) -> Instant {
    let longest = Duration::from_hours(24 * 365);
    at + limit.min(longest)
}
