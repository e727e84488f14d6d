//! Automatic compaction, in every layout that heeds a window.

use super::samples::*;
use super::{Conversation, ConversationSetup, Nonce, NoncePlace, Pending, Shipped};
use crate::chat::Family;
use crate::context::{Configuration, Options, STRATEGIES};
use crate::scenario::model::Action;
use std::sync::Arc;

fn windowed(actions: Vec<Action>, name: &str, window: u64) -> Vec<Pending> {
    let scenario = Arc::new(scenario(actions));
    let mut configuration = Configuration::built_in(name).unwrap();
    configuration.options = Options {
        window: Some(window),
        ..Options::default()
    };
    let setup = ConversationSetup {
        name: "test/1".into(),
        configuration,
        wire: Family::Compatible.wire(),
        served: super::Served::Any(None),
        nonce: Nonce::ZERO,
        place: NoncePlace::Nowhere,
        resources: Arc::new(Shipped(Arc::clone(&scenario))),
    };
    run_with(Conversation::new(scenario, setup).unwrap(), "x")
}

fn long_messages(count: usize) -> Vec<Action> {
    let text = |at: usize| format!("question {at}: {}", "filler ".repeat(60));
    (0..count).map(|at| user(&text(at))).collect()
}

#[test]
fn a_full_window_is_compacted_by_itself_and_keeps_the_two_newest_turns() {
    let heeding = STRATEGIES
        .iter()
        .filter(|kind| kind.options.contains(&"window") && !kind.compacts);
    let mut names = Vec::new();
    for kind in heeding {
        names.push(kind.name);
        let requests = windowed(long_messages(6), kind.name, 800);
        let again = windowed(long_messages(6), kind.name, 800);
        let texts: Vec<String> = requests.iter().map(|it| rendered(&it.prompt)).collect();
        let name = kind.name;
        let first = requests.iter().position(|it| {
            it.events
                .iter()
                .any(|event| event.label.starts_with("compact: "))
        });
        let first = first.unwrap_or_else(|| panic!("{name} never compacts"));
        assert!(
            first > 1,
            "{name}: not before there is something to replace"
        );
        assert!(texts[first - 1].contains("question 0:"), "{name}");
        assert!(!texts[first].contains("question 0:"), "{name}");
        assert!(
            texts[first].contains(&format!("question {}:", first - 1)),
            "{name}"
        );
        assert!(
            texts[first].contains(&format!("question {first}:")),
            "{name}"
        );
        assert_eq!(requests[first].events[0].line, first + 1);
        for text in &texts {
            assert!(text.chars().count() <= 800 * 4, "{name}: {}", text.len());
        }
        assert!(
            requests
                .iter()
                .zip(&again)
                .all(|(one, other)| one.prompt == other.prompt)
        );
        assert_eq!(requests.len(), 6, "{name}: no request for a summary");
    }
    assert_eq!(names.len(), 8, "{names:?}");
}

#[test]
fn without_need_or_without_history_nothing_is_compacted() {
    for (count, window) in [(6, 100_000), (1, 1), (2, 1)] {
        let plain = run(long_messages(count), "append-only");
        let asked = windowed(long_messages(count), "append-only", window);
        for (one, other) in plain.iter().zip(&asked) {
            assert_eq!(
                one.prompt, other.prompt,
                "{count} messages, window {window}"
            );
        }
    }
}

#[test]
fn an_edited_message_is_given_room_on_its_own_branch() {
    use crate::scenario::model::TurnRef;
    let mut actions = long_messages(5);
    actions.push(Action::Edit {
        turn: TurnRef::Number(4),
        user: Box::new(said(&"edited ".repeat(70))),
    });
    let requests = windowed(actions, "append-only", 800);
    let last = rendered(&requests.last().unwrap().prompt);
    assert!(last.contains("edited") && !last.contains("question 3:"));
    assert!(last.chars().count() <= 800 * 4);
}
