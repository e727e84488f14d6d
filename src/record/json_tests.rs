use super::super::ledger::{ConversationFact, Ended, Start};
use super::super::tests::{bound, record};
use super::super::{Fact, LedgerLine, StoredSpan};
use super::*;
use crate::chat::Text;
use crate::units::{Bytes, Micros, Money, Tokens};
use proptest::prelude::*;
use serde::Serialize;
use serde_json::{Map, Value, json};
use std::collections::BTreeMap;
use std::sync::Arc;

fn written(value: &impl Serialize) -> String {
    let mut out = b"before ".to_vec();
    write(&mut out, value).expect("can be written");
    let text = String::from_utf8(out).expect("is text");
    text.strip_prefix("before ")
        .expect("is appended")
        .to_owned()
}

/// Every form that serde knows.
#[derive(Clone, Debug, Serialize)]
enum Form {
    Unit,
    Nothing(()),
    New(Vec<Option<i64>>),
    Pair(u128, i128),
    Fields {
        real: f64,
        short: f32,
        small: (i8, u16),
    },
    Letters(char, Tuple, Empty),
    Keys(BTreeMap<String, bool>),
}

#[derive(Clone, Debug, Serialize)]
struct Tuple(u32, String);

#[derive(Clone, Debug, Serialize)]
struct Empty;

fn form() -> impl Strategy<Value = Form> {
    let keys = proptest::collection::btree_map(any::<String>(), any::<bool>(), 0..4);
    prop_oneof![
        Just(Form::Unit),
        Just(Form::Nothing(())),
        any::<Vec<Option<i64>>>().prop_map(Form::New),
        any::<(u128, i128)>().prop_map(|(a, b)| Form::Pair(a, b)),
        any::<(f64, f32, (i8, u16))>().prop_map(|(real, short, small)| Form::Fields {
            real,
            short,
            small
        }),
        any::<(char, u32, String)>().prop_map(|(letter, a, b)| Form::Letters(
            letter,
            Tuple(a, b),
            Empty
        )),
        keys.prop_map(Form::Keys),
    ]
}

/// Text of which much has to be escaped.
fn text() -> impl Strategy<Value = String> {
    prop_oneof![
        any::<String>(),
        "[a-f\"\\\\\n\r\t\u{0}-\u{1f}\u{7f}é😀]{0,40}",
        "[a-z]{0,70}",
    ]
}

fn value() -> impl Strategy<Value = Value> {
    let leaf = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        any::<i64>().prop_map(Value::from),
        any::<u64>().prop_map(Value::from),
        any::<f64>().prop_map(Value::from),
        text().prop_map(Value::from),
    ];
    leaf.prop_recursive(4, 32, 6, |inner| {
        prop_oneof![
            proptest::collection::vec(inner.clone(), 0..6).prop_map(Value::from),
            proptest::collection::vec((text(), inner), 0..6)
                .prop_map(|entries| Value::Object(Map::from_iter(entries))),
        ]
    })
}

proptest! {
    #[test]
    fn every_form_is_written_as_serde_json_writes_it(form in form(), value in value()) {
        prop_assert_eq!(written(&form), serde_json::to_string(&form).unwrap());
        prop_assert_eq!(written(&value), serde_json::to_string(&value).unwrap());
    }

    #[test]
    fn every_line_of_a_run_is_written_as_serde_json_writes_it(
        said in text(),
        raw in proptest::option::of(value()),
        number in any::<u64>(),
        cost in any::<i128>(),
        some in any::<bool>(),
    ) {
        let name: Arc<str> = Arc::from(said.as_str());
        let mut record = record(1, &Text::from(said.as_str()));
        record.conversation = Arc::clone(&name);
        record.error = some.then(|| said.clone());
        record.usage.raw = raw;
        record.stamps.done_us = some.then_some(Micros(number));
        record.stamps.first_due_us = some.then_some(Micros(number / 2));
        record.scenario_ms = number.cast_signed();
        record.output_sha256 = some.then(|| Text::from(said.as_str()).digest());
        record.output_ids = some.then(|| Arc::from([0, 7, u32::MAX]));
        record.headers.insert(Arc::clone(&name), said.clone());
        prop_assert_eq!(written(&record), serde_json::to_string(&record).unwrap());
        let mut bound = bound(2);
        bound.cost = some.then_some(Money(cost));
        prop_assert_eq!(written(&bound), serde_json::to_string(&bound).unwrap());
        let span = StoredSpan {
            sha256: Text::from(said.as_str()).digest(),
            bytes: Bytes(number),
            tokens: some.then_some(Tokens(number)),
            text: Some(Text::from(said.as_str())),
        };
        prop_assert_eq!(written(&span), serde_json::to_string(&span).unwrap());
        let line = LedgerLine::new(Micros(number), Fact::Conversation(Box::new(fact(&name))));
        prop_assert_eq!(written(&line), serde_json::to_string(&line).unwrap());
    }
}

fn fact(name: &Arc<str>) -> ConversationFact {
    ConversationFact {
        conversation: Arc::clone(name),
        session: 0,
        order: 1,
        salt: None,
        nonce: Arc::clone(name),
        epoch: 0,
        began_us: Micros(7),
        attempts: 2,
        idle_us: Micros(0),
        lifetime_us: None,
        start: Start::Cold,
        read: Some(Tokens(0)),
        as_expected: Some(true),
        ended: Ended::Early(name.to_string()),
    }
}

#[test]
fn bytes_that_need_an_escape_are_found_wherever_they_stand() {
    for length in 0..70 {
        for at in 0..length {
            let mut text = "a".repeat(length);
            text.replace_range(at..=at, "\"");
            assert_eq!(written(&text), json!(text).to_string());
        }
    }
}

#[test]
fn a_key_that_is_no_string_is_refused() {
    let map = BTreeMap::from([(1, true)]);
    assert!(write(&mut Vec::new(), &map).is_err());
}
