//! What no plan holds: memory that is off, unknown keys, agent instructions.

use super::{begun, newest, planned, said, system, told};
use crate::chat::{Content, Family, Role, TailPlace, Text};
use crate::context::Options;
use crate::context::testing::{Talk, flat, strategy};
use crate::context::view::{Link, Purpose};

#[test]
fn memory_that_goes_off_breaks_at_its_first_mention_and_comes_back_whole() {
    let mut it = planned();
    let mut talk = begun(&mut *it);
    talk.remember("name", "Ada");
    let with = flat(&talk.send(&mut *it, "Two."));
    talk.reply("Yes.");
    talk.now.memory.on = false;
    let off = talk.send(&mut *it, "Three.");
    assert_eq!(
        said(&off),
        [
            "One.".to_owned(),
            "Two.".to_owned(),
            told("[memory] off", "Three.")
        ]
    );
    let shared = with
        .bytes()
        .zip(flat(&off).bytes())
        .take_while(|(a, b)| a == b)
        .count();
    assert!(with[shared..].starts_with("<context_update>\n[memory]"));
    talk.reply("Yes.");
    talk.now.memory.on = true;
    let on = flat(&talk.send(&mut *it, "Four."));
    assert!(
        on.starts_with(&with),
        "what was withheld is back in its place"
    );
    assert!(
        on.contains("[memory] on\n") && on.ends_with("Ada\n</context_update>\n\nFour."),
        "{on}"
    );
}

#[test]
fn memory_switched_off_after_a_send_is_withheld_from_its_regeneration() {
    let mut it = planned();
    let mut talk = Talk::new(Family::Openai);
    talk.remember("name", "Ada");
    assert!(flat(&talk.send(&mut *it, "One.")).contains("Ada"));
    talk.now.memory.on = false;
    assert!(!flat(&talk.render(&mut *it, &Purpose::Regenerate)).contains("Ada"));
}

#[test]
fn an_unknown_key_is_of_the_turn_and_leaves_the_stable_prefix_alone() {
    let mut it = planned();
    let mut talk = Talk::new(Family::Anthropic);
    let other = |text: &str| vec![("weather".into(), Text::from(text))];
    talk.now.other = other("Rain.");
    let first = talk.send(&mut *it, "One.");
    assert_eq!(said(&first), ["Rain.", "One."]);
    talk.reply("Yes.");
    talk.now.other = other("Sun.");
    let second = talk.send(&mut *it, "Two.");
    assert_eq!(said(&second), ["One.", "Sun.", "Two."]);
    assert_eq!(first.system, second.system);

    talk.wire = Family::Openai.wire();
    assert_eq!(
        system(&talk.render(&mut *it, &Purpose::Send)),
        "You help.\n\nSun."
    );
}

#[test]
fn a_direct_write_to_the_tail_is_ignored_with_a_warning_once_there_are_parts() {
    for (name, ignored) in [
        ("dev", false),
        ("lever-off", false),
        ("parts", true),
        ("turn-context", true),
    ] {
        let mut it = strategy(name, Options::default());
        let mut talk = Talk::new(Family::Openai);
        talk.now.other = vec![("additional_instructions".into(), "DIRECT".into())];
        let prompt = talk.send(&mut *it, "One.");
        assert_eq!(!system(&prompt).contains("DIRECT"), ignored, "{name}");
        assert_eq!(prompt.warnings.len(), usize::from(ignored), "{name}");
    }
}

#[test]
fn an_edited_agent_changes_the_prompt_at_once() {
    let mut it = planned();
    let mut talk = begun(&mut *it);
    talk.now.system = Text::from("You help on {{current_date}}.");
    talk.now.artifacts = Some("A".into());
    talk.wait(48);
    let prompt = talk.send(&mut *it, "Two.");
    assert_eq!(
        system(&prompt),
        "You help on 2026-10-16 (Friday).",
        "resolved against the start"
    );
    assert_eq!(
        newest(&prompt),
        told("[date] 2026-10-18 (Sunday)\n[artifacts] on\nA", "Two.")
    );
}

#[test]
fn unchanged_text_is_shared_between_requests() {
    let mut it = planned();
    let mut talk = Talk::new(Family::Openai);
    talk.wire.tail = TailPlace::System;
    talk.now.artifacts = Some("ARTIFACTS".into());
    talk.send_with(&mut *it, "One.", |turn| {
        turn.retrieved = Some("FOUND".into());
    });
    talk.reply("Yes.");
    let second = talk.send(&mut *it, "Two.");
    let texts = |message: &crate::chat::Message| match &message.blocks[0].content {
        Content::Text(spans) => spans.iter().map(|span| span.text.clone()).collect(),
        _ => Vec::new(),
    };
    let again = talk.render(&mut *it, &Purpose::Send);
    for (one, other) in second.messages.iter().zip(&again.messages) {
        let pairs: Vec<_> = texts(one).into_iter().zip(texts(other)).collect();
        assert!(!pairs.is_empty() && pairs.iter().all(|(one, other)| one.is_same(other)));
    }
    let Link::User(turn) = talk.path(talk.leaf).remove(0) else {
        panic!("the first message is the user's")
    };
    let first = texts(&second.messages[0]);
    assert!(first.iter().any(|text| text.is_same(&turn.text)));
    assert!(
        first
            .iter()
            .any(|text| text.is_same(turn.retrieved.as_ref().unwrap()))
    );
    assert_eq!(second.messages[1].role, Role::Assistant);
}

#[test]
fn the_authors_text_stands_first_and_the_tool_runtime_behind_the_agents_files() {
    for (name, family) in [
        ("parts", Family::Openai),
        ("turn-context", Family::Openai),
        ("turn-context", Family::Anthropic),
    ] {
        let mut it = strategy(name, Options::default());
        let mut talk = Talk::new(family);
        talk.now.other = vec![
            ("agent_context_files".into(), "FILES".into()),
            ("configured_additional".into(), "AUTHOR".into()),
        ];
        talk.now.web_search = Some("NOTES".into());
        talk.now.artifacts = Some("ARTIFACTS".into());
        talk.now.project = Some("PROJECT".into());
        let shown = system(&talk.send(&mut *it, "One."));
        let words = ["AUTHOR", "PROJECT", "ARTIFACTS", "FILES", "Current Setting"];
        let places = words.map(|word| shown.find(word));
        assert!(places.iter().all(Option::is_some), "{name}: {shown}");
        assert!(places.is_sorted(), "{name}: {shown}");
    }
}
