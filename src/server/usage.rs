//! Usage objects in each server's own shape.

use super::ask::Dialect;
use super::profile::Habit;
use serde_json::{Map, Value, json};

/// What is to be told of one request. In tokens.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Counts {
    pub(super) prompt: u64,
    pub(super) read: u64,
    pub(super) created: u64,
    /// Of these, for an hour.
    pub(super) created_long: u64,
    pub(super) output: u64,
    /// Whether cache counts are told at all.
    pub(super) details: bool,
}

impl Counts {
    /// The usage object of a finished answer, whole or streamed.
    pub(super) fn usage(&self, habit: Habit, dialect: Dialect, streamed: bool) -> Value {
        match dialect {
            Dialect::Chat => self.chat(habit, streamed),
            Dialect::Messages => self.messages(habit),
            Dialect::Responses => self.responses(habit),
            Dialect::Gemini => self.gemini(),
            Dialect::Bedrock => self.bedrock(),
        }
    }

    fn chat(&self, habit: Habit, streamed: bool) -> Value {
        let total = self.prompt + self.output;
        let mut usage = json!({
            "prompt_tokens": self.prompt,
            "total_tokens": total,
            "completion_tokens": self.output,
        });
        let Some(fields) = usage.as_object_mut() else {
            return usage;
        };
        if let Some(details) = self.chat_details(habit, streamed) {
            fields.insert("prompt_tokens_details".to_owned(), details);
        }
        match habit {
            Habit::Vllm if !streamed => {
                fields.insert("completion_tokens_details".to_owned(), Value::Null);
            }
            Habit::OpenAi | Habit::OpenAiOld | Habit::Litellm => {
                let details = json!({"reasoning_tokens": 0});
                fields.insert("completion_tokens_details".to_owned(), details);
            }
            Habit::DeepSeek if self.details => {
                let missed = self.prompt.saturating_sub(self.read);
                fields.insert("prompt_cache_hit_tokens".to_owned(), json!(self.read));
                fields.insert("prompt_cache_miss_tokens".to_owned(), json!(missed));
            }
            _ => {}
        }
        usage
    }

    fn chat_details(&self, habit: Habit, streamed: bool) -> Option<Value> {
        let read = self.read;
        if !self.details {
            // vLLM without its flag: null in a body, nothing in a stream.
            return (habit == Habit::Vllm && !streamed).then_some(Value::Null);
        }
        match habit {
            Habit::Vllm if !streamed => Some(json!({
                "cached_tokens": read, "created_cache_tokens": self.created, "multimodal_tokens": null,
            })),
            Habit::Vllm | Habit::Litellm => Some(json!({
                "cached_tokens": read, "created_cache_tokens": self.created,
            })),
            Habit::OpenAi => Some(json!({
                "cached_tokens": read, "cache_write_tokens": self.created, "audio_tokens": 0,
            })),
            Habit::Sglang | Habit::Gemini if read == 0 => None,
            _ => Some(json!({"cached_tokens": read})),
        }
    }

    fn messages(&self, habit: Habit) -> Value {
        let apart = if habit == Habit::LlamaCpp || habit == Habit::Litellm {
            self.read
        } else {
            self.read + self.created
        };
        let mut usage = Map::new();
        let mut put = |name: &str, value: Value| usage.insert(name.to_owned(), value);
        if !self.details {
            put("input_tokens", json!(self.prompt));
            put("output_tokens", json!(self.output));
            return Value::Object(usage);
        }
        put("input_tokens", json!(self.prompt.saturating_sub(apart)));
        put("output_tokens", json!(self.output));
        match habit {
            Habit::LlamaCpp => {
                put("cache_read_input_tokens", json!(self.read));
            }
            // What was written is lost in translation, and so is a zero.
            Habit::Litellm => {
                if self.read > 0 {
                    put("cache_read_input_tokens", json!(self.read));
                }
            }
            _ => {
                put("cache_creation_input_tokens", json!(self.created));
                put("cache_read_input_tokens", json!(self.read));
            }
        }
        if habit == Habit::Anthropic {
            let split = json!({
                "ephemeral_5m_input_tokens": self.created - self.created_long,
                "ephemeral_1h_input_tokens": self.created_long,
            });
            put("cache_creation", split);
        }
        Value::Object(usage)
    }

    fn gemini(&self) -> Value {
        let mut usage = json!({
            "promptTokenCount": self.prompt,
            "candidatesTokenCount": self.output,
            "totalTokenCount": self.prompt + self.output,
        });
        if self.details && self.read > 0 {
            usage["cachedContentTokenCount"] = json!(self.read);
        }
        usage
    }

    fn bedrock(&self) -> Value {
        let mut usage = json!({
            "inputTokens": self.prompt,
            "outputTokens": self.output,
            "totalTokens": self.prompt + self.output,
        });
        if self.details {
            usage["inputTokens"] = json!(self.prompt.saturating_sub(self.read + self.created));
            usage["cacheReadInputTokens"] = json!(self.read);
            usage["cacheWriteInputTokens"] = json!(self.created);
        }
        usage
    }

    fn responses(&self, habit: Habit) -> Value {
        let mut usage = json!({
            "input_tokens": self.prompt,
            "output_tokens": self.output,
            "output_tokens_details": {"reasoning_tokens": 0},
            "total_tokens": self.prompt + self.output,
        });
        if self.details {
            usage["input_tokens_details"] = match habit {
                Habit::Vllm | Habit::OpenAi => json!({
                    "cached_tokens": self.read, "cache_write_tokens": self.created,
                }),
                _ => json!({"cached_tokens": self.read}),
            };
        }
        usage
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const WARM: Counts = Counts {
        prompt: 2_556,
        read: 2_528,
        created: 0,
        created_long: 0,
        output: 24,
        details: true,
    };

    #[test]
    fn usage_has_the_shape_of_its_server() {
        // As captured from vLLM 0.32, llama.cpp and LiteLLM.
        let cold = Counts {
            read: 0,
            created: 2_528,
            ..WARM
        };
        let untold = Counts {
            details: false,
            ..WARM
        };
        let vllm = |counts: Counts, dialect, streamed| counts.usage(Habit::Vllm, dialect, streamed);
        let cases = [
            (
                vllm(cold, Dialect::Chat, false),
                r#"{"prompt_tokens":2556,"total_tokens":2580,"completion_tokens":24,"prompt_tokens_details":{"cached_tokens":0,"created_cache_tokens":2528,"multimodal_tokens":null},"completion_tokens_details":null}"#,
            ),
            (
                vllm(cold, Dialect::Chat, true),
                r#"{"prompt_tokens":2556,"total_tokens":2580,"completion_tokens":24,"prompt_tokens_details":{"cached_tokens":0,"created_cache_tokens":2528}}"#,
            ),
            (
                vllm(WARM, Dialect::Messages, false),
                r#"{"input_tokens":28,"output_tokens":24,"cache_creation_input_tokens":0,"cache_read_input_tokens":2528}"#,
            ),
            (
                vllm(untold, Dialect::Messages, false),
                r#"{"input_tokens":2556,"output_tokens":24}"#,
            ),
            (
                vllm(untold, Dialect::Chat, true),
                r#"{"prompt_tokens":2556,"total_tokens":2580,"completion_tokens":24}"#,
            ),
            (
                cold.usage(Habit::Litellm, Dialect::Messages, false),
                r#"{"input_tokens":2556,"output_tokens":24}"#,
            ),
            (
                WARM.usage(Habit::LlamaCpp, Dialect::Messages, false),
                r#"{"input_tokens":28,"output_tokens":24,"cache_read_input_tokens":2528}"#,
            ),
            (
                cold.usage(Habit::Sglang, Dialect::Chat, false),
                r#"{"prompt_tokens":2556,"total_tokens":2580,"completion_tokens":24}"#,
            ),
            (
                WARM.usage(Habit::DeepSeek, Dialect::Chat, false),
                r#"{"prompt_tokens":2556,"total_tokens":2580,"completion_tokens":24,"prompt_tokens_details":{"cached_tokens":2528},"prompt_cache_hit_tokens":2528,"prompt_cache_miss_tokens":28}"#,
            ),
        ];
        for (usage, expected) in cases {
            assert_eq!(usage.to_string(), expected);
        }
    }
}
