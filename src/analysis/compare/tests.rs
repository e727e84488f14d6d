use super::*;
use crate::analysis::Samples;
use crate::analysis::testing::{counted, manifest};
use crate::chat::Digest;
use crate::record::Outcome;
use std::sync::Arc;

/// `repeats` conversations of two turns; the second turn reads `read` tokens, and
/// `by` more in every other conversation.
fn samples(manifest: &Manifest, repeats: u32, read: u64, by: u64) -> Samples {
    let mut all = Vec::new();
    for configuration in ["dev", "append-only"] {
        for repeat in 1..=repeats {
            let more = if repeat % 2 == 0 { by } else { 0 };
            all.push(counted(configuration, repeat, 1, (1_000, 0, 0)));
            all.push(counted(configuration, repeat, 2, (1_200, read + more, 992)));
        }
    }
    let (records, bounds): (Vec<_>, Vec<_>) = all.into_iter().unzip();
    Samples::of(manifest, &records, &bounds)
}

fn compared(repeats: u32, change: impl Fn(&mut Manifest)) -> Comparison {
    let (base, mut other) = (manifest(), manifest());
    change(&mut other);
    let (before, now) = (
        samples(&base, repeats, 480, 0),
        samples(&other, repeats, 960, 16),
    );
    let side = |manifest, samples: &'_ Samples| (manifest, samples.list().to_vec());
    let ((base, before), (other, now)) = (side(&base, &before), side(&other, &now));
    compare(
        Side {
            manifest: base,
            samples: &before,
        },
        Side {
            manifest: other,
            samples: &now,
        },
        &Choice::default(),
    )
}

fn change<'a>(row: &'a Row, name: &str) -> &'a Change {
    row.changes
        .iter()
        .find(|change| change.name == name)
        .expect(name)
}

#[test]
fn a_difference_is_told_pair_by_pair() {
    let found = compared(10, |_| {});
    assert!(found.paired && found.notes.is_empty(), "{:?}", found.notes);
    let levels: Vec<_> = found
        .rows
        .iter()
        .map(|row| (&row.level, &*row.configurations.1))
        .collect();
    assert_eq!(
        levels,
        [
            (&Level::All, ""),
            (&Level::Configuration, "dev"),
            (&Level::Configuration, "append-only"),
        ]
    );
    let row = &found.rows[1];
    assert_eq!((row.pairs, row.requests), (10, 20));
    let computed = change(row, "computed_per_conversation");
    // 1,720 against 1,240, or 1,224 in every other conversation.
    assert_eq!(
        (computed.base, computed.candidate),
        (Some(1_720.0), Some(1_232.0))
    );
    assert_eq!(computed.difference, Some(-488.0));
    let interval = computed.interval.expect("ten pairs");
    assert!(
        interval.low >= -496.0 && interval.high <= -480.0,
        "{interval:?}"
    );
    assert_eq!(computed.told, Told::Clear { better: Some(true) });
    assert_eq!(change(row, "achievable_share").told, Told::Same);
    assert_eq!(
        change(row, "cost_per_conversation_usd").told,
        Told::Nothing("not known on both sides".to_owned())
    );
    let wants = |name| match &change(row, name).told {
        Told::TooFew(said) => said.clone(),
        other => format!("{other:?}"),
    };
    assert_eq!(wants("ttft_p90_us"), "20 of 50 requests");
    assert!(
        change(row, "ttft_p90_us").difference.is_none(),
        "no number where none can be told"
    );
    assert_eq!(
        compared(10, |_| {}).rows[1].changes,
        row.changes,
        "the same seed"
    );
}

#[test]
fn few_pairs_tell_nothing() {
    let found = compared(5, |_| {});
    let computed = change(&found.rows[1], "computed_per_conversation");
    assert_eq!(
        computed.told,
        Told::TooFew("5 of 6 conversations".to_owned())
    );
    assert_eq!((computed.difference, computed.interval), (None, None));
    assert_eq!(
        computed.base,
        Some(1_720.0),
        "what each side measured stands"
    );
}

#[test]
fn what_was_made_under_other_conditions_is_flagged_or_left_out() {
    let found = compared(6, |other| {
        other.targets[0].cache_model = Some(Arc::from("blocks:1600"));
    });
    assert!(found.notes[0].contains("blocks:1600"), "{:?}", found.notes);
    let achievable = change(&found.rows[1], "achievable_share");
    assert!(
        matches!(&achievable.told, Told::Nothing(why) if why.contains("cache model")),
        "{achievable:?}"
    );
    assert!(matches!(
        change(&found.rows[1], "cached_share").told,
        Told::Clear { .. }
    ));

    let found = compared(6, |other| other.targets[0].simulated = false);
    let ttft = change(&found.rows[1], "ttft_p50_us");
    assert!(
        matches!(&ttft.told, Told::Nothing(why) if why.contains("no real time")),
        "{ttft:?}"
    );

    let found = compared(6, |other| other.seed += 1);
    assert!(
        !found.paired && found.notes[0].contains("different seeds"),
        "{:?}",
        found.notes
    );
    assert!(matches!(
        change(&found.rows[1], "cached_share").told,
        Told::Clear { .. }
    ));

    let found = compared(6, |other| other.scenarios[0].sha256 = Digest::of(b"other"));
    assert!(found.rows.is_empty());
    assert!(
        found.left_out[0].contains("quickstart"),
        "{:?}",
        found.left_out
    );
}

#[test]
fn a_configuration_can_be_compared_with_another_of_the_same_run() {
    let manifest = manifest();
    let found = samples(&manifest, 6, 480, 0);
    let side = Side {
        manifest: &manifest,
        samples: found.list(),
    };
    let choice = Choice {
        configurations: Some(("dev".to_owned(), "append-only".to_owned())),
        ..Choice::default()
    };
    let found = compare(side, side, &choice);
    assert_eq!(found.rows.len(), 1);
    assert_eq!(
        change(&found.rows[0], "computed_per_conversation").told,
        Told::Same
    );
}

#[test]
fn configurations_of_a_scenario_and_repeat_are_not_independent() {
    let found = compared(4, |_| {});
    let all = &found.rows[0];
    assert_eq!(
        (&all.level, all.pairs, all.independent),
        (&Level::All, 8, 4)
    );
    for change in all.changes.iter().filter(|change| change.base.is_some()) {
        assert_eq!(
            change.told,
            Told::TooFew("4 of 6 independent conversations".to_owned()),
            "{}",
            change.name
        );
    }
    let found = compared(6, |_| {});
    let computed = change(&found.rows[0], "computed_per_conversation");
    assert_eq!(computed.told, Told::Clear { better: Some(true) });
    assert_eq!(computed.interval.expect("six").n, 6);
}

#[test]
fn failures_are_in_view() {
    let manifest = manifest();
    let before = samples(&manifest, 8, 480, 0);
    let mut now = before.list().to_vec();
    for sample in &mut now {
        if sample.place.0 == 2 {
            sample.outcome = Outcome::Timeout;
        }
    }
    let side = |samples| Side {
        manifest: &manifest,
        samples,
    };
    let found = compare(side(before.list()), side(&now), &Choice::default());
    let row = &found.rows[1];
    assert_eq!(row.changes[0].name, "failed_share", "the first row");
    let failed = change(row, "failed_share");
    assert_eq!((failed.base, failed.candidate), (Some(0.0), Some(0.5)));
    assert_eq!(
        failed.told,
        Told::Clear {
            better: Some(false)
        }
    );
    let ttft = change(row, "ttft_p50_us");
    assert_eq!(ttft.candidate, Some(f64::INFINITY));
    assert_eq!(
        ttft.told,
        Told::Nothing("too many requests of the candidate failed".to_owned())
    );
    let computed = change(row, "computed_per_conversation");
    assert_eq!(
        computed.told,
        Told::Nothing("no conversation is whole on both sides".to_owned())
    );
}

#[test]
fn what_one_side_failed_at_is_no_saving() {
    let manifest = manifest();
    let before = samples(&manifest, 8, 480, 0);
    let mut now = samples(&manifest, 8, 480, 0).list().to_vec();
    for sample in &mut now {
        if sample.place.0 == 2 && sample.repeat < 3 {
            sample.outcome = Outcome::Timeout;
        }
    }
    let base = Side {
        manifest: &manifest,
        samples: before.list(),
    };
    let candidate = Side {
        manifest: &manifest,
        samples: &now,
    };
    let found = compare(base, candidate, &Choice::default());
    let row = &found.rows[1];
    assert_eq!((row.pairs, row.requests), (8, 14));
    let computed = change(row, "computed_per_conversation");
    assert_eq!(computed.told, Told::Same);
    // 1,000 + 720 tokens, as in a report, not the mean with the cut ones.
    assert_eq!((computed.base, computed.over), (Some(1_720.0), Some(6)));
    assert_eq!(change(row, "cached_share").over, None);
    assert!(
        found
            .left_out
            .iter()
            .any(|said| said.contains("2 requests with a count on one side only"))
    );
}
