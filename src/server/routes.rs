//! Requests to answers.

use super::admin;
use super::ask::{Ask, Dialect};
use super::engine::{Engine, Job};
use super::faults::{Fault, Faults};
use super::options::Options;
use super::profile::Habit;
use super::refusal::Refusal;
use super::stream::{Ending, Sending, Style, token_at};
use super::usage::Counts;
use super::wire::{Answer, Due};
use super::{FINGERPRINT, SIMULATED};
use axum::Router;
use axum::body::{Body, Bytes};
use axum::extract::{DefaultBodyLimit, State};
use axum::http::{HeaderMap, HeaderValue, Response, StatusCode, header};
use axum::middleware::map_response;
use axum::routing::{get, post};
use std::collections::VecDeque;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use tokio::time::{Instant, sleep_until};
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;

/// Largest body that is read.
const BODY_LIMIT: usize = 256 << 20;

const MINUTE_MS: i64 = 60_000;

/// A fixed day: an answer must not depend on when it was given.
const CREATED_S: u64 = 1_796_000_000;

/// What all handlers share.
#[derive(Debug)]
pub(super) struct Shared {
    pub(super) engine: Arc<Engine>,
    pub(super) model: String,
    strict_model: bool,
    api_key: Option<String>,
    faults: Faults,
    requests_per_minute: Option<u32>,
    /// When the requests of the last minute were let in, oldest first.
    recent_ms: Mutex<VecDeque<i64>>,
    /// Requests so far, refused ones too; decides whose turn a fault is.
    count: AtomicU64,
    stop: CancellationToken,
    tasks: TaskTracker,
}

impl Shared {
    pub(super) fn new(
        options: Options,
        engine: Arc<Engine>,
        stop: CancellationToken,
        tasks: TaskTracker,
    ) -> Arc<Self> {
        Arc::new(Self {
            engine,
            model: options.model,
            strict_model: options.strict_model,
            api_key: options.api_key,
            faults: options.faults,
            requests_per_minute: options.requests_per_minute,
            recent_ms: Mutex::default(),
            count: AtomicU64::new(0),
            stop,
            tasks,
        })
    }

    pub(super) fn habit(&self) -> Habit {
        self.engine.profile.habit
    }

    /// Whether a request brings the key, if one is wanted. vLLM takes it as a
    /// bearer only; the others as `x-api-key` too.
    pub(super) fn authorized(&self, headers: &HeaderMap) -> bool {
        let Some(key) = &self.api_key else {
            return true;
        };
        let given = |name: &str| headers.get(name).and_then(|value| value.to_str().ok());
        let bearer = given("authorization").and_then(|value| value.strip_prefix("Bearer "));
        let plain = given("x-api-key").filter(|_| self.habit() != Habit::Vllm);
        bearer == Some(key) || plain == Some(key)
    }

    /// Lets a request in, unless the minute is full.
    fn within_limit(&self) -> Result<(), Refusal> {
        let Some(limit) = self.requests_per_minute else {
            return Ok(());
        };
        let now_ms = self.engine.now_ms();
        let mut recent = self
            .recent_ms
            .lock()
            .unwrap_or_else(PoisonError::into_inner);
        while recent.front().is_some_and(|&at| at <= now_ms - MINUTE_MS) {
            recent.pop_front();
        }
        if recent.len() < limit as usize {
            recent.push_back(now_ms);
            return Ok(());
        }
        let oldest = recent.front().copied().unwrap_or(now_ms);
        let wait_ms = u64::try_from(oldest + MINUTE_MS - now_ms).unwrap_or(0);
        Err(Refusal::Limited {
            wait_s: wait_ms.div_ceil(1_000),
        })
    }

    /// Reads a body off the workers: tokenising a long prompt takes a while.
    pub(super) async fn blocking<T: Send + 'static>(
        &self,
        work: impl FnOnce() -> Result<T, Refusal> + Send + 'static,
    ) -> Result<T, Refusal> {
        let joined = self.tasks.spawn_blocking(work).await;
        joined.unwrap_or(Err(Refusal::Injected { status: 500 }))
    }
}

/// All paths, every answer marked as simulated.
pub(super) fn router(shared: Arc<Shared>) -> Router {
    Router::new()
        .route("/v1/chat/completions", post(chat))
        .route("/v1/messages", post(messages))
        .route("/v1/responses", post(responses))
        .route("/v1/messages/count_tokens", post(admin::count_tokens))
        .route("/v1/models", get(admin::models))
        .route("/tokenize", post(admin::tokenize))
        .route("/metrics", get(admin::metrics))
        .route("/props", get(admin::props))
        .route("/health", get(admin::health))
        .route("/reset_prefix_cache", post(admin::reset))
        .route("/advance_clock", post(admin::advance))
        .fallback(admin::not_found)
        .layer(DefaultBodyLimit::max(BODY_LIMIT))
        .layer(map_response(|mut response: Response<Body>| async move {
            let one = HeaderValue::from_static("1");
            response.headers_mut().insert(SIMULATED, one);
            response
        }))
        .with_state(shared)
}

async fn chat(state: State<Arc<Shared>>, headers: HeaderMap, body: Bytes) -> Response<Body> {
    answered(state.0, Dialect::Chat, headers, body).await
}

async fn messages(state: State<Arc<Shared>>, headers: HeaderMap, body: Bytes) -> Response<Body> {
    answered(state.0, Dialect::Messages, headers, body).await
}

async fn responses(state: State<Arc<Shared>>, headers: HeaderMap, body: Bytes) -> Response<Body> {
    answered(state.0, Dialect::Responses, headers, body).await
}

async fn answered(
    shared: Arc<Shared>,
    dialect: Dialect,
    headers: HeaderMap,
    body: Bytes,
) -> Response<Body> {
    let arrived = Instant::now();
    let number = shared.count.fetch_add(1, Ordering::Relaxed) + 1;
    match admitted(&shared, dialect, &headers, body, number).await {
        Ok((ask, job)) => respond(&shared, dialect, &ask, job, number, arrived).await,
        Err(refusal) => refusal.response(shared.habit(), dialect),
    }
}

/// Reads a request and lets it in, unless it is refused.
async fn admitted(
    shared: &Shared,
    dialect: Dialect,
    headers: &HeaderMap,
    body: Bytes,
    number: u64,
) -> Result<(Ask, Job), Refusal> {
    if !shared.authorized(headers) {
        return Err(Refusal::Unauthorized);
    }
    shared.within_limit()?;
    if let Some(status) = shared.faults.refusal(number) {
        return Err(Refusal::Injected { status });
    }
    let served = shared.strict_model.then(|| shared.model.clone());
    let engine = Arc::clone(&shared.engine);
    let work = move || {
        let ask = Ask::read(dialect, &body)?;
        match (&ask.model, served) {
            (Some(name), Some(served)) if *name != served => Err(Refusal::Model {
                name: name.clone(),
                served,
            }),
            _ => engine.admit(&ask).map(|job| (ask, job)),
        }
    };
    shared.blocking(work).await
}

async fn respond(
    shared: &Shared,
    dialect: Dialect,
    ask: &Ask,
    mut job: Job,
    number: u64,
    arrived: Instant,
) -> Response<Body> {
    let has = |fault| shared.faults.has(fault, number);
    if has(Fault::Slow) {
        job.prefill = job.prefill.saturating_mul(10);
        job.per_token = job.per_token.saturating_mul(10);
    }
    let answer = answer(shared, dialect, ask, &job, number);
    if ask.stream {
        return sending(shared, &answer, job, number, arrived).response();
    }
    let last = job.words.len().saturating_sub(1);
    let end = token_at(job.prefill, job.per_token, last);
    let whole = sleep_until(arrived + end);
    let stopped = shared.stop.run_until_cancelled(whole).await.is_none();
    if stopped || has(Fault::Hang) {
        shared.stop.cancelled().await;
    }
    job.ticket.finish();
    json_response(answer.whole().to_string(), has(Fault::Cut))
}

/// A JSON body; with `cut`, half of it and then a broken connection.
fn json_response(mut body: String, cut: bool) -> Response<Body> {
    let json = HeaderValue::from_static("application/json");
    let mut response = if cut {
        body.truncate(body.len() / 2);
        let half = Ok(Bytes::from(body));
        let broken = Err(std::io::ErrorKind::ConnectionReset.into());
        let parts: [std::io::Result<Bytes>; 2] = [half, broken];
        Response::new(Body::from_stream(futures_util::stream::iter(parts)))
    } else {
        Response::new(Body::from(body))
    };
    response.headers_mut().insert(header::CONTENT_TYPE, json);
    response
}

/// What will be said of a job.
fn answer(shared: &Shared, dialect: Dialect, ask: &Ask, job: &Job, number: u64) -> Answer {
    let has = |fault| shared.faults.has(fault, number);
    let read = if has(Fault::OverReport) {
        job.prompt + 10
    } else {
        job.read
    };
    Answer {
        dialect,
        habit: shared.habit(),
        id: format!("{number:016x}"),
        model: ask.model.clone().unwrap_or_else(|| shared.model.clone()),
        created_s: CREATED_S,
        words: job.words.clone(),
        stopped: job.stopped,
        counts: Counts {
            prompt: job.prompt,
            read,
            created: job.created.unwrap_or(0),
            output: job.words.len() as u64 + u64::from(job.stopped),
            details: !has(Fault::NoDetails),
        },
        usage: (ask.usage || !ask.stream) && !has(Fault::NoUsage),
        continuous: ask.continuous,
        usage_on_finish: has(Fault::UsageOnFinish),
        done: !has(Fault::NoDone),
        role_gap: has(Fault::RoleGap),
    }
}

/// A stream of the answer, with what is to go wrong in it.
fn sending(shared: &Shared, answer: &Answer, job: Job, number: u64, arrived: Instant) -> Sending {
    let has = |fault| shared.faults.has(fault, number);
    let mut frames: VecDeque<_> = answer.frames().into();
    let mut ending = Ending::Clean;
    if has(Fault::Cut) || has(Fault::Hang) || has(Fault::StreamError) {
        frames.truncate(frames.len() / 2);
        let due = frames.back().map_or(Due::Start, |frame| frame.due);
        if has(Fault::StreamError) {
            frames.push_back(answer.failure(due));
        } else if has(Fault::Cut) {
            ending = Ending::Cut;
        } else {
            ending = Ending::Hang;
        }
    }
    Sending {
        frames,
        arrived,
        prefill: job.prefill,
        per_token: job.per_token,
        tokens: job.words.len(),
        ticket: job.ticket,
        style: Style {
            crlf: has(Fault::Crlf),
            comments: has(Fault::Comments),
            no_space: has(Fault::NoSpace),
            split: has(Fault::Split),
        },
        ending,
        stop: shared.stop.clone(),
        rest: None,
    }
}

/// A JSON answer with this status, for the paths beside chat.
pub(super) fn plain_json(status: StatusCode, body: &serde_json::Value) -> Response<Body> {
    let mut response = json_response(body.to_string(), false);
    *response.status_mut() = status;
    let mark = HeaderValue::from_static(FINGERPRINT);
    response.headers_mut().insert(header::SERVER, mark);
    response
}
