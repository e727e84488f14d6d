//! Secrets taken out of what a server says: some repeat the key that they were sent.
//!
//! It is done once, when an answer is whole, so that a key that came in pieces is
//! found too; the timed loop knows nothing of it.

use crate::chat::FinishReason;
use crate::provider::Answer;
use serde_json::{Map, Value};

/// What stands where a secret stood.
const SHOWN: &str = "[key]";

/// Shorter ones are words (`EMPTY`, `dummy`), which an answer may well have: there
/// they stay.
const LEAST: usize = 8;

/// `text` without any of the secrets, nor the beginning of one at its end: messages are cut.
pub(super) fn text(text: String, secrets: &[String]) -> String {
    secrets.iter().fold(text, |text, secret| {
        let text = if text.contains(secret.as_str()) {
            text.replace(secret.as_str(), SHOWN)
        } else {
            text
        };
        cut(text, secret)
    })
}

/// What stands behind a message that was cut.
const MORE: char = '…';

/// `text` without what is left of `secret` where it was cut in the middle of it.
fn cut(mut text: String, secret: &str) -> String {
    let kept = text.trim_end_matches(MORE);
    let more = text.len() - kept.len();
    let left = (LEAST..secret.len())
        .rev()
        .filter_map(|end| secret.get(..end))
        .find(|left| kept.ends_with(left));
    if let Some(left) = left {
        let from = kept.len() - left.len();
        let more = text[text.len() - more..].to_owned();
        text.truncate(from);
        text.push_str(SHOWN);
        text.push_str(&more);
    }
    text
}

/// A body without any of the secrets; as it came where it has none.
pub(super) fn body(body: Vec<u8>, secrets: &[String]) -> Vec<u8> {
    let secrets = long(secrets);
    let read = String::from_utf8_lossy(&body);
    if !found(&read, &secrets) {
        return body;
    }
    text(read.into_owned(), &secrets).into_bytes()
}

/// Takes the secrets out of every text of an answer, the raw usage included.
pub(super) fn answer(answer: &mut Answer, secrets: &[String]) {
    let secrets = &*long(secrets);
    if secrets.is_empty() {
        return;
    }
    let calls = answer.tool_calls.iter_mut();
    let calls = calls.flat_map(|call| [&mut call.id, &mut call.name, &mut call.arguments]);
    let failed = answer.error.iter_mut();
    let failed =
        failed.flat_map(|error| std::iter::once(&mut error.message).chain(&mut error.kind));
    let word = match &mut answer.finish {
        Some(FinishReason::Other(word)) => Some(word),
        _ => None,
    };
    let texts = answer.text.iter_mut().chain([&mut answer.reasoning]);
    let texts = texts.chain(calls).chain(failed).chain(word);
    for one in texts.chain(&mut answer.served_by) {
        clean(one, secrets);
    }
    if let Some(raw) = answer.usage.as_mut().and_then(|usage| usage.raw.as_mut()) {
        value(raw, secrets);
    }
}

fn long(secrets: &[String]) -> Vec<String> {
    let long = secrets.iter().filter(|secret| secret.len() >= LEAST);
    long.cloned().collect()
}

fn found(text: &str, secrets: &[String]) -> bool {
    secrets.iter().any(|secret| text.contains(secret.as_str()))
}

fn clean(one: &mut String, secrets: &[String]) {
    if found(one, secrets) {
        *one = text(std::mem::take(one), secrets);
    }
}

/// As deep as the parser reads, so that it ends.
fn value(one: &mut Value, secrets: &[String]) {
    match one {
        Value::String(text) => clean(text, secrets),
        Value::Array(all) => all.iter_mut().for_each(|one| value(one, secrets)),
        Value::Object(fields) => {
            fields.values_mut().for_each(|one| value(one, secrets));
            if fields.keys().any(|name| found(name, secrets)) {
                let renamed = std::mem::take(fields).into_iter();
                let renamed = renamed.map(|(name, value)| (text(name, secrets), value));
                *fields = renamed.collect::<Map<_, _>>();
            }
        }
        Value::Null | Value::Bool(_) | Value::Number(_) => {}
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::chat::{ChatEvent, Usage};
    use serde_json::json;

    const KEY: &str = "sk-planted-777777";

    #[test]
    fn a_key_is_taken_out_of_every_text_of_an_answer() {
        let says = |text: &str| format!("auth {text}!");
        let mut got = Answer::default();
        got.extend([
            // In pieces, as a stream brings it.
            ChatEvent::Text("auth sk-plan".to_owned()),
            ChatEvent::Text("ted-777777!".to_owned()),
            ChatEvent::Reasoning(says(KEY)),
            ChatEvent::ToolCall {
                index: 0,
                id: Some(says(KEY)),
                name: Some(says(KEY)),
                arguments: says(KEY),
            },
            ChatEvent::Usage(Usage {
                raw: Some(json!({"note": says(KEY), KEY: [{"deep": KEY}], "n": 1})),
                ..Usage::default()
            }),
            ChatEvent::Finish(FinishReason::Other(says(KEY))),
            ChatEvent::Error {
                message: says(KEY),
                kind: Some(says(KEY)),
            },
            ChatEvent::ServedBy(says(KEY)),
        ]);
        answer(&mut got, &[KEY.to_owned()]);
        assert!(!format!("{got:?}").contains("planted"), "{got:?}");
        assert_eq!(got.text.as_deref(), Some("auth [key]!"));
        let raw = got.usage.and_then(|usage| usage.raw);
        let expected = json!({"note": "auth [key]!", "[key]": [{"deep": "[key]"}], "n": 1});
        assert_eq!(raw, Some(expected));
    }

    #[test]
    fn what_is_left_of_a_key_at_the_end_of_a_cut_message_is_taken_out() {
        let secrets = [KEY.to_owned()];
        for end in 8..=KEY.len() {
            let left = &KEY[..end];
            for more in ["", "…"] {
                let said = text(format!("wrong key {left}{more}"), &secrets);
                assert_eq!(said, format!("wrong key [key]{more}"), "{left}");
            }
        }
        let word = text("wrong sk-plan".to_owned(), &["sk-plan-a-b-c".to_owned()]);
        assert_eq!(word, "wrong sk-plan", "fewer letters than are a secret");
        assert_eq!(text("…".to_owned(), &secrets), "…");
    }

    #[test]
    fn a_body_without_a_key_stays_byte_for_byte() {
        let secrets = [KEY.to_owned()];
        assert_eq!(body(vec![0xff, b'a'], &secrets), [0xff, b'a']);
        let word = body(b"EMPTY".to_vec(), &["EMPTY".to_owned()]);
        assert_eq!(word, b"EMPTY", "a word is no secret");
        let echoed = body(format!("{{\"a\":\"{KEY}\"}}").into_bytes(), &secrets);
        assert_eq!(echoed, br#"{"a":"[key]"}"#);
    }
}
