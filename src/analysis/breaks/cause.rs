//! Which step broke a prefix.

use crate::chat::Origin;
use std::sync::Arc;

/// Steps that change the conversation itself, so that any source behind the
/// place can be what differs.
const STRUCTURAL: &[&str] = &[
    "compact",
    "edit",
    "regenerate",
    "branch",
    "configuration",
    "system",
    "tools",
    "model",
    "reload",
    "new chat",
    "new_chat",
    "subagent",
    "approve",
];

/// Words of sources that follow the clock.
const CLOCK: &[&str] = &["date", "time", "now", "clock", "datetime", "timestamp"];

/// Sources that follow the clock without saying so: the time block of the
/// web-search tool, and instructions that name the time.
const CLOCK_SOURCES: &[&str] = &[
    "tool_runtime.web_search",
    "tool_runtime.agent_temporal_instructions",
];

/// Beginnings of the sources that come with a message.
const CARRIED: &[&str] = &[
    "notes/",
    "urls/",
    "tabs/",
    "selections/",
    "tags/",
    "folders/",
    "images/",
];

/// What is said or done in a conversation, as against what a source puts into it.
const SPOKEN: &[&str] = &[
    Origin::USER,
    Origin::REPLY,
    Origin::TOOL_CALL,
    Origin::TOOL_RESULT,
    Origin::SUMMARY,
];

/// The label of the step that most likely changed `origin`, or took away
/// `displaced` that stood there before, out of the steps since the previous
/// turn; of several that fit equally the last one.
///
/// Without such a step it is what is known of the place: `first request` of a
/// conversation, `library grew`, `library changed` where one of its items did, `time passed`, `memory moved` where a source's
/// text stood in front of what is there now, `subagent` behind a helper's prompt,
/// `history`, or `memory changed` where a source changed and nobody said why.
pub fn cause(
    origin: &Origin,
    displaced: Option<&Origin>,
    events: &[&str],
    first_request: bool,
) -> Arc<str> {
    let own = words(source(origin.as_str()));
    let before = displaced.map(|origin| words(source(origin.as_str())));
    if let Some(event) = naming(&own, events).or_else(|| naming(&before?, events)) {
        return Arc::from(event);
    }
    let follows_clock = CLOCK_SOURCES.contains(&source(origin.as_str()))
        || own.iter().any(|word| CLOCK.contains(&word.as_str()));
    let begins = |event: &str, words: &[&str]| words.iter().any(|word| event.starts_with(word));
    let fits = |event: &&&str| {
        begins(event, STRUCTURAL) || (follows_clock && begins(event, &["wait", "idle"]))
    };
    if let Some(event) = events.iter().rev().find(fits) {
        return Arc::from(*event);
    }
    let displaced = displaced.map(Origin::as_str);
    Arc::from(without_step(
        origin.as_str(),
        displaced,
        follows_clock,
        first_request,
    ))
}

/// The event that has most words of a source, the last of several; `None` where
/// no event has any.
fn naming<'a>(source: &[String], events: &[&'a str]) -> Option<&'a str> {
    events
        .iter()
        .map(|event| (common(source, &words(event)), *event))
        .filter(|(common, _)| *common > 0)
        .max_by_key(|(common, _)| *common)
        .map(|(_, event)| event)
}

fn without_step(
    origin: &str,
    displaced: Option<&str>,
    follows_clock: bool,
    first_request: bool,
) -> String {
    let helper = |origin: &str| source(origin).starts_with("always_apply_skill.");
    if first_request {
        "first request".to_owned()
    } else if layer(origin) == Some("L2") {
        let rewritten = displaced.and_then(layer) == Some("L2");
        if rewritten {
            "library changed".to_owned()
        } else {
            "library grew".to_owned()
        }
    } else if follows_clock {
        "time passed".to_owned()
    } else if spoken(origin) {
        match displaced.filter(|earlier| !spoken(earlier)) {
            Some(moved) => format!("{} moved", source(moved)),
            None => "history".to_owned(),
        }
    } else if let Some(moved) =
        displaced.filter(|earlier| carried(origin) && !carried(earlier) && !spoken(earlier))
    {
        format!("{} moved", source(moved))
    } else if helper(origin) || displaced.is_some_and(helper) {
        "subagent".to_owned()
    } else {
        format!("{} changed", source(origin))
    }
}

/// Whether `origin` is attached to a message.
fn carried(origin: &str) -> bool {
    let attached = |beginning: &&str| source(origin).starts_with(beginning);
    CARRIED.iter().any(attached)
}

/// Whether `origin` is part of the conversation itself.
pub(in crate::analysis) fn spoken(origin: &str) -> bool {
    matches!(layer(origin), Some("L4" | "L5")) || SPOKEN.contains(&source(origin))
}

/// The layer in front of a layered strategy's source.
fn layer(origin: &str) -> Option<&str> {
    let front = origin.split('/').next()?;
    let number = front.strip_prefix('L')?;
    (number.len() == 1 && number.bytes().all(|byte| byte.is_ascii_digit())).then_some(front)
}

/// The source without its layer.
pub(in crate::analysis) fn source(origin: &str) -> &str {
    match layer(origin) {
        Some(layer) => origin.get(layer.len() + 1..).unwrap_or(origin),
        None => origin,
    }
}

/// Lowercase words in the singular.
fn words(text: &str) -> Vec<String> {
    text.to_lowercase()
        .split(|letter: char| !letter.is_alphanumeric())
        .filter(|word| word.len() > 1)
        .map(|word| word.strip_suffix('s').unwrap_or(word).to_owned())
        .collect()
}

fn common(a: &[String], b: &[String]) -> usize {
    a.iter().filter(|word| b.contains(word)).count()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_break_is_put_down_to_the_step_that_names_its_source() {
        let cases: &[(&str, &[&str], bool, &str)] = &[
            (
                "artifacts",
                &["memory changed tone", "artifacts on"],
                false,
                "artifacts on",
            ),
            (
                "memory",
                &["memory changed tone", "memory added city"],
                false,
                "memory added city",
            ),
            (
                "notes/spec.md",
                &["note log.md written", "note spec.md written"],
                false,
                "note spec.md written",
            ),
            ("L1/web_search", &["web search on"], false, "web search on"),
            ("L2/notes/spec.md", &[], false, "library grew"),
            ("L2", &["artifacts on"], false, "library grew"),
            ("date", &["wait 26h"], false, "wait 26h"),
            ("date", &[], false, "time passed"),
            ("user", &["compact"], false, "compact"),
            ("reply", &["edit turn 2"], false, "edit turn 2"),
            ("user", &["memory changed tone"], false, "history"),
            ("user", &[], true, "first request"),
            ("skills", &[], false, "skills changed"),
            ("summary", &[], false, "history"),
        ];
        for (origin, events, first, expected) in cases {
            let found = cause(&Origin::from(*origin), None, events, *first);
            assert_eq!(&*found, *expected, "{origin} {events:?}");
        }
    }

    #[test]
    fn without_a_step_the_place_says_what_it_can() {
        let cases: &[(&str, Option<&str>, &[&str], &str)] = &[
            ("tool_runtime.web_search", None, &[], "time passed"),
            ("tool_runtime.web_search", None, &["wait 26h"], "wait 26h"),
            ("user", Some("memory"), &[], "memory moved"),
            ("user", Some("memory"), &["memory off"], "memory off"),
            ("notes/a.md", Some("memory"), &[], "memory moved"),
            ("notes/a.md", Some("notes/b.md"), &[], "notes/a.md changed"),
            ("user", Some("reply"), &[], "history"),
            ("L5/user", Some("L3/notes/a.md"), &[], "notes/a.md moved"),
            ("always_apply_skill.lists", None, &[], "subagent"),
            ("L2/b.md", Some("L2/b.md"), &[], "library changed"),
            ("L2/b.md", Some("L1/guidance"), &[], "library grew"),
        ];
        for (origin, displaced, events, expected) in cases {
            let displaced = displaced.map(Origin::from);
            let found = cause(&Origin::from(*origin), displaced.as_ref(), events, false);
            assert_eq!(&*found, *expected, "{origin} {displaced:?} {events:?}");
        }
    }

    #[test]
    fn a_source_that_was_taken_away_is_a_cause_too() {
        let events = ["artifacts off"];
        let displaced = Origin::from("artifacts");
        let found = cause(&Origin::from("memory"), Some(&displaced), &events, false);
        assert_eq!(&*found, "artifacts off");
    }
}
