use super::super::{Inputs, bounds};
use super::*;
use crate::analysis::testing::{Said, record, store};
use crate::chat::Role::{Assistant, System, User};
use crate::record::{BoundRecord, EventLabel, TargetFacts};
use std::sync::Arc;

/// Turns that each add 500 tokens to a system part of 1,000, a minute apart.
fn chat(turns: u32) -> (Vec<RequestRecord>, Vec<Vec<Said>>) {
    let texts = ["a", "b", "c", "d", "e", "f"];
    let mut said: Vec<Said> = vec![(System, vec![("agent", "system")])];
    let (mut records, mut all) = (Vec::new(), Vec::new());
    for turn in 1..=turns {
        if turn > 1 {
            said.push((Assistant, vec![("reply", "yes")]));
        }
        said.push((User, vec![("user", texts[turn as usize])]));
        let mut record = record(&said);
        record.turn = turn;
        record.nonce = "1 2 3 4 5 6 7 8".into();
        record.stamps.sent_us = Some(Micros(u64::from(turn) * 60_000_000));
        record.stamps.done_us = Some(Micros(u64::from(turn) * 60_000_000 + 5));
        record.scenario_ms = i64::from(turn) * 60_000;
        record.usage.total = Some(Tokens(1_000 + 500 * u64::from(turn)));
        for message in &mut record.prompt {
            message.marks = Some(Vec::new());
        }
        records.push(record);
        all.push(said.clone());
    }
    (records, all)
}

/// Marks the end of the last message, as automatic caching does.
fn mark_tails(records: &mut [RequestRecord]) {
    for record in records {
        let last = record.prompt.last_mut().unwrap();
        last.marks = Some(vec![last.spans.len()]);
    }
}

fn play(model: &str, lifetime_ms: Option<u64>, records: &[RequestRecord]) -> Vec<BoundRecord> {
    let target = TargetFacts {
        name: Arc::from("here"),
        cache_model: Some(Arc::from(model)),
        lifetime_ms,
        ..TargetFacts::default()
    };
    bounds(&Inputs {
        target: &target,
        records,
        spans: &store(&chat(5).1),
        started_ms: None,
        encoder: None,
    })
    .unwrap()
}

fn shown(found: &[BoundRecord]) -> Vec<Option<u64>> {
    found.iter().map(|one| one.bound.map(|it| it.0)).collect()
}

#[test]
fn a_request_that_goes_on_can_have_read_the_prompt_before_whole() {
    let (mut records, _) = chat(4);
    mark_tails(&mut records);
    let cases = [
        (
            "message-ends",
            [Some(0), Some(1_500), Some(2_000), Some(2_500)],
        ),
        (
            "breakpoints",
            [Some(0), Some(1_500), Some(2_000), Some(2_500)],
        ),
        // An entry below the minimum is not written.
        (
            "message-ends,min=1800",
            [Some(0), Some(0), Some(2_000), Some(2_500)],
        ),
        (
            "steps:128,min=1024",
            [Some(0), Some(1_408), Some(1_920), Some(2_432)],
        ),
        // Engines that keep what they generated can return more than that.
        ("units", [None; 4]),
        ("blocks:16", [None; 4]),
    ];
    for (model, expected) in cases {
        let found = play(model, None, &records);
        assert_eq!(shown(&found), expected, "{model}");
        for one in found.iter().filter(|one| one.bound.is_some()) {
            assert_eq!(one.tokenizer.as_deref(), Some(REPORTED));
        }
    }
    // The closed form of the specification: sum of T_(t-1) over sum of T_t.
    let found = play("message-ends", None, &records);
    let sums = found
        .iter()
        .zip(&records)
        .fold((0, 0), |(u, t), (one, record)| {
            (u + one.bound.unwrap().0, t + record.usage.total.unwrap().0)
        });
    assert_eq!(sums, (1_500 + 2_000 + 2_500, 1_500 + 2_000 + 2_500 + 3_000));
}

#[test]
fn where_it_does_not_apply_there_is_no_bound() {
    let of = |change: &dyn Fn(&mut Vec<RequestRecord>)| {
        let (mut records, _) = chat(3);
        mark_tails(&mut records);
        change(&mut records);
        shown(&play("breakpoints", Some(300_000), &records))
    };
    assert_eq!(of(&|_| ()), [Some(0), Some(1_500), Some(2_000)]);
    assert_eq!(
        of(&|records| records[1].usage.total = None),
        [Some(0), Some(1_500), None],
        "the total before was not said"
    );
    assert_eq!(
        of(&|records| records[0].prompt.last_mut().unwrap().marks = Some(vec![])),
        [Some(0), None, Some(2_000)],
        "the prompt before was not marked at its end"
    );
    assert_eq!(
        of(&|records| records[0].prompt.iter_mut().for_each(|it| it.marks = None)),
        [Some(0), None, Some(2_000)],
        "an older record does not say where markers stood"
    );
    assert_eq!(
        of(&|records| records[2].prompt.swap(0, 1)),
        [Some(0), Some(1_500), None],
        "the prefix broke"
    );
    assert_eq!(
        of(&|records| records[2].nonce = "0 0 0 0 0 0 0 0".into()),
        [Some(0), Some(1_500), None],
        "others may have used the cache"
    );
    assert_eq!(
        of(&|records| records[1].stamps.done_us = Some(Micros(900_000_000))),
        [Some(0), Some(1_500), None],
        "the request before was still running"
    );
    assert_eq!(
        of(&|records| {
            records[2].scenario_ms += 300_001;
            records[2].events = vec![EventLabel {
                label: "idle 6m".into(),
                line: 1,
                rewrites: None,
            }];
        }),
        [Some(0), Some(1_500), Some(0)],
        "the entry has expired"
    );
}

#[test]
fn an_entry_out_of_the_look_back_is_not_claimed() {
    let (mut records, _) = chat(3);
    mark_tails(&mut records);
    // Two messages, so two blocks, lie between a prompt's end and the next one's marker.
    for (lookback, expected) in [(3, Some(1_500)), (2, None)] {
        let model = format!("breakpoints,lookback={lookback}");
        assert_eq!(shown(&play(&model, None, &records))[1], expected, "{model}");
    }
}

#[test]
fn an_entry_lives_for_as_long_as_its_marker_asked() {
    let of = |long_tail: bool, long_system: bool, waited: i64| {
        let (mut records, _) = chat(2);
        mark_tails(&mut records);
        for record in &mut records {
            let last = record.prompt.last_mut().unwrap();
            last.long_marks = Vec::from_iter(long_tail.then_some(last.spans.len()));
            let system = &mut record.prompt[0];
            system.marks = Some(vec![1]);
            system.long_marks = Vec::from_iter(long_system.then_some(1));
        }
        records[1].scenario_ms = records[0].scenario_ms + waited * 60_000;
        shown(&play("breakpoints", Some(300_000), &records))[1]
    };
    assert_eq!(of(false, false, 4), Some(1_500));
    assert_eq!(of(false, false, 20), Some(0));
    assert_eq!(of(true, true, 20), Some(1_500));
    assert_eq!(of(true, true, 70), Some(0));
    assert_eq!(
        of(false, true, 20),
        None,
        "an unknown part of it is still there"
    );
}
