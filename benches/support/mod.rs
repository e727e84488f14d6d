//! What the benches share: a long conversation, its requests and their records.

use prefixbench::chat::{Digest, Family, Usage, UsageOrigin};
use prefixbench::context::Configuration;
use prefixbench::conversation::{
    Conversation, ConversationSetup, Next, Nonce, NoncePlace, Pending, Reply, Served, Shipped,
};
use prefixbench::provider::{self, Body, RequestParams};
use prefixbench::record::request::RECORD_VERSION;
use prefixbench::record::{Outcome, RecordedMessage, RequestRecord, Stamps};
use prefixbench::scenario::{LoadOptions, Scenario, load_str};
use prefixbench::units::{Bytes, Micros, Tokens};
use std::fmt::Write as _;
use std::path::Path;
use std::sync::Arc;

/// That of the program.
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

/// Strategies that need neither a program nor a file of the user's.
pub(crate) const STRATEGIES: &[&str] = &[
    "inline",
    "dev",
    "parts",
    "turn-context",
    "layered",
    "copilot-4",
    "append-only",
];

// A bench uses what it needs of this file; the rest is not dead.
const _: (&[&str], fn(usize, usize) -> Arc<Scenario>) = (STRATEGIES, long_chat);
const _: fn(&Arc<Scenario>, &str) -> Vec<Pending> = requests;
const _: (
    fn(&Pending) -> Body,
    fn(&Pending, &Body, u64) -> RequestRecord,
) = (body, record);

/// A chat of `turns` turns whose last prompt has about `tokens` tokens: a note is
/// attached now and then, memory and artifacts change.
pub(crate) fn long_chat(turns: usize, tokens: usize) -> Arc<Scenario> {
    // The assistant's system text, a question and an answer a turn, a note every tenth.
    let turn = tokens.saturating_sub(1_200) / turns;
    let (asked, answered, note) = (turn / 5, turn * 7 / 10, turn);
    let mut yaml =
        String::from("scenario: long\nclock: {start: \"2026-10-16T09:00\", zone: UTC}\n");
    yaml.push_str("start: {memory: {name: Ada}}\nnotes:\n");
    for at in 0..turns.div_ceil(10) {
        let _in_memory = writeln!(
            yaml,
            "  n{at}.md: {{generate: {{tokens: {note}, seed: {at}, kind: markdown}}}}"
        );
    }
    yaml.push_str("steps:\n");
    for at in 0..turns {
        let attach = if at % 10 == 0 {
            format!(", attach: [{{note: n{}.md}}]", at / 10)
        } else {
            String::new()
        };
        let (text, reply) = (10_000 + at, 50_000 + at);
        let _in_memory = writeln!(
            yaml,
            "  - user: {{text: {{generate: {{tokens: {asked}, seed: {text}}}}}, \
             reply: {{generate: {{tokens: {answered}, seed: {reply}}}}}{attach}}}"
        );
        if at % 50 == 25 {
            let _in_memory = writeln!(yaml, "  - memory: {{add: {{fact{at}: value {at}}}}}");
        }
    }
    let scenario = load_str("long.yaml", &yaml, Path::new("."), &LoadOptions::default());
    Arc::new(scenario.expect("a valid scenario"))
}

/// Every request of the scenario under a built-in configuration.
pub(crate) fn requests(scenario: &Arc<Scenario>, configuration: &str) -> Vec<Pending> {
    let setup = ConversationSetup {
        name: Arc::from("long/1"),
        configuration: Configuration::built_in(configuration).expect(configuration),
        wire: Family::Compatible.wire(),
        served: Served::Any(None),
        nonce: Nonce::ZERO,
        place: NoncePlace::Tools,
        resources: Arc::new(Shipped(Arc::clone(scenario))),
    };
    let mut conversation = Conversation::new(Arc::clone(scenario), setup).expect(configuration);
    let mut requests = Vec::new();
    while let Some(next) = conversation.next().expect(configuration) {
        if let Next::Request(pending) = next {
            requests.push(*pending);
            conversation.answer(Reply::default());
        }
    }
    requests
}

/// The request's body in the most usual dialect.
pub(crate) fn body(pending: &Pending) -> Body {
    let dialect = provider::find("openai-chat").expect("a dialect");
    let params = RequestParams {
        model: "m".to_owned(),
        max_tokens: 16,
        stream: true,
        ..RequestParams::default()
    };
    dialect.body(&pending.prompt, &params)
}

/// The record of an answered request, sent `at` microseconds after the start.
pub(crate) fn record(pending: &Pending, body: &Body, at: u64) -> RequestRecord {
    let name = |text: &str| Arc::<str>::from(text);
    RequestRecord {
        v: RECORD_VERSION,
        scenario: name("long"),
        group: name(""),
        configuration: Arc::clone(&pending.configuration),
        target: name("here"),
        model: name("m"),
        load: name("sessions=1"),
        repeat: 1,
        conversation: name("long/1"),
        turn: pending.turn,
        request: pending.request,
        attempt: 1,
        events: pending.events.clone(),
        outcome: Outcome::Ok,
        status: Some(200),
        flags: Vec::new(),
        error: None,
        usage: Usage {
            total: Some(Tokens(at + 1000)),
            read: Some(Tokens(at)),
            output: Some(Tokens(16)),
            origin: UsageOrigin::Reported,
            ..Usage::default()
        },
        stamps: Stamps {
            due_us: Micros(at),
            sent_us: Some(Micros(at)),
            first_text_us: Some(Micros(at + 40_000)),
            done_us: Some(Micros(at)),
            ..Stamps::default()
        },
        bytes_sent: Bytes(body.text.len() as u64),
        salt: None,
        nonce: name("0 0 0 0 0 0 0 0"),
        epoch: 0,
        scenario_ms: pending.scenario_ms,
        cache: prefixbench::chat::CacheAsked::default(),
        prompt: body.messages.iter().map(RecordedMessage::from).collect(),
        output_sha256: Some(Digest::of(b"answer")),
        output_ids: None,
        finish: Some("stop".to_owned()),
        served_by: None,
        headers: std::collections::BTreeMap::new(),
    }
}
