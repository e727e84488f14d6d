//! Answers of `/v1/responses`.

use super::{Answer, Due, Frame};
use serde_json::{Value, json};

fn item(answer: &Answer, status: &str, content: &Value) -> Value {
    json!({
        "id": format!("msg_{}", answer.id), "type": "message", "role": "assistant",
        "status": status, "content": content,
    })
}

fn part(text: &str) -> Value {
    json!({"type": "output_text", "annotations": [], "text": text})
}

/// The response object; finished, or as it stands at the beginning.
fn response(answer: &Answer, finished: bool) -> Value {
    let output = if finished {
        json!([item(answer, "completed", &json!([part(&answer.text())]))])
    } else {
        json!([])
    };
    let status = match (finished, answer.stopped) {
        (false, _) => "in_progress",
        (true, true) => "completed",
        (true, false) => "incomplete",
    };
    let reason = json!({"reason": "max_output_tokens"});
    json!({
        "id": format!("resp_{}", answer.id),
        "object": "response",
        "created_at": answer.created_s,
        "status": status,
        "incomplete_details": if status == "incomplete" { reason } else { Value::Null },
        "model": answer.model,
        "output": output,
        "usage": if finished && answer.usage { answer.usage(false) } else { Value::Null },
    })
}

pub(super) fn whole(answer: &Answer) -> Value {
    response(answer, true)
}

pub(super) fn frames(answer: &Answer) -> Vec<Frame> {
    let mut frames: Vec<Frame> = Vec::with_capacity(answer.words.len() + 8);
    let mut push = |due: Due, kind: &'static str, mut data: Value| {
        data["sequence_number"] = json!(frames.len());
        data["type"] = json!(kind);
        frames.push(Frame::named(due, kind, &data));
    };
    let place = |mut data: Value| {
        data["item_id"] = json!(format!("msg_{}", answer.id));
        data["output_index"] = json!(0);
        data["content_index"] = json!(0);
        data
    };
    let opening = answer.opening();
    let created = json!({"response": response(answer, false)});
    push(opening, "response.created", created.clone());
    push(opening, "response.in_progress", created);
    let empty = item(answer, "in_progress", &json!([]));
    let added = json!({"output_index": 0, "item": empty});
    push(opening, "response.output_item.added", added);
    let added = place(json!({"part": part("")}));
    push(opening, "response.content_part.added", added);
    for (index, word) in answer.words.iter().enumerate() {
        let delta = place(json!({"delta": word}));
        push(Due::Token(index), "response.output_text.delta", delta);
    }
    let text = answer.text();
    let done = place(json!({"text": text}));
    push(Due::End, "response.output_text.done", done);
    let done = place(json!({"part": part(&text)}));
    push(Due::End, "response.content_part.done", done);
    let whole = item(answer, "completed", &json!([part(&text)]));
    let done = json!({"output_index": 0, "item": whole});
    push(Due::End, "response.output_item.done", done);
    if answer.done {
        // OpenAI names an answer that met its limit so; vLLM always says completed.
        let incomplete = !answer.stopped && answer.habit == crate::server::Habit::OpenAi;
        let kind = if incomplete {
            "response.incomplete"
        } else {
            "response.completed"
        };
        push(Due::End, kind, json!({"response": response(answer, true)}));
    }
    frames
}

pub(super) fn failure(due: Due) -> Frame {
    let error = json!({"type": "error", "code": "server_error",
        "message": "simulated failure inside the stream", "param": null});
    Frame::named(due, "error", &error)
}
