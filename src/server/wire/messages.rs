//! Answers of `/v1/messages`.

use super::{Answer, Due, Frame};
use crate::server::profile::Habit;
use serde_json::{Value, json};

fn stop_reason(answer: &Answer) -> &'static str {
    if answer.stopped {
        "end_turn"
    } else {
        "max_tokens"
    }
}

pub(super) fn whole(answer: &Answer) -> Value {
    let mut body = json!({
        "id": format!("msg_{}", answer.id),
        "type": "message",
        "role": "assistant",
        "content": [{"type": "text", "text": answer.text()}],
        "model": answer.model,
        "stop_reason": stop_reason(answer),
        "stop_sequence": null,
    });
    if answer.usage {
        body["usage"] = answer.usage(false);
    }
    body
}

/// Usage in `message_start`: each server says something else there.
fn opening_usage(answer: &Answer) -> Value {
    match answer.habit {
        // The total as input, and nothing of the cache.
        Habit::Vllm | Habit::Sglang => {
            json!({"input_tokens": answer.counts.prompt, "output_tokens": 0})
        }
        // Zeros: it is sent before the server behind has answered.
        Habit::Litellm => json!({
            "input_tokens": 0, "output_tokens": 0,
            "cache_creation_input_tokens": 0, "cache_read_input_tokens": 0,
        }),
        _ => {
            let mut usage = answer.usage(true);
            usage["output_tokens"] = json!(u8::from(answer.habit == Habit::Anthropic));
            usage
        }
    }
}

/// Usage in `message_delta`.
fn closing_usage(answer: &Answer) -> Value {
    if answer.habit == Habit::LlamaCpp {
        json!({"output_tokens": answer.counts.output})
    } else {
        answer.usage(true)
    }
}

fn start(answer: &Answer) -> Value {
    let mut message = json!({
        "id": format!("msg_{}", answer.id), "type": "message", "role": "assistant", "content": [],
        "model": answer.model, "stop_reason": null, "stop_sequence": null,
    });
    if answer.usage {
        message["usage"] = opening_usage(answer);
    }
    json!({"type": "message_start", "message": message})
}

pub(super) fn frames(answer: &Answer) -> Vec<Frame> {
    let opening = if answer.habit == Habit::Litellm {
        Due::Start
    } else {
        answer.opening()
    };
    let named = Frame::named;
    let block = json!({"type": "content_block_start", "index": 0,
        "content_block": {"type": "text", "text": ""}});
    let mut frames = vec![
        named(opening, "message_start", &start(answer)),
        named(opening, "content_block_start", &block),
    ];
    if answer.habit == Habit::Anthropic {
        frames.push(named(opening, "ping", &json!({"type": "ping"})));
    }
    for (index, word) in answer.words.iter().enumerate() {
        let delta = json!({"type": "content_block_delta", "index": 0,
            "delta": {"type": "text_delta", "text": word}});
        frames.push(named(Due::Token(index), "content_block_delta", &delta));
    }
    let stop = json!({"type": "content_block_stop", "index": 0});
    frames.push(named(Due::End, "content_block_stop", &stop));
    let mut delta = json!({"type": "message_delta",
        "delta": {"stop_reason": stop_reason(answer), "stop_sequence": null}});
    if answer.usage {
        delta["usage"] = closing_usage(answer);
    }
    frames.push(named(Due::End, "message_delta", &delta));
    if answer.done {
        let stop = json!({"type": "message_stop"});
        frames.push(named(Due::End, "message_stop", &stop));
    }
    frames
}

pub(super) fn failure(due: Due) -> Frame {
    let error = json!({"type": "error",
        "error": {"type": "overloaded_error", "message": "simulated failure inside the stream"}});
    Frame::named(due, "error", &error)
}
