//! Cached share turn by turn.

use crate::analysis::{Results, TurnRow};
use crate::chart::share_by_turn::{Event, Point, Series};
use crate::chart::{Figure, ShareByTurn};
use crate::report::html::Picture;
use crate::report::scenes::{DRAWN_CONFIGURATIONS, Scene, note};
use std::collections::BTreeMap;

/// The picture of a scene; `None` where it has no turn.
pub(super) fn picture(scene: &Scene<'_>, results: &Results) -> Option<Picture> {
    let rows: Vec<&TurnRow> = results
        .turns
        .iter()
        .filter(|row| scene.holds(&row.cell))
        .collect();
    let mut series: Vec<Series> = Vec::new();
    for turns in rows.chunk_by(|a, b| a.cell == b.cell) {
        series.push(Series {
            configuration: turns.first()?.cell.configuration.to_string(),
            points: turns.iter().map(|row| point(row)).collect(),
        });
    }
    let left_out = series.len().saturating_sub(DRAWN_CONFIGURATIONS);
    series.truncate(DRAWN_CONFIGURATIONS);
    let mut caption = "Where a line falls, the server had to compute again what it had computed \
                       before. What the scenario did just before a turn stands below the axis."
        .to_owned();
    if left_out > 0 {
        caption.push_str(" Not drawn for want of colours: ");
        caption.push_str(&crate::report::words::count(
            left_out as u64,
            "configuration",
        ));
        caption.push('.');
    }
    let figures: Vec<_> = scene.rows.iter().map(|row| &row.figures).collect();
    (!series.is_empty()).then(|| Picture {
        figure: Figure::ShareByTurn(ShareByTurn {
            scenario: scene.name(results),
            series,
            events: events(&rows),
            note: note(results, Some(&scene.arena), &figures),
        }),
        caption,
        file: String::new(),
    })
}

fn point(row: &TurnRow) -> Point {
    Point {
        turn: row.turn,
        share: row.cached_share,
    }
}

/// The events of each turn once, as the first configuration that has any tells them.
fn events(rows: &[&TurnRow]) -> Vec<Event> {
    let mut by_turn: BTreeMap<u32, &TurnRow> = BTreeMap::new();
    for row in rows.iter().filter(|row| !row.events.is_empty()) {
        by_turn.entry(row.turn).or_insert(row);
    }
    by_turn
        .into_values()
        .flat_map(|row| {
            row.events.iter().map(|label| Event {
                turn: row.turn,
                label: label.to_string(),
            })
        })
        .collect()
}
