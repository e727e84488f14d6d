//! What is planned at send time, and what later requests make of it.

use super::{begun, newest, planned, said, system, told};
use crate::chat::Family;
use crate::context::testing::{Talk, flat, round, strategy};
use crate::context::view::{NodeId, Purpose};
use crate::context::{Options, Stored};

/// What a step is called, what it changes, and the message then sent.
type Step = (&'static str, fn(&mut Talk), String);

#[test]
fn each_net_change_is_told_once_on_the_message_it_was_sampled_for() {
    let mut it = planned();
    let mut talk = begun(&mut *it);
    let steps: [Step; 5] = [
        (
            "on",
            |talk| talk.now.artifacts = Some("ARTIFACTS".into()),
            told("[artifacts] on\nARTIFACTS", "On."),
        ),
        ("same", |_| {}, "On.".to_owned()),
        (
            "changed",
            |talk| talk.now.artifacts = Some("NEW".into()),
            told("[artifacts] changed\nNEW", "On."),
        ),
        (
            "off, and a fact",
            |talk| {
                talk.now.artifacts = None;
                talk.remember("name", "Ada");
            },
            told("[artifacts] off\n[memory]\nadded: Ada", "On."),
        ),
        (
            "flipped there and back",
            |talk| {
                talk.now.artifacts = Some("X".into());
                talk.now.artifacts = None;
            },
            "On.".to_owned(),
        ),
    ];
    let mut expected = vec!["One.".to_owned()];
    for (case, change, message) in steps {
        change(&mut talk);
        let prompt = talk.send(&mut *it, "On.");
        expected.push(message);
        assert_eq!(said(&prompt), expected, "{case}");
        assert_eq!(system(&prompt), "You help.", "{case}");
        talk.reply("Yes.");
    }
}

#[test]
fn a_resumed_turn_uses_the_anchor_it_was_paused_with() {
    let mut it = planned();
    let mut talk = Talk::new(Family::Anthropic);
    talk.now.project = Some("P".into());
    talk.send_with(&mut *it, "Look.", |turn| turn.rounds = vec![round(1)]);
    let paused = flat(&talk.render(&mut *it, &Purpose::Send));
    talk.now.project = Some("Q".into());
    talk.now.artifacts = Some("A".into());
    assert_eq!(flat(&talk.render(&mut *it, &Purpose::Resume)), paused);
    talk.reply("Yes.");
    let next = newest(&talk.send(&mut *it, "Go on."));
    assert!(
        next.contains("[project] changed") && next.contains("[artifacts] on"),
        "{next}"
    );
}

#[test]
fn an_edit_is_planned_as_a_sibling_and_the_first_branch_stays_as_it_was() {
    let mut it = planned();
    let mut talk = begun(&mut *it);
    let fork = talk.leaf;
    talk.now.project = Some("P".into());
    let left = talk.send(&mut *it, "Left.");
    let left_leaf = talk.leaf;
    talk.leaf = fork;
    talk.now.artifacts = Some("A".into());
    let right = newest(&talk.send(&mut *it, "Right."));
    assert!(
        right.contains("[project] on") && right.contains("[artifacts] on"),
        "{right}"
    );
    talk.leaf = left_leaf;
    assert_eq!(talk.render(&mut *it, &Purpose::Regenerate), left);
    talk.reply("Yes.");
    assert_eq!(
        newest(&talk.send(&mut *it, "On.")),
        told("[artifacts] on\nA", "On.")
    );
}

#[test]
fn regenerating_an_older_turn_replays_its_own_request() {
    let mut it = planned();
    let mut talk = begun(&mut *it);
    talk.now.project = Some("P".into());
    let second = talk.send_with(&mut *it, "Two.", |turn| {
        turn.retrieved = Some("FOUND".into());
    });
    let leaf = talk.leaf;
    assert_eq!(
        newest(&second),
        told(
            &format!(
                "[project] on\n{}\nP\n[retrieved]\nFOUND",
                crate::context::Phrases::default().get("turn.project")
            ),
            "Two."
        )
    );
    talk.reply("Yes.");
    talk.now.project = None;
    talk.send(&mut *it, "Three.");
    talk.leaf = leaf;
    assert_eq!(talk.render(&mut *it, &Purpose::Regenerate), second);
}

#[test]
fn a_chat_switched_over_in_the_middle_is_anchored_to_its_first_turn_after() {
    let mut dev = strategy("dev", Options::default());
    let mut talk = Talk::new(Family::Openai);
    talk.now.project = Some("P".into());
    talk.send(&mut *dev, "One.");
    talk.reply("Yes.");
    talk.now.artifacts = Some("ARTIFACTS".into());
    talk.wait(24);
    let mut it = planned();
    // Regenerating before the first send writes nothing and still works.
    let early = talk.chain(Some(NodeId(0)), &Purpose::Regenerate, |chain| {
        it.render(chain)
    });
    assert!(system(&early.unwrap()).contains("\nP"));
    let first = talk.send(&mut *it, "Two.");
    assert_eq!(said(&first), ["One.", "Two."]);
    assert!(system(&first).contains("ARTIFACTS"));
    assert!(
        system(&first).ends_with("2026-10-17 (Saturday)"),
        "no message tells the date"
    );
    talk.reply("Yes.");
    let next = flat(&talk.send(&mut *it, "Three."));
    assert!(next.starts_with(&flat(&first)));
}

#[test]
fn what_another_layout_stored_is_not_read() {
    let mut it = planned();
    let mut talk = begun(&mut *it);
    talk.anchor = Some(Stored::Seen);
    talk.now.project = Some("P".into());
    let prompt = talk.send_with(&mut *it, "Two.", |_| {});
    assert!(system(&prompt).contains('P'));
    assert!(matches!(talk.plan.anchor, Some(Stored::TurnAnchor(_))));
}
