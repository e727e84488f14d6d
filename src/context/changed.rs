//! Which sources a step of a scenario changed.

use super::registry::key;
use super::special::resolve;
use super::view::Sample;
use crate::chat::Origin;
use std::sync::Arc;

/// Keys of the sources that say something else in `after` than in `before`, sampled
/// around a step. A source that follows the clock is among them only where the step
/// itself moved it: an hour later in a day, the date is the same.
pub fn changed(before: &Sample, after: &Sample) -> Vec<Arc<str>> {
    let agent = before.system != after.system
        || resolve(&before.system, &before.at) != resolve(&after.system, &after.at);
    let web = before.web_search != after.web_search;
    let time = before.at.at != after.at.at && after.web_search.is_some();
    let known = [
        (Origin::TOOLS, before.tools != after.tools),
        (Origin::MODEL, before.model != after.model),
        (key::AGENT, agent),
        (key::TEMPORAL_AGENT, agent),
        (key::WEB_SEARCH_NOTES, web),
        (key::PROJECT, before.project != after.project),
        (key::MEMORY_GUARD, before.memory_guard != after.memory_guard),
        (key::ARTIFACTS, before.artifacts != after.artifacts),
        (key::SKILLS, before.skills != after.skills),
        (key::MEMORY, before.memory != after.memory),
        (key::WEB_SEARCH_TIME, web || time),
        (key::DATE, before.at.date() != after.at.date()),
        (key::SEND_TIME, before.timestamps != after.timestamps),
    ];
    let known = known.into_iter().filter(|(_, differs)| *differs);
    let mut keys: Vec<Arc<str>> = known.map(|(key, _)| Arc::from(key)).collect();
    for (one, two) in [(before, after), (after, before)] {
        for (key, text) in &one.other {
            let same = two.other.iter().any(|(k, t)| k == key && t == text);
            if !same && !keys.contains(key) {
                keys.push(Arc::clone(key));
            }
        }
    }
    keys
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::chat::Family;
    use crate::context::testing::{Talk, moment};
    use jiff::tz::TimeZone;

    fn keys(change: impl FnOnce(&mut Sample)) -> Vec<String> {
        let mut before = Talk::new(Family::Openai).now;
        before.at = moment("2026-10-16T20:00:00Z", "UTC");
        before.system = "It is {{current_date}}.".into();
        before.other = vec![("x".into(), "1".into())];
        let mut after = before.clone();
        change(&mut after);
        let found = changed(&before, &after);
        found.iter().map(ToString::to_string).collect()
    }

    #[test]
    fn a_step_changed_what_says_something_else_behind_it() {
        assert_eq!(keys(|_| {}), Vec::<String>::new());
        let later = |hours: i64| {
            keys(|sample| {
                let span = jiff::SignedDuration::from_hours(hours);
                sample.at.at = sample.at.at.checked_add(span).unwrap();
            })
        };
        let date = [
            "agent_instructions",
            "tool_runtime.agent_temporal_instructions",
            "date",
        ];
        assert_eq!(later(1), Vec::<String>::new(), "the same day");
        assert_eq!(later(26), date);
        let zone = keys(|sample| {
            sample.at.zone = TimeZone::get("Asia/Tokyo").unwrap();
        });
        assert_eq!(zone, date, "it is tomorrow there");
        assert_eq!(keys(|sample| sample.memory.on = false), ["memory"]);
        assert_eq!(keys(|sample| sample.other[0].1 = "2".into()), ["x"]);
        assert_eq!(keys(|sample| sample.other.clear()), ["x"]);
        assert_eq!(keys(|sample| sample.model = Some("m".into())), ["model"]);
    }
}
