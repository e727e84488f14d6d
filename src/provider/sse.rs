//! Server-sent events out of bytes, however the bytes were split.
//!
//! The parser is pure: bytes in, events out, no runtime and no clock, so the
//! transport can stamp first and parse after, and `decode` can read a file.
//!
//! Invariants: any split of the same bytes gives the same events; no byte is gone over
//! again when more come, so one-byte writes cost no more than one large one; memory is
//! bounded by [`SseLimits`].
//!
//! Source of the format: WHATWG HTML, section 9.2.6 (line ends LF, CRLF and bare
//! CR; comments; byte-order mark; optional blank behind the colon; events
//! without data are dropped).

use memchr::memchr2;
use serde::de::IgnoredAny;
use std::borrow::Cow;
use thiserror::Error;

/// Sizes that no sane server reaches.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SseLimits {
    /// Longest line, in bytes.
    pub line: usize,
    /// Largest event (its data lines together), in bytes.
    pub event: usize,
}

impl Default for SseLimits {
    /// 16 MiB each: `response.created` repeats the whole prompt.
    fn default() -> Self {
        Self {
            line: 16 << 20,
            event: 16 << 20,
        }
    }
}

/// A line or an event grew over its limit.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
#[error("the stream's {what} is longer than {limit} bytes")]
pub struct SseTooLarge {
    /// `line` or `event`.
    pub what: &'static str,
    /// The limit.
    pub limit: usize,
}

/// One event that has data.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SseEvent {
    /// Its name; empty where the server gave none.
    pub name: String,
    /// Its data lines, joined by line feeds. Bytes that are no UTF-8 become U+FFFD.
    pub data: String,
}

/// One event that has data, where it stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SseBytes<'b> {
    /// Its name; empty where the server gave none.
    pub name: &'b [u8],
    /// Its data lines, joined by line feeds.
    pub data: &'b [u8],
}

impl SseBytes<'_> {
    /// The name as a text, as in [`SseEvent`].
    pub fn name(&self) -> Cow<'_, str> {
        text(self.name)
    }

    /// The data as a text, as in [`SseEvent`].
    pub fn data(&self) -> Cow<'_, str> {
        text(self.data)
    }
}

/// What takes the events of a stream, as they are found.
pub trait SseSink {
    /// The text of data that stands at the start of `bytes`, and the length of the data,
    /// where it is known what it is before its end has been looked for: to find the ends
    /// of lines costs more than to compare them with others. No line may end in it.
    fn piece<'b>(&self, _bytes: &'b [u8]) -> Option<(&'b str, usize)> {
        None
    }

    /// Takes the text of an event whose data was known so.
    fn take_piece(&mut self, _text: &str) {}

    /// Takes any other event.
    fn take(&mut self, event: SseBytes<'_>);
}

/// How a line of data begins, as everyone writes it.
const DATA: &[u8] = b"data: ";

/// An incremental parser.
#[derive(Debug, Default)]
pub struct SseParser {
    limits: SseLimits,
    line: Vec<u8>,
    name: Vec<u8>,
    data: Vec<u8>,
    has_data: bool,
    after_cr: bool,
    started: bool,
}

impl SseParser {
    /// A parser that has seen nothing.
    pub fn new(limits: SseLimits) -> Self {
        Self {
            limits,
            ..Self::default()
        }
    }

    /// Reads more bytes and appends the events that they complete.
    ///
    /// # Errors
    ///
    /// [`SseTooLarge`] when a line or an event grows over its limit; the parser
    /// is then of no further use.
    pub fn push(&mut self, bytes: &[u8], out: &mut Vec<SseEvent>) -> Result<(), SseTooLarge> {
        self.each(bytes, &mut Collect(out))
    }

    /// Reads more bytes and hands over the events that they complete, as
    /// [`SseParser::push`] does, without a copy.
    ///
    /// # Errors
    ///
    /// As [`SseParser::push`].
    pub fn each(&mut self, bytes: &[u8], out: &mut impl SseSink) -> Result<(), SseTooLarge> {
        let mut rest = bytes;
        if self.after_cr && !rest.is_empty() {
            self.after_cr = false;
            if rest[0] == b'\n' {
                rest = &rest[1..];
            }
        }
        while !rest.is_empty() {
            if let Some(end) = self.known(rest, out) {
                rest = &rest[end..];
                continue;
            }
            let Some(at) = memchr2(b'\n', b'\r', rest) else {
                return self.grow_line(rest);
            };
            self.check_line(at)?;
            if let Some(end) = self.in_place(rest, at, out) {
                rest = &rest[end..];
                continue;
            }
            if self.line.is_empty() {
                self.end(&rest[..at], out)?;
            } else {
                self.line.extend_from_slice(&rest[..at]);
                self.end_line(out)?;
            }
            let is_cr = rest[at] == b'\r';
            rest = &rest[at + 1..];
            if is_cr {
                match rest.first() {
                    Some(b'\n') => rest = &rest[1..],
                    Some(_) => {}
                    None => self.after_cr = true,
                }
            }
        }
        Ok(())
    }

    /// Reads the end of the stream.
    ///
    /// An event whose last blank line is missing still counts, as servers leave
    /// it out behind `[DONE]`. A last line that is not ended counts only if it is
    /// whole by itself (`[DONE]`, or complete JSON): half an event must show as a
    /// cut stream and not as a malformed one.
    pub fn finish(self, out: &mut Vec<SseEvent>) {
        self.last(&mut Collect(out));
    }

    /// Reads the end of the stream, as [`SseParser::finish`] does, without a copy.
    pub fn last(mut self, out: &mut impl SseSink) {
        if !self.line.is_empty() && is_whole(&self.line) {
            // The limits were checked when the bytes came in.
            let _fits = self.end_line(out);
        }
        self.dispatch(out);
    }

    /// Whether so many bytes more fit into the line.
    fn check_line(&self, more: usize) -> Result<(), SseTooLarge> {
        if self.line.len() + more > self.limits.line {
            return Err(SseTooLarge {
                what: "line",
                limit: self.limits.line,
            });
        }
        Ok(())
    }

    fn grow_line(&mut self, bytes: &[u8]) -> Result<(), SseTooLarge> {
        self.check_line(bytes.len())?;
        self.line.extend_from_slice(bytes);
        Ok(())
    }

    /// Ends the line that was put together.
    fn end_line(&mut self, out: &mut impl SseSink) -> Result<(), SseTooLarge> {
        let mut line = std::mem::take(&mut self.line);
        let ended = self.end(&line, out);
        line.clear();
        self.line = line;
        ended
    }

    /// Takes a whole line.
    fn end(&mut self, line: &[u8], out: &mut impl SseSink) -> Result<(), SseTooLarge> {
        let text = if self.started {
            line
        } else {
            line.strip_prefix(b"\xEF\xBB\xBF").unwrap_or(line)
        };
        self.started = true;
        if text.is_empty() {
            self.dispatch(out);
            return Ok(());
        }
        self.field(text)
    }

    /// Takes an event that the sink knows by its start, with the blank line behind it.
    /// Returns where it ends; `None` where it is anything else.
    fn known(&mut self, bytes: &[u8], out: &mut impl SseSink) -> Option<usize> {
        if self.has_data || !self.line.is_empty() {
            return None;
        }
        let data = bytes.strip_prefix(DATA)?;
        let (piece, length) = out.piece(data)?;
        let line = DATA.len() + length;
        let blank = blank(&data[length..])?;
        // One that is too large is left to whoever says so.
        if line > self.limits.line || length >= self.limits.event {
            return None;
        }
        out.take_piece(piece);
        self.started = true;
        self.name.clear();
        Some(line + blank)
    }

    /// Takes an event that is one line of data, which ends at `at`, and a blank one behind
    /// it, as most are: it needs no copy. Returns where it ends; `None` where it is
    /// anything else.
    fn in_place(&mut self, bytes: &[u8], at: usize, out: &mut impl SseSink) -> Option<usize> {
        if self.has_data || !self.line.is_empty() {
            return None;
        }
        let blank = blank(&bytes[at..])?;
        let data = bytes[..at].strip_prefix(DATA)?;
        if data.len() >= self.limits.event {
            return None;
        }
        out.take(SseBytes {
            name: &self.name,
            data,
        });
        self.started = true;
        self.name.clear();
        Some(at + blank)
    }

    fn field(&mut self, line: &[u8]) -> Result<(), SseTooLarge> {
        let (name, value) = match line.iter().position(|&byte| byte == b':') {
            Some(0) => return Ok(()),
            Some(at) => (&line[..at], &line[at + 1..]),
            None => (line, &b""[..]),
        };
        let value = value.strip_prefix(b" ").unwrap_or(value);
        match name {
            b"data" => {
                if self.data.len() + value.len() >= self.limits.event {
                    return Err(SseTooLarge {
                        what: "event",
                        limit: self.limits.event,
                    });
                }
                if self.has_data {
                    self.data.push(b'\n');
                }
                self.data.extend_from_slice(value);
                self.has_data = true;
            }
            b"event" => value.clone_into(&mut self.name),
            _ => {}
        }
        Ok(())
    }

    fn dispatch(&mut self, out: &mut impl SseSink) {
        if self.has_data {
            out.take(SseBytes {
                name: &self.name,
                data: &self.data,
            });
        }
        self.name.clear();
        self.data.clear();
        self.has_data = false;
    }
}

struct Collect<'v>(&'v mut Vec<SseEvent>);

impl SseSink for Collect<'_> {
    fn take(&mut self, event: SseBytes<'_>) {
        self.0.push(SseEvent {
            name: event.name().into_owned(),
            data: event.data().into_owned(),
        });
    }
}

/// The length of the end of a line and of the blank line behind it, at the start of
/// `bytes`; `None` where there may be something else.
fn blank(bytes: &[u8]) -> Option<usize> {
    match bytes {
        [b'\n', b'\n', ..] => Some(2),
        [b'\r', b'\n', b'\r', b'\n', ..] => Some(4),
        _ => None,
    }
}

/// Text of bytes that are text as a rule: to look for what is none is slower.
fn text(bytes: &[u8]) -> Cow<'_, str> {
    match std::str::from_utf8(bytes) {
        Ok(text) => Cow::Borrowed(text),
        Err(_) => String::from_utf8_lossy(bytes),
    }
}

fn is_whole(line: &[u8]) -> bool {
    let Some(value) = line.strip_prefix(b"data:") else {
        return false;
    };
    value.trim_ascii() == b"[DONE]" || serde_json::from_slice::<IgnoredAny>(value).is_ok()
}

/// Whether a body is a stream of events, judged by its first line that is not
/// blank: a field of the format, or a comment. Bodies of JSON, text and HTML are not.
pub fn is_stream(body: &[u8]) -> bool {
    let body = body.strip_prefix(b"\xEF\xBB\xBF").unwrap_or(body);
    let body = body.trim_ascii_start();
    [&b"data:"[..], b"event:", b"id:", b"retry:", b":"]
        .iter()
        .any(|field| body.starts_with(field))
}

/// Reads a whole stream at once.
///
/// # Errors
///
/// [`SseTooLarge`] as [`SseParser::push`]; the events before it are kept in `out`.
pub fn parse(body: &[u8], limits: SseLimits, out: &mut Vec<SseEvent>) -> Result<(), SseTooLarge> {
    let mut parser = SseParser::new(limits);
    parser.push(body, out)?;
    parser.finish(out);
    Ok(())
}

#[cfg(test)]
#[path = "sse_tests.rs"]
mod tests;
