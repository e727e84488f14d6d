//! Requests that are not answered, in each server's own words.

use super::ask::Dialect;
use super::profile::Habit;
use axum::body::Body;
use axum::http::{Response, StatusCode, header};
use serde_json::{Value, json};

/// Why a request is refused.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Refusal {
    /// The body is not JSON, or not of the right form.
    Body {
        /// Byte at which reading stopped.
        at: usize,
        /// What the parser said.
        reason: String,
    },
    /// A required field is missing.
    Missing { field: &'static str },
    /// Another model than the one served.
    Model { name: String, served: String },
    /// The prompt, or prompt and answer, do not fit into the context.
    Overflow { prompt: usize, limits: usize },
    /// More output is asked for than the context holds.
    MaxTokens { asked: u32, limits: usize },
    /// An empty salt.
    Salt,
    /// Something that is said of the cache and cannot be had.
    Cache { message: String },
    /// No key, or a wrong one.
    Unauthorized,
    /// More requests than are let in.
    Limited { wait_s: u64 },
    /// A fault that was asked for.
    Injected { status: u16 },
}

impl Refusal {
    /// Something that is said of the cache and cannot be had.
    pub(super) fn cache(message: impl Into<String>) -> Self {
        Self::Cache {
            message: message.into(),
        }
    }

    fn status(&self) -> u16 {
        match self {
            Self::Body { .. }
            | Self::Missing { .. }
            | Self::Overflow { .. }
            | Self::MaxTokens { .. }
            | Self::Salt
            | Self::Cache { .. } => 400,
            Self::Model { .. } => 404,
            Self::Unauthorized => 401,
            Self::Limited { .. } => 429,
            Self::Injected { status } => *status,
        }
    }

    fn message(&self) -> String {
        match self {
            Self::Body { at, reason } => format!(
                "1 validation error:\n  {{'type': 'json_invalid', 'loc': 'body.{at}', 'msg': 'JSON decode error', \
                 'input': '<dict of 0 items>', 'ctx': {{'error': '{reason}'}}}}"
            ),
            Self::Missing { field } => format!(
                "1 validation error:\n  {{'type': 'missing', 'loc': 'body.{field}', 'msg': 'Field required'}}"
            ),
            Self::Model { name, served } => {
                format!("The model `{name}` does not exist. Valid aliases: {served}.")
            }
            Self::Overflow { prompt, limits } => format!(
                "This model's maximum context length is {limits} tokens. However, your prompt contains at least \
                 {prompt} input tokens, which exceeds this limit. Please reduce the length of the input prompt. \
                 (parameter=input_tokens, value={prompt})"
            ),
            Self::MaxTokens { asked, limits } => format!(
                "max_tokens={asked} cannot be greater than max_model_len={limits}. Please request fewer output \
                 tokens. (parameter=max_tokens, value={asked})"
            ),
            Self::Salt => "cache_salt must be a non-empty string if provided".to_owned(),
            Self::Cache { message } => message.clone(),
            Self::Unauthorized => "Unauthorized".to_owned(),
            Self::Limited { wait_s } => format!("Rate limit reached; try again in {wait_s} s"),
            Self::Injected { status: 429 } => "Rate limit reached; try again in 1 s".to_owned(),
            Self::Injected { status: 529 } => "Overloaded".to_owned(),
            Self::Injected { status } => format!("simulated failure {status}"),
        }
    }

    fn vllm_kind(&self) -> &'static str {
        match self {
            Self::Body { .. } | Self::Missing { .. } => "Bad Request",
            Self::Overflow { .. } | Self::MaxTokens { .. } | Self::Salt | Self::Cache { .. } => {
                "BadRequestError"
            }
            Self::Model { .. } => "NotFoundError",
            Self::Unauthorized => "Unauthorized",
            Self::Limited { .. } | Self::Injected { status: 429 } => "TooManyRequests",
            Self::Injected { .. } => "InternalServerError",
        }
    }

    /// Kinds that OpenAI, Anthropic and llama.cpp name alike.
    fn api_kind(&self) -> &'static str {
        match self.status() {
            401 => "authentication_error",
            404 => "not_found_error",
            429 => "rate_limit_error",
            503 => "unavailable_error",
            529 => "overloaded_error",
            500.. => "api_error",
            _ => "invalid_request_error",
        }
    }

    fn parameter(&self) -> Value {
        match self {
            Self::Body { at, .. } => json!(format!("body.{at}")),
            Self::Missing { field } => json!(format!("body.{field}")),
            Self::Overflow { .. } => json!("input_tokens"),
            Self::MaxTokens { .. } => json!("max_tokens"),
            Self::Model { .. } => json!("model"),
            _ => Value::Null,
        }
    }

    /// The body in the words of `habit`.
    fn body(&self, habit: Habit, dialect: Dialect) -> Value {
        let (status, message) = (self.status(), self.message());
        let well_formed = !matches!(self, Self::Body { .. } | Self::Missing { .. });
        match habit {
            Habit::Vllm | Habit::Sglang => match self {
                Self::Unauthorized => json!({"error": "Unauthorized"}),
                _ if dialect == Dialect::Messages && well_formed => json!({
                    "type": "error",
                    "error": {"type": self.vllm_kind(), "message": message},
                }),
                _ => json!({"error": {
                    "message": message, "type": self.vllm_kind(),
                    "param": self.parameter(), "code": status,
                }}),
            },
            Habit::LlamaCpp => match self {
                Self::Overflow { prompt, limits } => json!({"error": {
                    "code": 400,
                    "message": format!(
                        "request ({prompt} tokens) exceeds the available context size ({limits} tokens), try increasing it"
                    ),
                    "type": "exceed_context_size_error", "n_prompt_tokens": prompt, "n_ctx": limits,
                }}),
                _ => {
                    json!({"error": {"code": status, "message": message, "type": self.api_kind()}})
                }
            },
            Habit::Litellm => json!({"error": {
                "message": format!("litellm.{}: {message}", self.litellm_kind()),
                "type": self.api_kind(), "param": null, "code": status.to_string(),
            }}),
            Habit::Anthropic => json!({
                "type": "error",
                "error": {"type": self.api_kind(), "message": message},
            }),
            Habit::Gemini => json!({"error": {
                "code": status, "message": message, "status": self.gemini_status(),
            }}),
            Habit::OpenAi | Habit::OpenAiOld | Habit::DeepSeek => json!({"error": {
                "message": message, "type": self.api_kind(),
                "param": self.parameter(), "code": self.openai_code(),
            }}),
        }
    }

    fn litellm_kind(&self) -> &'static str {
        match self {
            Self::Overflow { .. } => "ContextWindowExceededError",
            Self::Unauthorized => "AuthenticationError",
            Self::Limited { .. } | Self::Injected { status: 429 } => "RateLimitError",
            Self::Injected { .. } => "InternalServerError",
            _ => "BadRequestError",
        }
    }

    fn gemini_status(&self) -> &'static str {
        match self.status() {
            401 => "UNAUTHENTICATED",
            404 => "NOT_FOUND",
            429 => "RESOURCE_EXHAUSTED",
            503 | 529 => "UNAVAILABLE",
            500.. => "INTERNAL",
            _ => "INVALID_ARGUMENT",
        }
    }

    fn openai_code(&self) -> Value {
        match self {
            Self::Overflow { .. } => json!("context_length_exceeded"),
            Self::Unauthorized => json!("invalid_api_key"),
            Self::Model { .. } => json!("model_not_found"),
            Self::Limited { .. } | Self::Injected { status: 429 } => {
                json!("rate_limit_exceeded")
            }
            _ => Value::Null,
        }
    }

    /// The whole answer.
    pub(super) fn response(&self, habit: Habit, dialect: Dialect) -> Response<Body> {
        let body = self.body(habit, dialect).to_string();
        let mut response = Response::new(Body::from(body));
        *response.status_mut() =
            StatusCode::from_u16(self.status()).unwrap_or(StatusCode::INTERNAL_SERVER_ERROR);
        let json = header::HeaderValue::from_static("application/json");
        response.headers_mut().insert(header::CONTENT_TYPE, json);
        let wait_s = match self {
            Self::Limited { wait_s } => Some(*wait_s),
            Self::Injected { status: 429 } => Some(1),
            _ => None,
        };
        if let Some(wait_s) = wait_s {
            let value = header::HeaderValue::from(wait_s);
            response.headers_mut().insert(header::RETRY_AFTER, value);
        }
        response
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_refusal_reads_as_its_server_writes_it() {
        let model = Refusal::Model {
            name: "nope".to_owned(),
            served: "tiny".to_owned(),
        };
        let cases = [
            (
                Habit::Vllm,
                Dialect::Messages,
                model.clone(),
                json!({"type": "error", "error": {"type": "NotFoundError",
                    "message": "The model `nope` does not exist. Valid aliases: tiny."}}),
            ),
            (
                Habit::Vllm,
                Dialect::Chat,
                Refusal::Unauthorized,
                json!({"error": "Unauthorized"}),
            ),
            (
                Habit::Vllm,
                Dialect::Chat,
                Refusal::MaxTokens {
                    asked: 40_000,
                    limits: 32_768,
                },
                json!({"error": {"message": "max_tokens=40000 cannot be greater than max_model_len=32768. Please request \
                    fewer output tokens. (parameter=max_tokens, value=40000)", "type": "BadRequestError",
                    "param": "max_tokens", "code": 400}}),
            ),
            (
                Habit::LlamaCpp,
                Dialect::Chat,
                Refusal::Overflow {
                    prompt: 9_859,
                    limits: 8_192,
                },
                json!({"error": {"code": 400, "message": "request (9859 tokens) exceeds the available context size (8192 \
                    tokens), try increasing it", "type": "exceed_context_size_error", "n_prompt_tokens": 9_859, "n_ctx": 8_192}}),
            ),
            (
                Habit::Anthropic,
                Dialect::Messages,
                Refusal::Injected { status: 529 },
                json!({"type": "error", "error": {"type": "overloaded_error", "message": "Overloaded"}}),
            ),
        ];
        for (habit, dialect, refusal, expected) in cases {
            assert_eq!(refusal.body(habit, dialect), expected, "{habit:?}");
        }
    }
}
