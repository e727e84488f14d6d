//! The chunks that a stream is made of: a piece of text and nothing else.
//!
//! Most chunks of most streams differ in their text alone, and to build the whole
//! value of each would cost more than everything else that a client does. So a
//! chunk whose every field is one of those below, with nothing in it that means
//! anything, is read into borrowed fields; any other is left to the reader of
//! values, which knows every shape.

use serde::Deserialize;
use serde::de::IgnoredAny;
use std::borrow::Cow;

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Chunk<'a> {
    #[serde(borrow)]
    choices: [Choice<'a>; 1],
    #[serde(borrow)]
    object: Cow<'a, str>,
    #[serde(borrow, default)]
    system_fingerprint: Option<Cow<'a, str>>,
    #[serde(default, rename = "id")]
    _id: Option<IgnoredAny>,
    #[serde(default, rename = "created")]
    _created: Option<IgnoredAny>,
    #[serde(default, rename = "model")]
    _model: Option<IgnoredAny>,
    #[serde(default, rename = "usage")]
    _usage: (),
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Choice<'a> {
    #[serde(borrow)]
    delta: Delta<'a>,
    #[serde(default)]
    index: u64,
    #[serde(default, rename = "finish_reason")]
    _finish: (),
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
    #[serde(borrow)]
    content: Cow<'a, str>,
    #[serde(default, rename = "role")]
    _role: Option<IgnoredAny>,
    #[serde(default, rename = "reasoning_content")]
    _reasoning: (),
    #[serde(default, rename = "refusal")]
    _refusal: (),
    #[serde(default, rename = "tool_calls")]
    _calls: (),
}

/// The text of a chunk that has nothing else. `served_by` says whether it is known
/// already who serves: until then a chunk that names it holds more.
pub(super) fn of(data: &str, served_by: bool) -> Option<Cow<'_, str>> {
    let chunk: Chunk<'_> = serde_json::from_str(data).ok()?;
    let [Choice { delta, index, .. }] = chunk.choices;
    let plain = index == 0
        && chunk.object == "chat.completion.chunk"
        && (served_by || chunk.system_fingerprint.is_none());
    plain.then_some(delta.content)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::chat::ChatEvent;
    use crate::provider::openai_chat::read::OpenAiReader;
    use crate::provider::reading::Reader as _;
    use proptest::prelude::*;
    use serde_json::{Value, json};

    /// A chunk, with fields put in or taken out.
    fn chunk(text: &str, change: impl FnOnce(&mut Value)) -> String {
        let mut chunk = json!({
            "id": "1", "object": "chat.completion.chunk", "created": 1, "model": "m",
            "choices": [{"index": 0, "delta": {"content": text}, "logprobs": null, "finish_reason": null}],
        });
        change(&mut chunk);
        chunk.to_string()
    }

    /// What the reader of values says.
    fn slowly(data: &str) -> Vec<ChatEvent> {
        let mut events = Vec::new();
        let value: Value = serde_json::from_str(data).expect("JSON");
        OpenAiReader::default().event("", &value, &mut events);
        events
    }

    proptest! {
        #[test]
        fn a_piece_is_what_the_reader_of_values_says(text in any::<String>(), role in any::<bool>()) {
            let data = chunk(&text, |chunk| {
                if role {
                    chunk["choices"][0]["delta"]["role"] = Value::from("assistant");
                    chunk["usage"] = Value::Null;
                }
            });
            let piece = of(&data, false).map(|piece| ChatEvent::Text(piece.into_owned()));
            prop_assert_eq!(piece.into_iter().collect::<Vec<_>>(), slowly(&data));
        }
    }

    #[test]
    fn a_chunk_with_anything_else_in_it_is_left_to_the_reader_of_values() {
        let changes: [(&str, fn(&mut Value)); 12] = [
            ("finish", |chunk| {
                chunk["choices"][0]["finish_reason"] = json!("stop");
            }),
            ("usage", |chunk| {
                chunk["usage"] = json!({"prompt_tokens": 1});
            }),
            ("error", |chunk| chunk["error"] = json!("broken")),
            ("object", |chunk| chunk["object"] = json!("error")),
            ("server", |chunk| chunk["system_fingerprint"] = json!("fp")),
            ("provider", |chunk| chunk["provider"] = json!("p")),
            ("timings", |chunk| chunk["timings"] = json!({"prompt_n": 1})),
            ("ids", |chunk| chunk["choices"][0]["token_ids"] = json!([1])),
            ("reasoning", |chunk| {
                chunk["choices"][0]["delta"]["reasoning_content"] = json!("so");
            }),
            ("call", |chunk| {
                chunk["choices"][0]["delta"]["tool_calls"] = json!([{"index": 0}]);
            }),
            ("other choice", |chunk| {
                chunk["choices"][0]["index"] = json!(1);
            }),
            ("no content", |chunk| {
                chunk["choices"][0]["delta"]["content"] = Value::Null;
            }),
        ];
        for (name, change) in changes {
            assert_eq!(of(&chunk("a", change), false), None, "{name}");
        }
        let named = chunk("a", |chunk| chunk["system_fingerprint"] = json!("fp"));
        assert_eq!(of(&named, true).as_deref(), Some("a"));
        for data in ["", "[DONE]", ": ping", "{", "[1]", "7"] {
            assert_eq!(of(data, false), None, "{data}");
        }
    }
}
