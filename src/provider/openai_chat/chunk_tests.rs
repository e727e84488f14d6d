//! What is read quickly is what the reader of values says.

use super::*;
use crate::chat::ChatEvent;
use crate::provider::openai_chat::read::OpenAiReader;
use crate::provider::usual::tests::{agrees, mutated};
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

fn quickly(data: &str, served_by: bool) -> Option<Vec<ChatEvent>> {
    usual(data, served_by).map(|usual| usual.events().collect())
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
        prop_assert_eq!(quickly(&data, false), Some(vec![ChatEvent::Text(text)]));
        prop_assert!(agrees::<OpenAiReader>(&data));
    }

    #[test]
    fn a_spoilt_chunk_is_read_as_the_reader_of_values_reads_it(
        data in mutated(&[
            r#"{"id":"1","object":"chat.completion.chunk","created":1,"model":"m","choices":[{"index":0,"delta":{"role":"assistant","content":""},"logprobs":null,"finish_reason":null}]}"#,
            r#"{"choices":[{"delta":{"content":"a\u00e9\ud83d\ude00"},"index":0}],"object":"chat.completion.chunk","system_fingerprint":null}"#,
            r#"{"id":"1","object":"chat.completion.chunk","choices":[{"index":0,"delta":{},"finish_reason":"stop","stop_reason":null}],"usage":null}"#,
            r#"{"object":"chat.completion.chunk","choices":[],"usage":{"prompt_tokens":9,"completion_tokens":2,"prompt_tokens_details":{"cached_tokens":8}}}"#,
        ]),
    ) {
        prop_assert!(agrees::<OpenAiReader>(&data), "{}", data);
    }
}

#[test]
fn the_end_and_the_counts_are_read_quickly_too() {
    let ended = chunk("", |chunk| {
        chunk["choices"][0]["delta"] = json!({});
        chunk["choices"][0]["finish_reason"] = json!("stop");
    });
    let counted = chunk("", |chunk| {
        chunk["choices"] = json!([]);
        chunk["usage"] = json!({"prompt_tokens": 3, "completion_tokens": 1});
    });
    let nothing = chunk("", |chunk| {
        chunk["choices"] = json!([]);
        chunk["usage"] = json!({});
    });
    let all = chunk("a", |chunk| {
        chunk["choices"][0]["finish_reason"] = json!("length");
        chunk["usage"] = json!({"prompt_tokens": 3});
    });
    for (data, count) in [(&ended, 1), (&counted, 1), (&nothing, 0), (&all, 3)] {
        let events = quickly(data, false).map(|events| events.len());
        assert_eq!(events, Some(count), "{data}");
        assert!(agrees::<OpenAiReader>(data), "{data}");
    }
}

#[test]
fn a_chunk_with_anything_else_in_it_is_left_to_the_reader_of_values() {
    let changes: [(&str, fn(&mut Value)); 15] = [
        ("error", |chunk| chunk["error"] = json!("broken")),
        ("object", |chunk| chunk["object"] = json!("error")),
        ("server", |chunk| chunk["system_fingerprint"] = json!("fp")),
        ("provider", |chunk| chunk["provider"] = json!("p")),
        ("timings", |chunk| chunk["timings"] = json!({"prompt_n": 1})),
        ("ids", |chunk| chunk["choices"][0]["token_ids"] = json!([1])),
        ("usage in the choice", |chunk| {
            chunk["choices"][0]["usage"] = json!({"prompt_tokens": 1});
        }),
        ("log probabilities", |chunk| {
            chunk["choices"][0]["logprobs"] = json!({"content": []});
        }),
        ("reasoning", |chunk| {
            chunk["choices"][0]["delta"]["reasoning_content"] = json!("so");
        }),
        ("call", |chunk| {
            chunk["choices"][0]["delta"]["tool_calls"] = json!([{"index": 0}]);
        }),
        ("other choice", |chunk| {
            chunk["choices"][0]["index"] = json!(1);
        }),
        ("two choices", |chunk| {
            chunk["choices"] = json!([chunk["choices"][0], chunk["choices"][0]]);
        }),
        ("a list for the chunk", |chunk| {
            *chunk = json!([[], "chat.completion.chunk"]);
        }),
        ("a list for the choice", |chunk| {
            chunk["choices"][0] = json!([{"content": "a"}]);
        }),
        ("a list for the delta", |chunk| {
            chunk["choices"][0]["delta"] = json!(["a"]);
        }),
    ];
    for (name, change) in changes {
        assert_eq!(quickly(&chunk("a", change), false), None, "{name}");
    }
    let named = chunk("a", |chunk| chunk["system_fingerprint"] = json!("fp"));
    let text = vec![ChatEvent::Text("a".to_owned())];
    assert_eq!(quickly(&named, true), Some(text));
    for data in ["", "[DONE]", ": ping", "{", "[1]", "7"] {
        assert_eq!(quickly(data, false), None, "{data}");
    }
}
