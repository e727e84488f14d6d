use super::*;
use crate::context::turn::state::Output;

fn part(key: &str, value: Value) -> Part {
    Part {
        key: Arc::from(key),
        value,
    }
}

fn text_part(key: &str, text: &str) -> Part {
    part(key, Value::Text(Text::from(text)))
}

fn facts(facts: &[(&str, &str)]) -> Value {
    let fact = |(key, value): &(&str, &str)| Fact {
        key: Arc::from(*key),
        value: Text::from(*value),
        day: "2026-10-16".to_owned(),
    };
    Value::Memory(facts.iter().map(fact).collect())
}

fn state(parts: Vec<Part>) -> State {
    State {
        date: "2026-10-16 (Friday)".to_owned(),
        parts,
    }
}

/// Changes in short: `+key`, `~key`, `-key`, and facts in brackets.
fn short(changes: &[Change]) -> String {
    let fact = |change: &FactChange| match change {
        FactChange::Added { key, value } => format!("+{key}={value}"),
        FactChange::Changed { key, from, to } => format!("~{key}={from}>{to}"),
        FactChange::Removed { key, value } => format!("-{key}={value}"),
    };
    let one = |change: &Change| match &change.to {
        To::On(_) => format!("+{}", change.key),
        To::Changed(_) => format!("~{}", change.key),
        To::Off => format!("-{}", change.key),
        To::Facts(facts) => {
            let facts: Vec<String> = facts.iter().map(fact).collect();
            format!("{}[{}]", change.key, facts.join(" "))
        }
    };
    let all: Vec<String> = changes.iter().map(one).collect();
    all.join(" ")
}

#[test]
fn the_difference_is_net_and_leads_to_the_new_state() {
    let memory = |list: &[(&str, &str)]| part(key::MEMORY, facts(list));
    let project = |text: &str| text_part(key::PROJECT, text);
    let artifacts = || text_part(key::ARTIFACTS, "A");
    let off = || part(key::MEMORY, Value::Off);
    let cases = [
        ("nothing", vec![project("P")], vec![project("P")], ""),
        ("on", vec![], vec![project("P")], "+project"),
        ("off", vec![project("P")], vec![], "-project"),
        (
            "changed",
            vec![project("P")],
            vec![project("Q")],
            "~project",
        ),
        (
            "canonical order, whatever went off or on",
            vec![project("P")],
            vec![artifacts(), memory(&[])],
            "-project +artifacts +memory",
        ),
        (
            "order of facts",
            vec![memory(&[("a", "1"), ("b", "2")])],
            vec![memory(&[("b", "2"), ("a", "1")])],
            "",
        ),
        (
            "facts",
            vec![memory(&[("a", "1"), ("b", "2"), ("c", "3")])],
            vec![memory(&[("b", "2"), ("d", "4"), ("a", "5")])],
            "memory[-c=3 +d=4 ~a=1>5]",
        ),
        (
            "last fact gone",
            vec![memory(&[("a", "1")])],
            vec![memory(&[])],
            "memory[-a=1]",
        ),
        (
            "memory off",
            vec![memory(&[("a", "1")])],
            vec![off()],
            "-memory",
        ),
        (
            "memory on",
            vec![off()],
            vec![memory(&[("a", "1")])],
            "+memory",
        ),
        ("memory stays off", vec![off()], vec![off()], ""),
    ];
    for (case, known, next, expected) in cases {
        let (mut known, next) = (state(known), state(next));
        let changes = known.changes_to(&next);
        assert_eq!(short(&changes), expected, "{case}");
        known.learn(&Update {
            changes,
            ..Update::default()
        });
        assert!(known.says_the_same_as(&next), "{case}: {known:?}");
    }
}

#[test]
fn a_new_anchor_keeps_the_order_drops_what_is_off_and_appends_what_is_new() {
    let keys = |anchor: &Anchor| -> Vec<String> {
        anchor
            .parts
            .iter()
            .map(|part| part.key.to_string())
            .collect()
    };
    let first = Anchor::opening(
        None,
        &state(vec![
            text_part(key::PROJECT, "P"),
            text_part(key::ARTIFACTS, "A"),
            text_part(key::SKILLS, "S"),
            part(key::MEMORY, Value::Off),
        ]),
    );
    assert_eq!(
        keys(&first),
        [key::PROJECT, key::ARTIFACTS, key::SKILLS, key::MEMORY]
    );
    let second = state(vec![
        text_part(key::PROJECT, "P2"),
        text_part(key::MEMORY_GUARD, "G"),
        text_part(key::SKILLS, "S"),
        part(key::MEMORY, facts(&[("a", "1")])),
    ]);
    let second = Anchor::opening(Some(&first), &second);
    assert_eq!(
        keys(&second),
        [key::PROJECT, key::SKILLS, key::MEMORY_GUARD, key::MEMORY]
    );
    assert_eq!(second.parts[0], text_part(key::PROJECT, "P2"));
    let third = state(vec![
        text_part(key::ARTIFACTS, "A"),
        part(key::MEMORY, Value::Off),
    ]);
    let third = Anchor::opening(Some(&second), &third);
    assert_eq!(
        keys(&third),
        [key::ARTIFACTS, key::MEMORY],
        "off has no place"
    );
}

#[test]
fn what_is_stored_can_be_written_out_and_read_back() {
    let update = Update {
        version: VERSION,
        date: Some("2026-10-17 (Saturday)".to_owned()),
        changes: state(vec![
            text_part(key::PROJECT, "P"),
            text_part(key::ARTIFACTS, "A"),
            part(key::MEMORY, facts(&[("a", "1")])),
        ])
        .changes_to(&state(vec![
            text_part(key::PROJECT, "Q"),
            text_part(key::SKILLS, "S"),
            part(key::MEMORY, facts(&[("b", "2")])),
        ])),
        sent: Some("2026-10-17 09:00".to_owned()),
        retrieved: Some(Text::from("Found.")),
        outputs: vec![Output {
            tool: Arc::from("clock"),
            text: Text::from("tick"),
        }],
        files: vec![Arc::from("a.csv")],
    };
    let json = serde_json::to_string(&update).unwrap();
    assert_eq!(serde_json::from_str::<Update>(&json).unwrap(), update);
    insta::assert_snapshot!(json, @r#"{"version":1,"date":"2026-10-17 (Saturday)","changes":[{"key":"project","to":{"changed":"Q"}},{"key":"artifacts","to":"off"},{"key":"skills_catalog","to":{"on":{"text":"S"}}},{"key":"memory","to":{"facts":[{"removed":{"key":"a","value":"1"}},{"added":{"key":"b","value":"2"}}]}}],"sent":"2026-10-17 09:00","retrieved":"Found.","outputs":[{"tool":"clock","text":"tick"}],"files":["a.csv"]}"#);
    assert!(serde_json::from_str::<Update>(r#"{"version":1,"more":1}"#).is_err());

    let anchor = Anchor::opening(
        None,
        &state(vec![
            text_part(key::PROJECT, "P"),
            part(key::MEMORY, facts(&[("a", "1")])),
        ]),
    );
    let json = serde_json::to_string(&anchor).unwrap();
    assert_eq!(serde_json::from_str::<Anchor>(&json).unwrap(), anchor);
}
