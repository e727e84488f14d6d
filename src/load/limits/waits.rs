//! Whether those who stand in a queue wait for a limit or merely for their turn.

use std::sync::atomic::{AtomicU64, Ordering};

/// Waits of those in front. Counts up as one begins and as it ends, so that an odd
/// number means that one is going on.
#[derive(Debug, Default)]
pub(super) struct Waits(AtomicU64);

/// A wait; ends when it is dropped.
pub(super) struct Needed<'a>(&'a Waits);

impl Waits {
    /// A wait for a limit begins. Only whoever is in front has one.
    pub(super) fn needed(&self) -> Needed<'_> {
        self.0.fetch_add(1, Ordering::AcqRel);
        Needed(self)
    }

    /// Where it stands.
    pub(super) fn mark(&self) -> u64 {
        self.0.load(Ordering::Acquire)
    }

    /// Whether anybody in front has waited for a limit since `before`.
    pub(super) fn was_needed_since(&self, before: u64) -> bool {
        before % 2 == 1 || self.mark() != before
    }
}

impl Drop for Needed<'_> {
    fn drop(&mut self) {
        self.0.0.fetch_add(1, Ordering::AcqRel);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_wait_is_seen_by_those_who_came_before_during_and_not_after_it() {
        let waits = Waits::default();
        let before = waits.mark();
        assert!(!waits.was_needed_since(before));
        let wait = waits.needed();
        let during = waits.mark();
        assert!(waits.was_needed_since(before) && waits.was_needed_since(during));
        drop(wait);
        assert!(waits.was_needed_since(before) && waits.was_needed_since(during));
        assert!(!waits.was_needed_since(waits.mark()));
    }
}
