//! Answers of `/v1/chat/completions`.

use super::{Answer, Due, Frame};
use crate::server::profile::Habit;
use crate::server::{FINGERPRINT, FIRST_TOKEN};
use serde_json::{Value, json};

fn finish(answer: &Answer) -> &'static str {
    if answer.stopped { "stop" } else { "length" }
}

/// llama.cpp's own measure of the same request, in tokens and imagined milliseconds.
fn timings(answer: &Answer) -> Value {
    let counts = answer.counts;
    json!({
        "cache_n": counts.read, "prompt_n": counts.prompt.saturating_sub(counts.read),
        "predicted_n": counts.output,
    })
}

pub(super) fn whole(answer: &Answer) -> Value {
    let mut body = json!({
        "id": format!("chatcmpl-{}", answer.id),
        "object": "chat.completion",
        "created": answer.created_s,
        "model": answer.model,
        "choices": [{
            "index": 0,
            "message": {"role": "assistant", "content": answer.text(), "refusal": null},
            "logprobs": null,
            "finish_reason": finish(answer),
        }],
        "system_fingerprint": FINGERPRINT,
    });
    if answer.reasoning > 0 {
        let (thought, said) = answer.words.split_at(answer.reasoning);
        let message = &mut body["choices"][0]["message"];
        message["reasoning_content"] = json!(thought.concat());
        message["content"] = json!(said.concat());
    }
    if answer.usage {
        body["usage"] = answer.usage(false);
    }
    if answer.habit == Habit::LlamaCpp {
        body["timings"] = timings(answer);
    }
    body
}

/// A chunk with these choices.
fn chunk(answer: &Answer, choices: &Value) -> Value {
    json!({
        "id": format!("chatcmpl-{}", answer.id),
        "object": "chat.completion.chunk",
        "created": answer.created_s,
        "model": answer.model,
        "choices": choices,
        "system_fingerprint": FINGERPRINT,
    })
}

fn choice(answer: &Answer, delta: &Value, finish: Option<&str>) -> Value {
    chunk(
        answer,
        &json!([{"index": 0, "delta": delta, "logprobs": null, "finish_reason": finish}]),
    )
}

/// Usage so far: without the details, which only the last chunk has.
fn so_far(answer: &Answer, tokens: u64) -> Value {
    let prompt = answer.counts.prompt;
    json!({"prompt_tokens": prompt, "total_tokens": prompt + tokens, "completion_tokens": tokens})
}

pub(super) fn frames(answer: &Answer) -> Vec<Frame> {
    let mut frames = Vec::with_capacity(answer.words.len() + 4);
    let mut push = |due: Due, mut chunk: Value, tokens: u64| {
        if answer.continuous && answer.usage && chunk.get("usage").is_none() {
            chunk["usage"] = so_far(answer, tokens);
        }
        frames.push(Frame::new(due, chunk.to_string()));
    };
    // llama.cpp says null where the others say an empty text.
    let opening = if answer.habit == Habit::LlamaCpp {
        json!({"role": "assistant", "content": null})
    } else {
        json!({"role": "assistant", "content": ""})
    };
    push(answer.opening(), choice(answer, &opening, None), 0);
    let mut tokens = 0;
    for (index, word) in answer.words.iter().enumerate() {
        tokens += 1;
        let delta = if index < answer.reasoning {
            json!({"reasoning_content": word})
        } else {
            json!({"content": word})
        };
        push(Due::Token(index), choice(answer, &delta, None), tokens);
    }
    let mut last = choice(answer, &json!({}), Some(finish(answer)));
    if answer.habit == Habit::LlamaCpp {
        last["timings"] = timings(answer);
    }
    if answer.usage && answer.usage_on_finish {
        last["usage"] = answer.usage(true);
    }
    push(Due::End, last, answer.counts.output);
    if answer.usage && !answer.usage_on_finish {
        // LiteLLM's usage chunk has a choice, the others' has none.
        let mut usage = if answer.habit == Habit::Litellm {
            chunk(answer, &json!([{"index": 0, "delta": {}}]))
        } else {
            chunk(answer, &json!([]))
        };
        usage["usage"] = answer.usage(true);
        if answer.habit == Habit::LlamaCpp {
            usage["timings"] = timings(answer);
        }
        if answer.stamps {
            usage["usage"][FIRST_TOKEN] = json!(0);
        }
        push(Due::End, usage, answer.counts.output);
        if let Some(frame) = frames.last_mut() {
            frame.stamped = answer.stamps;
        }
    }
    if answer.done {
        frames.push(Frame::new(Due::End, "[DONE]"));
    }
    frames
}

pub(super) fn failure(due: Due) -> Frame {
    let error = json!({"error": {
        "message": "simulated failure inside the stream", "type": "InternalServerError",
        "param": null, "code": 500,
    }});
    Frame::new(due, error.to_string())
}
