//! What came of an attempt: the bytes understood, after the timed loop.

use super::fault::{self, Fault};
use super::outgoing::Outgoing;
use super::receive::Received;
use crate::chat::ChatEvent;
use crate::provider::sse::{SseBytes, SseLimits, SseParser, SseSink, is_stream};
use crate::provider::{self, Answer, Decoder, Dialect, MALFORMED};
use crate::record::{Outcome, Stamps, WallTime};
use crate::units::Micros;
use std::time::Duration;
use tokio::time::Instant;

/// One attempt, ended.
#[derive(Clone, Debug, PartialEq)]
pub struct Exchange {
    /// When things happened. The three first ones are stamps of a stream; an
    /// answer in one piece has none of them.
    pub stamps: Stamps,
    /// HTTP status, where one came.
    pub status: Option<u16>,
    /// Response headers worth recording.
    pub headers: Vec<(String, String)>,
    /// The answer as far as it came: text, reasoning, calls, counts, finish.
    pub answer: Answer,
    /// How it ended.
    pub outcome: Outcome,
    /// What went wrong, in one line; none where the outcome is ok.
    pub error: Option<String>,
    /// Bytes of the answer's body.
    pub bytes_received: usize,
    /// Data events of a stream.
    pub events: usize,
}

impl Exchange {
    /// How long the server asks to wait, as a span or until a date. A date counts from
    /// the server's own `Date`, so that clocks need not agree; one that is over asks
    /// for no wait.
    pub fn retry_after(&self) -> Option<Duration> {
        let number = |name| self.header(name)?.trim().parse::<f64>().ok();
        let seconds = match (number("retry-after-ms"), number("retry-after")) {
            (Some(millis), _) => millis / 1_000.0,
            (None, Some(seconds)) => seconds,
            (None, None) => return self.retry_at(),
        };
        Duration::try_from_secs_f64(seconds).ok()
    }

    /// Whether the connection broke before the first byte of an answer: the same may do
    /// on another one.
    pub fn broke_before_answer(&self) -> bool {
        matches!(self.outcome, Outcome::Reset | Outcome::Cut) && self.bytes_received == 0
    }

    fn retry_at(&self) -> Option<Duration> {
        let date = |name| self.header(name).and_then(WallTime::parse_http);
        let at = date("retry-after")?;
        let wait = at.since(date("date").unwrap_or_else(WallTime::now));
        Some(Duration::from_micros(wait.0))
    }

    /// A recorded header's value; names are lowercase.
    pub fn header(&self, name: &str) -> Option<&str> {
        let kept = self.headers.iter().find(|(kept, _)| kept == name);
        kept.map(|(_, value)| value.as_str())
    }
}

/// Parses what was received and decides how the attempt ended. `fault` is what
/// stopped the reading, if the answer did not end by itself.
pub(super) fn understand(
    received: Received,
    fault: Option<Fault>,
    ended: Instant,
    outgoing: &Outgoing,
    epoch: Instant,
    limits: SseLimits,
) -> Exchange {
    let since = |at: Instant| Micros::from(at.saturating_duration_since(epoch));
    let reading = read(&received, outgoing.dialect, limits);
    let (outcome, error) = judge(&received, fault, &reading);
    let last = received.reads.last().map_or(ended, |&(_, at)| at);
    let stamps = Stamps {
        due_us: outgoing.due,
        // Known only to whoever waited for them.
        first_due_us: None,
        ready_us: None,
        limited_us: None,
        sent_us: received.handover.map(since),
        headers_us: received.headers_at.map(since),
        first_event_us: reading.first_event.map(since),
        first_text_us: reading.first_text.map(since),
        first_answer_us: reading.first_answer.map(since),
        done_us: Some(since(if outcome == Outcome::Ok { last } else { ended })),
    };
    Exchange {
        stamps,
        status: received.status,
        headers: received.headers,
        answer: reading.answer,
        outcome,
        error,
        bytes_received: received.bytes.len(),
        events: reading.events,
    }
}

/// What the bytes meant, and when the parts of it that matter were there.
#[derive(Default)]
struct Reading {
    answer: Answer,
    streamed: bool,
    events: usize,
    first_event: Option<Instant>,
    first_text: Option<Instant>,
    first_answer: Option<Instant>,
    too_large: Option<Fault>,
}

fn read(received: &Received, dialect: &dyn Dialect, limits: SseLimits) -> Reading {
    let mut reading = Reading::default();
    let Some(status) = received.status.filter(|_| received.coding.is_none()) else {
        return reading;
    };
    if is_success(status) && is_streamed(received) {
        reading.streamed = true;
        reading.stream(received, dialect, limits);
    } else {
        let mut events = Vec::new();
        dialect
            .decoder()
            .whole(status, &received.bytes, &mut events);
        reading.answer.extend(events);
    }
    reading
}

fn is_success(status: u16) -> bool {
    (200..300).contains(&status)
}

/// By content, as servers mislabel; an empty body is what its headers promise.
fn is_streamed(received: &Received) -> bool {
    is_stream(&received.bytes) || (received.says_stream && received.bytes.trim_ascii().is_empty())
}

impl Reading {
    /// Parses read by read, so that each event gets the stamp of the read that
    /// completed it.
    fn stream(&mut self, received: &Received, dialect: &dyn Dialect, limits: SseLimits) {
        let Some(&(_, at)) = received.reads.first() else {
            return;
        };
        let mut parser = SseParser::new(limits);
        let mut taking = Taking {
            reading: self,
            decoder: dialect.decoder(),
            means: Vec::new(),
            at,
        };
        let mut start = 0;
        for &(end, at) in &received.reads {
            taking.at = at;
            if let Err(too_large) = parser.each(&received.bytes[start..end], &mut taking) {
                self.too_large = Some(Fault {
                    outcome: Outcome::TooLarge,
                    message: too_large.to_string(),
                });
                return;
            }
            start = end;
        }
        parser.last(&mut taking);
    }
}

/// Reads the events of a stream as they are found.
struct Taking<'r> {
    reading: &'r mut Reading,
    decoder: Box<dyn Decoder>,
    /// What the last event meant, as long as it is not taken.
    means: Vec<ChatEvent>,
    /// When the bytes were there that complete an event now.
    at: Instant,
}

impl SseSink for Taking<'_> {
    fn piece<'b>(&self, bytes: &'b [u8]) -> Option<(&'b str, usize)> {
        self.decoder.piece(bytes)
    }

    fn take_piece(&mut self, text: &str) {
        self.count();
        if !text.is_empty() {
            self.reading.first_text.get_or_insert(self.at);
            self.reading.first_answer.get_or_insert(self.at);
        }
        self.reading.answer.take_text(text);
    }

    fn take(&mut self, event: SseBytes<'_>) {
        self.count();
        let means = &mut self.means;
        self.decoder.event(&event.name(), &event.data(), means);
        for event in means.drain(..) {
            if event.is_token() {
                self.reading.first_text.get_or_insert(self.at);
                if !matches!(event, ChatEvent::Reasoning(_)) {
                    self.reading.first_answer.get_or_insert(self.at);
                }
            }
            self.reading.answer.take(event);
        }
    }
}

impl Taking<'_> {
    fn count(&mut self) {
        self.reading.events += 1;
        self.reading.first_event.get_or_insert(self.at);
    }
}

/// Outcome and message. A status of failure says it all; else what the server
/// reported, then what stopped the reading, then what the answer lacks. An answer
/// that has its finish is whole, whatever happened to the connection afterwards.
fn judge(
    received: &Received,
    fault: Option<Fault>,
    reading: &Reading,
) -> (Outcome, Option<String>) {
    let stopped = |fault: Fault| (fault.outcome, Some(fault.message));
    let packed = received.coding.as_deref().map(fault::packed);
    let answer = &reading.answer;
    match (received.status, fault.or_else(|| reading.too_large.clone())) {
        (None, Some(fault)) => stopped(fault),
        (Some(status), Some(fault)) if !is_success(status) && fault.outcome == Outcome::Aborted => {
            stopped(fault)
        }
        (Some(status), _) if !is_success(status) => refused(status, received),
        (Some(_), None) if packed.is_some() => packed.map_or((Outcome::Ok, None), stopped),
        (_, fault) => match (&answer.error, fault) {
            (Some(error), _) if error.kind.as_deref() != Some(MALFORMED) => {
                (reported(received, reading), Some(error.message.clone()))
            }
            (_, Some(fault)) if fault.outcome == Outcome::TooLarge => stopped(fault),
            (None, _) if answer.finish.is_some() => (Outcome::Ok, None),
            (_, Some(fault)) => stopped(fault),
            (Some(error), None) => (Outcome::Malformed, Some(error.message.clone())),
            (None, None) if reading.streamed => (Outcome::Cut, Some(provider::CUT.to_owned())),
            (None, None) => (Outcome::Ok, None),
        },
    }
}

fn refused(status: u16, received: &Received) -> (Outcome, Option<String>) {
    let said: &[u8] = match received.coding {
        Some(_) => b"",
        None => &received.bytes,
    };
    let failure = provider::failure(status, said);
    let message = match (&received.location, &received.coding) {
        (Some(place), _) => {
            format!("HTTP {status}: the server redirects to `{place}`, which is not followed")
        }
        (None, Some(coding)) => format!("HTTP {status}: {}", fault::packed(coding).message),
        (None, None) => format!("HTTP {status}: {}", failure.message),
    };
    (failure.outcome, Some(message))
}

/// A failure that was reported under a status of success.
fn reported(received: &Received, reading: &Reading) -> Outcome {
    if reading.streamed {
        Outcome::StreamError
    } else {
        provider::failure(200, &received.bytes).outcome
    }
}

#[cfg(test)]
#[path = "exchange_tests.rs"]
mod tests;
