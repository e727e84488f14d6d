//! Our values in the shape in which the cases expect them.

use prefixbench::chat::Span;
use prefixbench::context::Phrases;
use prefixbench::context::layered::{
    Envelope, Layer, Request, ScriptedCall, Segment, Spoken, concat,
};
use serde_json::{Map, Value, json};

pub(crate) fn segment(segment: &Segment) -> Value {
    let mut out = json!({
        "id": segment.id.as_ref(),
        "content": segment.content,
        "stable": segment.stable,
    });
    if let Some(metadata) = &segment.metadata {
        out["metadata"] = json!(metadata);
    }
    out
}

fn layer(layer: &Layer, phrases: &Phrases) -> Value {
    let label = phrases.get(&format!("label_{}", layer.id.as_str()));
    let mut out = json!({
        "id": layer.id.as_str(),
        "label": label,
        "text": layer.text(),
        "stable": layer.stable(),
        "hash": layer.hash(),
    });
    if let Some(metadata) = layer.metadata() {
        out["metadata"] = json!(metadata);
    }
    out["segments"] = layer.segments.iter().map(segment).collect();
    out
}

pub(crate) fn envelope(envelope: &Envelope, phrases: &Phrases) -> Value {
    let hashes: Map<String, Value> = envelope
        .layers()
        .iter()
        .map(|layer| (layer.id.as_str().to_owned(), json!(layer.hash())))
        .collect();
    let warning = phrases.get("control_characters_warning");
    let warnings: Vec<String> = envelope
        .control_characters()
        .map(|layer| warning.replace("{layer}", layer.as_str()))
        .collect();
    let layers: Vec<Value> = envelope
        .layers()
        .iter()
        .map(|l| layer(l, phrases))
        .collect();
    json!({
        "version": Envelope::VERSION,
        "conversation_id": null,
        "message_id": envelope.message_id.as_ref(),
        "layers": layers,
        "layer_hashes": hashes,
        "combined_hash": envelope.combined_hash(),
        "warnings": warnings,
        "serialized_text": envelope.serialized_text(),
    })
}

pub(crate) fn message(role: &str, spans: &[Span]) -> Value {
    json!({"role": role, "content": concat(spans)})
}

fn call(call: &ScriptedCall) -> Value {
    let args: Value = serde_json::from_str(&call.args).expect("arguments are JSON");
    json!({"id": call.id.as_ref(), "name": call.name.as_ref(), "args": args})
}

fn spoken(spoken: &Spoken) -> Value {
    let mut out = message(spoken.role.as_str(), &spoken.spans);
    if !spoken.calls.is_empty() {
        out["tool_calls"] = spoken.calls.iter().map(call).collect();
    }
    if let Some((id, name)) = &spoken.answers {
        out["tool_call_id"] = json!(id.as_ref());
        out["name"] = json!(name.as_ref());
    }
    out
}

pub(crate) fn request(request: &Request, cause: &str, phrases: &Phrases) -> Value {
    json!({
        "cause": cause,
        "messages": request.messages.iter().map(spoken).collect::<Vec<_>>(),
        "envelope": request.envelope.as_ref().map(|e| envelope(e, phrases)),
    })
}
