//! Sends the events of an answer when they are due.

use super::engine::Ticket;
use super::wire::{Due, Frame};
use axum::body::{Body, Bytes};
use axum::http::{HeaderValue, Response, header};
use futures_util::stream;
use std::collections::VecDeque;
use std::io;
use std::time::Duration;
use tokio::time::{Instant, sleep, sleep_until};
use tokio_util::sync::CancellationToken;

/// How long a connection stays open behind its last bytes, so that they are sent.
const FLUSH: Duration = Duration::from_millis(20);

/// How events are written.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Style {
    pub(super) crlf: bool,
    pub(super) comments: bool,
    pub(super) no_space: bool,
    /// Every write in two halves.
    pub(super) split: bool,
}

impl Style {
    fn write(self, frame: &Frame, out: &mut String) {
        let end = if self.crlf { "\r\n" } else { "\n" };
        let blank = if self.no_space { "" } else { " " };
        if self.comments {
            out.extend([": ping", end, end]);
        }
        if let Some(event) = frame.event {
            out.extend(["event:", blank, event, end]);
        }
        out.extend(["data:", blank, &frame.data, end, end]);
    }
}

/// What happens behind the last event.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Ending {
    /// The body ends.
    Clean,
    /// The connection breaks.
    Cut,
    /// Nothing, until the server stops.
    Hang,
}

/// A streamed answer on its way.
pub(super) struct Sending {
    pub(super) frames: VecDeque<Frame>,
    /// When the request arrived; all due times count from here.
    pub(super) arrived: Instant,
    pub(super) prefill: Duration,
    pub(super) per_token: Duration,
    pub(super) tokens: usize,
    pub(super) ticket: Ticket,
    pub(super) style: Style,
    pub(super) ending: Ending,
    pub(super) stop: CancellationToken,
    /// Second half of a write that was split.
    pub(super) rest: Option<Bytes>,
    /// When the first token was sent.
    pub(super) first: Option<Instant>,
}

/// When the token of `index` is there, counted from the arrival.
pub(super) fn token_at(prefill: Duration, per_token: Duration, index: usize) -> Duration {
    let index = u32::try_from(index).unwrap_or(u32::MAX);
    prefill.saturating_add(per_token.saturating_mul(index))
}

/// The instant `after` an arrival; a year away where it is too far to be told.
pub(super) fn instant(arrived: Instant, after: Duration) -> Instant {
    let year = Duration::from_hours(24 * 365);
    arrived + after.min(year)
}

/// The error that breaks a connection off, once what was written before is out.
pub(super) async fn broken() -> io::Error {
    sleep(FLUSH).await;
    io::ErrorKind::ConnectionReset.into()
}

/// Where to cut a write in two: inside a character of several bytes if there is
/// one, since that is where a reader goes wrong.
fn middle(bytes: &[u8]) -> usize {
    let inside = bytes.iter().position(|byte| byte & 0xC0 == 0x80);
    inside.unwrap_or(bytes.len() / 2)
}

impl Sending {
    /// The answer whose body is this stream.
    pub(super) fn response(self) -> Response<Body> {
        let bodies = stream::unfold(self, Self::next);
        let mut response = Response::new(Body::from_stream(bodies));
        let kind = HeaderValue::from_static("text/event-stream; charset=utf-8");
        response.headers_mut().insert(header::CONTENT_TYPE, kind);
        response
    }

    fn due(&self, due: Due) -> Instant {
        let last = self.tokens.saturating_sub(1);
        let after = match due {
            Due::Start => Duration::ZERO,
            Due::Token(index) => token_at(self.prefill, self.per_token, index),
            Due::End => token_at(self.prefill, self.per_token, last),
        };
        instant(self.arrived, after)
    }

    /// The next write: waits for the first event, and takes along all that are due by then.
    async fn next(mut self) -> Option<(io::Result<Bytes>, Self)> {
        if let Some(rest) = self.rest.take() {
            return Some((Ok(rest), self));
        }
        let Some(frame) = self.frames.front() else {
            return self.end().await;
        };
        let due = self.due(frame.due);
        let stop = self.stop.clone();
        stop.run_until_cancelled(sleep_until(due)).await?;
        let now = Instant::now();
        let mut text = String::new();
        while let Some(frame) = self.frames.front() {
            if self.due(frame.due) > now {
                break;
            }
            match frame.due {
                Due::Start => {}
                Due::Token(index) => {
                    self.first.get_or_insert(now);
                    self.ticket.generated(index + 1);
                }
                Due::End => self.ticket.finish(),
            }
            let Some(mut frame) = self.frames.pop_front() else {
                break;
            };
            if frame.stamped {
                frame.stamp(self.first.unwrap_or(now) - self.arrived);
            }
            self.style.write(&frame, &mut text);
        }
        let mut bytes = Bytes::from(text);
        if self.style.split {
            self.rest = Some(bytes.split_off(middle(&bytes)));
        }
        Some((Ok(bytes), self))
    }

    async fn end(self) -> Option<(io::Result<Bytes>, Self)> {
        match self.ending {
            Ending::Clean => None,
            Ending::Cut => Some((Err(broken().await), self)),
            Ending::Hang => {
                self.stop.cancelled().await;
                None
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_event_is_written_in_the_style_asked_for() {
        let frame = Frame {
            due: Due::End,
            event: Some("ping"),
            data: "{}".to_owned(),
            stamped: false,
        };
        let write = |style: Style| {
            let mut out = String::new();
            style.write(&frame, &mut out);
            out
        };
        assert_eq!(write(Style::default()), "event: ping\ndata: {}\n\n");
        let style = Style {
            crlf: true,
            comments: true,
            no_space: true,
            split: false,
        };
        assert_eq!(write(style), ": ping\r\n\r\nevent:ping\r\ndata:{}\r\n\r\n");
    }

    #[test]
    fn a_write_is_cut_inside_a_character_if_it_can_be() {
        assert_eq!(middle("abcd".as_bytes()), 2);
        assert_eq!(middle("abc für".as_bytes()), 6);
        assert_eq!(middle(b""), 0);
    }

    #[test]
    fn tokens_follow_the_prefill_at_an_even_pace() {
        let (prefill, per_token) = (Duration::from_millis(40), Duration::from_millis(1));
        assert_eq!(token_at(prefill, per_token, 0), prefill);
        assert_eq!(token_at(prefill, per_token, 9), Duration::from_millis(49));
        assert_eq!(
            token_at(Duration::MAX, per_token, usize::MAX),
            Duration::MAX
        );
    }
}
