//! Dates, zones, clocks and stamps in what is planned.

use super::{begun, newest, planned, said, told};
use crate::chat::Family;
use crate::chat::Text;
use crate::context::testing::{Talk, flat, moment, round, strategy};
use crate::context::view::{Chain, Purpose};
use crate::context::{Options, Strategy};

#[test]
fn idle_days_give_one_note_with_the_last_date_and_travel_west_none() {
    let mut it = planned();
    let mut talk = begun(&mut *it);
    talk.wait(72);
    assert_eq!(
        newest(&talk.send(&mut *it, "Back.")),
        told("[date] 2026-10-19 (Monday)", "Back.")
    );
    talk.reply("Yes.");
    // Nine hours back from UTC is the day before.
    talk.now.at.zone = moment("2026-10-16T09:00:00Z", "America/Anchorage").zone;
    talk.wait(-5);
    assert_eq!(newest(&talk.send(&mut *it, "West.")), "West.");
    assert_eq!(talk.plan.warnings.len(), 1);
    assert!(talk.plan.warnings[0].contains("`2026-10-18 (Sunday)`"));
    talk.reply("Yes.");
    talk.wait(24);
    assert_eq!(newest(&talk.send(&mut *it, "Same day.")), "Same day.");
    assert!(talk.plan.warnings.is_empty());
    talk.reply("Yes.");
    talk.now.at.zone = moment("2026-10-16T09:00:00Z", "Asia/Tokyo").zone;
    assert_eq!(
        newest(&talk.send(&mut *it, "East.")),
        told("[date] 2026-10-20 (Tuesday)", "East.")
    );
}

#[test]
fn the_date_is_local_on_both_sides_of_a_change_of_the_clocks() {
    let mut it = planned();
    let mut talk = Talk::new(Family::Openai);
    talk.now.at = moment("2026-10-24T21:00:00Z", "Europe/Berlin");
    talk.now.started = talk.now.at.clone();
    talk.send(&mut *it, "23:00, summer time.");
    talk.reply("Yes.");
    talk.now.at.at = "2026-10-24T22:30:00Z".parse().unwrap();
    let next = talk.send(&mut *it, "00:30, summer time.");
    assert_eq!(
        newest(&next),
        told("[date] 2026-10-25 (Sunday)", "00:30, summer time.")
    );
    talk.reply("Yes.");
    talk.now.at.at = "2026-10-25T22:30:00Z".parse().unwrap();
    assert_eq!(
        newest(&talk.send(&mut *it, "23:30, winter time.")),
        "23:30, winter time."
    );
    talk.reply("Yes.");
    talk.now.at.at = "2026-10-25T23:00:00Z".parse().unwrap();
    let next = talk.send(&mut *it, "Midnight.");
    assert_eq!(
        newest(&next),
        told("[date] 2026-10-26 (Monday)", "Midnight.")
    );
}

#[test]
fn midnight_and_edits_within_a_turn_change_none_of_its_requests() {
    let mut it = planned();
    let mut talk = begun(&mut *it);
    talk.send_with(&mut *it, "Look.", |turn| {
        turn.rounds = vec![round(1), round(2)];
    });
    let requests = |talk: &Talk, it: &mut dyn Strategy| -> Vec<String> {
        talk.chain(talk.leaf, &Purpose::Resume, |chain| {
            let mut request = |rounds| {
                it.render(&Chain {
                    rounds,
                    ..chain.clone()
                })
                .unwrap()
            };
            (0..3).map(|rounds| flat(&request(rounds))).collect()
        })
    };
    let before = requests(&talk, &mut *it);
    talk.wait(15);
    talk.now.project = Some("P".into());
    talk.now.system = Text::from("Other agent.");
    assert_eq!(requests(&talk, &mut *it), before);
    assert!(before.is_sorted_by(|one, next| next.starts_with(one.as_str()) && one != next));
}

#[test]
fn retrieval_files_and_stamps_stay_with_their_message() {
    let mut it = strategy(
        "turn-context",
        Options {
            timestamps: Some(true),
            ..Options::default()
        },
    );
    let mut talk = Talk::new(Family::Anthropic);
    let first = talk.send_with(&mut *it, "One.", |turn| {
        turn.retrieved = Some("FOUND".into());
        turn.queued_files = vec!["a.csv".into()];
    });
    let one = newest(&first);
    assert!(
        one.starts_with("<context_update>\n[sent] 2026-10-16 09:00\n[retrieved]\nFOUND\n[files]\n")
    );
    talk.reply("Yes.");
    talk.now.at.zone = moment("2026-10-16T09:00:00Z", "Asia/Tokyo").zone;
    let second = talk.send(&mut *it, "Two.");
    assert_eq!(
        said(&second),
        [one, told("[sent] 2026-10-16 18:01", "Two.")]
    );
}
