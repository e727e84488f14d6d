//! Usage objects of every shape, normalised.
//!
//! Two conventions exist. OpenAI's prompt count includes what came from the
//! cache; Anthropic's `input_tokens` excludes what was read and what was written,
//! and the three add up to the prompt. A dialect picks the convention; the names
//! inside it come from the tables below.
//!
//! Invariants: `null` and a missing field are the same thing and are not 0; of
//! several names for one number the first that the server sent is taken, and
//! they are never added up; a number that cannot be keeps what was sent, in
//! `raw` too, and is flagged as contradictory.
//!
//! Sources of the names: the vendors' documented examples, and captures of vLLM,
//! LiteLLM and llama.cpp (`tests/data/captures`).

use crate::chat::{Usage, UsageOrigin};
use crate::units::Tokens;
use serde_json::{Map, Value};

/// A place in a usage object, outermost name first.
type Path = &'static [&'static str];

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
    &["cached_prompt_text_tokens"],
    &["cache_read_input_tokens"],
    &[IN_DETAILS, "cache_read_input_tokens"],
    &[IN_DETAILS_2, "cache_read_input_tokens"],
];

/// Tokens newly cached. vLLM counts them under a name of its own, unbilled.
const WRITE: &[Path] = &[
    &[IN_DETAILS, "cache_write_tokens"],
    &[IN_DETAILS_2, "cache_write_tokens"],
    &[IN_DETAILS, "created_cache_tokens"],
    &[IN_DETAILS_2, "created_cache_tokens"],
    &[IN_DETAILS, "cache_creation_tokens"],
    &[IN_DETAILS, "cache_creation_input_tokens"],
    &[IN_DETAILS_2, "cache_creation_input_tokens"],
    &["cache_creation_input_tokens"],
    &["cache_write_tokens"],
];

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

/// No prompt is longer than this; a larger number is nonsense, and sums of
/// numbers below it cannot overflow.
const MOST: u64 = 1_000_000_000_000;

/// Reads numbers and remembers whether one of them cannot be.
struct Reader<'a> {
    object: &'a Value,
    impossible: bool,
}

impl<'a> Reader<'a> {
    fn new(object: &'a Value) -> Self {
        Self {
            object,
            impossible: false,
        }
    }

    /// The first of `paths` that the server sent.
    fn first(&mut self, paths: &[Path]) -> Option<Tokens> {
        let value = paths.iter().find_map(|path| self.at(path))?;
        if let Some(count) = whole(value).filter(|&count| count <= MOST) {
            return Some(Tokens(count));
        }
        // What is no number at all (an object, a text) says nothing.
        self.impossible |= value.is_number();
        None
    }

    fn at(&self, path: &[&str]) -> Option<&'a Value> {
        path.iter()
            .try_fold(self.object, |value, name| value.get(name))
            .filter(|value| !value.is_null())
    }
}

fn whole(value: &Value) -> Option<u64> {
    value.as_u64().or_else(|| {
        // `12.0` is how some gateways write 12.
        let number = value.as_f64()?;
        #[expect(
            clippy::cast_possible_truncation,
            clippy::cast_sign_loss,
            reason = "checked to be a whole number within the range just before"
        )]
        (number.fract() == 0.0 && (0.0..=MOST as f64).contains(&number)).then_some(number as u64)
    })
}

/// Completes a usage whose numbers have been read: the origin of the read count.
fn judge(mut usage: Usage, impossible: bool, raw: Value) -> Usage {
    let parts = usage.read.unwrap_or_default() + usage.written().unwrap_or_default();
    let too_much = usage.total.is_some_and(|total| parts > total);
    usage.origin = match usage.read {
        _ if impossible || too_much => UsageOrigin::Contradictory,
        Some(_) => UsageOrigin::Reported,
        None => UsageOrigin::Absent,
    };
    usage.raw = Some(raw);
    usage
}

/// A usage object of `OpenAI`'s convention (Chat Completions, Responses and all
/// that resemble them), or `None` where it holds no count of the prompt or the
/// answer.
///
/// `DeepSeek`: the prompt must equal hit and miss. xAI reports reasoning beside
/// the completion and not in it; that is told from `total_tokens`.
pub fn inclusive(object: &Value) -> Option<Usage> {
    let mut reader = Reader::new(object);
    let hit = reader.first(&[&["prompt_cache_hit_tokens"]]);
    let miss = reader.first(&[&["prompt_cache_miss_tokens"]]);
    let both = hit.zip(miss).map(|(hit, miss)| hit + miss);
    let sent = reader.first(TOTAL);
    let reasoning = reader.first(REASONING);
    let mut output = reader.first(OUTPUT);
    if let (Some(prompt), Some(answer), Some(thought)) = (sent, output, reasoning) {
        let all = reader.first(&[&["total_tokens"]]);
        if thought > answer || (thought.0 > 0 && all == Some(prompt + answer + thought)) {
            output = Some(answer + thought);
        }
    }
    let usage = Usage {
        total: sent.or(both),
        read: reader.first(READ),
        write: reader.first(WRITE),
        output,
        reasoning,
        ..Usage::default()
    };
    if usage.total.is_none() && usage.output.is_none() && usage.read.is_none() {
        return None;
    }
    let disagree = both.is_some() && sent.is_some() && both != sent;
    let impossible = reader.impossible || disagree;
    Some(judge(usage, impossible, object.clone()))
}

/// A usage object of Anthropic's convention.
///
/// `total` is input, read and written together; where the server sent no cache
/// field at all, `input_tokens` is the whole prompt and `read` is absent. A
/// count of -1 means unknown on Kimi's endpoint and is taken as 0. The two
/// lifetimes of a write are told apart only where they add up to the flat count:
/// in streams the flat one can be newer.
pub fn exclusive(object: &Map<String, Value>) -> Option<Usage> {
    let mut tolerant = object.clone();
    for value in tolerant.values_mut() {
        if value.as_i64() == Some(-1) {
            *value = Value::from(0);
        }
    }
    let tolerant = Value::Object(tolerant);
    let mut reader = Reader::new(&tolerant);
    let input = reader.first(&[&["input_tokens"]]);
    if input.is_none() && reader.at(&["prompt_tokens"]).is_some() {
        return inclusive(&Value::Object(object.clone()));
    }
    let read = reader.first(&[&["cache_read_input_tokens"]]);
    let flat = reader.first(&[&["cache_creation_input_tokens"]]);
    let short = reader.first(&[&["cache_creation", "ephemeral_5m_input_tokens"]]);
    let long = reader.first(&[&["cache_creation", "ephemeral_1h_input_tokens"]]);
    let split = short.unwrap_or_default() + long.unwrap_or_default();
    let said = short.or(long).is_some();
    let (write, write_long) = match flat {
        Some(flat) if said && split == flat => (short, long),
        Some(flat) => (Some(flat), None),
        None => (short, long),
    };
    let mut usage = Usage {
        read,
        write,
        write_long,
        output: reader.first(&[&["output_tokens"]]),
        reasoning: reader.first(REASONING),
        ..Usage::default()
    };
    let cached = read.unwrap_or_default() + usage.written().unwrap_or_default();
    usage.total = input.map(|input| input + cached);
    if usage.total.is_none() && usage.output.is_none() && read.is_none() {
        return None;
    }
    Some(judge(
        usage,
        reader.impossible,
        Value::Object(object.clone()),
    ))
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
    (usage.total.is_some() || usage.output.is_some())
        .then(|| judge(usage, reader.impossible, object.clone()))
}

/// Gemini's `usageMetadata`: cached tokens are part of the prompt, thoughts are
/// no part of the candidates.
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
    (usage.total.is_some() || usage.output.is_some())
        .then(|| judge(usage, reader.impossible, object.clone()))
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
    (usage.total.is_some() || usage.output.is_some())
        .then(|| judge(usage, reader.impossible, object.clone()))
}

#[cfg(test)]
#[path = "usage_tests.rs"]
mod tests;
