//! Requests to answers.

use super::admin;
use super::ask::{Ask, Dialect};
use super::engine::{Engine, Job};
use super::faults::Faults;
use super::options::Options;
use super::profile::Habit;
use super::refusal::Refusal;
use super::respond::{json_response, respond};
use super::usage::Counts;
use super::{FINGERPRINT, SIMULATED};
use axum::Router;
use axum::body::{Body, Bytes};
use axum::extract::{DefaultBodyLimit, Path, State};
use axum::http::{HeaderMap, HeaderValue, Response, StatusCode, header};
use axum::middleware::map_response;
use axum::routing::{get, post};
use std::collections::{HashMap, VecDeque};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;

/// Largest body that is read.
const BODY_LIMIT: usize = 256 << 20;

const MINUTE_MS: i64 = 60_000;

/// What all handlers share.
#[derive(Debug)]
pub(super) struct Shared {
    pub(super) engine: Arc<Engine>,
    pub(super) model: String,
    strict_model: bool,
    api_key: Option<String>,
    pub(super) faults: Faults,
    pub(super) stamps: bool,
    requests_per_minute: Option<u32>,
    /// When the requests of the last minute were let in, oldest first.
    recent_ms: Mutex<VecDeque<i64>>,
    /// Requests so far, refused ones too; decides whose turn a fault is.
    count: AtomicU64,
    /// What was answered before, by what was asked; see [`Fault::AnswerCache`](super::Fault).
    pub(super) answered: Mutex<HashMap<u64, (String, Counts)>>,
    pub(super) stop: CancellationToken,
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
            stamps: options.stamps,
            requests_per_minute: options.requests_per_minute,
            recent_ms: Mutex::default(),
            count: AtomicU64::new(0),
            answered: Mutex::default(),
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
        let google = given("x-goog-api-key").filter(|_| self.habit() == Habit::Gemini);
        [bearer, plain, google].contains(&Some(key))
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
        .route("/v1beta/models/{call}", post(gemini))
        .route("/model/{model}/converse", post(bedrock))
        .route("/v1/messages/count_tokens", post(admin::count_tokens))
        .route("/v1/models", get(admin::models))
        .route("/tokenize", post(admin::tokenize))
        .route("/apply-template", post(admin::apply_template))
        .route("/slots", get(admin::slots))
        .route("/slots/{slot}", post(admin::slot))
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

/// Model and manner of answer stand in the path: `MODEL:streamGenerateContent`.
async fn gemini(
    state: State<Arc<Shared>>,
    Path(call): Path<String>,
    headers: HeaderMap,
    body: Bytes,
) -> Response<Body> {
    let stream = match call.rsplit_once(':') {
        Some((_, "generateContent")) => false,
        Some((_, "streamGenerateContent")) => true,
        _ => return admin::not_found(state).await,
    };
    let model = call.rsplit_once(':').map(|(model, _)| model.to_owned());
    let fill = move |ask: &mut Ask| {
        ask.model = model;
        ask.stream = stream;
    };
    answer_to(state.0, Dialect::Gemini, headers, body, fill).await
}

/// The model stands in the path.
async fn bedrock(
    state: State<Arc<Shared>>,
    Path(model): Path<String>,
    headers: HeaderMap,
    body: Bytes,
) -> Response<Body> {
    let fill = move |ask: &mut Ask| ask.model = Some(model);
    answer_to(state.0, Dialect::Bedrock, headers, body, fill).await
}

async fn answered(
    shared: Arc<Shared>,
    dialect: Dialect,
    headers: HeaderMap,
    body: Bytes,
) -> Response<Body> {
    answer_to(shared, dialect, headers, body, |_whole| ()).await
}

/// Answers a request; `fill` adds to the body what stood elsewhere.
async fn answer_to(
    shared: Arc<Shared>,
    dialect: Dialect,
    headers: HeaderMap,
    body: Bytes,
    fill: impl FnOnce(&mut Ask) + Send + 'static,
) -> Response<Body> {
    let arrived = Instant::now();
    let number = shared.count.fetch_add(1, Ordering::Relaxed) + 1;
    let read = move || {
        let mut ask = Ask::read(dialect, &body)?;
        fill(&mut ask);
        Ok(ask)
    };
    match admitted(&shared, &headers, number, read).await {
        Ok((ask, job)) => respond(&shared, dialect, &ask, job, number, arrived).await,
        Err(refusal) => refusal.response(shared.habit(), dialect),
    }
}

/// Reads a request and lets it in, unless it is refused.
async fn admitted(
    shared: &Shared,
    headers: &HeaderMap,
    number: u64,
    read: impl FnOnce() -> Result<Ask, Refusal> + Send + 'static,
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
        let ask = read()?;
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

/// A JSON answer with this status, for the paths beside chat.
pub(super) fn plain_json(status: StatusCode, body: &serde_json::Value) -> Response<Body> {
    let mut response = json_response(body.to_string(), false);
    *response.status_mut() = status;
    let mark = HeaderValue::from_static(FINGERPRINT);
    response.headers_mut().insert(header::SERVER, mark);
    response
}
