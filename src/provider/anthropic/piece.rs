//! The events that a stream is made of: a piece of text and nothing else.

use crate::provider::usual::{Object, Usual};
use memchr::memmem::find;
use serde::Deserialize;
use std::borrow::Cow;

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Event<'a> {
    #[serde(rename = "type")]
    kind: &'a str,
    #[serde(default, rename = "index")]
    _index: Option<u64>,
    #[serde(borrow)]
    delta: Object<Delta<'a>>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Delta<'a> {
    #[serde(rename = "type")]
    kind: &'a str,
    #[serde(borrow)]
    text: Cow<'a, str>,
}

/// The kind of a delta that is a piece of text.
const TEXT: &str = "text_delta";

/// What an event of the usual shape says.
pub(super) fn usual(data: &str) -> Option<Usual<'_>> {
    // To find out by reading it that an event is no such piece would cost as much again.
    find(data.as_bytes(), TEXT.as_bytes())?;
    let Object(event): Object<Event<'_>> = serde_json::from_str(data).ok()?;
    let Object(delta) = event.delta;
    let plain = event.kind == "content_block_delta" && delta.kind == TEXT;
    plain.then_some(Usual {
        text: Some(delta.text),
        ..Usual::default()
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::chat::ChatEvent;
    use crate::provider::anthropic::read::AnthropicReader;
    use crate::provider::usual::tests::{agrees, mutated};
    use proptest::prelude::*;
    use serde_json::{Value, json};

    fn event(text: &str) -> Value {
        json!({
            "type": "content_block_delta", "index": 0,
            "delta": {"type": "text_delta", "text": text},
        })
    }

    fn quickly(data: &str) -> Option<Vec<ChatEvent>> {
        usual(data).map(|usual| usual.events().collect())
    }

    proptest! {
        #[test]
        fn a_piece_is_what_the_reader_of_values_says(text in any::<String>()) {
            let data = event(&text).to_string();
            prop_assert_eq!(quickly(&data), Some(vec![ChatEvent::Text(text)]));
            prop_assert!(agrees::<AnthropicReader>(&data));
        }

        #[test]
        fn a_spoilt_event_is_read_as_the_reader_of_values_reads_it(
            data in mutated(&[
                r#"{"type":"content_block_delta","index":0,"delta":{"type":"text_delta","text":"a\u00e9"}}"#,
                r#"{"index":0,"delta":{"text":"a","type":"text_delta"},"type":"content_block_delta"}"#,
            ]),
        ) {
            prop_assert!(agrees::<AnthropicReader>(&data), "{}", data);
        }
    }

    #[test]
    fn an_event_with_anything_else_in_it_is_left_to_the_reader_of_values() {
        let changes: [fn(&mut Value); 8] = [
            |event| *event = json!(["content_block_delta", 0, event["delta"]]),
            |event| event["delta"] = json!(["text_delta", "a"]),
            |event| event["type"] = json!("content_block_start"),
            |event| event["usage"] = json!({"output_tokens": 1}),
            |event| event["error"] = json!({"message": "broken"}),
            |event| event["delta"]["type"] = json!("thinking_delta"),
            |event| event["delta"]["stop_reason"] = json!("end_turn"),
            |event| event["delta"]["text"] = Value::Null,
        ];
        for change in changes {
            let mut event = event("a");
            change(&mut event);
            assert_eq!(quickly(&event.to_string()), None, "{event}");
        }
        let text = vec![ChatEvent::Text("a".to_owned())];
        assert_eq!(quickly(&event("a").to_string()), Some(text));
    }
}
