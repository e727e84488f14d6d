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
    "reload",
    "new chat",
    "new_chat",
    "subagent",
    "approve",
];

/// Steps that do so where the layout has not just told them.
const IN_FRONT: &[&str] = &["system", "tools", "model"];

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
/// there before. `own` are the steps since the request before this one, `earlier` those
/// between that and the earlier request that this one is compared with.
///
/// A step says which sources it changed whose text the layout writes anew; one that says
/// nothing of it (what is attached, records of earlier versions) is judged by its words.
/// Named is, in this order, what changed the source at the place (of several steps the
/// last, of waits, which all move the same clock, the longest), what changed the one that
/// stood there, what changed the conversation itself (it brings in what was only told
/// before), and for a source that changes with every second the longest wait.
///
/// Without such a step it is what is known of the place: `first request` of a
/// conversation, `library grew`, `library changed` where one of its items did, `time passed`, `memory moved` where a source's
/// text stood in front of what is there now, `subagent` behind a helper's prompt,
/// `history`, or `memory changed` where a source changed and nobody said why.
pub fn cause(
    origin: &Origin,
    displaced: Option<&Origin>,
    own: &[EventLabel],
    earlier: &[&EventLabel],
    first_request: bool,
) -> Arc<str> {
    let here = source(origin.as_str());
    let before = displaced.map(|origin| source(origin.as_str()));
    let (waits, steps): (Vec<_>, Vec<_>) = own.iter().partition(|event| is_wait(event));
    let found = changing(here, &steps)
        .or_else(|| changing(before?, &steps))
        .or_else(|| longest(waits.iter().copied().filter(|wait| rewrites(wait, here))))
        .or_else(|| steps.iter().rev().copied().find(|step| is_structural(step)))
        .or_else(|| longest(waits.iter().copied().filter(|_| follows_clock(here))))
        .or_else(|| {
            let mut earlier = earlier.iter().rev().copied();
            earlier.find(|step| rewrites(step, here))
        });
    if let Some(event) = found {
        return Arc::clone(&event.label);
    }
    let displaced = displaced.map(Origin::as_str);
    Arc::from(without_step(
        origin.as_str(),
        displaced,
        follows_clock(here),
        first_request,
    ))
}

/// The step that changed `source`: the last that says so, else the one whose words do.
fn changing<'a>(source: &str, steps: &[&'a EventLabel]) -> Option<&'a EventLabel> {
    let said = steps.iter().rev().find(|step| rewrites(step, source));
    let silent = steps.iter().filter(|step| step.rewrites.is_none());
    said.copied()
        .or_else(|| naming(&words(source), silent.copied()))
}

/// Whether the layout writes `source` anew because of a step, as far as that is known.
fn rewrites(event: &EventLabel, source: &str) -> bool {
    let mut keys = event.rewrites.iter().flatten();
    keys.any(|key| **key == *source)
}

/// Whether a step changes the conversation itself.
fn is_structural(event: &EventLabel) -> bool {
    let begins = |words: &[&str]| words.iter().any(|word| event.label.starts_with(word));
    let told = event.rewrites.as_ref().is_some_and(Vec::is_empty);
    begins(STRUCTURAL) || (begins(IN_FRONT) && !told)
}

/// The longest wait, the last of several.
fn longest<'a>(waits: impl Iterator<Item = &'a EventLabel>) -> Option<&'a EventLabel> {
    waits.max_by_key(|wait| waited(wait))
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
