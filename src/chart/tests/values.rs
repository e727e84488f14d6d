//! Whether what is drawn is where its value says.

use super::figures::{bar, group, note};
use super::more_figures::{
    computed, computed_panel, cost, distribution, length, load, lost, strange, strip, target,
};
use super::{Figure, readable};
use crate::chart::ShareByGroup;
use crate::chart::colour;
use crate::chart::scene::{Area, Scene, Shape};
use crate::chart::share_by_length::Grain;
use crate::chart::ttft_by_computed::Fit;

/// Filled rectangles of the colour of that part, without the one in the key.
fn parts(scene: &Scene, part: usize) -> Vec<Area> {
    let fills = scene.shapes.iter().filter_map(|shape| match shape {
        Shape::Fill(area, colour) if *colour == colour::source(part) => Some(*area),
        _ => None,
    });
    fills.skip(1).collect()
}

fn dots(scene: &Scene, configuration: usize) -> Vec<(f64, f64)> {
    let dots = scene.shapes.iter().filter_map(|shape| match shape {
        Shape::Dot(at, colour) if *colour == colour::configuration(configuration) => Some(*at),
        _ => None,
    });
    dots.collect()
}

fn says(scene: &Scene, text: &str) -> bool {
    scene.labels.iter().any(|label| label.text == text)
}

#[test]
fn names_that_nobody_thought_of_are_drawn_and_stay_text() {
    for figure in strange() {
        let name = figure.chart().name;
        readable(name, &figure);
        let svg = figure.svg().expect("svg");
        assert!(!svg.contains("<b>") && !svg.contains('\u{1}'), "{name}");
        for whole in ["größe-Ünïcode", "前缀缓存配置", "שלום", "🙂🙂"] {
            assert!(svg.contains(whole), "{name}: `{whole}` is missing");
        }
        figure.png().expect("png");
    }
}

#[test]
fn parts_of_a_cost_are_as_long_as_what_they_stand_for() {
    let figure = cost(&[
        ("dev", Some([0.004, 0.002, 0.0, 0.0, 0.006]), true),
        ("none", None, false),
    ]);
    let scene = Figure::CostByPart(figure).scene();
    // Nobody pays for writing, and output has its colour all the same.
    let widths = [0, 1, 4].map(|part| parts(&scene, part)[0].width());
    assert!((widths[0] / widths[1] - 2.0).abs() < 0.02, "{widths:?}");
    assert!((widths[2] / widths[1] - 3.0).abs() < 0.02, "{widths:?}");
    assert!(says(&scene, "$0.0120") && says(&scene, "without a cache $0.0300"));
    assert!(says(&scene, "no bill") && says(&scene, "3 without a whole bill"));
    assert_eq!(scene.title, "dev costs $0.0120 a conversation");
}

#[test]
fn a_part_has_its_colour_whichever_others_there_are() {
    let bill = |bars| Figure::CostByPart(cost(bars)).scene();
    let written = bill(&[("dev", Some([0.004, 0.002, 0.001, 0.0, 0.006]), false)]);
    let plain = bill(&[("dev", Some([0.004, 0.0, 0.0, 0.0, 0.006]), false)]);
    assert!(!parts(&written, 2).is_empty() && parts(&plain, 2).is_empty());
    assert!(!parts(&written, 4).is_empty() && !parts(&plain, 4).is_empty());
    let causes = [("memory", "memory changed"), ("artifacts", "artifacts on")];
    let second = Figure::LostByCause(lost(&causes, &[("dev", &[0, 2_000], 0)])).scene();
    assert!(parts(&second, 0).is_empty() && !parts(&second, 1).is_empty());
    assert!(says(&second, "2") && !says(&second, "1"), "its number too");
}

#[test]
fn a_group_is_named_by_the_title_where_there_are_others() {
    let bars = || {
        vec![
            bar("dev", Some(0.5), None, None),
            bar("inline", Some(0.2), None, None),
        ]
    };
    let title = |names: &[&str]| {
        let groups = names.iter().map(|name| group(name, bars())).collect();
        let note = note();
        Figure::ShareByGroup(ShareByGroup { groups, note }).title()
    };
    let said = "dev reads 50.0 % of its prompt tokens from cache, inline 20.0 %";
    assert_eq!(title(&["basics"]), said);
    assert_eq!(
        title(&["basics on alpha, sessions=1", "basics on beta, sessions=1"]),
        format!("basics on alpha, sessions=1: {said}")
    );
}

#[test]
fn a_target_says_of_how_many_requests_those_are_that_all_have_counted() {
    let figure = target(&[(
        "dev",
        &[
            ("vllm", Some(0.84), Some(0.86)),
            ("openai", Some(0.61), None),
        ],
    )]);
    let scene = Figure::ShareByTarget(figure).scene();
    assert!(says(&scene, "of 86.0 % · n 24"));
    assert!(says(&scene, "n 24 of 1,024"));
}

#[test]
fn both_panels_of_load_levels_have_the_same_sides() {
    let level = |us| Some((Some(0.5), Some(us), Some(us * 2.0)));
    let figure = load(
        &["sessions=1", "sessions=16"],
        &[("dev", vec![level(1_000.0), level(1_234_567.0)])],
    );
    let scene = Figure::ShareByLoad(figure).scene();
    let marks = scene.shapes.iter().filter_map(|shape| match shape {
        Shape::Mark(at, _, colour) if *colour == colour::configuration(0) => Some(at.0),
        _ => None,
    });
    let marks: Vec<f64> = marks.collect();
    // Two levels and the name's own mark, in each panel.
    let (above, below) = marks.split_at(marks.len() / 2);
    assert_eq!(above, below);
}

#[test]
fn a_level_at_which_most_is_never_answered_has_no_median() {
    let mut figure = load(
        &["sessions=1", "sessions=16"],
        &[(
            "dev",
            vec![
                Some((Some(0.5), Some(1_000.0), None)),
                Some((None, None, None)),
            ],
        )],
    );
    for point in figure.series[0].points.iter_mut().flatten() {
        point.failed = 20;
    }
    let scene = Figure::ShareByLoad(figure).scene();
    assert!(
        scene
            .title
            .ends_with("its median time to first token goes from 1.00 ms to never answered"),
        "{}",
        scene.title
    );
    assert!(
        scene
            .description
            .contains("first token p50 1.00 ms, p90 never answered, 20 of 24")
    );
}

#[test]
fn tokens_lost_are_those_of_a_conversation_and_uncounted_ones_are_no_zero() {
    let figure = lost(
        &[
            ("memory", "memory changed tone"),
            ("artifacts", "artifacts on"),
        ],
        &[("dev", &[4_000, 2_000], 0), ("append-only", &[0, 0], 3)],
    );
    let scene = Figure::LostByCause(figure).scene();
    let widths = [parts(&scene, 0)[0].width(), parts(&scene, 1)[0].width()];
    assert!((widths[0] / widths[1] - 2.0).abs() < 0.02, "{widths:?}");
    // Four conversations.
    assert!(says(&scene, "1,500 tokens") && says(&scene, "not counted"));
    assert_eq!(
        scene.title,
        "dev loses 1,500 tokens a conversation behind breaks, most of all by memory changed tone"
    );
    assert_eq!(
        parts(&scene, 0).len(),
        1,
        "what was not counted has no part"
    );
}

#[test]
fn a_cause_is_told_with_its_source_where_the_step_alone_would_not_tell() {
    let causes = [
        ("memory", "memory changed tone"),
        ("L1/memory", "memory changed tone"),
        ("artifacts", "artifacts on"),
        ("L2", "library grew"),
        ("reply", ""),
        ("", "other causes"),
    ];
    let figure = lost(&causes, &[("dev", &[60, 50, 40, 30, 20, 10], 0)]);
    let scene = Figure::LostByCause(figure).scene();
    for name in [
        "memory changed tone (in memory)",
        "memory changed tone (in L1/memory)",
        "artifacts on",
        "library grew (in L2)",
        "reply",
        "other causes",
    ] {
        assert!(says(&scene, name), "{name}");
    }
}

#[test]
fn a_quantile_among_failures_lies_behind_the_axis_and_is_called_never() {
    let times: Vec<u64> = (1..=10).map(|step| step * 10_000).collect();
    let figure = distribution(vec![
        strip("dev", &times, 0),
        strip("broken", &times[..4], 6),
    ]);
    let scene = Figure::TtftDistribution(figure).scene();
    assert_eq!((dots(&scene, 0).len(), dots(&scene, 1).len()), (10, 4));
    assert!(says(&scene, "p50 never") && says(&scene, "p90 never · n 10"));
    assert!(says(&scene, "6 never answered"));
    // 10 ms and 100 ms from the same zero.
    let xs: Vec<f64> = dots(&scene, 0).iter().map(|(x, _)| *x).collect();
    let zero = xs[0] - (xs[9] - xs[0]) / 9.0;
    assert!(
        ((xs[4] - zero) / (xs[9] - zero) - 0.5).abs() < 0.01,
        "{xs:?}"
    );
}

#[test]
fn the_line_lies_where_its_numbers_say() {
    let fit = Fit {
        intercept_us: 10_000.0,
        us_per_token: 40.0,
        low: Some(38.0),
        high: Some(45.0),
        band: Vec::new(),
    };
    let points = [(0, 10_000), (1_000, 50_000), (2_000, 90_000)];
    let figure = computed(
        vec![computed_panel("dev", &points, Some(fit.clone()))],
        Some(fit),
    );
    let scene = Figure::TtftByComputed(figure).scene();
    assert_eq!(
        scene.title,
        "A thousand computed tokens add 40.0 ms to the time to first token"
    );
    assert!(says(&scene, "n 3 · 40.0 µs a token [38.0, 45.0]"));
    let dots = dots(&scene, 0);
    let line = scene.shapes.iter().find_map(|shape| match shape {
        Shape::Line(points, colour, 2) if *colour == colour::INK => Some(points.clone()),
        _ => None,
    });
    let line = line.expect("a line");
    for (end, dot) in [(line[0], dots[0]), (line[1], dots[2])] {
        assert!(
            (end.0 - dot.0).abs() < 0.01 && (end.1 - dot.1).abs() < 0.01,
            "{end:?} {dot:?}"
        );
    }
}

#[test]
fn a_slope_that_may_be_none_is_not_told_as_one() {
    let fit = Fit {
        intercept_us: 0.0,
        us_per_token: 3.0,
        low: Some(-1.0),
        high: Some(7.0),
        band: Vec::new(),
    };
    let panel = computed_panel("dev", &[(1, 1), (2, 2)], None);
    let figure = Figure::TtftByComputed(computed(vec![panel], Some(fit)));
    assert_eq!(
        figure.title(),
        "Time to first token does not visibly depend on computed tokens"
    );
}

#[test]
fn a_request_that_was_read_as_far_as_can_be_lies_on_the_line() {
    let grain = Grain {
        step: 128,
        minimum: 1_024,
        dropped: 0,
        spared: 0,
    };
    let points = [(640, 0), (1_024, 1_024), (2_000, grain.most(2_000))];
    let scene = Figure::ShareByLength(length(&[("dev", &points)], Some(grain))).scene();
    let line = scene.shapes.iter().find_map(|shape| match shape {
        Shape::Line(points, colour, 1) if *colour == colour::INK && points.len() > 2 => {
            Some(points.clone())
        }
        _ => None,
    });
    let line = line.expect("a line");
    for (x, y) in dots(&scene, 0) {
        let right = line
            .iter()
            .position(|point| point.0 >= x)
            .expect("on the axis")
            .max(1);
        let ((x0, y0), (x1, y1)) = (line[right - 1], line[right]);
        let there = if x1 > x0 {
            y0 + (y1 - y0) * (x - x0) / (x1 - x0)
        } else {
            y1
        };
        assert!(
            (there - y).abs() < 3.0 || (y1 - y).abs() < 3.0,
            "{x} {y}: {there}"
        );
    }
}

#[test]
fn targets_are_compared_where_they_differ_most() {
    let figure = target(&[
        ("dev", &[("a", Some(0.5), None), ("b", Some(0.4), None)]),
        (
            "append-only",
            &[
                ("a", Some(0.9), Some(0.95)),
                ("b", Some(0.2), None),
                ("c", None, None),
            ],
        ),
    ]);
    let figure = Figure::ShareByTarget(figure);
    assert_eq!(
        figure.title(),
        "append-only reads 90.0 % of its prompt tokens from cache on a, 20.0 % on b"
    );
    assert!(says(&figure.scene(), "no count"));
}

#[test]
fn levels_that_were_not_run_are_gaps() {
    let point = |share, p50| Some((Some(share), Some(p50), Some(p50 * 2.0)));
    let lines = vec![
        ("dev", vec![point(0.8, 5e4), None, point(0.4, 2e5)]),
        (
            "append-only",
            vec![point(0.9, 5e4), point(0.9, 6e4), point(0.9, 7e4)],
        ),
    ];
    let figure = Figure::ShareByLoad(load(&["sessions=1", "sessions=4", "sessions=16"], &lines));
    assert_eq!(
        figure.title(),
        "From sessions=1 to sessions=16, dev reads 40.0 % after 80.0 % of its prompt tokens from cache, \
         and its median time to first token goes from 50.0 ms to 200 ms"
    );
    let long = |configuration: usize| {
        let lines = figure
            .scene()
            .shapes
            .into_iter()
            .filter(move |shape| match shape {
                Shape::Line(points, colour, 2) => {
                    *colour == colour::configuration(configuration) && points.len() == 3
                }
                _ => false,
            });
        lines.count()
    };
    assert_eq!(
        (long(0), long(1)),
        (0, 2),
        "a line of three points in each panel"
    );
    assert!(
        figure
            .description()
            .ends_with(&format!("{}.", note().text()))
    );
}
