//! What counts tokens for bounds: the embedded template, a local tokenizer, or
//! the server that answered.

use super::exit::{Exit, Failure};
use super::output;
use super::target::Aim;
use crate::analysis::RecordedPrompt;
use crate::chat::Digest;
use crate::load::{Engine, Target};
use crate::record::{RequestRecord, SpanStore};
use crate::tokens::table::Table;
use crate::tokens::{ChatForm, SharedEncoder, TemplateMessage, chat_form, embedded};
use crate::transport::{CallError, Client};
use serde_json::{Value, json};
use std::path::Path;
use std::sync::Arc;

/// What counts the tokens of a target's records.
pub(super) enum Counter {
    /// One that is here.
    Here(SharedEncoder),
    /// The server that answered, asked for the texts of some records at a time.
    Asked(Asked),
}

impl Counter {
    /// `None` where nothing is known that counts as the target does.
    pub(super) fn of(aim: &Aim, target: &Target) -> Result<Option<Self>, Failure> {
        if let Some(path) = &aim.tokenizer {
            return Ok(Some(Self::Here(local(path)?)));
        }
        Ok(match target.engine {
            Engine::Embedded => Some(Self::Here(embedded())),
            Engine::Vllm | Engine::LlamaCpp => Some(Self::Asked(Asked::default())),
            Engine::Other => None,
        })
    }

    /// What records say of who counted.
    pub(super) fn name(&self) -> Arc<str> {
        match self {
            Self::Here(encoder) => Arc::from(encoder.name()),
            Self::Asked(_) => Arc::from(ASKED),
        }
    }

    /// The encoder, if it is here.
    pub(super) fn here(&self) -> Option<SharedEncoder> {
        match self {
            Self::Here(encoder) => Some(Arc::clone(encoder)),
            Self::Asked(_) => None,
        }
    }

    /// The encoder for these records.
    pub(super) async fn encoder(
        &mut self,
        target: &Target,
        client: &Client,
        records: &[RequestRecord],
        spans: &SpanStore,
    ) -> SharedEncoder {
        match self {
            Self::Here(encoder) => Arc::clone(encoder),
            Self::Asked(asked) => Arc::new(asked.table(target, client, records, spans).await),
        }
    }

    /// Says what could not be counted.
    pub(super) fn tell(&self, target: &Target) {
        if let Self::Asked(asked) = self {
            asked.tell(target);
        }
    }
}

/// Where a server tells how it tokenises.
const ASKED: &str = "/tokenize";

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

/// Asks a server for the tokens of every distinct prompt and answer.
///
/// One that does not reply to a question is asked no further: it may hang, and
/// each question would wait for as long as it may.
#[derive(Debug, Default)]
pub(super) struct Asked {
    unknown: u64,
    silent: Option<CallError>,
}

impl Asked {
    async fn table(
        &mut self,
        target: &Target,
        client: &Client,
        records: &[RequestRecord],
        spans: &SpanStore,
    ) -> Table {
        let table = Table::new(ASKED);
        for record in records.iter().filter(|record| record.target == target.name) {
            if let Some(prompt) = RecordedPrompt::of(record, spans, target.dialect.name()) {
                let messages = prompt.messages();
                let key = Table::prompt_key(&messages);
                if table.get(key).is_none() {
                    self.take(&table, key, prompt_ids(target, client, &messages))
                        .await;
                }
            }
            let answer = record.output_sha256.filter(|_| record.output_ids.is_none());
            if let Some(text) = answer.and_then(|hash| spans.text(hash)) {
                let key = Table::output_key(text);
                if table.get(key).is_none() {
                    self.take(&table, key, text_ids(target, client, text)).await;
                }
            }
        }
        table
    }

    async fn take(
        &mut self,
        table: &Table,
        key: Digest,
        ids: impl Future<Output = Result<Option<Vec<u32>>, CallError>>,
    ) {
        if self.silent.is_none() {
            match ids.await {
                Ok(Some(ids)) => return table.insert(key, ids),
                Ok(None) => {}
                Err(error) => self.silent = Some(error),
            }
        }
        self.unknown += 1;
    }

    fn tell(&self, target: &Target) {
        if let Some(error) = &self.silent {
            output::warn(&format!(
                "{}: the server does not tell how it tokenises: {error}",
                target.name
            ));
        }
        if self.unknown > 0 {
            output::warn(&format!(
                "the server did not tokenise {} texts: requests with them have no bound",
                self.unknown
            ));
        }
    }
}

/// Ids of a whole prompt, as the server's own template renders it.
async fn prompt_ids(
    target: &Target,
    client: &Client,
    messages: &[TemplateMessage<'_>],
) -> Result<Option<Vec<u32>>, CallError> {
    let body = prompt_body(target, chat_form(messages));
    if target.engine == Engine::Vllm {
        return tokenized(target, client, body).await;
    }
    let applied = posted(target, client, "/apply-template", body).await?;
    let prompt = applied.as_ref().and_then(|applied| applied.get("prompt"));
    let Some(prompt) = prompt.and_then(Value::as_str) else {
        return Ok(None);
    };
    let body = json!({"content": prompt, "add_special": true, "parse_special": true});
    tokenized(target, client, body).await
}

/// The conversation as `/tokenize` and `/apply-template` take it.
fn prompt_body(target: &Target, form: ChatForm) -> Value {
    let mut body = json!({"model": &*target.model, "messages": form.messages});
    if !form.tools.is_empty() {
        body["tools"] = Value::Array(form.tools);
    }
    body
}

/// Ids of generated text.
async fn text_ids(
    target: &Target,
    client: &Client,
    text: &str,
) -> Result<Option<Vec<u32>>, CallError> {
    let body = match target.engine {
        Engine::Vllm => {
            json!({"model": &*target.model, "prompt": text, "add_special_tokens": false})
        }
        _ => json!({"content": text, "add_special": false, "parse_special": false}),
    };
    tokenized(target, client, body).await
}

async fn tokenized(
    target: &Target,
    client: &Client,
    body: Value,
) -> Result<Option<Vec<u32>>, CallError> {
    let answer = posted(target, client, ASKED, body).await?;
    Ok(answer.as_ref().and_then(ids))
}

/// The ids in an answer of `/tokenize`.
fn ids(answer: &Value) -> Option<Vec<u32>> {
    let ids = answer.get("tokens")?.as_array()?.iter();
    ids.map(|id| id.as_u64().and_then(|id| u32::try_from(id).ok()))
        .collect()
}

/// The answer to a question; `None` where the server refused it.
async fn posted(
    target: &Target,
    client: &Client,
    path: &str,
    body: Value,
) -> Result<Option<Value>, CallError> {
    let reply = client
        .post_json(&target.at_root(path), &target.headers(), &body)
        .await?;
    Ok((reply.status == 200).then(|| reply.json()).flatten())
}
