//! The prefix map: a row per request with its prompt to scale as spans coloured
//! by source; solid what was read from cache, hatched what was computed, and a
//! mark where the prompt left the path of the earlier one.

mod row;

use super::colour::{self, MUTED};
use super::frame::{self, MARGIN, WIDTH, percent};
use super::scene::{Scene, Shape};
use super::text::width;
use super::{Chart, Note};
use crate::units::grouped;
use row::{Map, SAYS, break_mark, number};
use serde::{Deserialize, Serialize};

/// This chart's line in the list.
pub(super) const CHART: Chart = Chart {
    name: "prefix-map",
    help: "the prompt of each turn to scale by source, what was read from cache, and where it broke",
};

/// What the chart shows.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct PrefixMap {
    /// The scenario.
    pub scenario: String,
    /// Sources in the order in which they get colours, so that several figures agree. Those that
    /// appear without being listed come after.
    pub sources: Vec<String>,
    /// A panel for each configuration.
    pub panels: Vec<Panel>,
    /// Tokens that the width stands for, so that several figures have one scale; a longer prompt
    /// still fits.
    pub scale: u64,
    /// What the numbers rest on.
    pub note: Note,
}

/// One configuration's requests.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Panel {
    /// The configuration.
    pub configuration: String,
    /// Its requests, in order.
    pub rows: Vec<Row>,
}

/// The prompt of a request.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Row {
    /// What the row is called: the turn, or turn and request, `3` or `3.2`.
    pub turn: String,
    /// The prompt, in the order in which the provider renders it.
    pub spans: Vec<Span>,
    /// Tokens read from cache; `None` where the server did not say.
    pub read: Option<u64>,
    /// Where the prompt broke.
    pub broke: Option<Break>,
}

/// A part of a prompt that comes from one source.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Span {
    /// The source.
    pub source: String,
    /// Its length in tokens.
    pub tokens: u64,
}

/// Where a prompt broke.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Break {
    /// The source in which the difference is.
    pub source: String,
    /// Tokens in front of it.
    pub at: u64,
    /// The step that did it, in a few words; may be empty.
    pub cause: String,
}

/// Lays the figure out.
pub(super) fn scene(figure: &PrefixMap) -> Scene {
    let mut scene = frame::start(
        &title(figure),
        "Each row is the prompt of one request from its first token to its last, by source.",
    );
    let panels = || figure.panels.iter().filter(|panel| !panel.rows.is_empty());
    let longest = panels().flat_map(|panel| &panel.rows).map(Row::total).max();
    let Some(longest) = longest.filter(|longest| *longest > 0) else {
        return frame::nothing(scene, &figure.note);
    };
    let sources = sources(figure);
    let mut top = key(&mut scene, figure, &sources) + 6.0;
    let turns = panels().flat_map(|panel| &panel.rows);
    let gutter = turns
        .map(|row| width(&row.turn, 12.0, false))
        .fold(30.0, f64::max);
    let left = (MARGIN + gutter + 10.0).round();
    let map = Map {
        left,
        right: WIDTH - MARGIN - SAYS,
        tokens: longest.max(figure.scale),
        sources: &sources,
    };
    for panel in panels() {
        top = map.panel(&mut scene, panel, top);
    }
    let end = map.axis(&mut scene, top);
    scene.description = describe(figure);
    frame::finish(scene, end, &figure.note)
}

/// The answer of a single panel: the turns at which it breaks.
fn title(figure: &PrefixMap) -> String {
    let [panel] = figure.panels.as_slice() else {
        return format!("Prefix map: {}", figure.scenario);
    };
    let broken = panel.rows.iter().filter(|row| row.broke.is_some());
    let turns: Vec<&str> = broken.map(|row| row.turn.as_str()).collect();
    let breaks = match turns.as_slice() {
        [] => "the prefix never breaks".to_owned(),
        [turn] => format!("the prefix breaks at turn {turn}"),
        [turns @ .., last] if turns.len() < 8 => {
            format!("the prefix breaks at turns {} and {last}", turns.join(", "))
        }
        many => format!(
            "the prefix breaks at {} of {} requests",
            many.len(),
            panel.rows.len()
        ),
    };
    format!(
        "{}: with {}, {breaks}",
        figure.scenario, panel.configuration
    )
}

impl Row {
    fn total(&self) -> u64 {
        self.spans.iter().map(|span| span.tokens).sum()
    }
}

/// Every source, those listed first.
fn sources(figure: &PrefixMap) -> Vec<&str> {
    let rows = figure.panels.iter().flat_map(|panel| &panel.rows);
    let used: Vec<&str> = rows
        .flat_map(|row| &row.spans)
        .map(|span| span.source.as_str())
        .collect();
    let mut all: Vec<&str> = Vec::new();
    for source in figure.sources.iter().map(String::as_str).chain(used) {
        if !all.contains(&source) {
            all.push(source);
        }
    }
    all
}

/// Explains the signs, and the colours and numbers of the sources that some row has.
fn key(scene: &mut Scene, figure: &PrefixMap, sources: &[&str]) -> f64 {
    let rows = || figure.panels.iter().flat_map(|panel| &panel.rows);
    let has = |index: &usize| {
        let mut spans = rows().flat_map(|row| &row.spans);
        spans.any(|span| span.source == sources[*index])
    };
    let used: Vec<usize> = (0..sources.len()).filter(has).collect();
    let signs = [
        "read from cache",
        "computed",
        "break: here the prompt differs from the earlier one",
    ];
    let top = frame::key(
        scene,
        scene.height,
        &signs,
        |scene, index, area| match index {
            0 => scene.shape(Shape::Fill(area, MUTED)),
            1 => scene.shape(Shape::Hatch(area, MUTED)),
            _ => break_mark(
                scene,
                f64::midpoint(area.left, area.right),
                area.top,
                area.bottom,
            ),
        },
    );
    let names: Vec<&str> = used.iter().map(|index| sources[*index]).collect();
    frame::key(scene, top, &names, |scene, index, area| {
        let colour = colour::source(used[index]);
        scene.shape(Shape::Fill(area, colour));
        scene.shape(Shape::Outline(area, MUTED));
        scene.label(number(used[index], area).colour(colour.text_on()));
    })
}

/// What stands beside a row.
fn says(row: &Row) -> String {
    let total = row.total();
    let read = match row.read {
        Some(read) if total > 0 => format!("{} read", percent(Some(read as f64 / total as f64))),
        _ => percent(None),
    };
    match &row.broke {
        None => read,
        Some(broke) if broke.cause.is_empty() => format!("{read}, breaks in {}", broke.source),
        Some(broke) => format!("{read}, breaks in {}: {}", broke.source, broke.cause),
    }
}

fn describe(figure: &PrefixMap) -> String {
    let mut sentences = Vec::new();
    for panel in &figure.panels {
        for row in &panel.rows {
            sentences.push(format!(
                "{}, turn {}: {} tokens, {}.",
                panel.configuration,
                row.turn,
                grouped(row.total()),
                says(row)
            ));
        }
    }
    sentences.join(" ")
}
