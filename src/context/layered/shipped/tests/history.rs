//! What the history holds, live, rebuilt and loaded.

use super::*;

#[test]
fn a_rebuilt_history_is_what_was_shown() {
    let (mut talk, mut it) = (Talk::new(Family::Compatible), start("copilot-4"));
    let notes = vault(&[("g/a.md", "Alpha")]);
    talk.set_vault(notes.clone());
    ask(&mut talk, &mut *it, " see {g} ", &[]);
    let live = talk.send(&mut *it, "two");
    assert!(texts(&live)[1].starts_with("see {g} \n\n<variable name=\"g\">"));
    let rebuilt = seen(&talk, &notes, (1, 0), |chain| it.render(chain)).unwrap();
    assert_eq!(texts(&rebuilt)[1], " see {g} ");
    let loaded = seen(&talk, &notes, (1, 1), |chain| it.render(chain)).unwrap();
    assert_eq!(texts(&loaded)[1], "see {g}");
}

#[test]
fn after_a_load_release_4_has_no_library_and_3_1_reads_the_names_that_survive() {
    for (name, expected) in [("copilot-3.1", true), ("copilot-4", false)] {
        let (mut talk, mut it) = (Talk::new(Family::Compatible), start(name));
        let notes = [("a.md", "Alpha"), ("b, c.md", "Lost")];
        ask(&mut talk, &mut *it, "one", &notes);
        talk.send(&mut *it, "two");
        let plan = seen(&talk, &vault(&notes), (1, 1), |chain| it.plan(chain)).unwrap();
        let Some(Stored::Copilot(built)) = plan.message else {
            panic!("a turn is stored");
        };
        let library = built.envelope.layer(LayerId::Previous).text();
        assert_eq!(library.contains("Alpha"), expected, "{name}");
        assert!(!library.contains("Lost"));
    }
}

#[test]
fn the_history_shows_thirty_exchanges() {
    let (mut talk, mut it) = (Talk::new(Family::Compatible), start("copilot-4"));
    for number in 0..32 {
        ask(&mut talk, &mut *it, &format!("question {number}"), &[]);
    }
    let prompt = talk.send(&mut *it, "last");
    assert_eq!(prompt.messages.len(), 61);
    assert_eq!(texts(&prompt)[1], "question 2");
}
