//! Names of files, and figures as data from hand-made runs.

use super::*;
use crate::analysis::Samples;
use crate::analysis::testing::{blank, counted, manifest, repeated, story};
use crate::chart::share_by_length::Grain;
use crate::chart::{Figure, LostByCause, ShareByLoad, ShareByTarget, TtftByComputed};
use crate::record::{BoundRecord, Manifest, Outcome, Price, PriceTier, RequestRecord};
use crate::units::{Money, Tokens};
use std::sync::Arc;

#[test]
fn a_name_of_a_file_is_plain_and_free() {
    let mut names = Names::default();
    let cases = [
        (
            &["share-by-turn", "quickstart"][..],
            "share-by-turn-quickstart",
        ),
        (
            &["share-by-turn", "quickstart"],
            "share-by-turn-quickstart-2",
        ),
        (&["map", "Ünïcode ../../x"], "map-ünïcode-x"),
        (&["map", "n code x"], "map-n-code-x"),
        (&["map", "前缀缓存 / größe"], "map-前缀缓存-größe"),
        (&["map", "u\u{308}ber\u{202e}\0"], "map-u\u{308}ber"),
        (&["", ""], ""),
    ];
    for (parts, expected) in cases {
        assert_eq!(names.free(parts), expected);
    }
    assert!(slug(&"x".repeat(500)).len() <= LONGEST);
    assert!(slug(&"前".repeat(500)).len() <= LONGEST);
}

type Run = (Manifest, Vec<RequestRecord>, Vec<BoundRecord>);

fn told() -> Run {
    let (records, bounds) = story();
    (manifest(), records, bounds)
}

fn all((manifest, records, bounds): &Run) -> Figures {
    let samples = Samples::of(manifest, records, bounds);
    let results = Results::new(manifest, &samples, Vec::new());
    let points = Points::of(&samples);
    figures(&results, &Detail::default(), &points)
}

fn kinds(figures: &Figures) -> Vec<&'static str> {
    let drawn = figures.drawn.iter();
    drawn.map(|picture| picture.figure.chart().name).collect()
}

fn files(figures: &Figures) -> Vec<&str> {
    figures.drawn.iter().map(|picture| &*picture.file).collect()
}

/// The only figure of a kind.
macro_rules! only {
    ($figures:expr, $kind:ident) => {{
        let mut found = $figures
            .drawn
            .iter()
            .filter_map(|picture| match &picture.figure {
                Figure::$kind(figure) => Some(figure),
                _ => None,
            });
        let first = found.next().expect("a figure");
        assert!(found.next().is_none(), "one figure");
        first
    }};
}

#[test]
fn every_kind_is_drawn_or_left_out_with_its_reason() {
    let figures = all(&told());
    assert_eq!(
        kinds(&figures),
        [
            "share-by-group",
            "share-by-turn",
            "lost-by-cause",
            "ttft-distribution",
            "ttft-by-computed",
            "share-by-length"
        ]
    );
    assert_eq!(
        figures.left_out,
        [
            "share by target (no configuration ran on two targets or models)",
            "share by load (there is one load level only)",
            "cost by part (no target has prices)"
        ]
    );
}

#[test]
fn a_run_without_an_answer_has_pictures_of_nothing_measured() {
    let mut run = told();
    for record in &mut run.1 {
        record.outcome = Outcome::Connect;
    }
    let figures = all(&run);
    assert_eq!(kinds(&figures), ["share-by-group", "share-by-turn"]);
    assert!(
        figures
            .left_out
            .contains(&"lost by cause (no prefix broke)".to_owned())
    );
    let reason = "ttft distribution (no request had a first token)".to_owned();
    assert!(figures.left_out.contains(&reason), "{:?}", figures.left_out);
}

#[test]
fn tokens_lost_are_summed_by_configuration_and_cause() {
    let figures = all(&told());
    let LostByCause { causes, bars, .. } = only!(figures, LostByCause);
    let causes: Vec<_> = causes
        .iter()
        .map(|cause| (&*cause.source, &*cause.step))
        .collect();
    assert_eq!(
        causes,
        [("artifacts", "artifacts on"), ("L2", "library grew")]
    );
    let bars: Vec<_> = bars
        .iter()
        .map(|bar| {
            (
                &*bar.configuration,
                &bar.lost[..],
                bar.breaks,
                bar.uncounted,
                bar.conversations,
            )
        })
        .collect();
    assert_eq!(
        bars,
        [
            ("dev", &[2_080, 0][..], 2, 0, 2),
            ("layered", &[0, 1_040], 2, 0, 2),
            ("append-only", &[0, 0], 0, 0, 2)
        ]
    );
}

#[test]
fn many_causes_are_drawn_together_but_for_those_that_lose_most() {
    let mut run = told();
    let mut causes = (0..).map(|index| format!("step {index}"));
    run.1.clear();
    run.2.clear();
    for turn in 1..=20 {
        let (record, mut bound) = counted("dev", 1, turn, (1_000, 0, 0));
        let mut broke = story()
            .1
            .into_iter()
            .find_map(|bound| bound.broke)
            .expect("a break");
        broke.cause = Arc::from(causes.next().expect("a name"));
        broke.lost = (turn != 20).then_some(Tokens(u64::from(turn) * 10));
        bound.broke = Some(broke);
        run.1.push(record);
        run.2.push(bound);
    }
    let figures = all(&run);
    let lost = only!(figures, LostByCause);
    assert_eq!(lost.causes.len(), 12);
    assert_eq!(lost.causes[0].step, "step 18");
    assert_eq!(lost.causes[11].step, "other causes");
    // 10 + 20 + ... + 80 of the others.
    assert_eq!(lost.bars[0].lost[11], 360);
    assert_eq!((lost.bars[0].breaks, lost.bars[0].uncounted), (20, 1));
}

#[test]
fn a_line_is_drawn_through_the_requests_of_each_configuration() {
    let (records, bounds) = repeated(6);
    let figures = all(&(manifest(), records, bounds));
    let TtftByComputed {
        panels, fit, note, ..
    } = only!(figures, TtftByComputed);
    // The records were made so: 20 ms and 50 µs a computed token.
    for fit in panels.iter().map(|panel| &panel.fit).chain([fit]) {
        let fit = fit.as_ref().expect("a line");
        assert!((fit.us_per_token - 50.0).abs() < 1e-6, "{fit:?}");
        assert!((fit.intercept_us - 20_000.0).abs() < 1e-3, "{fit:?}");
    }
    assert_eq!(panels[0].requests, 18);
    assert_eq!(panels[0].points.len(), 18);
    assert!(panels[0].fit.as_ref().expect("a line").band.len() > 2);
    assert_eq!(note.requests, 54);
}

#[test]
fn the_roof_of_prompt_lengths_is_the_targets_cache_model() {
    let mut run = told();
    run.0.targets[0].cache_model = Some(Arc::from("steps:128,min=1024"));
    let figures = all(&run);
    let length = only!(figures, ShareByLength);
    let grain = Grain {
        step: 128,
        minimum: 1_024,
        dropped: 0,
        spared: 0,
    };
    assert_eq!(length.grain, Some(grain));
    let mut points: Vec<_> = length.panels[0]
        .points
        .iter()
        .map(|point| (point.total, point.read))
        .collect();
    points.sort_unstable();
    assert_eq!(
        points,
        [
            (1_000, 0),
            (1_100, 0),
            (1_200, 992),
            (1_300, 992),
            (3_700, 160),
            (3_800, 160)
        ]
    );
    run.0.targets[0].cache_model = None;
    let figures = all(&run);
    assert_eq!(only!(figures, ShareByLength).grain, None);
}

#[test]
fn failures_are_a_part_of_the_distribution() {
    let mut run = told();
    for turn in 4..=9 {
        let mut record = blank("dev", turn);
        record.outcome = Outcome::Http5xx;
        run.1.push(record);
    }
    let figures = all(&run);
    let strips = &only!(figures, TtftDistribution).strips;
    assert_eq!((strips[0].answered, strips[0].failed), (6, 6));
    assert!(strips[0].quantiles_us[1].is_some());
    assert_eq!(strips[0].quantiles_us[3], None);
    assert_eq!((strips[1].answered, strips[1].failed), (6, 0));
}

#[test]
fn load_levels_and_distributions_have_one_median_for_a_cell_with_failures() {
    let mut run = wide();
    for turn in 4..=6 {
        let mut record = blank("dev", turn);
        record.outcome = Outcome::Http5xx;
        run.1.push(record);
    }
    let figures = all(&run);
    let mut told = figures
        .drawn
        .iter()
        .filter_map(|picture| match &picture.figure {
            Figure::TtftDistribution(figure) => Some(figure),
            _ => None,
        });
    let strip = &told.next().expect("a distribution").strips[0];
    assert_eq!((&*strip.configuration, strip.failed), ("dev", 3));
    let mut loads = figures
        .drawn
        .iter()
        .filter_map(|picture| match &picture.figure {
            Figure::ShareByLoad(figure) => Some(figure),
            _ => None,
        });
    let series = &loads.next().expect("load levels").series[0];
    let point = series.points[0].expect("a point");
    assert_eq!(series.configuration, "dev");
    assert_eq!(point.p50_us, strip.quantiles_us[2]);
    assert!(
        point.p50_us.is_some() && point.p90_us.is_none(),
        "{point:?}"
    );
}

#[test]
fn targets_are_compared_over_what_all_of_them_counted() {
    let mut run = wide();
    // The second target ends every conversation of a configuration after its second turn.
    run.1.retain(|record| {
        &*record.target == "here" || &*record.configuration != "dev" || record.turn < 3
    });
    let figures = all(&run);
    let picture = figures
        .drawn
        .iter()
        .find_map(|picture| match &picture.figure {
            Figure::ShareByTarget(figure) => Some((figure, &picture.caption)),
            _ => None,
        });
    let (figure, caption) = picture.expect("targets");
    let dev: Vec<_> = figure.configurations[0]
        .bars
        .iter()
        .map(|bar| (bar.requests, bar.counted))
        .collect();
    assert_eq!(dev, [(4, 6), (4, 4)]);
    // 2 * 992 of 4,600 on both sides of the comparison, and half of that.
    let share = figure.configurations[0].bars[0].share.expect("a share");
    assert!((share - 1_984.0 / 4_600.0).abs() < 1e-12, "{share}");
    assert!(caption.contains("n tells these"), "{caption}");
    assert_eq!(figure.note.requests, 2 * (4 + 6 + 6));
}

fn priced(mut run: Run) -> Run {
    run.0.targets[0].price = Some(Price {
        model: Arc::from("m"),
        from: None,
        until: None,
        source: Arc::from("a list, 2026-11-30"),
        certainty: Arc::from("good"),
        peak: None,
        storage_hour: None,
        tiers: vec![PriceTier {
            above: Tokens(0),
            input: Money(1_000_000),
            read: Some(Money(100_000)),
            write: None,
            write_long: None,
            output: Money(10_000_000),
        }],
    });
    run
}

#[test]
fn a_cost_is_that_of_a_conversation_in_its_parts() {
    let figures = all(&priced(told()));
    let cost = only!(figures, CostByPart);
    assert_eq!(cost.prices, "a list, 2026-11-30");
    let dev = &cost.bars[0];
    // Turns of 1,000, 1,200 and 3,700 tokens, in the second conversation 100 more each; read 0,
    // 992 and 160; four tokens of output each.
    let parts = dev.parts.expect("a bill");
    for (found, expected) in
        parts
            .into_iter()
            .zip([0.004_898, 0.000_115_2, 0.0, 0.0, 0.000_12, 0.0])
    {
        assert!((found - expected).abs() < 1e-12, "{parts:?}");
    }
    assert!(
        (dev.uncached.expect("a bill") - 0.006_17).abs() < 1e-12,
        "{dev:?}"
    );
    assert_eq!((dev.low, dev.high), (None, None), "two are too few");
    assert!(cost.untold);
    assert_eq!((dev.conversations, dev.incomplete), (2, 0));
    assert_eq!((cost.note.requests, cost.note.conversations), (18, 6));
}

#[test]
fn the_foot_of_a_cost_counts_the_requests_that_are_billed() {
    let mut run = priced(told());
    for record in run
        .1
        .iter_mut()
        .filter(|record| *record.configuration == *"layered")
    {
        record.usage.output = None;
    }
    let figures = all(&run);
    let cost = only!(figures, CostByPart);
    let layered = cost.bars.iter().find(|bar| bar.configuration == "layered");
    assert_eq!(layered.expect("a bar").parts, None);
    assert_eq!((cost.note.requests, cost.note.conversations), (12, 4));
}

#[test]
fn keeping_what_was_written_is_a_part_of_a_cost() {
    let mut run = priced(told());
    let target = &mut run.0.targets[0];
    target.lifetime_ms = Some(3_600_000);
    let price = target.price.as_mut().expect("priced");
    price.storage_hour = Some(Money(1_000_000));
    for record in &mut run.1 {
        record.usage.write = Some(Tokens(100));
    }
    let figures = all(&run);
    let parts = only!(figures, CostByPart).bars[0].parts.expect("a bill");
    // Three requests of 100 tokens, an hour each, at a dollar a million.
    assert!((parts[5] - 0.000_3).abs() < 1e-12, "{parts:?}");
}

#[test]
fn a_run_whose_bills_are_not_whole_says_so() {
    let mut run = priced(told());
    for record in &mut run.1 {
        record.usage.output = None;
    }
    let figures = all(&run);
    let reason = "cost by part (no conversation has a bill for each of its requests)".to_owned();
    assert!(figures.left_out.contains(&reason), "{:?}", figures.left_out);
}

/// The story on two targets at two load levels.
fn wide() -> Run {
    let mut run = told();
    let other = crate::record::TargetFacts {
        name: Arc::from("größe 前"),
        cache_model: None,
        ..run.0.targets[0].clone()
    };
    run.0.targets.push(other);
    let (records, bounds) = (run.1.clone(), run.2.clone());
    for (target, load) in [
        ("here", "sessions=16"),
        ("größe 前", "sessions=1"),
        ("größe 前", "sessions=16"),
    ] {
        for (record, bound) in records.iter().zip(&bounds) {
            let conversation: Arc<str> = format!("{}@{target}@{load}", record.conversation).into();
            let mut record = record.clone();
            record.conversation = Arc::clone(&conversation);
            record.target = Arc::from(target);
            record.load = Arc::from(load);
            if target != "here" {
                record.usage.read = record.usage.read.map(|read| Tokens(read.0 / 2));
            }
            run.1.push(record);
            run.2.push(BoundRecord {
                conversation,
                ..bound.clone()
            });
        }
    }
    run
}

#[test]
fn targets_are_compared_at_each_load_level_and_load_levels_on_each_target() {
    let figures = all(&wide());
    let compared: Vec<&ShareByTarget> = figures
        .drawn
        .iter()
        .filter_map(|picture| match &picture.figure {
            Figure::ShareByTarget(figure) => Some(figure),
            _ => None,
        })
        .collect();
    let places: Vec<_> = compared.iter().map(|figure| &*figure.place).collect();
    assert_eq!(places, ["sessions=1", "sessions=16"]);
    let dev = &compared[0].configurations[0];
    let shares: Vec<_> = dev
        .bars
        .iter()
        .map(|bar| (&*bar.target, format!("{:.4}", bar.share.expect("a share"))))
        .collect();
    // 2 * 1,152 of 12,100, and half of that.
    let expected = [("here", "0.1904"), ("größe 前", "0.0952")];
    assert_eq!(
        shares,
        expected.map(|(name, share)| (name, share.to_owned()))
    );
    let loads: Vec<&ShareByLoad> = figures
        .drawn
        .iter()
        .filter_map(|picture| match &picture.figure {
            Figure::ShareByLoad(figure) => Some(figure),
            _ => None,
        })
        .collect();
    let places: Vec<_> = loads.iter().map(|figure| &*figure.place).collect();
    assert_eq!(places, ["here, m", "größe 前, m"]);
    assert_eq!(loads[0].levels, ["sessions=1", "sessions=16"]);
    let point = loads[0].series[0].points[1].expect("a point");
    assert_eq!((point.requests, point.failed), (6, 0));
    assert!(point.p50_us.is_some() && point.low <= point.share);
}

#[test]
fn pictures_of_several_places_have_names_of_their_own() {
    let figures = all(&wide());
    let files = files(&figures);
    for name in [
        "charts/share-by-target-sessions-16.svg",
        "charts/share-by-load-größe-前-m.svg",
        "charts/ttft-by-computed-größe-前-sessions-1.svg",
    ] {
        assert!(files.contains(&name), "{name}: {files:?}");
    }
    let distinct: HashSet<_> = files.iter().collect();
    assert_eq!(distinct.len(), files.len());
}
