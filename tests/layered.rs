//! Compares the layered engine with expected outputs of the original program,
//! byte for byte.
//!
//! The cases are not part of this repository. Their folder is named by
//! `LAYERED_CASES`; by default it stands beside the checkout. Without it the
//! test says that it was skipped, and fails where `CI` is `true`.

#![expect(
    clippy::expect_used,
    reason = "helpers of tests are not tests themselves"
)]

mod layered_oracle;

use layered_oracle::{Folder, State};
use serde_json::Value;

#[test]
fn every_layered_case_of_the_oracle_is_reproduced_byte_for_byte() {
    let Some(folder) = Folder::find() else {
        return;
    };
    let cases = folder.cases();
    let phrases = folder.phrases();
    let mut compared = 0;
    let mut wrong = Vec::new();
    for case in &cases {
        let mut states = 0;
        for state in State::BOTH {
            let Some(expected) = case.expected(state) else {
                continue;
            };
            states += 1;
            let found = case.run(state, &phrases);
            if let Some(difference) = first_difference("", expected, &found) {
                wrong.push(format!("{} ({state:?}): {difference}", case.id));
            }
        }
        compared += usize::from(states > 0);
    }
    println!("layered: {} cases, {compared} compared", cases.len());
    assert!(wrong.is_empty(), "{}", wrong.join("\n\n"));
    assert_eq!(compared, cases.len(), "cases without a state to compare");
    assert!(!cases.is_empty(), "no cases in the folder");
}

#[test]
fn a_layered_comparison_names_the_first_difference() {
    let expected = serde_json::json!({"a": [1, {"b": "x"}]});
    let found = serde_json::json!({"a": [1, {"b": "y"}]});
    assert_eq!(first_difference("", &expected, &expected), None);
    let said = first_difference("", &expected, &found).expect("they differ");
    assert!(said.starts_with("/a/1/b"), "{said}");
    let longer = serde_json::json!({"a": [1], "c": null});
    assert!(first_difference("", &expected, &longer).is_some());
}

/// Where two values differ first, and how.
fn first_difference(path: &str, expected: &Value, found: &Value) -> Option<String> {
    match (expected, found) {
        (Value::Object(a), Value::Object(b)) => {
            // The cases leave the serialised text of whole conversations out;
            // its hash is there.
            let implied = |key: &&String| key.as_str() != "serialized_text";
            let extra = b.keys().filter(implied).find(|key| !a.contains_key(*key));
            a.iter()
                .find_map(|(key, value)| {
                    let other = b.get(key).unwrap_or(&Value::Null);
                    first_difference(&format!("{path}/{key}"), value, other)
                })
                .or_else(|| extra.map(|key| format!("{path}/{key}: not expected")))
        }
        (Value::Array(a), Value::Array(b)) => a
            .iter()
            .zip(b)
            .enumerate()
            .find_map(|(at, (a, b))| first_difference(&format!("{path}/{at}"), a, b))
            .or_else(|| {
                let (a, b) = (a.len(), b.len());
                (a != b).then(|| format!("{path}: {a} entries expected, {b} found"))
            }),
        _ if expected == found => None,
        _ => Some(format!(
            "{path}:\n  expected {expected}\n  found    {found}"
        )),
    }
}
