//! The probe's requests: small chats behind a nonce, sent one after the other.

use crate::chat::{
    Block, CacheMarker, Class, Content, MarkerRule, Message, Prompt, Role, Span, Usage,
};
use crate::conversation::{Nonce, NoncePlace};
use crate::load::Target;
use crate::provider::{Answer, gateway};
use crate::record::Outcome;
use crate::record::request::ANSWER_CACHE;
use crate::scenario::generate::{Kind, generate};
use crate::transport::{Client, Exchange, Header, Outgoing};
use serde::Serialize;
use serde_json::Value;
use std::time::Duration;
use tokio_util::sync::CancellationToken;

/// Output tokens asked for: the answer does not matter.
pub(super) const MAX_TOKENS: u32 = 8;

/// Tries of a request, and the longest wait between two.
const TRIES: u32 = 4;
const LONGEST_WAIT: Duration = Duration::from_secs(30);

/// How a chat ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Tail {
    /// With its user message.
    Whole,
    /// With a user message that differs from its middle on; which one.
    Changed(u64),
    /// With a reply and another user message.
    Appended,
    /// The same, with reasoning in front of the reply.
    Reasoned,
}

/// A chat to send.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Chat {
    /// Chats of different units share nothing behind the template's first words.
    pub(super) unit: u64,
    /// Words of the system text, and of the user message.
    pub(super) system: usize,
    pub(super) user: usize,
    pub(super) tail: Tail,
}

impl Chat {
    /// A chat of about `words` words, half of them in the system text.
    pub(super) fn of(unit: u64, words: usize) -> Self {
        Self {
            unit,
            system: words / 2,
            user: words - words / 2,
            tail: Tail::Whole,
        }
    }

    /// The same chat with another end.
    pub(super) fn ending(self, tail: Tail) -> Self {
        Self { tail, ..self }
    }

    /// Whether it is one of plain messages, which a server renders as they are.
    pub(super) fn is_plain(self) -> bool {
        self.tail != Tail::Reasoned
    }

    /// Its messages: who speaks, the text, and whether a cache marker stands behind it.
    pub(super) fn messages(self, run: Nonce, markers: MarkerRule) -> Vec<(Role, String, bool)> {
        let prompt = self.prompt(run, markers);
        let text = |blocks: &[Block]| -> (String, bool) {
            let marked = blocks.last().is_some_and(|block| block.marker.is_some());
            let texts = blocks.iter().flat_map(|block| match &block.content {
                Content::Text(spans) | Content::Reasoning(spans) => spans.as_slice(),
                _ => &[],
            });
            (texts.map(|span| span.text.as_str()).collect(), marked)
        };
        let (system, marked) = text(&prompt.system);
        let mut all = vec![(Role::System, system, marked)];
        all.extend(prompt.messages.iter().map(|message| {
            let (text, marked) = text(&message.blocks);
            (message.role, text, marked)
        }));
        all
    }

    fn prompt(self, run: Nonce, markers: MarkerRule) -> Prompt {
        let marked = matches!(
            markers,
            MarkerRule::Anthropic | MarkerRule::AnthropicOld | MarkerRule::Bedrock
        );
        let marker = marked.then(CacheMarker::default);
        let block = |text: String, marker| Block {
            content: Content::Text(vec![Span::new("probe", Class::Static, text)]),
            marker,
        };
        let message = |role, blocks| Message {
            role,
            blocks,
            tool_call_id: None,
        };
        let user = match self.tail {
            Tail::Changed(seed) => {
                let half = self.user / 2;
                let first = generate(half, 2, Kind::Prose);
                format!(
                    "{first}\n{}",
                    generate(self.user - half, 100 + seed, Kind::Prose)
                )
            }
            _ => generate(self.user, 2, Kind::Prose),
        };
        let mut prompt = Prompt {
            system: vec![block(generate(self.system, 1, Kind::Prose), marker)],
            messages: vec![message(Role::User, vec![block(user, marker)])],
            ..Prompt::default()
        };
        if matches!(self.tail, Tail::Appended | Tail::Reasoned) {
            let mut reply = vec![block(generate(20, 3, Kind::Prose), None)];
            if self.tail == Tail::Reasoned {
                let thought = Span::new("probe", Class::Static, generate(60, 4, Kind::Prose));
                let content = Content::Reasoning(vec![thought]);
                reply.insert(
                    0,
                    Block {
                        content,
                        marker: None,
                    },
                );
            }
            prompt.messages.push(message(Role::Assistant, reply));
            let next = vec![block(generate(30, 5, Kind::Prose), marker)];
            prompt.messages.push(message(Role::User, next));
        }
        run.of_unit(self.unit)
            .put_into(&mut prompt, NoncePlace::System);
        prompt
    }
}

/// What came back of one request.
#[derive(Clone, Debug, Serialize)]
pub(super) struct Seen {
    /// What it was for.
    pub(super) what: String,
    pub(super) stream: bool,
    pub(super) outcome: Outcome,
    pub(super) error: Option<String>,
    /// Prompt tokens in the server's own convention.
    pub(super) said: Option<u64>,
    pub(super) total: Option<u64>,
    pub(super) read: Option<u64>,
    pub(super) written: Option<u64>,
    /// Time to the first token, in microseconds.
    pub(super) first_token_us: Option<u64>,
    /// Id of the answer, where it came in one piece.
    pub(super) id: Option<String>,
    /// A header that says that a gateway answered from a cache of answers.
    pub(super) answer_cache: Option<String>,
    pub(super) usage: Option<Value>,
    /// The chat that was sent.
    #[serde(skip)]
    pub(super) chat: Option<Chat>,
}

impl Seen {
    fn new(
        what: &str,
        stream: bool,
        outcome: Outcome,
        error: Option<String>,
        answer: &Answer,
    ) -> Self {
        let usage = answer.counted();
        let usage: Option<&Usage> = usage.as_ref();
        let raw = usage.and_then(|usage| usage.raw.clone());
        let said = raw.as_ref().and_then(said);
        Self {
            what: what.to_owned(),
            stream,
            outcome,
            error,
            said,
            total: usage.and_then(|usage| usage.total).map(|tokens| tokens.0),
            read: usage.and_then(|usage| usage.read).map(|tokens| tokens.0),
            written: usage.and_then(Usage::written).map(|tokens| tokens.0),
            first_token_us: None,
            id: None,
            answer_cache: None,
            usage: raw,
            chat: None,
        }
    }

    /// Counts the prompt whole, of a server whose own count excludes what was read
    /// and written though others that speak like it include that.
    pub(super) fn include(&mut self) {
        let parts = self.read.unwrap_or(0) + self.written.unwrap_or(0);
        self.total = self.said.map(|said| said + parts);
    }

    /// Words of the chat that was sent.
    pub(super) fn words(&self) -> u64 {
        self.chat.map_or(0, |chat| (chat.system + chat.user) as u64)
    }

    /// Whether it was answered whole.
    pub(super) fn ok(&self) -> bool {
        self.outcome == Outcome::Ok
    }
}

/// The prompt's count under the server's own name.
fn said(raw: &Value) -> Option<u64> {
    const NAMES: [&str; 5] = [
        "prompt_tokens",
        "input_tokens",
        "promptTokenCount",
        "inputTokens",
        "prompt_n",
    ];
    NAMES.iter().find_map(|name| raw.get(name)?.as_u64())
}

/// Sends chats to one target.
pub(super) struct Prober<'a> {
    pub(super) client: &'a Client,
    pub(super) target: &'a Target,
    pub(super) nonce: Nonce,
    /// Whether the server's count of a prompt excludes what was read, though the
    /// dialect's includes it.
    pub(super) excludes: bool,
    /// Everything sent so far.
    pub(super) seen: Vec<Seen>,
}

impl Prober<'_> {
    /// Sends a chat as a stream; waits where the server asks for it.
    pub(super) async fn stream(&mut self, what: &str, chat: Chat) -> Seen {
        let streamed = self.target.dialect.streams();
        let (text, headers) = self.request(chat, streamed);
        let mut tries = 0;
        let exchange = loop {
            let outgoing = Outgoing {
                url: self.target.endpoint(streamed),
                headers: headers.clone(),
                body: bytes::Bytes::from(text.clone()),
                dialect: self.target.dialect,
                stream: streamed,
                due: self.client.now(),
            };
            let exchange = self.client.send(outgoing, &CancellationToken::new()).await;
            tries += 1;
            match wait(&exchange, tries) {
                Some(wait) => tokio::time::sleep(wait).await,
                None => break exchange,
            }
        };
        let mut seen = Seen::new(
            what,
            true,
            exchange.outcome,
            exchange.error.clone(),
            &exchange.answer,
        );
        let stamps = &exchange.stamps;
        let first = stamps.first_text_us.zip(stamps.sent_us);
        seen.first_token_us = first.map(|(first, sent)| first.0.saturating_sub(sent.0));
        seen.answer_cache = answered_from_cache(|name| exchange.header(name));
        self.keep(seen, chat)
    }

    fn keep(&mut self, mut seen: Seen, chat: Chat) -> Seen {
        seen.chat = Some(chat);
        if self.excludes {
            seen.include();
        }
        self.seen.push(seen.clone());
        seen
    }

    /// Counts from here on, and those so far, are to be read as exclusive.
    pub(super) fn exclusive(&mut self) {
        self.excludes = true;
        self.seen.iter_mut().for_each(Seen::include);
    }

    /// Sends a chat for an answer in one piece.
    pub(super) async fn whole(&mut self, what: &str, chat: Chat) -> Seen {
        let (text, mut headers) = self.request(chat, false);
        let fixed = self.target.dialect.headers().iter();
        headers.extend(fixed.map(|(name, value)| Header::plain(*name, *value)));
        let body: Value = serde_json::from_str(&text).unwrap_or_default();
        let url = self.target.endpoint(false);
        let mut posted = self.client.post_json(&url, &headers, &body).await;
        if posted
            .as_ref()
            .is_err_and(|error| error.outcome == Outcome::Reset)
        {
            posted = self.client.post_json(&url, &headers, &body).await;
        }
        let seen = match posted {
            Err(error) => Seen::new(
                what,
                false,
                error.outcome,
                Some(error.message),
                &Answer::default(),
            ),
            Ok(reply) => {
                let mut answer = Answer::default();
                let mut events = Vec::new();
                self.target
                    .dialect
                    .decoder()
                    .whole(reply.status, &reply.body, &mut events);
                answer.extend(events);
                let failed = answer.error.as_ref().map(|error| error.message.clone());
                let outcome = match (reply.status, &failed) {
                    (200..300, None) => Outcome::Ok,
                    (status, _) => crate::provider::failure(status, &reply.body).outcome,
                };
                let mut seen = Seen::new(what, false, outcome, failed, &answer);
                let id = reply
                    .json()
                    .and_then(|json| Some(json.get("id")?.as_str()?.to_owned()));
                seen.id = id;
                seen.answer_cache = answered_from_cache(|name| reply.header(name));
                seen
            }
        };
        self.keep(seen, chat)
    }

    fn request(&self, chat: Chat, stream: bool) -> (String, Vec<Header>) {
        let target = self.target;
        let prompt = chat.prompt(self.nonce, target.wire.markers);
        let unit = format!("{}/{}", self.nonce, chat.unit);
        let params = target.params(&target.model, MAX_TOKENS, stream, None, &unit, &prompt);
        let mut headers = target.headers();
        headers.extend(target.pinning(&unit, &prompt));
        (target.dialect.body(&prompt, &params).text, headers)
    }
}

/// How long to wait before the next try; `None` where there is none.
fn wait(exchange: &Exchange, tries: u32) -> Option<Duration> {
    if exchange.broke_before_answer() && tries < TRIES {
        return Some(Duration::ZERO);
    }
    let passing = matches!(exchange.status, Some(429 | 502 | 503 | 529));
    let usual = Duration::from_secs(1) * tries;
    let wait = exchange.retry_after().unwrap_or(usual);
    (passing && tries < TRIES && wait <= LONGEST_WAIT).then_some(wait)
}

/// The first header by which a gateway says that it answered from a cache of answers.
fn answered_from_cache<'h>(header: impl Fn(&str) -> Option<&'h str>) -> Option<String> {
    let mut signs = gateway::signs(header).into_iter();
    let sign = signs.find(|sign| sign.flag == ANSWER_CACHE)?;
    Some(match sign.header {
        // The key says nothing to anybody.
        header @ "x-litellm-cache-key" => header.to_owned(),
        header => format!("{header}: {}", sign.value),
    })
}
