//! `external`: the user's own builder, asked in JSON lines.
//!
//! The protocol is described in `docs/external.md`. Each line to the builder is
//! an object with a `type`, and is answered with one line: `hello` with `ready`,
//! `step` with `ok`, `request` with `prompt`, and any of them with `error`.
//!
//! Invariant: an answer that is not understood is an error that quotes it and
//! says what was expected; nothing is guessed.

mod shown;

use super::body;
use super::strategy::{Builder, ContextError, Setup, Strategy, StrategyKind};
use super::view::{Chain, Sample};
use crate::chat::Prompt;
use serde_json::{Map, Value, json};

/// Version of the protocol.
const PROTOCOL: u64 = 1;

/// So much of an answer is quoted in an error.
const QUOTED: usize = 200;

/// The strategy's line in the registry.
pub(super) const KIND: StrategyKind = StrategyKind {
    name: "external",
    about: "your own builder: a command that is asked in JSON lines (docs/external.md)",
    options: &[
        "external",
        "markers",
        "tail",
        "summary",
        "timestamps",
        "prompt_cache_key",
        "affinity_header",
    ],
    compacts: false,
    tells: None,
    start: |setup| Ok(Box::new(External::new(setup)?)),
};

struct External {
    builder: Box<dyn Builder>,
}

impl External {
    fn new(setup: Setup) -> Result<Self, ContextError> {
        let Some(builder) = setup.builder else {
            return Err(failed("is not set: option `external` names no command"));
        };
        let mut external = Self { builder };
        let ready = external.ask(&json!({"type": "hello", "protocol": PROTOCOL}), "ready")?;
        match ready.get("protocol").and_then(Value::as_u64) {
            Some(PROTOCOL) => Ok(external),
            Some(other) => Err(failed(format!(
                "speaks protocol {other}; this version speaks {PROTOCOL}"
            ))),
            None => Err(failed("did not say which `protocol` it speaks")),
        }
    }

    /// Sends a line and reads the answer, which must be of type `wanted`.
    fn ask(&mut self, line: &Value, wanted: &str) -> Result<Map<String, Value>, ContextError> {
        let answer = self.builder.ask(&line.to_string()).map_err(failed)?;
        let parsed = serde_json::from_str::<Value>(&answer).map_err(|error| {
            failed(format!(
                "did not answer in JSON ({error}): {}",
                quote(&answer)
            ))
        })?;
        let Value::Object(object) = parsed else {
            return Err(failed(format!(
                "did not answer with an object: {}",
                quote(&answer)
            )));
        };
        match object.get("type").and_then(Value::as_str) {
            Some(kind) if kind == wanted => Ok(object),
            Some("error") => {
                let message = object.get("message").and_then(Value::as_str);
                Err(failed(format!(
                    "reported: {}",
                    message.unwrap_or("an error without a `message`")
                )))
            }
            _ => Err(failed(format!(
                "should have answered with type `{wanted}`: {}",
                quote(&answer)
            ))),
        }
    }
}

impl Strategy for External {
    fn observe(&mut self, label: &str, live: &Sample) -> Result<(), ContextError> {
        let line = json!({
            "type": "step",
            "label": label,
            "at": shown::moment(&live.at),
            "sources": shown::changes(None, live),
        });
        self.ask(&line, "ok").map(drop)
    }

    fn render(&mut self, chain: &Chain<'_>) -> Result<Prompt, ContextError> {
        let answer = self.ask(&shown::request(chain), "prompt")?;
        let mut prompt = body::prompt(&answer)
            .map_err(|said| failed(format!("built a prompt that is not one: {said}")))?;
        for warning in answer
            .get("warnings")
            .and_then(Value::as_array)
            .into_iter()
            .flatten()
        {
            let text = warning.as_str().ok_or_else(|| {
                failed("built a prompt that is not one: `warnings`: not a list of strings")
            })?;
            prompt.warnings.push(text.to_owned());
        }
        Ok(prompt)
    }
}

fn failed(said: impl Into<String>) -> ContextError {
    ContextError::External { said: said.into() }
}

/// The beginning of an answer, in backticks.
fn quote(answer: &str) -> String {
    let mut shown: String = answer.chars().take(QUOTED).collect();
    if shown.len() < answer.len() {
        shown.push('…');
    }
    format!("`{shown}`")
}

#[cfg(test)]
mod tests;
