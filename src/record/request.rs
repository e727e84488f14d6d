//! The record of one attempt.

use crate::chat::{CacheAsked, Class, Digest, Origin, Part, PlacedMessage, Role, Text, Usage};
use crate::units::{Bytes, Micros, Money, Tokens};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::sync::Arc;

/// Flag of a request behind a rest (`idle`) that was cut short: the scenario's time
/// has passed and the server's has not, as after a `wait`.
pub const IDLE_CUT: &str = "idle_cut";

/// Flag of a refusal that was not tried again, since the server asked for a longer wait
/// than is waited for.
pub const LONG_WAIT: &str = "long_wait";

/// Flag of an answer out of a gateway's cache of whole answers.
pub const ANSWER_CACHE: &str = "answer_cache";
/// Flag of an answer that a gateway got only when it had sent the request again.
pub const GATEWAY_RETRIED: &str = "gateway_retried";
/// Flag of an answer that a gateway got from elsewhere than where it first asked.
pub const GATEWAY_FALLBACK: &str = "gateway_fallback";

/// Whether a flag says that a gateway did not simply pass an answer on: its counts and
/// its times are then not those of the target.
pub fn is_of_gateway(flag: &str) -> bool {
    matches!(flag, ANSWER_CACHE | GATEWAY_RETRIED | GATEWAY_FALLBACK)
}

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
    /// Those of them whose entries were asked to live an hour. Not recorded in runs of
    /// earlier versions, whose markers then count as the usual ones.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub long_marks: Vec<usize>,
}

impl RecordedMessage {
    /// What is recorded of `message`; `store` gets the text of each of its spans.
    pub fn of(message: PlacedMessage, mut store: impl FnMut(Text)) -> Self {
        let spans = message.spans.into_iter().map(|placed| {
            let span = RecordedSpan {
                origin: placed.span.origin,
                class: placed.span.class,
                part: placed.part,
                sha256: placed.span.text.digest(),
                start: placed.start,
                end: placed.end,
            };
            store(placed.span.text);
            span
        });
        Self {
            role: message.role,
            spans: spans.collect(),
            marks: Some(message.marks),
            long_marks: message.long_marks,
        }
    }
}

impl From<&PlacedMessage> for RecordedMessage {
    fn from(message: &PlacedMessage) -> Self {
        Self::of(message.clone(), drop)
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
    /// Sources that it changed, of those whose earlier text the layout writes anew; one
    /// that is told in a message leaves that as it is. `None` where it cannot be said:
    /// what is attached, a builder of the user's own, and runs of earlier versions.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub rewrites: Option<Vec<Arc<str>>>,
}

/// When things happened, in microseconds from the run's start.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Stamps {
    /// When it should have been sent.
    pub due_us: Micros,
    /// When its request was due first, where it is a try of it behind the first one.
    /// Absent where that is [`due_us`](Self::due_us); see [`Self::wanted`].
    #[serde(skip_serializing_if = "Option::is_none")]
    pub first_due_us: Option<Micros>,
    /// When the client had the request ready and turned to a connection with it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub ready_us: Option<Micros>,
    /// How much of the time from due to ready was waited for a limit: requests in flight,
    /// requests or tokens a minute, or what the server asked for. None where nothing was.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub limited_us: Option<Micros>,
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

impl Stamps {
    /// How late the client itself was: from due to ready, without what was waited for
    /// limits. Connecting is no part of it. Where a record does not say when the
    /// request was ready, up to when it was sent; `None` where it was not.
    pub fn lateness(&self) -> Option<Micros> {
        let ready = self.ready_us.or(self.sent_us)?;
        let limited = self.limited_us.unwrap_or_default();
        let late = ready.0.saturating_sub(self.due_us.0);
        Some(Micros(late.saturating_sub(limited.0)))
    }

    /// Time to first token as the server's: from sent to the first token.
    pub fn ttft(&self) -> Option<Micros> {
        let (first, sent) = (self.first_text_us?, self.sent_us?);
        Some(Micros(first.0.saturating_sub(sent.0)))
    }

    /// When somebody wanted the answer: when the request was due first, whatever became
    /// of the tries before this one.
    pub fn wanted(&self) -> Micros {
        self.first_due_us.unwrap_or(self.due_us)
    }

    /// Time to first token as the person's who wanted it when it was due: with the
    /// tries before, and the waits between them.
    pub fn ttft_from_due(&self) -> Option<Micros> {
        let first = self.first_text_us?;
        Some(Micros(first.0.saturating_sub(self.wanted().0)))
    }
}

/// Whether a cell's client was too late to be believed: the 99th percentile of its
/// lateness is more than 1 % of its median time to first token, or more than 1 ms.
///
/// Either alone suffices: above 1 ms it shows in what a person feels, and above 1 % of
/// the time to first token in what is compared. Without a time to first token, and in a
/// cell that [has no schedule](has_schedule), only the first is looked at: there
/// lateness is what the next prompt takes to be built, and nobody arrives meanwhile.
pub fn is_late(late_p99: Micros, ttft_p50: Option<Micros>, scheduled: bool) -> bool {
    const ABOVE: Micros = Micros(1_000);
    let share = ttft_p50.is_some_and(|ttft| late_p99.0.saturating_mul(100) > ttft.0);
    late_p99 > ABOVE || (scheduled && share)
}

/// Whether somebody other than the server's answers says when requests of this load
/// level are due: arrivals, or people who think. `load` is the level as records call it;
/// ramps and steps of a number of conversations at once (`ramp=1..50,over=5m`, not
/// `ramp=1/s..10/s,over=5m`) have none.
pub fn has_schedule(load: &str) -> bool {
    let (level, think) = load.split_once(",think=").unwrap_or((load, "0s"));
    let is_closed = ["sessions=", "ramp=", "steps="]
        .iter()
        .any(|kind| level.starts_with(kind) && !level.contains('/'));
    !is_closed || think != "0s"
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
    /// What else must be known to trust it (`after_failure`, `retried`, `idle_cut`,
    /// `beyond_lifetime`, `above_bound`, `contaminated`, `answer_cache`), and whether a
    /// live answer held what was asked for (`expected_words`, `missing_words`).
    pub flags: Vec<Arc<str>>,
    /// What went wrong, for a person.
    pub error: Option<String>,
    /// What the server counted.
    pub usage: Usage,
    /// When things happened.
    pub stamps: Stamps,
    /// Size of the body sent; 0 where no connection came about.
    pub bytes_sent: Bytes,
    /// `cache_salt` that was sent.
    pub salt: Option<Arc<str>>,
    /// Nonce in the body.
    pub nonce: Arc<str>,
    /// How many times the run has seen this target's cache emptied before: by a
    /// reset, or since the embedded server was started anew. Requests of different
    /// epochs share nothing. 0 in records of version 1.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub epoch: u32,
    /// Instant of the scenario's clock when it was sent, in milliseconds since 1970.
    pub scenario_ms: i64,
    /// What it asked of the cache beside its markers.
    #[serde(default, skip_serializing_if = "CacheAsked::is_nothing")]
    pub cache: CacheAsked,
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
    /// Response headers that a gateway's flags rest on, by their lowercase names.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub headers: BTreeMap<Arc<str>, String>,
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

/// Flags of attempts that count nowhere: their conversation was run again, or they
/// warmed or probed a cache.
pub const ASIDE_FLAGS: [&str; 3] = ["superseded", "warm_up", "probe"];

impl RequestRecord {
    /// Whether it was sent and counts nowhere. A cache may hold it all the same.
    pub fn is_aside(&self) -> bool {
        let mut flags = self.flags.iter();
        flags.any(|flag| ASIDE_FLAGS.contains(&&**flag))
    }

    /// Whether a gateway did not simply pass its answer on.
    pub fn is_of_gateway(&self) -> bool {
        self.flags.iter().any(|flag| is_of_gateway(flag))
    }

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

#[expect(
    clippy::trivially_copy_pass_by_ref,
    reason = "the form that serde calls"
)]
fn is_zero(number: &u32) -> bool {
    *number == 0
}

/// Current version of [`RequestRecord`]. Version 1, which is read as well, had no
/// epoch.
pub const RECORD_VERSION: u32 = 2;

#[cfg(test)]
mod stamps {
    use super::*;

    #[test]
    fn what_was_waited_for_a_limit_is_no_lateness_of_the_client() {
        let some = |us| Some(Micros(us));
        let stamps = |ready_us, limited_us, sent_us| Stamps {
            due_us: Micros(100),
            ready_us,
            limited_us,
            sent_us,
            ..Stamps::default()
        };
        for (stamps, expected) in [
            (stamps(some(150), None, some(900)), some(50)),
            (stamps(some(150), some(40), some(900)), some(10)),
            (stamps(some(150), some(60), None), some(0)),
            (stamps(None, None, some(130)), some(30)),
            (stamps(some(90), None, some(95)), some(0)),
            (stamps(None, None, None), None),
        ] {
            assert_eq!(stamps.lateness(), expected, "{stamps:?}");
        }
    }

    #[test]
    fn a_retry_answers_who_wanted_it_first_and_is_late_by_its_own_time() {
        let stamps = Stamps {
            due_us: Micros(1_000),
            first_due_us: Some(Micros(100)),
            ready_us: Some(Micros(1_030)),
            sent_us: Some(Micros(1_040)),
            first_text_us: Some(Micros(1_500)),
            ..Stamps::default()
        };
        assert_eq!(stamps.ttft_from_due(), Some(Micros(1_400)));
        assert_eq!(stamps.ttft(), Some(Micros(460)));
        assert_eq!(stamps.lateness(), Some(Micros(30)));
        let first = Stamps {
            first_due_us: None,
            ..stamps
        };
        assert_eq!(first.ttft_from_due(), Some(Micros(500)));
        let line = serde_json::to_string(&first).expect("writes");
        assert!(!line.contains("first_due_us"), "{line}");
    }

    #[test]
    fn a_cell_is_late_by_either_of_two_bounds() {
        for (load, late, ttft, expected) in [
            ("sessions=8", 1_000, Some(20_000), false),
            ("sessions=8", 1_001, Some(1_000_000), true),
            ("sessions=8,think=2s", 201, Some(20_000), true),
            ("sessions=8,think=0s", 201, Some(20_000), false),
            ("steps=1@30s,8@30s", 201, Some(20_000), false),
            ("ramp=1..50,over=5m", 201, Some(20_000), false),
            ("ramp=1/s..5/s,over=5m", 201, Some(20_000), true),
            ("open=2/s", 1_001, Some(1_000_000), true),
            ("open=2/s", 1_000, Some(1_000_000), false),
            ("open=2/s", 201, Some(20_000), true),
            ("open=2/s", 200, Some(20_000), false),
            ("open=2/s", 1_000, None, false),
            ("open=2/s", 1_001, None, true),
            ("open=2/s", 0, Some(0), false),
        ] {
            let late = is_late(Micros(late), ttft.map(Micros), has_schedule(load));
            assert_eq!(late, expected, "{load}: {late}");
        }
    }
}
