//! Admitted requests to answers, with what is to go wrong in them.

use super::ask::{Ask, Dialect};
use super::engine::Job;
use super::faults::Fault;
use super::routes::Shared;
use super::stream::{Ending, Sending, Style, broken, instant, token_at};
use super::usage::Counts;
use super::wire::{Answer, Due, Frame};
use axum::body::{Body, Bytes};
use axum::http::{HeaderValue, Response, header};
use futures_util::{StreamExt, stream};
use std::collections::VecDeque;
use std::collections::hash_map::Entry;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::sync::PoisonError;
use tokio::time::{Instant, sleep_until};

/// Bytes of the line that [`Fault::LongLine`] sends.
const LONG_LINE: usize = 64 << 20;

/// A fixed day: an answer must not depend on when it was given.
const CREATED_S: u64 = 1_796_000_000;

/// Answers a request that was let in; waits as long as the speed says.
pub(super) async fn respond(
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
    let mut answer = answer(shared, dialect, ask, &job, number);
    let again = has(Fault::AnswerCache) && answered_before(shared, ask, &mut answer);
    let mut response = if ask.stream {
        sending(shared, &answer, job, number, arrived).response()
    } else {
        in_one_piece(shared, &answer, job, number, arrived).await
    };
    if again {
        let key = HeaderValue::from_static("simulated");
        response.headers_mut().insert("x-litellm-cache-key", key);
    }
    response
}

/// Whether the same was asked before; then `answer` becomes what was said to it.
fn answered_before(shared: &Shared, ask: &Ask, answer: &mut Answer) -> bool {
    let mut hasher = DefaultHasher::new();
    (answer.dialect, &answer.model).hash(&mut hasher);
    for said in &ask.said {
        (said.role.as_str(), &said.text).hash(&mut hasher);
    }
    let mut answered = shared
        .answered
        .lock()
        .unwrap_or_else(PoisonError::into_inner);
    match answered.entry(hasher.finish()) {
        Entry::Occupied(earlier) => {
            (answer.id, answer.counts) = earlier.get().clone();
            true
        }
        Entry::Vacant(place) => {
            place.insert((answer.id.clone(), answer.counts));
            false
        }
    }
}

/// The whole answer, when all of it is there.
async fn in_one_piece(
    shared: &Shared,
    answer: &Answer,
    mut job: Job,
    number: u64,
    arrived: Instant,
) -> Response<Body> {
    let has = |fault| shared.faults.has(fault, number);
    let last = job.words.len().saturating_sub(1);
    let end = token_at(job.prefill, job.per_token, last);
    let whole = sleep_until(instant(arrived, end));
    let stopped = shared.stop.run_until_cancelled(whole).await.is_none();
    if stopped || has(Fault::Hang) {
        shared.stop.cancelled().await;
    }
    job.ticket.finish();
    let breaks = has(Fault::Cut) || has(Fault::Reset);
    json_response(answer.whole().to_string(), breaks)
}

/// A JSON body; with `cut`, half of it and then a broken connection.
pub(super) fn json_response(mut body: String, cut: bool) -> Response<Body> {
    let json = HeaderValue::from_static("application/json");
    let mut response = if cut {
        body.truncate(body.floor_char_boundary(body.len() / 2));
        let half = stream::iter([Ok(Bytes::from(body))]);
        let parts = half.chain(stream::once(async { Err(broken().await) }));
        Response::new(Body::from_stream(parts))
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
            created_long: job.created_long,
            output: job.words.len() as u64 + u64::from(job.stopped),
            details: !has(Fault::NoDetails),
        },
        reasoning: if has(Fault::Reasoning) {
            job.words.len() / 2
        } else {
            0
        },
        usage: (ask.usage || !ask.stream) && !has(Fault::NoUsage),
        continuous: ask.continuous,
        usage_on_finish: has(Fault::UsageOnFinish),
        done: !has(Fault::NoDone),
        role_gap: has(Fault::RoleGap),
        stamps: shared.stamps,
    }
}

/// A stream of the answer, with what is to go wrong in it.
fn sending(shared: &Shared, answer: &Answer, job: Job, number: u64, arrived: Instant) -> Sending {
    let has = |fault| shared.faults.has(fault, number);
    let mut frames: VecDeque<_> = answer.frames().into();
    let middle = frames.len() / 2;
    let due = frames.get(middle).map_or(Due::Start, |frame| frame.due);
    if has(Fault::Garbage) {
        frames.insert(middle, Frame::new(due, "{\"choices\": [oops"));
    }
    if has(Fault::LongLine) {
        frames.insert(middle, Frame::new(due, "x".repeat(LONG_LINE)));
    }
    let mut ending = Ending::Clean;
    let breaks = has(Fault::Cut) || has(Fault::Reset);
    if breaks || has(Fault::Hang) || has(Fault::StreamError) {
        frames.truncate(frames.len() / 2);
        let due = frames.back().map_or(Due::Start, |frame| frame.due);
        if has(Fault::StreamError) {
            frames.push_back(answer.failure(due));
        } else if breaks {
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
        first: None,
    }
}
