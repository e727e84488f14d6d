//! Answers of `generateContent` and `streamGenerateContent`.

use super::{Answer, Due, Frame};
use serde_json::{Value, json};

fn body(answer: &Answer, text: &str, usage: Value, last: bool) -> Value {
    let mut candidate =
        json!({"content": {"parts": [{"text": text}], "role": "model"}, "index": 0});
    if last {
        let reason = if answer.stopped { "STOP" } else { "MAX_TOKENS" };
        candidate["finishReason"] = json!(reason);
    }
    let mut body = json!({
        "candidates": [candidate], "modelVersion": answer.model, "responseId": answer.id,
    });
    if answer.usage {
        body["usageMetadata"] = usage;
    }
    body
}

pub(super) fn whole(answer: &Answer) -> Value {
    body(answer, &answer.text(), answer.usage(false), true)
}

/// A chunk a word; counts ride on every chunk, and only the last has all of them.
pub(super) fn frames(answer: &Answer) -> Vec<Frame> {
    let so_far = json!({"promptTokenCount": answer.counts.prompt});
    let words = answer.words.iter().enumerate();
    let mut frames: Vec<_> = words
        .map(|(index, word)| {
            let chunk = body(answer, word, so_far.clone(), false);
            Frame::new(Due::Token(index), chunk.to_string())
        })
        .collect();
    if answer.done {
        let last = body(answer, "", answer.usage(true), true);
        frames.push(Frame::new(Due::End, last.to_string()));
    }
    frames
}

pub(super) fn failure(due: Due) -> Frame {
    let error = json!({"error": {"code": 503, "status": "UNAVAILABLE",
        "message": "simulated failure inside the stream"}});
    Frame::new(due, error.to_string())
}
