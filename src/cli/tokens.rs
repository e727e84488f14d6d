//! What counts tokens for bounds: the embedded template, a local tokenizer, or
//! the server that answered.

use super::exit::{Exit, Failure};
use super::output;
use super::target::Aim;
use crate::analysis::RecordedPrompt;
use crate::load::{Engine, Target};
use crate::record::{RequestRecord, SpanStore};
use crate::tokens::table::Table;
use crate::tokens::{ChatForm, SharedEncoder, TemplateMessage, chat_form, embedded};
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
    for record in records.iter().filter(|record| record.target == target.name) {
        if let Some(prompt) = RecordedPrompt::of(record, spans, target.dialect.name()) {
            let messages = prompt.messages();
            let key = Table::prompt_key(&messages);
            if table.get(key).is_none() {
                match prompt_ids(target, client, &messages).await {
                    Some(ids) => table.insert(key, ids),
                    None => unknown += 1,
                }
            }
        }
        let answer = record.output_sha256.filter(|_| record.output_ids.is_none());
        if let Some(text) = answer.and_then(|hash| spans.text(hash)) {
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

/// Ids of a whole prompt, as the server's own template renders it.
async fn prompt_ids(
    target: &Target,
    client: &Client,
    messages: &[TemplateMessage<'_>],
) -> Option<Vec<u32>> {
    let body = prompt_body(target, chat_form(messages));
    if target.engine == Engine::Vllm {
        return tokenized(target, client, body).await;
    }
    let applied = posted(target, client, "/apply-template", body).await?;
    let prompt = applied.get("prompt")?.as_str()?.to_owned();
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
    ids(&posted(target, client, "/tokenize", body).await?)
}

/// The ids in an answer of `/tokenize`.
fn ids(answer: &Value) -> Option<Vec<u32>> {
    let ids = answer.get("tokens")?.as_array()?.iter();
    ids.map(|id| id.as_u64().and_then(|id| u32::try_from(id).ok()))
        .collect()
}

async fn posted(target: &Target, client: &Client, path: &str, body: Value) -> Option<Value> {
    let reply = client
        .post_json(&target.at_root(path), &target.headers(), &body)
        .await
        .ok()?;
    (reply.status == 200).then(|| reply.json()).flatten()
}
