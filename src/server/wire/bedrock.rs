//! Answers of `/model/MODEL/converse`. There is no stream of text: the service's own
//! is a binary format, and so `converse-stream` is not served.

use super::Answer;
use serde_json::{Value, json};

pub(super) fn whole(answer: &Answer) -> Value {
    let reason = if answer.stopped {
        "end_turn"
    } else {
        "max_tokens"
    };
    let mut body = json!({
        "output": {"message": {"role": "assistant", "content": [{"text": answer.text()}]}},
        "stopReason": reason,
        "metrics": {"latencyMs": 0},
    });
    if answer.usage {
        body["usage"] = answer.usage(false);
    }
    body
}
