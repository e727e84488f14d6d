//! What a scenario's waits do to a cache that lives in real time.

use crate::record::{IDLE_CUT, RequestRecord};
use crate::scenario::duration;
use std::collections::HashMap;
use std::sync::Arc;
use std::time::Duration;

/// Lifetime of an entry that was asked to live an hour, in milliseconds.
const HOUR_MS: u64 = 3_600_000;

/// For how many milliseconds the longest of what a request leaves in the cache lives,
/// where entries that ask for nothing live for `usual`.
pub(super) fn life_ms(record: &RequestRecord, usual: u64) -> u64 {
    if let Some(asked) = record.cache.lifetime_ms {
        return asked;
    }
    let mut messages = record.prompt.iter();
    if messages.any(|message| !message.long_marks.is_empty()) {
        usual.max(HOUR_MS)
    } else {
        usual
    }
}

/// The scenario's clock in each conversation: when its newest request was sent, and
/// for how many milliseconds what that left in the cache lives.
#[derive(Default)]
pub(super) struct Clocks(HashMap<Arc<str>, (i64, u64)>);

impl Clocks {
    /// Whether the scenario has waited since the conversation's previous request
    /// for longer than what that left in the cache lives, while no real time passed.
    ///
    /// After an `idle` of that length the real clock has moved as well: then a cache
    /// that is cold is what was asked for. A rest that was cut short is a wait.
    pub(super) fn beyond_lifetime(
        &mut self,
        record: &RequestRecord,
        held: bool,
        lifetime_ms: Option<u64>,
    ) -> bool {
        let before = self.0.get(&record.conversation).copied();
        if let (true, Some(usual)) = (held, lifetime_ms) {
            // A refused request refreshes nothing: its retry waited as long.
            let left = (record.scenario_ms, life_ms(record, usual));
            self.0.insert(Arc::clone(&record.conversation), left);
        }
        let Some((before, lifetime)) = before else {
            return false;
        };
        let cut = record.flags.iter().any(|flag| &**flag == IDLE_CUT);
        let really = if cut { 0 } else { idled_ms(record) };
        let passed = record.scenario_ms.saturating_sub(before);
        really <= lifetime && u64::try_from(passed).is_ok_and(|passed| passed > lifetime)
    }
}

/// What the scenario idled for in front of the request, in milliseconds: time that
/// passed at the server as well.
fn idled_ms(record: &RequestRecord) -> u64 {
    let spans = record.events.iter().filter_map(|event| {
        let span = event.label.strip_prefix("idle ")?;
        duration::parse(span).ok()
    });
    let idled: Duration = spans.sum();
    u64::try_from(idled.as_millis()).unwrap_or(u64::MAX)
}
