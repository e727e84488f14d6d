//! Which step broke a prefix.

use crate::chat::Origin;
use crate::record::EventLabel;
use crate::scenario::duration;
use std::sync::Arc;
use std::time::Duration;

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

/// The label of the step that changed `origin`, or took away `displaced` that stood
/// there before, out of `events`: the steps between the earlier request and this one.
///
/// A step says which sources it changed whose text the layout writes anew. Of several
/// that changed the one at the place it is the last, and of waits, which all move the
/// same clock, the longest. A step that says nothing of it (what is attached, records
/// of earlier versions) is judged by its words. Where none changed the source it is the
/// last step that changes the conversation itself: it brought in what was told before.
///
/// Without such a step it is what is known of the place: `first request` of a
/// conversation, `library grew`, `library changed` where one of its items did, `time passed`, `memory moved` where a source's
/// text stood in front of what is there now, `subagent` behind a helper's prompt,
/// `history`, or `memory changed` where a source changed and nobody said why.
pub fn cause(
    origin: &Origin,
    displaced: Option<&Origin>,
    events: &[&EventLabel],
    first_request: bool,
) -> Arc<str> {
    let own = source(origin.as_str());
    let before = displaced.map(|origin| source(origin.as_str()));
    let of_before = || {
        let steps: Vec<&EventLabel> = events.iter().copied().filter(|it| !is_wait(it)).collect();
        changing(before?, &steps)
    };
    let structural = || {
        let begins = |event: &&&EventLabel| {
            let label = &event.label;
            STRUCTURAL.iter().any(|word| label.starts_with(word))
        };
        events.iter().rev().find(begins).copied()
    };
    let found = changing(own, events).or_else(of_before);
    if let Some(event) = found.or_else(structural) {
        return Arc::clone(&event.label);
    }
    let displaced = displaced.map(Origin::as_str);
    Arc::from(without_step(
        origin.as_str(),
        displaced,
        follows_clock(own),
        first_request,
    ))
}

/// The step that changed `source`.
fn changing<'a>(source: &str, events: &[&'a EventLabel]) -> Option<&'a EventLabel> {
    let said = events.iter().copied().filter(|event| {
        let rewrites = event.rewrites.iter().flatten();
        rewrites.into_iter().any(|key| **key == *source)
    });
    let (waits, steps): (Vec<_>, Vec<_>) = said.partition(|event| is_wait(event));
    let silent = || events.iter().copied().filter(|it| it.rewrites.is_none());
    steps
        .last()
        .copied()
        .or_else(|| naming(&words(source), silent()))
        .or_else(|| waits.into_iter().max_by_key(|event| waited(event)))
        .or_else(|| {
            silent()
                .filter(|it| follows_clock(source) && is_wait(it))
                .max_by_key(|it| waited(it))
        })
}

/// The event that has most words of a source, the last of several; `None` where
/// no event has any.
fn naming<'a>(
    source: &[String],
    events: impl Iterator<Item = &'a EventLabel>,
) -> Option<&'a EventLabel> {
    events
        .map(|event| (common(source, &words(&event.label)), event))
        .filter(|(common, _)| *common > 0)
        .max_by_key(|(common, _)| *common)
        .map(|(_, event)| event)
}

fn is_wait(event: &EventLabel) -> bool {
    let mut words = ["wait ", "idle "].into_iter();
    words.any(|word| event.label.starts_with(word))
}

/// How long a step waits, as its label says.
fn waited(event: &EventLabel) -> Duration {
    let span = event.label.split_once(' ').map(|(_, span)| span);
    span.and_then(|span| duration::parse(span).ok())
        .unwrap_or_default()
}

/// Whether a source says something else as time passes.
fn follows_clock(source: &str) -> bool {
    let clock = |word: &String| CLOCK.contains(&word.as_str());
    CLOCK_SOURCES.contains(&source) || words(source).iter().any(clock)
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
#[path = "cause_tests.rs"]
mod tests;
