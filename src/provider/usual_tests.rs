//! What is read quickly is what is read slowly.

use super::*;
use crate::provider::failure;
use crate::provider::reading::Reader;
use proptest::prelude::*;
use serde_json::{Value, json};

/// Whether a dialect's reader says of an event, where it is of a usual shape, what it
/// says of its value.
pub(in crate::provider) fn agrees<R: Reader + Default>(data: &str) -> bool {
    let Some(usual) = R::default().usual(data) else {
        return true;
    };
    let Ok(value) = serde_json::from_str::<Value>(data) else {
        return false;
    };
    let mut slowly = Vec::new();
    R::default().event("", &value, &mut slowly);
    failure::event(&value).is_none() && usual.events().collect::<Vec<_>>() == slowly
}

/// Events in which stretches of bytes were taken out and others put in.
pub(in crate::provider) fn mutated(
    events: &'static [&'static str],
) -> impl Strategy<Value = String> {
    let put = prop_oneof![
        "[ -~]{0,3}",
        proptest::sample::select(vec![
            "null",
            "\"\"",
            "{}",
            "[]",
            "1",
            "-1",
            "1e999",
            "1.0",
            "[{",
            "}]",
            ",",
            "\\ud800",
            "\"content\":\"b\",",
            "\"index\":1,",
            "\"usage\":{},",
            "\"usage\":null,",
            "\"object\":\"error\",",
            "\"delta\":{},",
            "\"type\":\"error\",",
            "\"error\":\"x\",",
            "\"text\":\"b\",",
            "\u{e9}",
        ])
        .prop_map(str::to_owned),
    ];
    let change = (any::<prop::sample::Index>(), 0_usize..12, put);
    let changes = proptest::collection::vec(change, 0..3);
    (proptest::sample::select(events), changes).prop_map(|(event, changes)| {
        let mut letters: Vec<char> = event.chars().collect();
        for (at, taken, put) in changes {
            let at = at.index(letters.len() + 1);
            let end = (at + taken).min(letters.len());
            letters.splice(at..end, put.chars());
        }
        letters.into_iter().collect()
    })
}

#[test]
fn an_object_is_read_from_no_list_and_a_list_of_two_is_none_of_one() {
    let object = |value: Value| serde_json::from_value::<Object<(u8,)>>(value).is_ok();
    assert!(!object(json!([1])));
    let one = |value: Value| serde_json::from_value::<AtMostOne<u8>>(value).ok();
    assert_eq!(one(json!([])).map(|one| one.0), Some(None));
    assert_eq!(one(json!([7])).map(|one| one.0), Some(Some(7)));
    for other in [json!([7, 8]), json!({}), json!(7), Value::Null] {
        assert!(one(other.clone()).is_none(), "{other}");
    }
}
