//! Failures, in whatever shape a server reports them.
//!
//! Invariants: any bytes give one message of one line and bounded length; the
//! class comes from the status and from structured fields, and from the wording
//! only where a server sends nothing else.
//!
//! Sources: error bodies captured from vLLM, LiteLLM and llama.cpp
//! (`tests/data/captures`), and the vendors' documented errors.

use super::fields::{field, text};
use super::sse::{self, SseLimits};
use crate::chat::ChatEvent;
use crate::record::Outcome;
use serde_json::Value;

/// A failure as a person and a record need it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Failure {
    /// Its class.
    pub outcome: Outcome,
    /// One line for a person, the server's own words as far as there are any.
    pub message: String,
    /// The server's word for the kind.
    pub kind: Option<String>,
}

/// What an error body says.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
struct Said {
    message: String,
    /// Words of `type`, `code`, `param`, `status` and the like; the first is the kind.
    words: Vec<String>,
    /// A number in the body that reads like a status.
    code: Option<u16>,
}

/// Longest message that is kept, in characters.
const MESSAGE_CHARS: usize = 600;

/// Words by which servers name a prompt that does not fit.
const OVERFLOW_WORDS: &[&str] = &[
    "exceed_context_size_error",
    "context_length_exceeded",
    "context_window_exceeded",
    "contextwindowexceedederror",
    "input_tokens",
    "prompt_too_long",
    "model_context_window_exceeded",
];
/// The same in prose, for servers that have no word for it.
const OVERFLOW_PROSE: &[&str] = &[
    "contextwindowexceedederror",
    "maximum context length",
    "exceeds the available context size",
    "prompt is too long",
    "input is too long for requested model",
    "exceeds the maximum number of tokens allowed",
    "exceeds the context window",
];
const AUTH_WORDS: &[&str] = &[
    "authentication_error",
    "auth_error",
    "invalid_api_key",
    "api_key_invalid",
    "no_db_connection",
    "permission_error",
    "permission_denied",
    "unauthenticated",
    "unauthorized",
];
const MODEL_WORDS: &[&str] = &[
    "model_not_found",
    "notfounderror",
    "not_found_error",
    "modelnotfound",
];
const MODEL_PROSE: &[&str] = &["invalid model name", "model not found"];

/// Reads the body of a request that failed with `status`.
///
/// A status of 200 to 299 stands for a body that reports a failure all the same
/// (a gateway's habit): then a number in the body counts as the status.
pub fn failure(status: u16, body: &[u8]) -> Failure {
    let said = match json(body) {
        Some(value) => said(&value).unwrap_or_else(|| Said {
            message: one_line(&value.to_string()),
            ..Said::default()
        }),
        None => Said {
            message: plain(body),
            ..Said::default()
        },
    };
    let status = match said.code {
        Some(code) if (200..300).contains(&status) && code >= 400 => code,
        _ => status,
    };
    Failure {
        outcome: classify(status, &said),
        kind: said.words.first().cloned(),
        message: said.message,
    }
}

/// The body as JSON; of a stream (some servers refuse in one) its first event.
fn json(body: &[u8]) -> Option<Value> {
    if !sse::is_stream(body) {
        return serde_json::from_slice(body).ok();
    }
    let mut events = Vec::new();
    sse::parse(body, SseLimits::default(), &mut events).ok()?;
    serde_json::from_str(&events.first()?.data).ok()
}

fn classify(status: u16, said: &Said) -> Outcome {
    let prose = said.message.to_ascii_lowercase();
    let is = |words: &[&str]| {
        said.words
            .iter()
            .any(|word| words.iter().any(|known| word.eq_ignore_ascii_case(known)))
    };
    let says = |parts: &[&str]| parts.iter().any(|part| prose.contains(part));
    match status {
        200..=299 => Outcome::StreamError,
        // Redirects are not followed: there is nothing at this address.
        300..=399 | 404 => Outcome::NotFound,
        401 | 403 => Outcome::Auth,
        429 => Outcome::Http429,
        500.. => Outcome::Http5xx,
        _ if is(AUTH_WORDS) => Outcome::Auth,
        _ if is(OVERFLOW_WORDS) || says(OVERFLOW_PROSE) => Outcome::Overflow,
        _ if is(MODEL_WORDS) || says(MODEL_PROSE) => Outcome::NotFound,
        _ => Outcome::Http4xx,
    }
}

/// The event that an error object stands for; `None` where `value` reports no
/// failure (`"error": null` is none).
pub(super) fn event(value: &Value) -> Option<ChatEvent> {
    let is_error = text(value, "type") == Some("error");
    let reports = field(value, "error").is_some_and(is_set) || is_error || is_old_error(value);
    let said = if reports { said(value) } else { None }?;
    Some(ChatEvent::Error {
        message: said.message,
        kind: said.words.into_iter().next(),
    })
}

/// The event for data that breaks the format.
pub(super) fn malformed(what: &str, bytes: &[u8]) -> ChatEvent {
    ChatEvent::Error {
        message: format!("{what}: {}", plain(bytes)),
        kind: Some(super::MALFORMED.to_owned()),
    }
}

/// The events of a whole body that is not an answer: what it says went wrong.
pub(super) fn whole(status: u16, body: &[u8]) -> ChatEvent {
    let failure = failure(status, body);
    ChatEvent::Error {
        message: failure.message,
        kind: failure.kind,
    }
}

/// Whether a body that is JSON reports a failure in a shape that no answer has.
pub(super) fn is_error_body(value: &Value) -> bool {
    event(value).is_some() || field(value, "detail").is_some_and(is_set)
}

fn is_set(value: &Value) -> bool {
    !matches!(value, Value::Null | Value::Bool(false)) && value.as_str() != Some("")
}

/// `{"object": "error", "message": …}`: vLLM before 0.10, Mistral.
fn is_old_error(value: &Value) -> bool {
    text(value, "object") == Some("error")
}

fn said(value: &Value) -> Option<Said> {
    let value = match value {
        // Gemini's streams wrap an error in a list.
        Value::Array(list) => list.first()?,
        other => other,
    };
    let object = value.as_object()?;
    let inner = match object.get("error") {
        Some(error) if is_set(error) => error,
        _ => value,
    };
    let message = text_of(inner)
        .or_else(|| object.get("detail").and_then(text_of))
        .or_else(|| object.get("message").and_then(text_of))
        .or_else(|| object.get("errors").and_then(text_of))?;
    let mut said = Said {
        message: one_line(&message),
        ..Said::default()
    };
    for name in ["type", "code", "status", "param", "reason"] {
        said.word(inner.get(name));
    }
    for detail in inner
        .get("details")
        .and_then(Value::as_array)
        .into_iter()
        .flatten()
    {
        said.word(detail.get("reason"));
    }
    Some(said)
}

impl Said {
    fn word(&mut self, value: Option<&Value>) {
        match value {
            Some(Value::String(word)) => match word.parse::<u16>() {
                // LiteLLM writes its codes as texts.
                Ok(code) => self.code = Some(code),
                Err(_) if word != "error" => self.words.push(word.chars().take(80).collect()),
                Err(_) => {}
            },
            Some(Value::Number(code)) => {
                self.code = code.as_u64().and_then(|code| u16::try_from(code).ok());
            }
            _ => {}
        }
    }
}

/// The text in any of the shapes that stand where a message should.
fn text_of(value: &Value) -> Option<String> {
    match value {
        Value::String(text) => (!text.trim().is_empty()).then(|| text.clone()),
        Value::Array(list) => {
            let parts: Vec<String> = list.iter().take(8).filter_map(text_of).collect();
            (!parts.is_empty()).then(|| parts.join("; "))
        }
        Value::Object(object) => ["message", "msg", "detail", "error", "type"]
            .iter()
            .find_map(|name| {
                object
                    .get(*name)
                    .filter(|inner| is_set(inner))
                    .and_then(text_of)
            }),
        _ => None,
    }
}

/// One line out of a body that is no JSON: an HTML page's title, else its text. Of
/// bytes that are no text the first few.
fn plain(body: &[u8]) -> String {
    let head = &body[..body.len().min(16 << 10)];
    if is_binary(head) {
        let first: Vec<String> = head
            .iter()
            .take(8)
            .map(|byte| format!("{byte:02x}"))
            .collect();
        return format!(
            "{} bytes that are no text, `{} …`",
            body.len(),
            first.join(" ")
        );
    }
    let text = String::from_utf8_lossy(head);
    let trimmed = text.trim();
    if trimmed.is_empty() {
        return "an empty body".to_owned();
    }
    if !trimmed.starts_with('<') {
        return one_line(trimmed);
    }
    let title = ["title", "h1"].iter().find_map(|tag| element(trimmed, tag));
    match title {
        Some(title) => format!("an HTML page, `{}`", one_line(title)),
        None => "an HTML page".to_owned(),
    }
}

/// Whether bytes are no text that anyone would read: one letter in ten is none.
fn is_binary(bytes: &[u8]) -> bool {
    let (mut letters, mut none) = (0_usize, 0_usize);
    for letter in String::from_utf8_lossy(bytes).chars().take(256) {
        letters += 1;
        none +=
            usize::from(letter == '\u{fffd}' || (letter.is_control() && !letter.is_whitespace()));
    }
    none * 10 > letters
}

fn element<'a>(page: &'a str, tag: &str) -> Option<&'a str> {
    // ASCII lowercasing keeps every byte where it was.
    let lower = page.to_ascii_lowercase();
    let open = lower.find(&format!("<{tag}"))?;
    let start = open + lower[open..].find('>')? + 1;
    let end = start + lower[start..].find("</")?;
    Some(page[start..end].trim()).filter(|text| !text.is_empty())
}

/// One line of bounded length. Characters that would act on a terminal are escaped.
fn one_line(text: &str) -> String {
    let mut line = String::new();
    for word in text.split_whitespace() {
        if !line.is_empty() {
            line.push(' ');
        }
        for letter in word.chars() {
            if letter.is_control() {
                line.extend(letter.escape_default());
            } else {
                line.push(letter);
            }
        }
        if line.len() > MESSAGE_CHARS * 4 {
            break;
        }
    }
    if line.chars().count() > MESSAGE_CHARS {
        line = line.chars().take(MESSAGE_CHARS).collect();
        line.push('…');
    }
    line
}

#[cfg(test)]
#[path = "failure_tests.rs"]
mod tests;
