//! What vendors let a request say of the cache, and what they refuse.
//!
//! A field that a vendor does not know is read over, as its servers do, unless it is
//! known to refuse it.

use super::ask::{Ask, CacheFields};
use super::profile::Habit;
use super::refusal::Refusal;
use crate::cache::Wishes;
use std::time::Duration;

/// Markers that Anthropic takes in one request.
const MOST_MARKERS: usize = 4;

/// What the fields ask of the cache.
///
/// Source: OpenAI's guide on prompt caching: `prompt_cache_options` since 5.6, whose
/// `ttl` is the least that an entry lives; `prompt_cache_retention` before, which is
/// the most. llama.cpp: its server's README.
pub(super) fn wishes(habit: Habit, fields: &CacheFields) -> Wishes<'static> {
    match habit {
        Habit::OpenAi => {
            let options = fields.options.as_ref();
            let ttl = options.and_then(|options| options.ttl.as_deref());
            Wishes {
                explicit: options
                    .is_some_and(|options| options.mode.as_deref() == Some("explicit")),
                lifetime: ttl.and_then(lifetime),
                ..Wishes::default()
            }
        }
        Habit::OpenAiOld => Wishes {
            lifetime: fields.retention.as_deref().and_then(lifetime),
            ..Wishes::default()
        },
        Habit::LlamaCpp => Wishes {
            slot: fields.slot,
            ..Wishes::default()
        },
        _ => Wishes::default(),
    }
}

/// Lifetimes that OpenAI has names for.
fn lifetime(name: &str) -> Option<Duration> {
    match name {
        "in_memory" => Some(Duration::from_mins(10)),
        "30m" => Some(Duration::from_mins(30)),
        "12h" => Some(Duration::from_hours(12)),
        "24h" => Some(Duration::from_hours(24)),
        _ => None,
    }
}

/// Refuses what the vendor is known to refuse.
pub(super) fn check(habit: Habit, ask: &Ask) -> Result<(), Refusal> {
    let fields = &ask.cache;
    match habit {
        Habit::OpenAi => {
            let ttl = fields
                .options
                .as_ref()
                .and_then(|options| options.ttl.as_deref());
            known("prompt_cache_options.ttl", ttl, &["30m", "12h"])
        }
        Habit::OpenAiOld if fields.options.is_some() => Err(Refusal::cache(
            "prompt_cache_options is not supported with this model",
        )),
        Habit::OpenAiOld => {
            let retention = fields.retention.as_deref();
            known("prompt_cache_retention", retention, &["in_memory", "24h"])
        }
        Habit::Anthropic => markers(ask),
        _ => Ok(()),
    }
}

fn known(field: &str, value: Option<&str>, values: &[&str]) -> Result<(), Refusal> {
    match value {
        Some(value) if !values.contains(&value) => Err(Refusal::cache(format!(
            "Invalid value: '{value}' for {field}. Supported values are: {}",
            values.join(", ")
        ))),
        _ => Ok(()),
    }
}

/// At most four, and those for an hour before those for five minutes.
fn markers(ask: &Ask) -> Result<(), Refusal> {
    let found: usize = ask.said.iter().map(|said| said.marks.len()).sum();
    if found > MOST_MARKERS {
        return Err(Refusal::cache(format!(
            "A maximum of {MOST_MARKERS} blocks with cache_control may be provided. Found {found}."
        )));
    }
    let long = ask.said.iter().flat_map(|said| {
        let long = |mark| said.long_marks.contains(mark);
        said.marks.iter().map(long)
    });
    if long.is_sorted_by(|earlier, later| earlier >= later) {
        return Ok(());
    }
    Err(Refusal::cache(
        "a ttl='1h' cache_control block must not come after a ttl='5m' cache_control block",
    ))
}
