//! Counts made up by a rule, and the rule found again.

use super::*;
use crate::record::Outcome;

fn seen(total: u64, read: Option<u64>) -> Seen {
    Seen {
        what: format!("about {total} tokens"),
        stream: true,
        outcome: Outcome::Ok,
        error: None,
        said: Some(total),
        total: Some(total),
        read,
        written: None,
        first_token_us: Some(1),
        id: None,
        answer_cache: None,
        usage: None,
        chat: None,
    }
}

fn pair(total: u64, read: u64) -> Pair {
    Pair {
        first: seen(total, Some(0)),
        again: seen(total, Some(read)),
    }
}

/// Repeats of prompts of these lengths under a rule.
fn repeats(totals: &[u64], rule: impl Fn(u64) -> u64) -> Vec<Pair> {
    totals
        .iter()
        .map(|&total| pair(total, rule(total)))
        .collect()
}

#[test]
fn the_step_is_found_from_repeats() {
    let blocks = |size: u64| move |total: u64| (total - 1) / size * size;
    let dropped = |size: u64| move |total: u64| ((total - 1) / size).saturating_sub(1) * size;
    let lengths = [2_000, 2_541, 3_067, 3_632, 4_290];
    let step = |pairs: &[Pair]| step(pairs).map(|step| (step.tokens, step.dropped));
    assert_eq!(step(&repeats(&lengths, blocks(16))), Some((16, false)));
    assert_eq!(step(&repeats(&lengths, blocks(128))), Some((128, false)));
    assert_eq!(
        step(&repeats(
            &[4_000, 5_081, 6_122, 7_243, 8_564],
            dropped(1_600)
        )),
        Some((1_600, true))
    );
    assert_eq!(
        step(&repeats(&lengths, |total| total - 1)),
        None,
        "every token"
    );
    assert_eq!(step(&repeats(&lengths, |_| 0)), None, "no hits");
    assert_eq!(
        step(&repeats(&lengths[..1], blocks(16))),
        None,
        "one prompt says nothing"
    );
}

#[test]
fn an_accidental_multiple_of_the_step_is_not_sure() {
    // All reads happen to be multiples of 32 on blocks of 16.
    let pairs = repeats(&[2_017, 2_565, 3_081], |total| (total - 1) / 16 * 16);
    let unsure = step(&pairs).expect("a step");
    assert!(unsure.tokens > 16 && !unsure.sure, "{unsure:?}");
    let more = repeats(&[2_017, 2_565, 3_081, 2_035], |total| (total - 1) / 16 * 16);
    let sure = step(&more).expect("a step");
    assert_eq!((sure.tokens, sure.sure), (16, true));
}

#[test]
fn a_minimum_is_told_from_a_step() {
    let rule = |total: u64| if total >= 1_024 { total / 128 * 128 } else { 0 };
    let mut seen = Observed {
        lengths: repeats(&[2_000, 2_541, 3_067, 3_632, 4_290], rule),
        shorts: repeats(&[230, 1_115, 672, 893, 1_003, 1_059], rule),
        ..Observed::default()
    };
    let found = findings(&seen);
    assert_eq!(
        found.minimum,
        Some(Minimum {
            missed: 1_003,
            hit: 1_059,
            tokens: Some(1_024)
        })
    );
    let blocks = |total: u64| (total - 1) / 16 * 16;
    seen.lengths = repeats(&[2_000, 2_541, 3_067, 3_632, 4_290], blocks);
    seen.shorts = repeats(&[61], blocks);
    let found = findings(&seen);
    assert_eq!(found.minimum.and_then(|minimum| minimum.tokens), None);
}

#[test]
fn counts_that_are_left_out_are_told_from_counts_that_are_missing() {
    let (zero, some, none) = (Some(0), Some(99), None);
    let cases = [
        (zero, some, Counts::Reported),
        (none, some, Counts::LeftOutWhenZero),
        (none, none, Counts::NoReads),
    ];
    for (first, again, expected) in cases {
        let lengths = vec![Pair {
            first: seen(100, first),
            again: seen(100, again),
        }];
        let found = findings(&Observed {
            lengths,
            ..Observed::default()
        });
        assert_eq!(found.counts, expected);
    }
    let nothing = Seen {
        total: None,
        said: None,
        ..seen(0, None)
    };
    let lengths = vec![Pair {
        first: nothing.clone(),
        again: nothing,
    }];
    let found = findings(&Observed {
        lengths,
        ..Observed::default()
    });
    assert_eq!(found.counts, Counts::Nothing);
    assert_eq!(found.cache_model, None);
}

#[test]
fn the_convention_is_told_from_the_servers_own_counts() {
    let with = |said: u64, total: u64| {
        let first = seen(2_000, Some(0));
        let again = Seen {
            said: Some(said),
            total: Some(total),
            ..seen(2_000, Some(1_984))
        };
        let lengths = vec![Pair { first, again }];
        findings(&Observed {
            lengths,
            ..Observed::default()
        })
        .convention
    };
    assert_eq!(with(2_000, 2_000), Some(Convention::Inclusive));
    assert_eq!(with(16, 2_000), Some(Convention::Exclusive));
    assert_eq!(with(2_000, 3_984), Some(Convention::Contradictory));
}

#[test]
fn a_count_that_falls_by_what_was_read_is_exclusive() {
    let with = |cold: u64, warm: u64, read: u64| {
        excludes(&Pair {
            first: seen(cold, Some(0)),
            again: seen(warm, Some(read)),
        })
    };
    assert!(with(2_000, 16, 1_984));
    assert!(!with(2_000, 2_000, 1_984), "inclusive");
    assert!(!with(2_000, 1_000, 1_984), "they do not add up");
    let mut counted = seen(16, Some(1_984));
    counted.include();
    assert_eq!(counted.total, Some(2_000));
}

#[test]
fn two_answers_with_one_id_come_from_a_cache_of_answers() {
    let whole = |id: &str| Seen {
        id: Some(id.to_owned()),
        ..seen(10, Some(0))
    };
    let found = |ids: [&str; 2]| {
        let seen = Observed {
            whole: ids.map(whole).to_vec(),
            ..Observed::default()
        };
        findings(&seen).answer_cache.is_some()
    };
    assert!(found(["a", "a"]));
    assert!(!found(["a", "b"]));
    assert!(!found(["", ""]));
}
