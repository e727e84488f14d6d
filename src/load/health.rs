//! Whether a target answers, as all conversations of a run have found it.
//!
//! A target that has never answered is most likely named wrongly, and the first failed
//! connection says so. One that has answered is restarted now and then: what is sent
//! meanwhile fails and is recorded, and only an outage that lasts ends a cell.

use crate::record::Outcome;
use crate::units::Micros;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

/// An outage that lasts so long ends its cell.
pub(super) const LONGEST_OUTAGE: Duration = Duration::from_mins(1);

/// Requests that fail in an outage before it ends its cell.
const FEWEST: u32 = 5;

/// What is known of a target. Shared by the conversations of a run.
#[derive(Debug, Default)]
pub struct Health(Mutex<State>);

#[derive(Debug, Default)]
struct State {
    /// Whether any request was ever answered.
    answered: bool,
    outage: Option<Outage>,
}

/// Requests that failed in a way that may pass, with no answer among them.
#[derive(Debug)]
struct Outage {
    /// When the first of them ended.
    since: Micros,
    failed: u32,
    /// What was said of the last of them, where no connection was found.
    gone: Option<String>,
}

impl Health {
    fn state(&self) -> MutexGuard<'_, State> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// A request was answered.
    pub(super) fn answered(&self) {
        let mut state = self.state();
        (state.answered, state.outage) = (true, None);
    }

    /// Whether any request of the run was answered.
    pub(super) fn has_answered(&self) -> bool {
        self.state().answered
    }

    /// What was said of the last request, where it found no connection to a target that
    /// had answered before.
    pub(super) fn gone(&self) -> Option<String> {
        let state = self.state();
        let outage = state.outage.as_ref().filter(|_| state.answered)?;
        outage.gone.clone()
    }

    /// A request failed at `now`, after its retries, in a way that [may pass](may_pass). Says how long nothing has been
    /// answered, where that is too long to go on. `gone` says that it found no connection.
    pub(super) fn failed(&self, now: Micros, gone: Option<String>) -> Option<Duration> {
        let mut state = self.state();
        let outage = state.outage.get_or_insert(Outage {
            since: now,
            failed: 0,
            gone: None,
        });
        outage.failed += 1;
        outage.gone = gone;
        let lasts = Duration::from_micros(now.0.saturating_sub(outage.since.0));
        let ends = outage.failed >= FEWEST && lasts >= LONGEST_OUTAGE;
        ends.then_some(lasts)
    }
}

/// Whether a server that is restarted fails so, or what stands in front of it meanwhile.
pub(super) fn may_pass(outcome: Outcome, status: Option<u16>) -> bool {
    match outcome {
        Outcome::Connect | Outcome::Reset | Outcome::Cut => true,
        Outcome::Http5xx => matches!(status, Some(502..=504)),
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_outage_ends_a_cell_when_it_has_lasted_and_enough_has_failed_in_it() {
        let s = |seconds: u64| Micros(seconds * 1_000_000);
        let health = Health::default();
        assert!(!health.has_answered());
        health.answered();
        for at in [0, 10, 20, 59] {
            assert_eq!(health.failed(s(at), None), None, "{at}");
        }
        let lasts = health.failed(s(61), None);
        assert_eq!(lasts, Some(Duration::from_secs(61)));
        health.answered();
        for at in [62, 200, 300, 400] {
            assert_eq!(health.failed(s(at), None), None, "few failed: {at}");
        }
        assert!(health.failed(s(500), None).is_some());
        assert!(health.has_answered());
        assert_eq!(health.gone(), None);
        let _lasts = health.failed(s(501), Some("refused".to_owned()));
        assert_eq!(health.gone().as_deref(), Some("refused"));
        health.answered();
        assert_eq!(health.gone(), None);
    }

    #[test]
    fn what_the_request_itself_is_refused_for_is_no_outage() {
        for (outcome, status, expected) in [
            (Outcome::Connect, None, true),
            (Outcome::Cut, Some(200), true),
            (Outcome::Http5xx, Some(503), true),
            (Outcome::Http5xx, Some(500), false),
            (Outcome::Http429, Some(429), false),
            (Outcome::Overflow, Some(400), false),
            (Outcome::Timeout, None, false),
        ] {
            assert_eq!(
                may_pass(outcome, status),
                expected,
                "{outcome:?} {status:?}"
            );
        }
    }
}
