//! Whether pictures hold what they must, over usual and extreme figures.

mod figures;
mod more_figures;
mod values;

use super::colour::{INK, MUTED, PAPER};
use super::prefix_map::{Break, Row};
use super::scene::{Label, Scene, Shape};
use super::*;
use figures::{bar, by_group, by_turn, figures, group, group_figures, map, note, series, span};
use proptest::prelude::*;

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
            _ => {}
        }
        names.extend(more_figures::names(&figure));
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
    #![proptest_config(ProptestConfig::with_cases(32))]

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
/// Widths of the filled and of the hatched rectangles that show data.
fn widths(scene: &Scene) -> (f64, f64) {
    let neutral = [PAPER, INK, MUTED];
    let mut sums = (0.0, 0.0);
    for shape in &scene.shapes {
        match shape {
            Shape::Fill(area, colour) if !neutral.contains(colour) => sums.0 += area.width(),
            Shape::Hatch(area, colour) if !neutral.contains(colour) => sums.1 += area.width(),
            _ => {}
        }
    }
    sums
}

#[test]
fn a_bar_is_as_long_as_its_share_and_hatched_up_to_the_achievable_one() {
    let bars = vec![bar("dev", Some(0.3), None, Some(0.9))];
    let (read, missed) = widths(&by_group(vec![group("", bars)]).scene());
    assert!((read / missed - 0.5).abs() < 0.001, "{read} of {missed}");
}

#[test]
fn what_has_no_count_has_no_bar_and_no_point() {
    let bars = vec![bar("dev", None, None, Some(0.9))];
    assert_eq!(widths(&by_group(vec![group("", bars)]).scene()), (0.0, 0.0));
    let marks = |shares: Vec<Option<f64>>| {
        let scene = by_turn(vec![series("dev", shares)], &[]).scene();
        let is_mark = |shape: &&Shape| matches!(shape, Shape::Mark(..));
        scene.shapes.iter().filter(is_mark).count()
    };
    assert_eq!(
        marks(vec![Some(0.0), Some(0.0)]) - marks(vec![Some(0.0), None]),
        1
    );
}

#[test]
fn a_prompt_is_solid_as_far_as_it_was_read() {
    let row = |read| Row {
        turn: "1".to_owned(),
        spans: vec![span("system", 600), span("user", 400)],
        read,
        broke: None,
    };
    // The key shows each source once, filled.
    let (key, _) = widths(&map(vec![("dev", vec![row(None)])]).scene());
    let (solid, hatched) = widths(&map(vec![("dev", vec![row(Some(750))])]).scene());
    let solid = solid - key;
    assert!(
        (solid / (solid + hatched) - 0.75).abs() < 0.005,
        "{solid} and {hatched}"
    );
}

#[test]
fn hundreds_of_turns_stay_within_bounds() {
    let row = |turn: u64| Row {
        turn: turn.to_string(),
        spans: (0..turn)
            .map(|index| {
                span(
                    if index.is_multiple_of(2) {
                        "user"
                    } else {
                        "assistant"
                    },
                    50,
                )
            })
            .collect(),
        read: Some(turn * 25),
        broke: None,
    };
    let rows = map(vec![("dev", (1..=300).map(row).collect())]);
    readable("rows", &rows);
    let written = rows.scene().labels;
    assert!(
        written
            .iter()
            .any(|label| label.text == "220 more requests are not drawn")
    );
    let lines = by_turn(vec![series("dev", vec![Some(0.5); 1_000])], &[]);
    readable("lines", &lines);
    assert!(lines.svg().expect("svg").len() < 100_000);
}

#[test]
fn a_count_above_the_prompt_or_a_break_behind_it_stays_on_the_picture() {
    let row = Row {
        turn: "1".to_owned(),
        spans: vec![span("system", 600)],
        read: Some(9_000),
        broke: Some(Break {
            source: "user".to_owned(),
            at: 9_000,
            cause: String::new(),
        }),
    };
    let scene = map(vec![("dev", vec![row])]).scene();
    for shape in &scene.shapes {
        if let Shape::Fill(area, _) | Shape::Hatch(area, _) | Shape::Outline(area, _) = shape {
            assert!(area.left >= 0.0 && area.right <= scene.width, "{area:?}");
        }
    }
}

#[test]
fn view_temporary() {
    let Ok(out) = std::env::var("VIEW_OUT") else {
        return;
    };
    let mut all = figures();
    all.extend(
        more_figures::strange()
            .into_iter()
            .map(|figure| (format!("{}-strange", figure.chart().name), figure)),
    );
    for (case, figure) in all {
        std::fs::write(format!("{out}/{case}.png"), figure.png().unwrap()).unwrap();
        std::fs::write(format!("{out}/{case}.svg"), figure.svg().unwrap()).unwrap();
    }
}
