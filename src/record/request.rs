//! The record of one attempt.

use crate::chat::{Class, Digest, Origin, Part, PlacedMessage, Role, Usage};
use crate::units::{Bytes, Micros, Money, Tokens};
use serde::{Deserialize, Serialize};
use std::sync::Arc;

/// How an attempt ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Outcome {
    /// Answered whole.
    Ok,
    /// Refused with a status of 400 to 499 that has no name of its own here.
    #[serde(rename = "http_4xx")]
    Http4xx,
    /// Too many requests.
    #[serde(rename = "http_429")]
    Http429,
    /// Refused with a status of 500 or more.
    #[serde(rename = "http_5xx")]
    Http5xx,
    /// Key missing, wrong or without the right.
    Auth,
    /// No such path or model.
    NotFound,
    /// The prompt is longer than the model's context.
    Overflow,
    /// No connection.
    Connect,
    /// A phase took longer than its limit.
    Timeout,
    /// The connection was reset.
    Reset,
    /// The stream ended before its finish marker.
    Cut,
    /// The server reported a failure inside a stream.
    StreamError,
    /// The answer breaks its own format.
    Malformed,
    /// The answer is larger than the limit.
    TooLarge,
    /// Not sent: the limit of requests in flight was reached.
    Shed,
    /// Not finished: the run was interrupted.
    Aborted,
}

impl Outcome {
    /// The name as written in records.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Ok => "ok",
            Self::Http4xx => "http_4xx",
            Self::Http429 => "http_429",
            Self::Http5xx => "http_5xx",
            Self::Auth => "auth",
            Self::NotFound => "not_found",
            Self::Overflow => "overflow",
            Self::Connect => "connect",
            Self::Timeout => "timeout",
            Self::Reset => "reset",
            Self::Cut => "cut",
            Self::StreamError => "stream_error",
            Self::Malformed => "malformed",
            Self::TooLarge => "too_large",
            Self::Shed => "shed",
            Self::Aborted => "aborted",
        }
    }
}

/// A span of a recorded request; its text stands in the span store.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct RecordedSpan {
    /// Source.
    pub origin: Origin,
    /// Class.
    pub class: Class,
    /// What part of its message it is.
    pub part: Part,
    /// Hash of its text, the key into the span store.
    pub sha256: Digest,
    /// First byte in the body.
    pub start: usize,
    /// One behind the last byte.
    pub end: usize,
}

/// A message of a recorded request, in the order in which the provider renders.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct RecordedMessage {
    /// Who speaks.
    pub role: Role,
    /// Its spans.
    pub spans: Vec<RecordedSpan>,
    /// Where cache markers stand: behind so many of its spans, ascending.
    /// Absent where that was not recorded, which is not the same as none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub marks: Option<Vec<usize>>,
}

impl From<&PlacedMessage> for RecordedMessage {
    fn from(message: &PlacedMessage) -> Self {
        let spans = message.spans.iter().map(|placed| RecordedSpan {
            origin: placed.span.origin.clone(),
            class: placed.span.class,
            part: placed.part,
            sha256: placed.span.text.digest(),
            start: placed.start,
            end: placed.end,
        });
        Self {
            role: message.role,
            spans: spans.collect(),
            marks: Some(message.marks.clone()),
        }
    }
}

/// A step that happened between the previous turn and this one.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct EventLabel {
    /// What it is called: `artifacts on`.
    pub label: Arc<str>,
    /// Line of the scenario file.
    pub line: usize,
}

/// When things happened, in microseconds from the run's start.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Stamps {
    /// When it should have been sent.
    pub due_us: Micros,
    /// When the request was handed to the connection.
    pub sent_us: Option<Micros>,
    /// When the response's headers were there.
    pub headers_us: Option<Micros>,
    /// When the first data event was there.
    pub first_event_us: Option<Micros>,
    /// When the first non-empty text, reasoning or tool delta was there.
    pub first_text_us: Option<Micros>,
    /// When the first non-empty delta of the answer's own text (or of a tool call) was there.
    pub first_answer_us: Option<Micros>,
    /// When the answer had ended.
    pub done_us: Option<Micros>,
}

/// The first place where a request's prompt differs from the earlier one that
/// it shares most with, and does not merely go on.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Break {
    /// Source at the place.
    pub origin: Origin,
    /// The step that caused it, as far as it can be told; else what differs
    /// (`history`, `first request of the chat`).
    pub cause: Arc<str>,
    /// Byte in the body.
    pub byte: usize,
    /// Prompt tokens from the place on that an unbroken prefix would have kept:
    /// the earlier request's tokens behind the common prefix. `None` where
    /// nothing could count them.
    pub lost: Option<Tokens>,
}

/// One attempt of one request. One line of `requests.jsonl`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct RequestRecord {
    /// Version of this format.
    pub v: u32,
    /// Scenario.
    pub scenario: Arc<str>,
    /// Group of the scenario.
    pub group: Arc<str>,
    /// Configuration.
    pub configuration: Arc<str>,
    /// Target.
    pub target: Arc<str>,
    /// Model asked for.
    pub model: Arc<str>,
    /// Load level (`sessions=1`).
    pub load: Arc<str>,
    /// Repeat of the scenario in its cell, from 1.
    pub repeat: u32,
    /// Conversation, unique in the run (`quickstart/dev/1`).
    pub conversation: Arc<str>,
    /// Turn, from 1 in the order in which turns happen.
    pub turn: u32,
    /// HTTP call of the turn, from 1.
    pub request: u32,
    /// Try of that call, from 1.
    pub attempt: u32,
    /// Steps since the previous turn; on a turn's first request only.
    pub events: Vec<EventLabel>,
    /// How it ended.
    pub outcome: Outcome,
    /// HTTP status.
    pub status: Option<u16>,
    /// What else must be known to trust it (`after_failure`, `retried`,
    /// `beyond_lifetime`, `above_bound`, `contaminated`), and whether a live answer
    /// held what was asked for (`expected_words`, `missing_words`).
    pub flags: Vec<Arc<str>>,
    /// What went wrong, for a person.
    pub error: Option<String>,
    /// What the server counted.
    pub usage: Usage,
    /// When things happened.
    pub stamps: Stamps,
    /// Size of the body sent.
    pub bytes_sent: Bytes,
    /// `cache_salt` that was sent.
    pub salt: Option<Arc<str>>,
    /// Nonce in the body.
    pub nonce: Arc<str>,
    /// Instant of the scenario's clock when it was sent, in milliseconds since 1970.
    pub scenario_ms: i64,
    /// The prompt, as the provider renders it.
    pub prompt: Vec<RecordedMessage>,
    /// Hash of the answer's text as generated; its text stands in the span store.
    pub output_sha256: Option<Digest>,
    /// Token ids of the answer, where the server named them: its text need not
    /// tokenise to what was generated.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub output_ids: Option<Arc<[u32]>>,
    /// Why the answer ended, in the provider's neutral words (`stop`, `length`).
    pub finish: Option<String>,
    /// Server that answered, where it says so.
    pub served_by: Option<String>,
}

/// What is computed for a request after its cell. One line of `bounds.jsonl`.
///
/// It stands in a file of its own, so that `requests.jsonl` only ever grows and
/// the timed loop never waits for a tokenizer. Written by the run and, where it
/// is missing, computed again by the report.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct BoundRecord {
    /// Version of this format.
    pub v: u32,
    /// Conversation of the request.
    pub conversation: Arc<str>,
    /// Turn of the request.
    pub turn: u32,
    /// HTTP call of the turn.
    pub request: u32,
    /// Try of that call.
    pub attempt: u32,
    /// Prompt tokens as the tokenizer below counts them.
    pub prompt: Option<Tokens>,
    /// Tokens of the longest common prefix with anything that the cache could still hold.
    pub eligible: Option<Tokens>,
    /// What of these the cache model can return.
    pub bound: Option<Tokens>,
    /// The cache model (`blocks:16`).
    pub cache_model: Option<Arc<str>>,
    /// What made the token counts (`o200k`).
    pub tokenizer: Option<Arc<str>>,
    /// Whether the prefix broke, and where.
    #[serde(rename = "break")]
    pub broke: Option<Break>,
    /// Cost, where the target has prices.
    pub cost: Option<Money>,
    /// What the analysis adds to the record's own flags (`above_bound`, `contaminated`).
    pub flags: Vec<Arc<str>>,
}

/// What tells one attempt from every other of its run: conversation, turn,
/// request, attempt.
pub type AttemptKey = (Arc<str>, u32, u32, u32);

impl RequestRecord {
    /// What tells this attempt from every other of its run.
    pub fn key(&self) -> AttemptKey {
        (
            Arc::clone(&self.conversation),
            self.turn,
            self.request,
            self.attempt,
        )
    }
}

impl BoundRecord {
    /// The attempt that this belongs to.
    pub fn key(&self) -> AttemptKey {
        (
            Arc::clone(&self.conversation),
            self.turn,
            self.request,
            self.attempt,
        )
    }
}

/// Current version of [`RequestRecord`].
pub const RECORD_VERSION: u32 = 1;
