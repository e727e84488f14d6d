//! The paths beside chat: tokens, models, counters, reset.

use super::ask::{Ask, Dialect};
use super::engine::Engine;
use super::profile::Habit;
use super::refusal::Refusal;
use super::routes::{Shared, plain_json};
use crate::cache::Model;
use axum::body::{Body, Bytes};
use axum::extract::{Path, State};
use axum::http::{HeaderMap, HeaderValue, Response, StatusCode, Uri, header};
use serde::Deserialize;
use serde_json::{Value, json};
use std::fmt::Write as _;
use std::sync::Arc;
use std::time::Duration;

/// Blocks that are stated for a cache that is never full.
const UNBOUNDED_BLOCKS: usize = 1 << 20;

fn ok(body: &Value) -> Response<Body> {
    plain_json(StatusCode::OK, body)
}

pub(super) async fn health() -> StatusCode {
    StatusCode::OK
}

pub(super) async fn not_found(State(shared): State<Arc<Shared>>) -> Response<Body> {
    let body = match shared.habit() {
        Habit::LlamaCpp => {
            json!({"error": {"message": "File Not Found", "type": "not_found_error", "code": 404}})
        }
        _ => json!({"detail": "Not Found"}),
    };
    plain_json(StatusCode::NOT_FOUND, &body)
}

pub(super) async fn models(
    State(shared): State<Arc<Shared>>,
    headers: HeaderMap,
) -> Response<Body> {
    if !shared.authorized(&headers) {
        return Refusal::Unauthorized.response(shared.habit(), Dialect::Chat);
    }
    ok(&json!({
        "object": "list",
        "data": [{
            "id": shared.model, "object": "model", "created": 0, "owned_by": "prefixbench",
            "root": shared.model, "parent": null, "max_model_len": shared.engine.context,
        }],
    }))
}

#[derive(Deserialize)]
struct Bare {
    #[serde(default)]
    prompt: Option<String>,
    /// llama.cpp's name for it.
    #[serde(default)]
    content: Option<String>,
    /// llama.cpp: whether the template's marks in it are special tokens.
    #[serde(default)]
    parse_special: bool,
}

/// Token ids of a conversation with its generation suffix, or of bare text.
pub(super) async fn tokenize(State(shared): State<Arc<Shared>>, body: Bytes) -> Response<Body> {
    let engine = Arc::clone(&shared.engine);
    let work = move || {
        let bare = serde_json::from_slice::<Bare>(&body).ok();
        let special = bare.as_ref().is_some_and(|bare| bare.parse_special);
        match bare.and_then(|bare| bare.prompt.or(bare.content)) {
            Some(text) if special => Ok(engine.encode_rendered(&text)),
            Some(text) => Ok(engine.encode_text(&text)),
            None => Ask::read(Dialect::Chat, &body)
                .map(|ask| engine.encode(&engine.arranged(ask.said)).ids),
        }
    };
    match shared.blocking(work).await {
        Ok(ids) => ok(&json!({
            "count": ids.len(), "max_model_len": shared.engine.context,
            "tokens": ids, "token_strs": null,
        })),
        Err(refusal) => refusal.response(shared.habit(), Dialect::Chat),
    }
}

/// A conversation as its template renders it, as llama.cpp shows it.
pub(super) async fn apply_template(
    State(shared): State<Arc<Shared>>,
    body: Bytes,
) -> Response<Body> {
    let engine = Arc::clone(&shared.engine);
    let work = move || {
        let ask = Ask::read(Dialect::Chat, &body)?;
        Ok(Engine::rendered(&engine.arranged(ask.said)))
    };
    match shared.blocking(work).await {
        Ok(prompt) => ok(&json!({"prompt": prompt})),
        Err(refusal) => refusal.response(shared.habit(), Dialect::Chat),
    }
}

/// What each slot of llama.cpp holds.
pub(super) async fn slots(state: State<Arc<Shared>>) -> Response<Body> {
    if state.habit() != Habit::LlamaCpp {
        return not_found(state).await;
    }
    let slots = state.engine.slots().into_iter().enumerate();
    let slots = slots.map(|(id, (tokens, busy))| {
        json!({"id": id, "n_ctx": state.engine.context, "is_processing": busy, "n_prompt_tokens": tokens})
    });
    ok(&slots.collect())
}

/// `?action=erase` empties a slot of llama.cpp; saving and restoring are not served.
pub(super) async fn slot(
    state: State<Arc<Shared>>,
    Path(slot): Path<usize>,
    uri: Uri,
) -> Response<Body> {
    if state.habit() != Habit::LlamaCpp {
        return not_found(state).await;
    }
    let refused = |status: StatusCode, kind: &str, message: &str| {
        let error = json!({"code": status.as_u16(), "message": message, "type": kind});
        plain_json(status, &json!({"error": error}))
    };
    let mut query = uri.query().unwrap_or_default().split('&');
    if !query.any(|field| field == "action=erase") {
        let message = "This server does not support this action";
        return refused(StatusCode::NOT_IMPLEMENTED, "not_supported_error", message);
    }
    match state.engine.erase_slot(slot) {
        Some(erased) => ok(&json!({"id_slot": slot, "n_erased": erased})),
        None => refused(
            StatusCode::BAD_REQUEST,
            "invalid_request_error",
            "Invalid slot ID",
        ),
    }
}

/// Tokens of a `/v1/messages` body; it needs no `max_tokens`.
pub(super) async fn count_tokens(State(shared): State<Arc<Shared>>, body: Bytes) -> Response<Body> {
    let engine = Arc::clone(&shared.engine);
    let work = move || {
        let parsed: Result<Value, _> = serde_json::from_slice(&body);
        let mut parsed = parsed.map_err(|error| Refusal::Body {
            at: error.column(),
            reason: error.to_string(),
        })?;
        if let Some(fields) = parsed.as_object_mut() {
            fields.entry("max_tokens").or_insert(json!(1));
        }
        let ask = Ask::read(Dialect::Messages, parsed.to_string().as_bytes())?;
        Ok(engine.encode(&engine.arranged(ask.said)).ids.len())
    };
    match shared.blocking(work).await {
        Ok(tokens) => ok(&json!({"input_tokens": tokens})),
        Err(refusal) => refusal.response(shared.habit(), Dialect::Messages),
    }
}

/// Empties the cache; like vLLM with status 200 also where it is refused.
pub(super) async fn reset(State(shared): State<Arc<Shared>>) -> Response<Body> {
    ok(&json!({"success": shared.engine.reset()}))
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Advance {
    ms: u64,
}

/// Moves the clock by `{"ms": N}`, for a server in a process of its own.
pub(super) async fn advance(State(shared): State<Arc<Shared>>, body: Bytes) -> Response<Body> {
    match serde_json::from_slice::<Advance>(&body) {
        Ok(by) => {
            shared.engine.advance(Duration::from_millis(by.ms));
            ok(&json!({"success": true}))
        }
        Err(error) => {
            let body = json!({"error": error.to_string()});
            plain_json(StatusCode::BAD_REQUEST, &body)
        }
    }
}

/// What the server imitates and how fast it is.
pub(super) async fn props(State(shared): State<Arc<Shared>>) -> Response<Body> {
    let engine = &shared.engine;
    let speed = engine.speed;
    ok(&json!({
        "simulated": true,
        "profile": engine.profile.name,
        "cache_model": engine.cache_model(),
        "model": shared.model,
        "context": engine.context,
        "speed": {
            "prefill_per_s": speed.prefill_per_s,
            "decode_per_s": speed.decode_per_s,
            "overhead_us": crate::units::Micros::from(speed.overhead),
            "jitter": speed.jitter,
        },
    }))
}

/// Counters in the text format of Prometheus, under vLLM's names or llama.cpp's.
pub(super) async fn metrics(State(shared): State<Arc<Shared>>) -> Response<Body> {
    let text = if shared.habit() == Habit::LlamaCpp {
        llama_metrics(&shared)
    } else {
        vllm_metrics(&shared)
    };
    let mut response = Response::new(Body::from(text));
    let kind = HeaderValue::from_static("text/plain; version=0.0.4; charset=utf-8");
    response.headers_mut().insert(header::CONTENT_TYPE, kind);
    response
}

fn llama_metrics(shared: &Shared) -> String {
    let stats = shared.engine.stats();
    let counters = [
        (
            "prompt_tokens_total",
            stats.prompt_tokens - stats.cached_tokens,
        ),
        ("prompt_tokens_cached_total", stats.cached_tokens),
        ("tokens_predicted_total", stats.output_tokens),
    ];
    let mut out = String::new();
    for (name, value) in counters {
        let _written = writeln!(
            out,
            "# TYPE llamacpp:{name} counter\nllamacpp:{name} {value}"
        );
    }
    out
}

fn vllm_metrics(shared: &Shared) -> String {
    let stats = shared.engine.stats();
    let labels = format!("engine=\"0\",model_name=\"{}\"", shared.model);
    let computed = stats.prompt_tokens - stats.cached_tokens;
    let sources = [
        ("local_compute", computed),
        ("local_cache_hit", stats.cached_tokens),
        ("external_kv_transfer", 0),
    ];
    let counters = [
        ("prefix_cache_queries_total", stats.prompt_tokens),
        ("prefix_cache_hits_total", stats.cached_tokens),
        ("prompt_tokens_total", stats.prompt_tokens),
        ("prompt_tokens_cached_total", stats.cached_tokens),
        ("generation_tokens_total", stats.output_tokens),
    ];
    let mut out = String::new();
    for (name, value) in counters {
        let _written = writeln!(
            out,
            "# TYPE vllm:{name} counter\nvllm:{name}{{{labels}}} {value}.0"
        );
    }
    out.push_str("# TYPE vllm:prompt_tokens_by_source_total counter\n");
    for (source, value) in sources {
        let _written = writeln!(
            out,
            "vllm:prompt_tokens_by_source_total{{{labels},source=\"{source}\"}} {value}.0"
        );
    }
    let _written = writeln!(
        out,
        "# TYPE vllm:num_requests_running gauge\nvllm:num_requests_running{{{labels}}} {}.0",
        stats.running
    );
    if let Some((size, blocks)) = blocks(&shared.engine.cache_model()) {
        let _written = writeln!(
            out,
            "# TYPE vllm:cache_config_info gauge\nvllm:cache_config_info{{block_size=\"{size}\",\
             enable_prefix_caching=\"True\",engine=\"0\",num_gpu_blocks=\"{blocks}\"}} 1.0"
        );
    }
    out
}

/// Block size and number of blocks of a model that has blocks.
fn blocks(model: &Model) -> Option<(usize, usize)> {
    match model {
        Model::Blocks { size, capacity, .. } => {
            Some((size.get(), capacity.unwrap_or(UNBOUNDED_BLOCKS)))
        }
        Model::Align { size, .. } => Some((size.get(), UNBOUNDED_BLOCKS)),
        _ => None,
    }
}
