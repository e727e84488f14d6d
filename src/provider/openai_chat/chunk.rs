//! The chunks that a stream is made of: a piece of text, the reason of the end, the
//! counts.
//!
//! A field that is not among those below, or is no text where one is due, is not usual.
//! What only the reader of values understands must be null.

use super::read::finish;
use crate::provider::usage;
use crate::provider::usual::{AtMostOne, Object, Piece, Usual};
use serde::Deserialize;
use serde_json::Value;

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Chunk<'a> {
    #[serde(borrow)]
    choices: AtMostOne<Object<Choice<'a>>>,
    object: &'a str,
    #[serde(default)]
    system_fingerprint: Option<&'a str>,
    #[serde(default)]
    usage: Option<Value>,
    #[serde(default, rename = "id")]
    _id: Option<&'a str>,
    #[serde(default, rename = "created")]
    _created: Option<u64>,
    #[serde(default, rename = "model")]
    _model: Option<&'a str>,
    #[serde(default, rename = "service_tier")]
    _tier: Option<&'a str>,
    #[serde(default, rename = "obfuscation")]
    _obfuscation: Option<&'a str>,
    #[serde(default, rename = "prompt_token_ids")]
    _prompt_ids: (),
    #[serde(default, rename = "prompt_text")]
    _prompt_text: (),
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Choice<'a> {
    #[serde(borrow)]
    delta: Object<Delta<'a>>,
    #[serde(default)]
    index: u64,
    #[serde(default)]
    finish_reason: Option<&'a str>,
    #[serde(default, rename = "stop_reason")]
    _stop: (),
    #[serde(default, rename = "logprobs")]
    _logprobs: (),
    #[serde(default, rename = "token_ids")]
    _ids: (),
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Delta<'a> {
    #[serde(borrow, default)]
    content: Option<Piece<'a>>,
    #[serde(default, rename = "role")]
    _role: Option<&'a str>,
    #[serde(default, rename = "reasoning_content")]
    _reasoning_content: (),
    #[serde(default, rename = "reasoning")]
    _reasoning: (),
    #[serde(default, rename = "refusal")]
    _refusal: (),
    #[serde(default, rename = "tool_calls")]
    _calls: (),
}

/// What a chunk of the usual shape says. `served_by`: whether it is known already who
/// serves; until then a chunk that names it says more.
pub(super) fn usual(data: &str, served_by: bool) -> Option<Usual<'_>> {
    let Object(chunk): Object<Chunk<'_>> = serde_json::from_str(data).ok()?;
    let told = served_by || chunk.system_fingerprint.is_none();
    if chunk.object != "chat.completion.chunk" || !told {
        return None;
    }
    let mut usual = Usual {
        usage: chunk.usage.and_then(usage::inclusive_of),
        ..Usual::default()
    };
    if let Some(Object(choice)) = chunk.choices.0 {
        if choice.index != 0 {
            return None;
        }
        usual.text = choice.delta.0.content.map(|Piece(text)| text);
        let reason = choice.finish_reason.filter(|reason| !reason.is_empty());
        usual.finish = reason.map(finish);
    }
    Some(usual)
}

#[cfg(test)]
#[path = "chunk_tests.rs"]
mod tests;
