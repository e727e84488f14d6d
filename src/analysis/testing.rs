//! Small records for tests.

use crate::chat::{Class, Origin, Part, Role, Text, Usage, UsageOrigin};
use crate::record::request::RECORD_VERSION;
use crate::record::{
    BoundRecord, Break, ConfigurationFacts, Ending, EventLabel, Manifest, Outcome, RecordedMessage,
    RecordedSpan, RequestRecord, ScenarioFacts, SpanStore, Stamps, TargetFacts, WallTime,
};
use crate::units::{Bytes, Micros, Tokens};
use std::sync::Arc;

/// A message: who speaks, and its spans as origin and text.
pub(crate) type Said = (Role, Vec<(&'static str, &'static str)>);

/// All texts of some requests.
pub(crate) fn store(requests: &[Vec<Said>]) -> SpanStore {
    let mut store = SpanStore::default();
    let parts = requests.iter().flatten().flat_map(|(_, parts)| parts);
    store.extend(parts.map(|(_, text)| Text::from(*text)));
    store
}

/// A record of a request whose spans stand escaped in the body, one behind the
/// other from byte 100 on.
pub(crate) fn record(said: &[Said]) -> RequestRecord {
    let mut at = 100;
    let mut span = |(origin, text): &(&'static str, &'static str)| {
        let start = at;
        at += serde_json::to_string(text).expect("text").len() - 2;
        RecordedSpan {
            origin: Origin::from(*origin),
            class: Class::Turn,
            part: Part::Text,
            sha256: Text::from(*text).digest(),
            start,
            end: at,
        }
    };
    let prompt = said
        .iter()
        .map(|(role, parts)| RecordedMessage {
            role: *role,
            spans: parts.iter().map(&mut span).collect(),
            marks: None,
            long_marks: Vec::new(),
        })
        .collect();
    RequestRecord {
        prompt,
        ..blank("dev", 1)
    }
}

/// An answered request of `configuration` without a prompt: 100 tokens, none read.
pub(crate) fn blank(configuration: &str, turn: u32) -> RequestRecord {
    let name = |text: &str| Arc::<str>::from(text);
    RequestRecord {
        v: RECORD_VERSION,
        scenario: name("quickstart"),
        group: name("G1"),
        configuration: name(configuration),
        target: name("here"),
        model: name("m"),
        load: name("sessions=1"),
        repeat: 1,
        conversation: format!("quickstart/{configuration}/1").into(),
        turn,
        request: 1,
        attempt: 1,
        events: Vec::new(),
        outcome: Outcome::Ok,
        status: Some(200),
        flags: Vec::new(),
        error: None,
        usage: Usage {
            total: Some(Tokens(100)),
            read: Some(Tokens(0)),
            output: Some(Tokens(4)),
            origin: UsageOrigin::Reported,
            ..Usage::default()
        },
        stamps: Stamps {
            due_us: Micros(u64::from(turn) * 1_000_000),
            sent_us: Some(Micros(u64::from(turn) * 1_000_000)),
            first_text_us: Some(Micros(u64::from(turn) * 1_000_000 + 50_000)),
            done_us: Some(Micros(u64::from(turn) * 1_000_000 + 90_000)),
            ..Stamps::default()
        },
        bytes_sent: Bytes(400),
        salt: None,
        nonce: name("0 0 0 0 0 0 0 0"),
        epoch: 0,
        scenario_ms: i64::from(turn) * 47_313,
        cache: crate::chat::CacheAsked::default(),
        prompt: Vec::new(),
        output_sha256: None,
        output_ids: None,
        finish: Some("stop".to_owned()),
        served_by: None,
        headers: std::collections::BTreeMap::new(),
    }
}

/// A manifest of three configurations on the embedded server.
pub(crate) fn manifest() -> Manifest {
    let mut manifest = Manifest::begin(7, "0 0 0 0 0 0 0 0");
    manifest.program = Arc::from("0.1.0");
    manifest.started = WallTime::parse("2026-11-30T09:00:00Z").expect("a time");
    manifest.ending = Some(Ending::Complete);
    manifest.scenarios = vec![ScenarioFacts {
        name: Arc::from("quickstart"),
        group: Arc::from("G1"),
        sha256: Text::from("").digest(),
    }];
    manifest.configurations = ["dev", "layered", "append-only"]
        .map(|name| ConfigurationFacts {
            name: Arc::from(name),
            base: Arc::from(name),
            options: serde_json::Value::Null,
        })
        .to_vec();
    manifest.targets = vec![TargetFacts {
        name: Arc::from("here"),
        dialect: Arc::from("openai-chat"),
        model: Arc::from("m"),
        cache_model: Some(Arc::from("blocks:16")),
        simulated: true,
        tokenizer: Some(Arc::from("o200k")),
        ..TargetFacts::default()
    }];
    manifest
}

/// A request with these counts, and its bound.
pub(crate) fn counted(
    configuration: &str,
    repeat: u32,
    turn: u32,
    (total, read, bound): (u64, u64, u64),
) -> (RequestRecord, BoundRecord) {
    let mut record = blank(configuration, turn);
    record.repeat = repeat;
    record.conversation = format!("quickstart/{configuration}/{repeat}").into();
    record.usage.total = Some(Tokens(total));
    record.usage.read = Some(Tokens(read));
    let sent = record.stamps.sent_us.expect("sent").0;
    record.stamps.first_text_us = Some(Micros(sent + 20_000 + (total - read.min(total)) * 50));
    let bound = BoundRecord {
        v: RECORD_VERSION,
        conversation: Arc::clone(&record.conversation),
        turn,
        request: 1,
        attempt: 1,
        prompt: Some(Tokens(total)),
        eligible: Some(Tokens(bound)),
        bound: Some(Tokens(bound)),
        cache_model: Some(Arc::from("blocks:16")),
        tokenizer: Some(Arc::from("o200k")),
        broke: None,
        cost: None,
        flags: Vec::new(),
    };
    (record, bound)
}

/// Two conversations of three turns in each of three configurations; an event
/// before turn 3 breaks `dev`, and `layered` grows at turn 2.
pub(crate) fn story() -> (Vec<RequestRecord>, Vec<BoundRecord>) {
    type Counts = (u64, u64, u64);
    let turns: [(&str, [Counts; 3]); 3] = [
        ("dev", [(1_000, 0, 0), (1_200, 992, 992), (3_700, 160, 160)]),
        (
            "layered",
            [(1_000, 0, 0), (1_300, 480, 480), (3_800, 1_296, 1_296)],
        ),
        (
            "append-only",
            [(1_000, 0, 0), (1_200, 992, 992), (3_700, 1_184, 1_200)],
        ),
    ];
    let mut all = Vec::new();
    for (configuration, counts) in turns {
        for repeat in 1..=2 {
            for (turn, (total, read, bound)) in (1..).zip(counts) {
                // The second conversation is a little longer than the first.
                let total = total + u64::from(repeat - 1) * 100;
                let mut pair = counted(configuration, repeat, turn, (total, read, bound));
                pair.1.broke = broken(configuration, turn);
                if turn == 3 {
                    pair.0.events = vec![EventLabel {
                        label: Arc::from("artifacts on"),
                        line: 9,
                        rewrites: None,
                    }];
                }
                all.push(pair);
            }
        }
    }
    all.into_iter().unzip()
}

/// The first conversations of the story, so many times.
pub(crate) fn repeated(times: u32) -> (Vec<RequestRecord>, Vec<BoundRecord>) {
    let (records, bounds) = story();
    let name = |of: &Arc<str>, repeat: u32| -> Arc<str> {
        let front = of.rsplit_once('/').map_or("", |(front, _)| front);
        Arc::from(format!("{front}/{repeat}"))
    };
    let mut all = (Vec::new(), Vec::new());
    for (record, bound) in records.iter().zip(&bounds) {
        if record.repeat == 1 {
            for repeat in 1..=times {
                let conversation = name(&record.conversation, repeat);
                all.1.push(BoundRecord {
                    conversation: Arc::clone(&conversation),
                    ..bound.clone()
                });
                all.0.push(RequestRecord {
                    repeat,
                    conversation,
                    ..record.clone()
                });
            }
        }
    }
    all
}

fn broken(configuration: &str, turn: u32) -> Option<Break> {
    let (origin, cause, lost) = match (configuration, turn) {
        ("dev", 3) => ("artifacts", "artifacts on", 1_040),
        ("layered", 2) => ("L2", "library grew", 520),
        _ => return None,
    };
    Some(Break {
        origin: Origin::from(origin),
        cause: Arc::from(cause),
        byte: 700,
        lost: Some(Tokens(lost)),
    })
}
