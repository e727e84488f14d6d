//! Empties the cache of a target, and believes it only where the answer says so.
//!
//! vLLM and the embedded server answer with status 200 also where they refuse;
//! SGLang refuses by status while anything runs; llama.cpp empties its slots one by
//! one and only where it was started for that.

use super::health::LONGEST_OUTAGE;
use super::target::{Engine, Target};
use crate::record::ledger::Reset;
use crate::transport::{Client, Reply};
use serde_json::{Value, json};
use std::sync::Arc;
use std::time::Duration;
use thiserror::Error;
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;

/// Times that a server which still runs a request is asked.
const TRIES: u32 = 10;

/// How long to wait between them.
const PAUSE: Duration = Duration::from_millis(200);

/// How long to wait for a server to come back before it is asked again.
const RETURN: Duration = Duration::from_secs(1);

/// Longest part of an answer that is kept, in characters.
const SHOWN: usize = 300;

/// A cache that could not be emptied.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum ResetError {
    /// There is no way that is known.
    #[error("`{target}` has no way to empty its cache: {said}")]
    NoWay {
        /// The target.
        target: Arc<str>,
        /// What it answered.
        said: String,
        /// What to do about it.
        way_out: &'static str,
    },
    /// It refused.
    #[error("`{target}` did not empty its cache: {said}")]
    Refused {
        /// The target.
        target: Arc<str>,
        /// What it answered.
        said: String,
    },
    /// It is not there.
    #[error("`{target}` could not be asked to empty its cache: {said}")]
    Away {
        /// The target.
        target: Arc<str>,
        /// What became of the call.
        said: String,
    },
}

impl ResetError {
    /// What to do about it.
    pub fn help(&self) -> &'static str {
        match self {
            Self::NoWay { way_out, .. } => way_out,
            Self::Refused { .. } => {
                "a server empties its cache only while it runs no request: see that nobody else \
                 uses it, or keep units apart with --isolate-by salt or nonce"
            }
            Self::Away { .. } => "see that the server runs, and go on with --resume",
        }
    }
}

const VLLM: &str = "start vLLM with the environment variable VLLM_SERVER_DEV_MODE=1, or keep units \
                    apart with --isolate-by salt or nonce";
const LLAMA: &str =
    "start llama.cpp with --slot-save-path DIR, or keep units apart with --isolate-by nonce";
const OTHER: &str = "vLLM (with VLLM_SERVER_DEV_MODE=1), SGLang and llama.cpp (with --slot-save-path) \
                     have one; elsewhere keep units apart with --isolate-by nonce";

/// One call, and the way out where it does not exist.
struct Call {
    path: String,
    body: Value,
    way_out: &'static str,
}

/// What was made of an answer.
enum Answer {
    Done,
    Busy,
    Away,
    NoSuchCall,
}

/// As [`reset`], in the middle of a run: a server that is away may come back for as long as
/// an outage may last, and until `stop`.
///
/// # Errors
///
/// As [`reset`].
pub(super) async fn reset_when_back(
    client: &Client,
    target: &Target,
    (unit, epoch): (&str, u32),
    stop: &CancellationToken,
) -> Result<Reset, ResetError> {
    let began = Instant::now();
    loop {
        let done = reset(client, target, unit, epoch).await;
        let away = matches!(done, Err(ResetError::Away { .. }));
        if !away || began.elapsed() >= LONGEST_OUTAGE {
            return done;
        }
        let pause = tokio::time::sleep(RETURN);
        if stop.run_until_cancelled(pause).await.is_none() {
            return done;
        }
    }
}

/// Empties the cache of `target` for `unit`; `epoch` is the one that begins with it.
///
/// # Errors
///
/// [`ResetError`] where its answer does not say that it did.
pub async fn reset(
    client: &Client,
    target: &Target,
    unit: &str,
    epoch: u32,
) -> Result<Reset, ResetError> {
    let mut last = None;
    for call in calls(client, target).await {
        match ask(client, target, &call).await {
            Ok((reply, tries)) => {
                last = Some(Reset {
                    target: Arc::clone(&target.name),
                    unit: Arc::from(unit),
                    epoch,
                    call: Arc::from(format!("POST {}", call.path)),
                    status: reply.status,
                    answer: shown(&reply),
                    tries,
                });
                if target.engine != Engine::LlamaCpp {
                    break;
                }
            }
            // Where the engine is not known, the next way may be its own.
            Err(ResetError::NoWay { .. })
                if target.engine == Engine::Other && call.path == FLUSH => {}
            Err(error) => return Err(error),
        }
    }
    last.ok_or_else(|| ResetError::NoWay {
        target: Arc::clone(&target.name),
        said: "nothing to call".to_owned(),
        way_out: LLAMA,
    })
}

const FLUSH: &str = "/flush_cache";
const PREFIX: &str = "/reset_prefix_cache";

async fn calls(client: &Client, target: &Target) -> Vec<Call> {
    let call = |path: &str, way_out| Call {
        path: path.to_owned(),
        body: json!({}),
        way_out,
    };
    match target.engine {
        Engine::Embedded | Engine::Vllm => vec![call(PREFIX, VLLM)],
        Engine::LlamaCpp => {
            let slots = slots(client, target).await;
            let erase = |slot: u64| call(&format!("/slots/{slot}?action=erase"), LLAMA);
            (0..slots).map(erase).collect()
        }
        Engine::Other => vec![call(FLUSH, OTHER), call(PREFIX, OTHER)],
    }
}

/// Slots of a llama.cpp server; one where it does not say.
async fn slots(client: &Client, target: &Target) -> u64 {
    let props = client
        .get(&target.at_root("/props"), &target.headers())
        .await;
    let props = props.ok().and_then(|reply| reply.json());
    let slots = props.as_ref().and_then(|props| props.get("total_slots"));
    slots.and_then(Value::as_u64).unwrap_or(1)
}

/// Asks until the server is idle enough; the answer and how often it was asked.
async fn ask(client: &Client, target: &Target, call: &Call) -> Result<(Reply, u32), ResetError> {
    let url = target.at_root(&call.path);
    let mut said = String::new();
    for tries in 1..=TRIES {
        if tries > 1 {
            tokio::time::sleep(PAUSE).await;
        }
        let replied = client.post_json(&url, &target.headers(), &call.body).await;
        let reply = match replied {
            Ok(reply) => reply,
            Err(error) => {
                return Err(ResetError::Away {
                    target: Arc::clone(&target.name),
                    said: error.message,
                });
            }
        };
        said = format!(
            "HTTP {} to `POST {}`: {}",
            reply.status,
            call.path,
            shown(&reply)
        );
        match understood(&reply) {
            Answer::Done => return Ok((reply, tries)),
            Answer::Busy => {}
            Answer::Away => {
                return Err(ResetError::Away {
                    target: Arc::clone(&target.name),
                    said,
                });
            }
            Answer::NoSuchCall => {
                return Err(ResetError::NoWay {
                    target: Arc::clone(&target.name),
                    said,
                    way_out: call.way_out,
                });
            }
        }
    }
    Err(ResetError::Refused {
        target: Arc::clone(&target.name),
        said,
    })
}

/// What an answer means. Sources: vLLM 0.32 answers 200 with `{"success": false}` while
/// blocks are in use, SGLang 400 while a request runs, llama.cpp 501 without a place to
/// save slots to; 502 and 504 are those of a gateway that does not reach it.
fn understood(reply: &Reply) -> Answer {
    match reply.status {
        200..300 => match reply.json().as_ref().and_then(|json| json.get("success")) {
            Some(Value::Bool(false)) => Answer::Busy,
            _ => Answer::Done,
        },
        400 | 409 | 429 | 503 => Answer::Busy,
        502 | 504 => Answer::Away,
        _ => Answer::NoSuchCall,
    }
}

fn shown(reply: &Reply) -> String {
    let text = reply.text();
    let line = text.split_whitespace().collect::<Vec<_>>().join(" ");
    line.chars().take(SHOWN).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_answer_is_believed_only_where_it_says_that_the_cache_is_empty() {
        let cases = [
            (200, r#"{"success":true}"#, "done"),
            (200, r#"{"success":false}"#, "busy"),
            (200, "", "done"),
            (200, "Cache flushed.", "done"),
            (200, r#"{"id_slot":0,"n_erased":593}"#, "done"),
            (400, "Flush cache failed.", "busy"),
            (404, r#"{"detail":"Not Found"}"#, "none"),
            (405, "", "none"),
            (501, r#"{"error":{"code":501}}"#, "none"),
            (401, "", "none"),
            (502, "Bad Gateway", "away"),
        ];
        for (status, body, expected) in cases {
            let reply = Reply {
                headers: Vec::new(),
                status,
                body: body.as_bytes().to_vec(),
            };
            let found = match understood(&reply) {
                Answer::Done => "done",
                Answer::Busy => "busy",
                Answer::Away => "away",
                Answer::NoSuchCall => "none",
            };
            assert_eq!(found, expected, "{status} {body}");
        }
    }
}
