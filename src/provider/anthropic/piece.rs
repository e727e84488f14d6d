//! The events that a stream is made of: a piece of text and nothing else.
//!
//! Read into borrowed fields, as those of the Chat Completions format are; any other
//! is left to the reader of values.

use serde::Deserialize;
use serde::de::IgnoredAny;
use std::borrow::Cow;

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Event<'a> {
    #[serde(borrow, rename = "type")]
    kind: Cow<'a, str>,
    #[serde(default, rename = "index")]
    _index: Option<IgnoredAny>,
    #[serde(borrow)]
    delta: Delta<'a>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Delta<'a> {
    #[serde(borrow, rename = "type")]
    kind: Cow<'a, str>,
    #[serde(borrow)]
    text: Cow<'a, str>,
}

/// The text of an event that has nothing else.
pub(super) fn of(data: &str) -> Option<Cow<'_, str>> {
    let event: Event<'_> = serde_json::from_str(data).ok()?;
    let plain = event.kind == "content_block_delta" && event.delta.kind == "text_delta";
    plain.then_some(event.delta.text)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::chat::ChatEvent;
    use crate::provider::anthropic::read::AnthropicReader;
    use crate::provider::reading::Reader as _;
    use proptest::prelude::*;
    use serde_json::{Value, json};

    fn event(text: &str) -> Value {
        json!({
            "type": "content_block_delta", "index": 0,
            "delta": {"type": "text_delta", "text": text},
        })
    }

    proptest! {
        #[test]
        fn a_piece_is_what_the_reader_of_values_says(text in any::<String>()) {
            let value = event(&text);
            let data = value.to_string();
            let mut slowly = Vec::new();
            AnthropicReader::default().event("", &value, &mut slowly);
            let piece = of(&data).map(|piece| ChatEvent::Text(piece.into_owned()));
            prop_assert_eq!(piece.into_iter().collect::<Vec<_>>(), slowly);
        }
    }

    #[test]
    fn an_event_with_anything_else_in_it_is_left_to_the_reader_of_values() {
        let changes: [fn(&mut Value); 6] = [
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
            assert_eq!(of(&event.to_string()), None, "{event}");
        }
        assert_eq!(of(&event("a").to_string()).as_deref(), Some("a"));
    }
}
