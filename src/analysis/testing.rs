//! Small records for tests.

use crate::chat::{Class, Origin, Part, Role, Text, Usage, UsageOrigin};
use crate::record::request::RECORD_VERSION;
use crate::record::{Outcome, RecordedMessage, RecordedSpan, RequestRecord, SpanStore, Stamps};
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
        scenario_ms: i64::from(turn) * 47_313,
        prompt: Vec::new(),
        output_sha256: None,
        finish: Some("stop".to_owned()),
        served_by: None,
    }
}
