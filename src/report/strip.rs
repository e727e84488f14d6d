//! The cached share turn by turn, as rows of numbers.

use super::words::{UNKNOWN, wrapped};
use crate::analysis::{Cell, Results, TurnRow};
use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;
use std::sync::Arc;

/// Above this number of scenarios the turns are left to the files.
pub(super) const SCENARIOS: usize = 3;

/// One scenario on one target: a row per configuration.
pub(super) struct Strip<'a> {
    pub(super) title: String,
    /// Turns, from 1.
    pub(super) turns: Vec<u32>,
    /// Configurations with their turns.
    pub(super) rows: Vec<(&'a str, BTreeMap<u32, &'a TurnRow>)>,
    /// What happened before a turn.
    pub(super) events: BTreeMap<u32, String>,
}

/// The strips of all cells; `None` where there are too many scenarios to show.
pub(super) fn strips(results: &Results) -> Option<Vec<Strip<'_>>> {
    let scenarios: BTreeSet<_> = results.turns.iter().map(|row| &row.cell.scenario).collect();
    if scenarios.len() > SCENARIOS {
        return None;
    }
    let same = |a: &TurnRow, b: &TurnRow| {
        let place = |row: &TurnRow| {
            let cell = &row.cell;
            [
                &cell.scenario,
                &cell.group,
                &cell.target,
                &cell.model,
                &cell.load,
            ]
            .map(Arc::clone)
        };
        place(a) == place(b)
    };
    let strips = results.turns.chunk_by(same);
    Some(strips.map(|rows| strip(rows, results)).collect())
}

/// The scenario and its target, and of group, model and load level what tells it from others.
fn title(cell: &Cell, results: &Results) -> String {
    let turns = || results.turns.iter().map(|row| &row.cell);
    let others = || turns().filter(|other| other.scenario == cell.scenario);
    let mut title = cell.scenario.to_string();
    if others().any(|other| other.group != cell.group) {
        title.push_str(" in ");
        title.push_str(&cell.group);
    }
    title.push_str(" on ");
    title.push_str(&cell.target);
    for (part, several) in [
        (&cell.model, turns().any(|other| other.model != cell.model)),
        (&cell.load, turns().any(|other| other.load != cell.load)),
    ] {
        if several {
            title.push_str(", ");
            title.push_str(part);
        }
    }
    title
}

fn strip<'a>(rows: &'a [TurnRow], results: &Results) -> Strip<'a> {
    let cell = &rows[0].cell;
    let mut strip = Strip {
        title: title(cell, results),
        turns: Vec::new(),
        rows: Vec::new(),
        events: BTreeMap::new(),
    };
    let mut turns = BTreeSet::new();
    for row in rows {
        turns.insert(row.turn);
        if strip
            .rows
            .last()
            .is_none_or(|(name, _)| *name != &*row.cell.configuration)
        {
            strip.rows.push((&row.cell.configuration, BTreeMap::new()));
        }
        if let Some((_, of_configuration)) = strip.rows.last_mut() {
            of_configuration.insert(row.turn, row);
        }
        if !row.events.is_empty() {
            strip
                .events
                .entry(row.turn)
                .or_insert_with(|| row.events.join("; "));
        }
    }
    strip.turns = turns.into_iter().collect();
    strip
}

/// A turn's share in whole percent, with a star where its prefix broke.
pub(super) fn cell(row: Option<&&TurnRow>) -> String {
    let Some(row) = row else {
        return String::new();
    };
    let share = row.cached_share.map_or_else(
        || UNKNOWN.to_owned(),
        |share| {
            // Rounded down, so that 100 is said of nothing less.
            format!("{:.0}", (share * 100.0).floor())
        },
    );
    let star = if row.breaks > 0 { "*" } else { " " };
    format!("{share}{star}")
}

/// The strip as lines that are no wider than `width`, in blocks of turns where
/// they must be.
pub(super) fn text(strip: &Strip<'_>, width: usize) -> String {
    const CELL: usize = 6;
    let names = strip.rows.iter().map(|(name, _)| name.chars().count());
    let name_width = names.max().unwrap_or(0).max("turn".len());
    let room = width.saturating_sub(name_width + 2) / CELL;
    let title = format!(
        "{}: % of prompt tokens read from the cache, by turn",
        strip.title
    );
    let mut out = wrapped(&title, width, "  ") + "\n";
    for turns in strip.turns.chunks(room.max(1)) {
        let mut line = format!("  {:name_width$}", "turn");
        for turn in turns {
            let mark = if strip.events.contains_key(turn) {
                "^"
            } else {
                " "
            };
            let _infallible = write!(line, "{:>CELL$}", format!("{turn}{mark}"));
        }
        push(&mut out, &line);
        for (name, row) in &strip.rows {
            let mut line = format!("  {name:name_width$}");
            for turn in turns {
                let _infallible = write!(line, "{:>CELL$}", cell(row.get(turn)));
            }
            push(&mut out, &line);
        }
    }
    let star = strip
        .rows
        .iter()
        .flat_map(|(_, row)| row.values())
        .any(|row| row.breaks > 0);
    if star {
        out.push_str("  * the prefix broke\n");
    }
    for (turn, events) in &strip.events {
        let line = format!("  ^ before turn {turn}: {events}");
        push(&mut out, &wrapped(&line, width, "    "));
    }
    out
}

fn push(out: &mut String, line: &str) {
    out.push_str(line.trim_end());
    out.push('\n');
}
