//! Segments: what a compaction keeps, anchors anew and announces.

use super::{newest, planned, said, system, told};
use crate::chat::{Family, Role, SummaryPlace};
use crate::context::testing::{Talk, flat, strategy};
use crate::context::view::{CompactionMode, Purpose};
use crate::context::{Options, Strategy};

/// Three answered messages; artifacts come on with the second.
fn talked(it: &mut dyn Strategy, family: Family) -> Talk {
    let mut talk = Talk::new(family);
    for text in ["One.", "Two.", "Three."] {
        if text == "Two." {
            talk.now.artifacts = Some("ARTIFACTS".into());
        }
        talk.send(it, text);
        talk.reply("Yes.");
    }
    talk
}

#[test]
fn every_configuration_replaces_all_but_the_kept_turns_by_the_summary() {
    let cases = [
        (CompactionMode::Coverage, 2, vec!["Two.", "Three.", "Four."]),
        (
            CompactionMode::Coverage,
            9,
            vec!["One.", "Two.", "Three.", "Four."],
        ),
        (CompactionMode::Coverage, 0, vec!["Four."]),
        (CompactionMode::Positional, 2, vec!["Four."]),
    ];
    for name in ["dev", "lever-off", "parts", "turn-context"] {
        for (mode, keep, expected) in &cases {
            let mut it = strategy(name, Options::default());
            let mut talk = talked(&mut *it, Family::Openai);
            talk.compact(*keep, *mode);
            let prompt = talk.send(&mut *it, "Four.");
            let typed: Vec<String> = said(&prompt)
                .iter()
                .map(|text| text.rsplit("\n\n").next().unwrap().to_owned())
                .collect();
            assert_eq!(&typed, expected, "{name} {mode:?} {keep}");
            assert!(system(&prompt).ends_with("## What Was Said So Far\n\nThey talked."));
            talk.reply("Yes.");
            let next = flat(&talk.send(&mut *it, "Five."));
            let appends = next.starts_with(&flat(&prompt));
            assert!(
                appends,
                "{name}: no source changes, so the next request goes on"
            );
        }
    }
}

#[test]
fn the_new_anchor_holds_the_state_and_kept_messages_keep_their_blocks() {
    let mut it = planned();
    let mut talk = talked(&mut *it, Family::Openai);
    assert!(!system(&talk.render(&mut *it, &Purpose::Summarise)).contains("ARTIFACTS"));
    talk.compact(2, CompactionMode::Coverage);
    talk.now.project = Some("P".into());
    talk.wait(24);
    let prompt = talk.send(&mut *it, "Four.");
    let two = told("[artifacts] on\nARTIFACTS", "Two.");
    assert_eq!(said(&prompt), [two.as_str(), "Three.", "Four."]);
    let system = system(&prompt);
    assert!(
        system.contains("\nP\n\nARTIFACTS\n\n"),
        "canonical order among the new: {system}"
    );
    assert!(
        system.contains("2026-10-17 (Saturday)"),
        "dated itself: {system}"
    );
    talk.reply("Yes.");
    talk.now.artifacts = None;
    assert_eq!(
        newest(&talk.send(&mut *it, "Five.")),
        told("[artifacts] off", "Five.")
    );
}

#[test]
fn a_second_branch_below_one_summary_is_planned_against_the_first_ones_anchor() {
    let mut it = planned();
    let mut talk = talked(&mut *it, Family::Openai);
    let summary = talk.compact(0, CompactionMode::Coverage);
    let left = talk.send(&mut *it, "Left.");
    talk.leaf = Some(summary);
    talk.now.artifacts = None;
    let right = talk.send(&mut *it, "Right.");
    assert_eq!(talk.plan.anchor, None);
    assert_eq!(system(&right), system(&left));
    assert_eq!(newest(&right), told("[artifacts] off", "Right."));
}

#[test]
fn a_second_compaction_keeps_the_order_of_the_first_anchor() {
    let mut it = planned();
    let mut talk = Talk::new(Family::Openai);
    talk.now.project = Some("P".into());
    talk.now.artifacts = Some("ARTIFACTS".into());
    talk.now.skills = vec![("s".into(), "Does.".into())];
    talk.send(&mut *it, "One.");
    talk.reply("Yes.");
    talk.compact(0, CompactionMode::Coverage);
    talk.now.artifacts = None;
    talk.now.memory_guard = Some("GUARD".into());
    let second = system(&talk.send(&mut *it, "Two."));
    let place = |text: &str, what: &str| text.find(what).unwrap();
    assert!(place(&second, "\nP") < place(&second, "- s: Does."));
    assert!(place(&second, "- s: Does.") < place(&second, "GUARD"));
    assert!(!second.contains("ARTIFACTS"));
    talk.reply("Yes.");
    talk.now.artifacts = Some("ARTIFACTS".into());
    assert_eq!(
        newest(&talk.send(&mut *it, "Three.")),
        told("[artifacts] on\nARTIFACTS", "Three.")
    );
    talk.reply("Yes.");
    talk.compact(1, CompactionMode::Coverage);
    let third = talk.send(&mut *it, "Four.");
    assert_eq!(newest(&third), "Four.");
    assert!(place(&system(&third), "GUARD") < place(&system(&third), "ARTIFACTS"));
}

#[test]
fn a_chat_compacted_before_it_was_switched_over_is_anchored_at_its_summary() {
    let mut dev = strategy("dev", Options::default());
    let mut talk = talked(&mut *dev, Family::Openai);
    talk.compact(1, CompactionMode::Coverage);
    let mut it = planned();
    assert_eq!(newest(&talk.send(&mut *it, "Four.")), "Four.");
    assert_eq!(talk.anchor, None, "the anchor is the summary's");
    talk.reply("Yes.");
    talk.now.artifacts = None;
    assert_eq!(
        newest(&talk.send(&mut *it, "Five.")),
        told("[artifacts] off", "Five.")
    );
}

#[test]
fn the_summary_goes_where_the_wire_wants_it() {
    let mut it = planned();
    let mut talk = talked(&mut *it, Family::Anthropic);
    talk.compact(1, CompactionMode::Coverage);
    let moving = talk.send(&mut *it, "Four.");
    let texts = said(&moving);
    assert_eq!(texts[0], "Three.");
    assert!(texts[1].starts_with("## What Was Said So Far") && texts[2] == "Four.");

    talk.wire.summary = SummaryPlace::Head;
    let head = talk.render(&mut *it, &Purpose::Send);
    let texts = said(&head);
    assert!(texts[0].starts_with("<summary>\nThey talked.\n</summary>\n\n"));
    assert_eq!(texts[1..], ["Three.", "Four."]);
    talk.reply("Yes.");
    let next = flat(&talk.send(&mut *it, "Five."));
    assert!(
        next.starts_with(&flat(&head)),
        "at the head it no longer moves"
    );
}

#[test]
fn a_summariser_request_keeps_the_prefix_and_asks_last() {
    for family in Family::ALL {
        let mut it = planned();
        let talk = talked(&mut *it, family);
        let last = talk.chain(talk.parent(talk.leaf.unwrap()), &Purpose::Send, |chain| {
            it.render(chain)
        });
        let ask = talk.render(&mut *it, &Purpose::Summarise);
        assert!(flat(&ask).starts_with(&flat(&last.unwrap())), "{family:?}");
        assert_eq!(ask.messages.last().unwrap().role, Role::User);
        assert!(newest(&ask).starts_with("Write a summary"));
    }
}
