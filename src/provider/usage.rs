//! Usage objects of every shape, normalised.
//!
//! Two conventions exist. OpenAI's prompt count includes what came from the
//! cache; Anthropic's `input_tokens` excludes what was read and what was written,
//! and the three add up to the prompt. A dialect picks the convention; the names
//! inside it come from the tables below.
//!
//! Invariants: `null` and a missing field are the same thing and are not 0; of
//! several names for one number the first that the server sent is taken, and
//! they are never added up; an object that came is kept in `raw`, also where nothing
//! in it could be read; numbers that cannot be, or that contradict each other, are
//! flagged as contradictory.
//!
//! Sources of the names: the vendors' documented examples, and captures of vLLM,
//! LiteLLM and llama.cpp (`tests/data/captures`).

use super::counts::{Path, Reader, holds};
use crate::chat::{Usage, UsageOrigin};
use crate::units::Tokens;
use serde_json::{Map, Value};
use std::borrow::Cow;

const IN_DETAILS: &str = "prompt_tokens_details";
const IN_DETAILS_2: &str = "input_tokens_details";

/// Prompt tokens where they include the cached ones.
const TOTAL: &[Path] = &[
    &["prompt_tokens"],
    &["input_tokens"],
    &["total_input_tokens"],
];

/// Tokens read from the cache; the standard nested field first.
const READ: &[Path] = &[
    &[IN_DETAILS, "cached_tokens"],
    &[IN_DETAILS_2, "cached_tokens"],
    &["prompt_cache_hit_tokens"],
    &["cached_tokens"],
    &["total_cached_tokens"],
    &["cache_read_input_tokens"],
    &[IN_DETAILS, "cache_read_input_tokens"],
    &[IN_DETAILS_2, "cache_read_input_tokens"],
];

/// The same without what is no text; where it stands alone.
const READ_TEXT: &[Path] = &[&["cached_prompt_text_tokens"]];

/// Tokens newly cached, of both lifetimes.
const WRITE: &[Path] = &[
    &[IN_DETAILS, "cache_write_tokens"],
    &[IN_DETAILS_2, "cache_write_tokens"],
    &[IN_DETAILS, "cache_creation_tokens"],
    &[IN_DETAILS, "cache_creation_input_tokens"],
    &[IN_DETAILS_2, "cache_creation_input_tokens"],
    &["cache_creation_input_tokens"],
    &["cache_write_tokens"],
];

/// What vLLM newly put into its blocks: no billed write, and so under a name of its own.
const CREATED: &[Path] = &[
    &[IN_DETAILS, "created_cache_tokens"],
    &[IN_DETAILS_2, "created_cache_tokens"],
];

/// Of what was newly cached: for the short lifetime, and for the long one. Anthropic's
/// own place, `LiteLLM`'s for it, and Qwen's.
const SHORT: &[Path] = &[
    &["cache_creation", "ephemeral_5m_input_tokens"],
    &[IN_DETAILS, SPLIT, "ephemeral_5m_input_tokens"],
    &[IN_DETAILS_2, SPLIT, "ephemeral_5m_input_tokens"],
    &[IN_DETAILS, "cache_creation", "ephemeral_5m_input_tokens"],
];
const LONG: &[Path] = &[
    &["cache_creation", "ephemeral_1h_input_tokens"],
    &[IN_DETAILS, SPLIT, "ephemeral_1h_input_tokens"],
    &[IN_DETAILS_2, SPLIT, "ephemeral_1h_input_tokens"],
    &[IN_DETAILS, "cache_creation", "ephemeral_1h_input_tokens"],
];
const SPLIT: &str = "cache_creation_token_details";

const OUTPUT: &[Path] = &[
    &["completion_tokens"],
    &["output_tokens"],
    &["total_output_tokens"],
];

const REASONING: &[Path] = &[
    &["completion_tokens_details", "reasoning_tokens"],
    &["output_tokens_details", "reasoning_tokens"],
    &["reasoning_tokens"],
];

/// Completes a usage whose numbers have been read: the origin of the read count, and
/// the object itself. `None` where that holds nothing.
fn judge(mut usage: Usage, impossible: bool, raw: Cow<'_, Value>) -> Option<Usage> {
    let parts = usage.read.unwrap_or_default() + usage.written().unwrap_or_default();
    // Of no tokens at all no answer can be made.
    let total = usage.total.filter(|total| total.0 > 0);
    let wrong = usage
        .total
        .is_some_and(|_| total.is_none_or(|total| parts > total));
    usage.origin = match usage.read {
        _ if impossible || wrong => UsageOrigin::Contradictory,
        Some(_) => UsageOrigin::Reported,
        None => UsageOrigin::Absent,
    };
    if !usage.says_anything() && !holds(&raw) {
        return None;
    }
    usage.raw = Some(raw.into_owned());
    Some(usage)
}

/// What was written for the short lifetime and for the long one, of a count of both
/// and of its parts. These are told apart only where they add up to it: in streams
/// the one count can be newer.
fn lifetimes(
    both: Option<Tokens>,
    short: Option<Tokens>,
    long: Option<Tokens>,
) -> (Option<Tokens>, Option<Tokens>) {
    let split = short.unwrap_or_default() + long.unwrap_or_default();
    match both {
        Some(both) if short.or(long).is_none() || split != both => (Some(both), None),
        _ => (short, long),
    }
}

/// A usage object of `OpenAI`'s convention (Chat Completions, Responses and all
/// that resemble them), or `None` where it holds nothing.
///
/// `DeepSeek`: the prompt must equal hit and miss. xAI reports reasoning beside
/// the completion and not in it; that is told from `total_tokens`. Names for one
/// number that say different things cannot be, and neither can a sum that says that
/// what was read and written stands beside the prompt and not in it.
pub fn inclusive(object: &Value) -> Option<Usage> {
    including(Cow::Borrowed(object))
}

/// The same of an object that nobody else needs.
pub(super) fn inclusive_of(object: Value) -> Option<Usage> {
    including(Cow::Owned(object))
}

fn including(object: Cow<'_, Value>) -> Option<Usage> {
    let mut reader = Reader::new(&object);
    let hit = reader.first(&[&["prompt_cache_hit_tokens"]]);
    let miss = reader.first(&[&["prompt_cache_miss_tokens"]]);
    let both = hit.zip(miss).map(|(hit, miss)| hit + miss);
    let sent = reader.first(TOTAL);
    let read = reader.agreed(READ).or_else(|| reader.first(READ_TEXT));
    let flat = reader.agreed(WRITE).or_else(|| reader.first(CREATED));
    let (write, write_long) = lifetimes(flat, reader.agreed(SHORT), reader.agreed(LONG));
    let reasoning = reader.agreed(REASONING);
    let mut usage = Usage {
        total: sent.or(both),
        read,
        write,
        write_long,
        output: reader.filled(OUTPUT),
        reasoning,
        ..Usage::default()
    };
    let disagree = both.is_some() && sent.is_some() && both != sent;
    let impossible = disagree | two_prompts(&mut reader, &usage) | wrong_sum(&mut reader, &usage);
    if let (Some(prompt), Some(answer), Some(thought)) = (sent, usage.output, reasoning) {
        let all = reader.first(SUM);
        if thought > answer || (thought.0 > 0 && all == Some(prompt + answer + thought)) {
            usage.output = Some(answer + thought);
        }
    }
    let impossible = impossible || reader.impossible;
    judge(usage, impossible, object)
}

/// Prompt and answer together.
const SUM: &[Path] = &[&["total_tokens"]];

/// Whether two counts of the prompt stand there that no convention brings together:
/// they are the same, or one of them is without what was read and written.
fn two_prompts(reader: &mut Reader<'_>, usage: &Usage) -> bool {
    let Some(total) = usage.total else {
        return false;
    };
    let cached = usage.read.unwrap_or_default() + usage.written().unwrap_or_default();
    TOTAL.iter().any(|name| {
        let other = reader.first(&[name]);
        // A 0 is a name that was not filled.
        other.is_some_and(|other| other.0 > 0 && other != total && other + cached != total)
    })
}

/// Whether the sum says that the parts are others. It may be more than prompt and
/// answer, since some services tell of their reasoning nowhere else; it cannot be
/// less. And where it is more by exactly what was read and written, these stand beside
/// the prompt, and the prompt is not what it is said to be.
fn wrong_sum(reader: &mut Reader<'_>, usage: &Usage) -> bool {
    let (Some(sum), Some(total)) = (reader.first(SUM), usage.total) else {
        return false;
    };
    let cached = usage.read.unwrap_or_default() + usage.written().unwrap_or_default();
    let least = total + usage.output.unwrap_or_default();
    let beside = usage.output.is_some() && cached.0 > 0 && sum == least + cached;
    sum < least || beside
}

/// A usage object of Anthropic's convention, or `None` where it holds nothing.
///
/// `total` is input, read and written together; where the server sent no cache
/// field at all, `input_tokens` is the whole prompt and `read` is absent. A
/// count of -1 means unknown on Kimi's endpoint and is taken as 0.
pub fn exclusive(object: &Map<String, Value>) -> Option<Usage> {
    let object = Value::Object(object.clone());
    let counts = excluding(&tolerated(&object));
    match counts {
        Some((usage, impossible)) => judge(usage, impossible, Cow::Owned(object)),
        None => inclusive_of(object),
    }
}

/// The counts, and whether one of them cannot be; `None` where the object is one of the
/// other convention.
fn excluding(object: &Value) -> Option<(Usage, bool)> {
    let mut reader = Reader::new(object);
    let input = reader.first(&[&["input_tokens"]]);
    if input.is_none() && reader.at(&["prompt_tokens"]).is_some() {
        return None;
    }
    let read = reader.first(&[&["cache_read_input_tokens"]]);
    let flat = reader.first(&[&["cache_creation_input_tokens"]]);
    let (write, write_long) = lifetimes(flat, reader.agreed(SHORT), reader.agreed(LONG));
    let mut usage = Usage {
        read,
        write,
        write_long,
        output: reader.first(&[&["output_tokens"]]),
        reasoning: reader.agreed(REASONING),
        ..Usage::default()
    };
    let cached = read.unwrap_or_default() + usage.written().unwrap_or_default();
    usage.total = input.map(|input| input + cached);
    Some((usage, reader.impossible))
}

/// The object with 0 for every -1 that stands in it.
fn tolerated(object: &Value) -> Cow<'_, Value> {
    let unknown = |value: &Value| value.as_i64() == Some(-1);
    let mut object = Cow::Borrowed(object);
    let fields = object.as_object();
    if fields.is_some_and(|fields| fields.values().any(unknown))
        && let Value::Object(fields) = object.to_mut()
    {
        for value in fields.values_mut().filter(|value| unknown(value)) {
            *value = Value::from(0);
        }
    }
    object
}

/// Overwrites `known` with every field of `newer` that is not null: in Anthropic's
/// streams the last value of each field wins, and a later 0 is a real value.
pub fn overwrite(known: &mut Map<String, Value>, newer: &Map<String, Value>) {
    for (name, value) in newer {
        match (known.get_mut(name), value) {
            (_, Value::Null) => {}
            (Some(Value::Object(inner)), Value::Object(value)) => overwrite(inner, value),
            (Some(place), value) => *place = value.clone(),
            (None, value) => {
                known.insert(name.clone(), value.clone());
            }
        }
    }
}

/// llama.cpp's `timings`, which say the same where a stream has no usage object:
/// `prompt_n` is what was computed and `cache_n` what was not.
pub fn timings(object: &Value) -> Option<Usage> {
    let mut reader = Reader::new(object);
    let read = reader.first(&[&["cache_n"]]);
    let computed = reader.first(&[&["prompt_n"]]);
    let usage = Usage {
        total: computed.map(|computed| computed + read.unwrap_or_default()),
        read,
        output: reader.first(&[&["predicted_n"]]),
        ..Usage::default()
    };
    judge(usage, reader.impossible, Cow::Borrowed(object)).filter(Usage::says_anything)
}

/// Gemini's `usageMetadata`: cached tokens are part of the prompt, thoughts are
/// no part of the candidates. The sum can be more than these (tools of its own), not less.
pub fn gemini(object: &Value) -> Option<Usage> {
    let mut reader = Reader::new(object);
    let thoughts = reader.first(&[&["thoughtsTokenCount"]]);
    let candidates = reader.first(&[&["candidatesTokenCount"]]);
    let usage = Usage {
        total: reader.first(&[&["promptTokenCount"]]),
        read: reader.first(&[&["cachedContentTokenCount"]]),
        output: match (candidates, thoughts) {
            (None, None) => None,
            (some, more) => Some(some.unwrap_or_default() + more.unwrap_or_default()),
        },
        reasoning: thoughts,
        ..Usage::default()
    };
    let sum = reader.first(&[&["totalTokenCount"]]);
    let least = usage.total.unwrap_or_default() + usage.output.unwrap_or_default();
    let too_little = sum.is_some_and(|sum| sum < least);
    judge(
        usage,
        reader.impossible || too_little,
        Cow::Borrowed(object),
    )
}

/// Bedrock Converse: Anthropic's convention under other names.
pub fn bedrock(object: &Value) -> Option<Usage> {
    let mut reader = Reader::new(object);
    let input = reader.first(&[&["inputTokens"]]);
    let read = reader.first(&[&["cacheReadInputTokens"]]);
    let write = reader.first(&[&["cacheWriteInputTokens"]]);
    let cached = read.unwrap_or_default() + write.unwrap_or_default();
    let usage = Usage {
        total: input.map(|input| input + cached),
        read,
        write,
        output: reader.first(&[&["outputTokens"]]),
        ..Usage::default()
    };
    judge(usage, reader.impossible, Cow::Borrowed(object))
}

#[cfg(test)]
#[path = "usage_tests.rs"]
mod tests;
