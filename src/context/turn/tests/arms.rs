//! What tells the arms apart.

use super::{newest, said, system};
use crate::chat::{Content, Family, Text};
use crate::context::configuration::{MemoryForm, Reasoning};
use crate::context::strategy::Setup;
use crate::context::strategy::find;
use crate::context::testing::{Talk, flat, moment, strategy};
use crate::context::view::{Attachment, Note, Purpose, Subagent};
use crate::context::{ContextError, Options, Phrases};
use std::sync::Arc;

#[test]
fn before_the_lever_the_time_of_the_turn_stands_in_front_of_static_text() {
    let mut it = strategy("dev", Options::default());
    let mut talk = Talk::new(Family::Openai);
    talk.now.web_search = Some("CITE".into());
    talk.now.artifacts = Some("ARTIFACTS".into());
    let first = system(&talk.send(&mut *it, "One."));
    assert!(first.starts_with("CITE\nYou help.\n\n# Current Setting\n"));
    assert!(first.ends_with("2026-10-16T09:00:47.313Z\nARTIFACTS"));
    talk.reply("Yes.");
    assert!(system(&talk.send(&mut *it, "Two.")).ends_with("2026-10-16T09:01:34.626Z\nARTIFACTS"));

    let mut on = strategy("parts", Options::default());
    let first = system(&talk.send(&mut *on, "Three."));
    assert!(first.starts_with("CITE\nYou help.\n\nARTIFACTS\n# Current Setting\n"));
    assert!(first.ends_with("2026-10-16 09:00 (UTC)"));
}

#[test]
fn instructions_that_name_the_time_are_of_the_turn_or_of_the_start() {
    let template = Text::from("Now {{ISO_datetime}}.\n");
    let cases = [
        ("dev", "Now 2026-10-16T10:00:47.313Z."),
        ("parts", "Now 2026-10-16T09:00:00.000Z."),
        ("turn-context", "Now 2026-10-16T09:00:00.000Z."),
    ];
    for (name, expected) in cases {
        let mut it = strategy(name, Options::default());
        let mut talk = Talk::new(Family::Openai);
        talk.now.system = template.clone();
        talk.wait(1);
        let prompt = talk.send(&mut *it, "One.");
        assert_eq!(system(&prompt), expected, "{name}");
    }
}

#[test]
fn the_old_clients_fault_moves_resolved_instructions_to_another_place() {
    for name in ["dev", "lever-off"] {
        let options = Options {
            prompt_prefix: Some(true),
            ..Options::default()
        };
        let mut it = strategy(name, options);
        let mut talk = Talk::new(Family::Openai);
        talk.now.system = Text::from("On {{current_date}}.");
        talk.now.web_search = Some("CITE".into());
        let first = system(&talk.send(&mut *it, "One."));
        assert!(first.starts_with("CITE\n\n#") && first.ends_with("\nOn 2026-10-16 (Friday)."));
        talk.reply("Yes.");
        let second = system(&talk.send(&mut *it, "Two."));
        assert!(
            second.starts_with("CITE\nOn 2026-10-16 (Friday).\n\n#"),
            "{second}"
        );
    }
}

#[test]
fn parts_tell_a_later_date_in_the_zone_now_in_force() {
    let mut it = strategy("parts", Options::default());
    let mut talk = Talk::new(Family::Openai);
    talk.wait(10);
    talk.send(&mut *it, "Evening.");
    talk.reply("Yes.");
    talk.wait(24);
    let prompt = talk.send(&mut *it, "Next day.");
    let note = "<context_update>\n[date] 2026-10-17 (Saturday)\n</context_update>\n\n";
    assert_eq!(
        said(&prompt),
        ["Evening.".to_owned(), format!("{note}Next day.")]
    );
    // In Tokyo the evening was the next day already: old messages change.
    talk.now.at.zone = moment("2026-10-16T09:00:00Z", "Asia/Tokyo").zone;
    let prompt = talk.render(&mut *it, &Purpose::Send);
    assert_eq!(said(&prompt)[0], format!("{note}Evening."));
}

#[test]
fn stamps_stand_in_front_of_every_message() {
    for name in ["dev", "lever-off", "parts"] {
        let mut it = strategy(name, Options::default());
        let mut talk = Talk::new(Family::Openai);
        talk.send(&mut *it, "One.");
        talk.reply("Yes.");
        talk.now.timestamps = true;
        let prompt = talk.send(&mut *it, "Two.");
        let expected = ["[2026-10-16 09:00]\nOne.", "[2026-10-16 09:01]\nTwo."];
        assert_eq!(said(&prompt), expected, "{name}");
    }
}

#[test]
fn a_helper_is_built_from_live_state_with_its_skills_where_the_arm_puts_them() {
    let helper = Purpose::Subagent(Subagent {
        task: "Look.".into(),
        skills: vec![("review".into(), "SKILL".into())],
        retrieved: Some("FOUND".into()),
    });
    let cases = [
        (
            "dev",
            vec!["# Current Setting", "ARTIFACTS", "FOUND", "SKILL"],
        ),
        (
            "parts",
            vec!["ARTIFACTS", "SKILL", "# Current Setting", "FOUND"],
        ),
        (
            "turn-context",
            vec!["ARTIFACTS", "SKILL", "# Current Setting", "FOUND"],
        ),
    ];
    for (name, order) in cases {
        let mut it = strategy(name, Options::default());
        let mut talk = Talk::new(Family::Openai);
        talk.now.web_search = Some("CITE".into());
        talk.send_with(&mut *it, "One.", |turn| {
            turn.queued_files = vec!["a.csv".into()];
        });
        // Live: not frozen by the segment's anchor.
        talk.now.artifacts = Some("ARTIFACTS".into());
        let prompt = talk.render(&mut *it, &helper);
        assert_eq!(said(&prompt), ["Look."], "{name}");
        let system = system(&prompt);
        let places: Vec<_> = order.iter().map(|what| system.find(what)).collect();
        assert!(
            places.iter().all(Option::is_some) && places.is_sorted(),
            "{name}: {system}"
        );
        assert!(!system.contains("a.csv"), "{name}");
    }
}

#[test]
fn attachments_are_told_whole_in_front_of_their_message_and_pictures_are_blocks() {
    let note = Attachment::Note {
        note: Note {
            path: Arc::from("spec.md"),
            text: Some("SPEC".into()),
            created: jiff::Timestamp::UNIX_EPOCH,
            modified: jiff::Timestamp::UNIX_EPOCH,
            tags: vec![],
        },
        active: false,
    };
    let image = Attachment::Image {
        name: Arc::from("a.png"),
        media_type: Arc::from("image/png"),
        data: "AAAA".into(),
    };
    for name in ["dev", "lever-off", "parts", "turn-context"] {
        let mut it = strategy(name, Options::default());
        let mut talk = Talk::new(Family::Openai);
        let attached = |turn: &mut crate::context::view::UserTurn| {
            turn.attachments = vec![note.clone(), image.clone()];
        };
        let prompt = talk.send_with(&mut *it, "One.", attached);
        assert!(
            newest(&prompt).ends_with("\"spec.md\"\nSPEC\n\nOne."),
            "{name}"
        );
        let blocks = &prompt.messages[0].blocks;
        assert!(matches!(blocks[1].content, Content::Image(_)), "{name}");
        talk.reply("Yes.");
        let again = talk.send_with(&mut *it, "Two.", attached);
        assert!(newest(&again).contains("SPEC"), "{name}: full text again");
        talk.reply("Yes.");
        let alone = talk.send_with(&mut *it, "", |turn| turn.attachments = vec![image.clone()]);
        assert_eq!(
            alone.messages.last().unwrap().blocks.len(),
            1,
            "{name}: no blank text"
        );
    }
}

#[test]
fn options_are_followed_and_those_not_read_are_refused() {
    let options = Options {
        memory_form: Some(MemoryForm::Keyed),
        reasoning: Some(Reasoning::Keep),
        ..Options::default()
    };
    let mut it = strategy("turn-context", options);
    let mut talk = Talk::new(Family::Openai);
    talk.remember("name", "Ada");
    talk.send(&mut *it, "One.");
    talk.reply("Yes.");
    talk.remember("name", "Bob");
    let prompt = talk.send(&mut *it, "Two.");
    assert!(system(&prompt).contains("name (1 tokens): Ada"));
    assert!(newest(&prompt).contains("changed name: Bob"));
    assert!(flat(&prompt).contains("Thinking."));

    let library = Options {
        drop_current_from_library: Some(true),
        ..Options::default()
    };
    let prefix = Options {
        prompt_prefix: Some(false),
        ..Options::default()
    };
    for (name, options, named) in [
        ("dev", library, "`drop_current_from_library`"),
        ("parts", prefix, "`prompt_prefix`"),
    ] {
        let setup = Setup {
            options,
            phrases: Arc::new(Phrases::default()),
            builder: None,
            bodies: Arc::from([]),
        };
        let refused = find(name).unwrap().begin(setup).err().unwrap();
        assert!(matches!(refused, ContextError::Unsupported { .. }));
        assert!(refused.to_string().contains(named));
    }
}

#[test]
fn a_resumed_turn_reads_the_world_as_it_is_now_but_where_it_was_planned() {
    for (name, live) in [
        ("dev", true),
        ("lever-off", true),
        ("parts", true),
        ("turn-context", false),
    ] {
        let mut it = strategy(name, Options::default());
        let mut talk = Talk::new(Family::Openai);
        let sent = talk.send(&mut *it, "One.");
        talk.now.system = Text::from("Another agent.");
        talk.now.project = Some("PROJECT".into());
        let resumed = talk.render(&mut *it, &Purpose::Resume);
        assert_eq!(system(&resumed).contains("Another agent."), live, "{name}");
        assert_eq!(resumed != sent, live, "{name}");
    }
}
