//! What counts tokens for bounds: the embedded template, a local tokenizer, or
//! the server that answered.

use super::exit::{Exit, Failure};
use super::output;
use super::target::Aim;
use crate::chat::{Part, Role};
use crate::load::{Engine, Target};
use crate::record::{RecordedMessage, RequestRecord, SpanStore};
use crate::tokens::table::Table;
use crate::tokens::{SharedEncoder, TemplateMessage, embedded};
use crate::transport::Client;
use serde_json::{Value, json};
use std::path::Path;
use std::sync::Arc;

/// The encoder for the target's records; `None` where nothing is known that
/// counts as the target does.
pub(super) async fn encoder(
    aim: &Aim,
    target: &Target,
    client: &Client,
    records: &[RequestRecord],
    spans: &SpanStore,
) -> Result<Option<SharedEncoder>, Failure> {
    if let Some(path) = &aim.tokenizer {
        return local(path).map(Some);
    }
    match target.engine {
        Engine::Embedded => Ok(Some(embedded())),
        Engine::Vllm | Engine::LlamaCpp => asked(target, client, records, spans).await,
        Engine::Other => Ok(None),
    }
}

/// A tokenizer.json with the chat template beside it.
#[cfg(feature = "hf")]
pub(super) fn local(path: &Path) -> Result<SharedEncoder, Failure> {
    let encoder = crate::tokens::hf::HfEncoder::open(path).map_err(|error| {
        let message = format!("cannot use tokenizer `{}`: {error}", path.display());
        Failure::new(Exit::WrongInput, message, None)
    })?;
    Ok(Arc::new(encoder))
}

/// A tokenizer.json with the chat template beside it.
#[cfg(not(feature = "hf"))]
pub(super) fn local(path: &Path) -> Result<SharedEncoder, Failure> {
    let message = format!(
        "cannot use tokenizer `{}`: built without `hf`",
        path.display()
    );
    Err(Failure::new(Exit::WrongInput, message, None))
}

/// Asks the server for the tokens of every distinct prompt and answer.
async fn asked(
    target: &Target,
    client: &Client,
    records: &[RequestRecord],
    spans: &SpanStore,
) -> Result<Option<SharedEncoder>, Failure> {
    let table = Table::new("/tokenize");
    let mut unknown = 0;
    for record in records {
        if let Some(prompt) = Prompt::of(record, spans) {
            let key = Table::prompt_key(&prompt.messages());
            if table.get(key).is_none() {
                match prompt.ids(target, client).await {
                    Some(ids) => table.insert(key, ids),
                    None => unknown += 1,
                }
            }
        }
        if let Some(text) = record.output_sha256.and_then(|hash| spans.text(hash)) {
            let key = Table::output_key(text);
            if table.get(key).is_none() {
                match text_ids(target, client, text).await {
                    Some(ids) => table.insert(key, ids),
                    None => unknown += 1,
                }
            }
        }
    }
    if unknown > 0 {
        output::warn(&format!(
            "the server did not tokenise {unknown} texts: requests with them have no bound"
        ));
    }
    Ok(Some(Arc::new(table)))
}

/// A recorded prompt, as a server's `/tokenize` is asked for it.
struct Prompt<'a> {
    messages: Vec<(&'static str, String)>,
    record: &'a RequestRecord,
    spans: &'a SpanStore,
}

impl<'a> Prompt<'a> {
    /// `None` where a text was not kept.
    fn of(record: &'a RequestRecord, spans: &'a SpanStore) -> Option<Self> {
        let text = |message: &RecordedMessage| {
            message
                .spans
                .iter()
                .map(|span| spans.text(span.sha256).map(|text| text.as_str()))
                .collect::<Option<String>>()
        };
        let messages = record
            .prompt
            .iter()
            .map(|message| Some((message.role.as_str(), text(message)?)))
            .collect::<Option<Vec<_>>>()?;
        Some(Self {
            messages,
            record,
            spans,
        })
    }

    fn messages(&self) -> Vec<TemplateMessage<'_>> {
        self.messages
            .iter()
            .map(|(role, text)| TemplateMessage { role, text })
            .collect()
    }

    /// The conversation in the form in which `/tokenize` and `/apply-template` take it.
    fn json(&self) -> (Vec<Value>, Vec<Value>) {
        let (mut messages, mut tools) = (Vec::new(), Vec::new());
        for message in &self.record.prompt {
            if message.role == Role::Tools {
                tools.extend(self.tools(message));
            } else {
                messages.push(self.message(message));
            }
        }
        (messages, tools)
    }

    fn text_of(&self, message: &RecordedMessage, part: Part) -> Vec<&str> {
        let of_part = message.spans.iter().filter(|span| span.part == part);
        of_part
            .filter_map(|span| self.spans.text(span.sha256))
            .map(|text| text.as_str())
            .collect()
    }

    fn message(&self, message: &RecordedMessage) -> Value {
        let content = self.text_of(message, Part::Text).concat();
        let names = self.text_of(message, Part::CallName);
        let arguments = self.text_of(message, Part::CallArguments);
        let calls: Vec<Value> = names
            .iter()
            .zip(arguments)
            .enumerate()
            .map(|(index, (name, arguments))| {
                let function = json!({"name": name, "arguments": arguments});
                json!({"id": format!("call_{index}"), "type": "function", "function": function})
            })
            .collect();
        let mut value = json!({"role": message.role.as_str(), "content": content});
        if !calls.is_empty() {
            value["tool_calls"] = Value::Array(calls);
        }
        if message.role == Role::Tool {
            value["tool_call_id"] = json!("call_0");
        }
        value
    }

    fn tools(&self, message: &RecordedMessage) -> Vec<Value> {
        let mut tools: Vec<Value> = Vec::new();
        for span in &message.spans {
            let Some(text) = self.spans.text(span.sha256) else {
                continue;
            };
            match span.part {
                Part::ToolName => {
                    let function = json!({"name": text.as_str(), "description": ""});
                    tools.push(json!({"type": "function", "function": function}));
                }
                Part::ToolSchema => {
                    let schema: Value = serde_json::from_str(text).unwrap_or_default();
                    if let Some(tool) = tools.last_mut() {
                        tool["function"]["parameters"] = schema;
                    }
                }
                _ => {
                    let Some(tool) = tools.last_mut() else {
                        continue;
                    };
                    let so_far = tool["function"]["description"].as_str().unwrap_or_default();
                    tool["function"]["description"] = json!(format!("{so_far}{text}"));
                }
            }
        }
        tools
    }

    async fn ids(&self, target: &Target, client: &Client) -> Option<Vec<u32>> {
        let (messages, tools) = self.json();
        match target.engine {
            Engine::Vllm => {
                let mut body = json!({"model": &*target.model, "messages": messages});
                if !tools.is_empty() {
                    body["tools"] = Value::Array(tools);
                }
                tokenized(target, client, body).await
            }
            _ => {
                let mut body = json!({"messages": messages});
                if !tools.is_empty() {
                    body["tools"] = Value::Array(tools);
                }
                let applied = posted(target, client, "/apply-template", body).await?;
                let prompt = applied.get("prompt")?.as_str()?.to_owned();
                let body = json!({"content": prompt, "add_special": true, "parse_special": true});
                tokenized(target, client, body).await
            }
        }
    }
}

/// Ids of generated text.
async fn text_ids(target: &Target, client: &Client, text: &str) -> Option<Vec<u32>> {
    let body = match target.engine {
        Engine::Vllm => {
            json!({"model": &*target.model, "prompt": text, "add_special_tokens": false})
        }
        _ => json!({"content": text, "add_special": false, "parse_special": false}),
    };
    tokenized(target, client, body).await
}

async fn tokenized(target: &Target, client: &Client, body: Value) -> Option<Vec<u32>> {
    let answer = posted(target, client, "/tokenize", body).await?;
    let ids = answer.get("tokens")?.as_array()?.iter();
    ids.map(|id| id.as_u64().and_then(|id| u32::try_from(id).ok()))
        .collect()
}

async fn posted(target: &Target, client: &Client, path: &str, body: Value) -> Option<Value> {
    client
        .post_json(&target.at_root(path), &target.headers(), &body)
        .await
        .ok()?
        .json()
}
