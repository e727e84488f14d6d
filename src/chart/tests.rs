//! Whether pictures hold what they must, over usual and extreme figures.

use super::prefix_map::{Break, Panel, Row, Span};
use super::scene::{Label, Scene};
use super::share_by_group::{Bar, Group};
use super::share_by_turn::{Event, Point, Series};
use super::*;
use proptest::prelude::*;

const LONG: &str = "turn-context-with-a-name-that-has-sixty-characters-in-itself";

fn note() -> Note {
    Note {
        requests: 120,
        without_count: 0,
        conversations: 15,
        date: "2026-10-16".to_owned(),
        source: Source::Simulated,
        model: "simulated-8b".to_owned(),
        cache_model: "blocks:16".to_owned(),
    }
}

fn bar(
    configuration: &str,
    share: Option<f64>,
    interval: Option<f64>,
    achievable: Option<f64>,
) -> Bar {
    Bar {
        configuration: configuration.to_owned(),
        share,
        low: interval.and_then(|half| share.map(|share| (share - half).max(0.0))),
        high: interval.and_then(|half| share.map(|share| (share + half).min(1.0))),
        achievable,
        requests: 24,
    }
}

fn group(name: &str, bars: Vec<Bar>) -> Group {
    Group {
        name: name.to_owned(),
        bars,
    }
}

fn by_group(groups: Vec<Group>) -> Figure {
    Figure::ShareByGroup(ShareByGroup {
        groups,
        note: note(),
    })
}

const FIVE: [&str; 5] = ["inline", "dev", "layered", "turn-context", "append-only"];

fn nine() -> Vec<String> {
    let mut names: Vec<String> = FIVE.map(str::to_owned).to_vec();
    names.extend(["copilot-3.1", "copilot-4", "parts", LONG].map(str::to_owned));
    names
}

fn group_figures() -> Vec<(&'static str, Figure)> {
    let usual = |name: &str, shift: f64| {
        let shares = [0.62, 0.08, 0.71, 0.84, 0.90];
        let bars = FIVE.iter().zip(shares).map(|(name, share)| {
            bar(
                name,
                Some(share - shift),
                Some(0.03),
                Some((share + 0.05 - shift).min(0.97)),
            )
        });
        group(name, bars.collect())
    };
    let names = nine();
    let extreme = names.iter().enumerate().map(|(index, name)| match index {
        0 => bar(name, Some(0.0), None, Some(0.0)),
        1 => bar(name, Some(1.0), Some(0.0), Some(1.0)),
        2 => bar(name, None, None, Some(0.5)),
        3 => bar(name, None, None, None),
        4 => bar(name, Some(0.9999), Some(0.2), None),
        _ => bar(name, Some(0.1 * index as f64), Some(0.1), Some(0.95)),
    });
    vec![
        (
            "usual",
            by_group(vec![
                usual("G1 plain chat", 0.0),
                usual("G2 memory and artifacts", 0.06),
            ]),
        ),
        (
            "one",
            by_group(vec![group("", vec![bar("dev", Some(0.5), None, None)])]),
        ),
        (
            "extreme",
            by_group(vec![group(
                &format!("{LONG} {LONG} {LONG}"),
                extreme.collect(),
            )]),
        ),
        ("none", by_group(Vec::new())),
    ]
}

fn series(configuration: &str, shares: Vec<Option<f64>>) -> Series {
    let points = (1..).zip(shares).map(|(turn, share)| Point { turn, share });
    Series {
        configuration: configuration.to_owned(),
        points: points.collect(),
    }
}

fn by_turn(series: Vec<Series>, events: &[(u32, &str)]) -> Figure {
    let events = events.iter().map(|&(turn, label)| Event {
        turn,
        label: label.to_owned(),
    });
    Figure::ShareByTurn(ShareByTurn {
        scenario: "memory-and-artifacts".to_owned(),
        series,
        events: events.collect(),
        note: note(),
    })
}

fn turn_figures() -> Vec<(&'static str, Figure)> {
    let rising = |top: f64, breaks: &[u32]| -> Vec<Option<f64>> {
        let share = |turn: u32| {
            let broken = breaks.contains(&turn);
            Some(if turn == 1 {
                0.0
            } else if broken {
                0.12
            } else {
                top - 0.4 / f64::from(turn)
            })
        };
        (1..=8).map(share).collect()
    };
    let usual = vec![
        series("inline", rising(0.8, &[])),
        series("dev", rising(0.3, &[3, 5, 7])),
        series("layered", rising(0.9, &[3])),
        series("turn-context", rising(0.95, &[])),
        series("append-only", rising(0.97, &[])),
    ];
    let many: Vec<Series> = nine()
        .iter()
        .enumerate()
        .map(|(index, name)| {
            let share =
                |turn: usize| (turn % 7 != index).then_some(if turn == 0 { 0.0 } else { 0.9 });
            series(name, (0..40).map(share).collect())
        })
        .collect();
    let events: Vec<(u32, &str)> = (1..=40)
        .step_by(3)
        .map(|turn| (turn, "memory changed"))
        .collect();
    let mut crowded = events.clone();
    crowded.extend([
        (2, LONG),
        (20, LONG),
        (40, LONG),
        (41, "chat saved and loaded again"),
    ]);
    let marked = [
        (3, "artifacts on"),
        (5, "memory: tone changed, city added"),
        (6, "26 hours later"),
        (8, "compacted to two turns"),
    ];
    vec![
        ("usual", by_turn(usual, &marked)),
        (
            "one",
            by_turn(vec![series("dev", vec![Some(0.0)])], &[(1, "artifacts on")]),
        ),
        ("extreme", by_turn(many, &crowded)),
        (
            "uncounted",
            by_turn(vec![series("dev", vec![None, None, Some(1.0), None])], &[]),
        ),
        ("none", by_turn(Vec::new(), &[(1, "artifacts on")])),
    ]
}

fn span(source: &str, tokens: u64) -> Span {
    Span {
        source: source.to_owned(),
        tokens,
    }
}

fn prompt(turn: u64, stable: bool) -> Row {
    let front = if stable {
        vec![span("instructions", 1_200), span("artifacts", 900)]
    } else {
        vec![
            span("memory", 120),
            span("instructions", 1_200),
            span("artifacts", 900),
        ]
    };
    let mut spans = front;
    for _ in 1..turn {
        spans.extend([span("user", 160), span("assistant", 180)]);
    }
    spans.extend([span("notes", 240), span("user", 60)]);
    let total: u64 = spans.iter().map(|span| span.tokens).sum();
    let broke = (!stable && turn % 3 == 0).then(|| Break {
        source: "memory".to_owned(),
        at: 64,
        cause: "memory: tone changed".to_owned(),
    });
    let read = if turn == 1 {
        0
    } else if broke.is_some() {
        64
    } else {
        total - 480
    };
    Row {
        turn: turn.to_string(),
        spans,
        read: Some(read),
        broke,
    }
}

fn map(panels: Vec<(&str, Vec<Row>)>) -> Figure {
    let panels = panels.into_iter().map(|(name, rows)| Panel {
        configuration: name.to_owned(),
        rows,
    });
    Figure::PrefixMap(PrefixMap {
        scenario: "memory-and-artifacts".to_owned(),
        sources: ["instructions", "artifacts", "memory"]
            .map(str::to_owned)
            .to_vec(),
        panels: panels.collect(),
        note: note(),
    })
}

fn map_figures() -> Vec<(&'static str, Figure)> {
    let rows = |stable| (1..=7).map(|turn| prompt(turn, stable)).collect::<Vec<_>>();
    let whole = Row {
        read: Some(1_500),
        spans: vec![span("instructions", 1_500)],
        turn: "1".to_owned(),
        broke: None,
    };
    let silent = Row {
        read: None,
        ..prompt(3, false)
    };
    let long = Row {
        turn: "40.12".to_owned(),
        spans: (0..14)
            .map(|index| span(&format!("{index} {LONG}"), 800))
            .collect(),
        read: Some(5_000),
        broke: Some(Break {
            source: LONG.to_owned(),
            at: 5_000,
            cause: format!("{LONG} changed"),
        }),
    };
    vec![
        (
            "usual",
            map(vec![("dev", rows(false)), ("turn-context", rows(true))]),
        ),
        ("one", map(vec![("dev", vec![whole])])),
        (
            "extreme",
            map(vec![
                (LONG, vec![silent, long]),
                ("dev", (1..=40).map(|turn| prompt(turn, false)).collect()),
            ]),
        ),
        ("none", map(vec![("dev", Vec::new())])),
    ]
}

fn figures() -> Vec<(String, Figure)> {
    let all = [group_figures(), turn_figures(), map_figures()].concat();
    all.into_iter()
        .map(|(case, figure)| (format!("{}-{case}", figure.chart().name), figure))
        .collect()
}

#[test]
fn no_label_is_cut_and_none_covers_another() {
    for (case, figure) in figures() {
        readable(&case, &figure);
    }
}

/// Asserts that every label is inside the picture and no two have a place in common.
fn readable(case: &str, figure: &Figure) {
    let scene = figure.scene();
    for (index, label) in scene.labels.iter().enumerate() {
        let own = label.bounds();
        assert!(
            inside(&scene, label),
            "{case}: `{}` is cut: {own:?}",
            label.text
        );
        for other in &scene.labels[index + 1..] {
            let covers = own.overlaps(other.bounds());
            assert!(!covers, "{case}: `{}` covers `{}`", label.text, other.text);
        }
    }
}

fn inside(scene: &Scene, label: &Label) -> bool {
    let own = label.bounds();
    own.left >= 0.0 && own.top >= 0.0 && own.right <= scene.width && own.bottom <= scene.height
}

#[test]
fn every_name_and_the_note_stand_on_the_picture() {
    for (case, figure) in figures() {
        let scene = figure.scene();
        let written: String = scene
            .labels
            .iter()
            .map(|label| label.text.as_str())
            .collect();
        let written = bare(&written);
        let mut names = vec![note().text()];
        match &figure {
            Figure::ShareByGroup(figure) => {
                let bars = figure.groups.iter().flat_map(|group| &group.bars);
                names.extend(bars.map(|bar| bar.configuration.clone()));
                names.extend(figure.groups.iter().map(|group| group.name.clone()));
            }
            Figure::ShareByTurn(figure) => {
                names.extend(
                    figure
                        .series
                        .iter()
                        .map(|series| series.configuration.clone()),
                );
                if !figure.series.is_empty() {
                    names.extend(figure.events.iter().map(|event| event.label.clone()));
                }
            }
            Figure::PrefixMap(figure) => {
                let rows = figure.panels.iter().flat_map(|panel| &panel.rows);
                for row in rows {
                    names.extend(row.spans.iter().map(|span| span.source.clone()));
                    names.extend(row.broke.iter().map(|broke| broke.cause.clone()));
                }
            }
        }
        for name in names {
            assert!(
                written.contains(&bare(&name)),
                "{case}: `{name}` is missing"
            );
        }
    }
}

fn bare(text: &str) -> String {
    text.split_whitespace().collect()
}

#[test]
fn the_same_figure_gives_the_same_bytes_and_both_formats() {
    for (case, figure) in figures() {
        let svg = figure.svg().expect("svg");
        assert_eq!(svg, figure.svg().expect("svg"), "{case}");
        assert!(
            svg.starts_with("<svg class=\"prefixbench\" role=\"img\""),
            "{case}"
        );
        assert!(!svg.contains("NaN") && !svg.contains("inf"), "{case}");
    }
}

#[test]
fn a_png_decodes_to_twice_the_size_and_is_not_blank() {
    let (_, figure) = group_figures().remove(0);
    let scene = figure.scene();
    let bytes = figure.png().expect("png");
    let mut reader = png::Decoder::new(bytes.as_slice())
        .read_info()
        .expect("header");
    let mut pixels = vec![0; reader.output_buffer_size()];
    let info = reader.next_frame(&mut pixels).expect("pixels");
    assert!((f64::from(info.width) - scene.width * 2.0).abs() < 1.0);
    assert!((f64::from(info.height) - scene.height * 2.0).abs() <= 1.0);
    let painted = pixels
        .chunks(3)
        .filter(|pixel| pixel != &[255, 255, 255])
        .count();
    assert!(painted > pixels.len() / 3 / 50, "{painted} painted pixels");
}

#[test]
fn charts_have_distinct_names_and_say_what_they_show() {
    for (index, chart) in CHARTS.iter().enumerate() {
        assert!(!chart.help.is_empty());
        assert!(
            CHARTS[index + 1..]
                .iter()
                .all(|other| other.name != chart.name)
        );
        assert!(figures().iter().any(|(_, figure)| figure.chart() == *chart));
    }
}

#[test]
fn a_figure_survives_json() {
    for (case, figure) in figures() {
        let json = serde_json::to_string(&figure).expect("json");
        assert_eq!(
            serde_json::from_str::<Figure>(&json).expect("figure"),
            figure,
            "{case}"
        );
    }
}

#[test]
fn markup_in_names_stays_text() {
    let bars = vec![bar(
        "<script>alert(1)</script>&\"'\u{1}",
        Some(0.5),
        None,
        None,
    )];
    let svg = by_group(vec![group("<b>", bars)]).svg().expect("svg");
    assert!(!svg.contains("<script") && !svg.contains("<b>") && !svg.contains('\u{1}'));
}
#[test]
fn a_small_picture_is_this_document() {
    let (_, figure) = group_figures().remove(1);
    insta::assert_snapshot!("share_by_group_one_bar", figure.svg().expect("svg"));
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(48))]

    #[test]
    fn no_label_is_cut_whatever_the_lines_and_events(
        names in proptest::collection::vec("[ -~µ→]{0,70}", 0..10),
        shares in proptest::collection::vec(proptest::option::of(0.0..=1.0), 1..40),
        events in proptest::collection::vec((1_u32..50, "[ -~]{0,90}"), 0..12),
    ) {
        let lines = names.iter().enumerate().map(|(shift, name)| {
            let turns = shares.iter().skip(shift).copied().collect();
            series(name, turns)
        });
        let events: Vec<_> = events.iter().map(|(turn, label)| (*turn, label.as_str())).collect();
        readable("lines", &by_turn(lines.collect(), &events));
    }

    #[test]
    fn no_label_is_cut_whatever_the_bars(
        bars in proptest::collection::vec(
            ("[ -~]{0,70}", proptest::option::of(0.0..=1.0), proptest::option::of(0.0..=0.5),
             proptest::option::of(0.0..=1.0)),
            0..12,
        ),
        name in "[ -~]{0,150}",
    ) {
        let bars = bars.into_iter().map(|(name, share, half, achievable)| bar(&name, share, half, achievable));
        readable("bars", &by_group(vec![group(&name, bars.collect())]));
    }

    #[test]
    fn no_label_is_cut_whatever_the_prompts(
        rows in proptest::collection::vec(
            (proptest::collection::vec(("[a-z]{1,70}", 0_u64..5_000), 0..12), proptest::option::of(0_u64..20_000), "[ -~]{0,80}"),
            0..6,
        ),
    ) {
        let rows = rows.into_iter().enumerate().map(|(turn, (spans, read, cause))| Row {
            turn: (turn + 1).to_string(),
            broke: read.map(|at| Break { source: cause.clone(), at, cause }),
            spans: spans.iter().map(|(source, tokens)| span(source, *tokens)).collect(),
            read,
        });
        readable("prompts", &map(vec![("dev", rows.collect())]));
    }
}
