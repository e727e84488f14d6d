//! Usual and extreme figures.

use crate::chart::prefix_map::{Break, Panel, Row, Span};
use crate::chart::share_by_group::{Bar, Group};
use crate::chart::share_by_turn::{Event, Point, Series};
use crate::chart::{Figure, Note, PrefixMap, ShareByGroup, ShareByTurn, Source};

pub(super) const LONG: &str = "turn-context-with-a-name-that-has-sixty-characters-in-itself";

pub(super) fn note() -> Note {
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

pub(super) fn bar(
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
        of: None,
    }
}

pub(super) fn group(name: &str, bars: Vec<Bar>) -> Group {
    Group {
        name: name.to_owned(),
        bars,
    }
}

pub(super) fn by_group(groups: Vec<Group>) -> Figure {
    Figure::ShareByGroup(ShareByGroup {
        groups,
        note: note(),
    })
}

pub(super) const FIVE: [&str; 5] = ["inline", "dev", "layered", "turn-context", "append-only"];

pub(super) fn nine() -> Vec<String> {
    let mut names: Vec<String> = FIVE.map(str::to_owned).to_vec();
    names.extend(["copilot-3.1", "copilot-4", "parts", LONG].map(str::to_owned));
    names
}

pub(super) fn group_figures() -> Vec<(&'static str, Figure)> {
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

pub(super) fn series(configuration: &str, shares: Vec<Option<f64>>) -> Series {
    let points = (1..).zip(shares).map(|(turn, share)| Point { turn, share });
    Series {
        configuration: configuration.to_owned(),
        points: points.collect(),
    }
}

pub(super) fn by_turn(series: Vec<Series>, events: &[(u32, &str)]) -> Figure {
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

pub(super) fn turn_figures() -> Vec<(&'static str, Figure)> {
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

pub(super) fn span(source: &str, tokens: u64) -> Span {
    Span {
        source: source.to_owned(),
        tokens,
    }
}

pub(super) fn prompt(turn: u64, stable: bool) -> Row {
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
    let broke = (!stable && turn.is_multiple_of(3)).then(|| Break {
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

pub(super) fn map(panels: Vec<(&str, Vec<Row>)>) -> Figure {
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
        scale: 0,
        note: note(),
    })
}

pub(super) fn map_figures() -> Vec<(&'static str, Figure)> {
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

pub(super) fn figures() -> Vec<(String, Figure)> {
    let all = [
        group_figures(),
        turn_figures(),
        map_figures(),
        super::more_figures::more_figures(),
    ]
    .concat();
    all.into_iter()
        .map(|(case, figure)| (format!("{}-{case}", figure.chart().name), figure))
        .collect()
}
