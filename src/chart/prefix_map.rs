//! The prefix map: a row per request with its prompt to scale as spans coloured
//! by source; solid what was read from cache, hatched what was computed, and a
//! mark where the prompt left the path of the earlier one.

use super::colour::{self, Colour, INK, MUTED, PAPER};
use super::frame::{self, LEADING, MARGIN, WIDTH, on_scale, percent};
use super::scene::{Anchor, Area, Label, Scene, Shape};
use super::text::{width, wrap};
use super::{Chart, Note};
use crate::units::grouped;
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

const BAR: f64 = 18.0;
const SAYS: f64 = 236.0;

/// Lays the figure out.
pub(super) fn scene(figure: &PrefixMap) -> Scene {
    let mut scene = frame::start(
        &format!("Prefix map: {}", figure.scenario),
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
        tokens: longest,
        sources: &sources,
    };
    for panel in panels() {
        top = map.panel(&mut scene, panel, top);
    }
    let end = map.axis(&mut scene, top);
    scene.description = describe(figure);
    frame::finish(scene, end, &figure.note)
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

/// The number of a source, which stands for its name where that has no room.
fn number(index: usize, area: Area) -> Label {
    centred(&(index + 1).to_string(), area)
}

fn centred(text: &str, area: Area) -> Label {
    let x = f64::midpoint(area.left, area.right);
    let y = f64::midpoint(area.top, area.bottom);
    Label::new(text, x, y).size(11.0).anchor(Anchor::Middle)
}

/// A bar through the row with a triangle on top, with a light rim.
fn break_mark(scene: &mut Scene, x: f64, top: f64, bottom: f64) {
    let x = x.round();
    let bar = |half: f64| Area {
        left: x - half,
        top: top - 2.0,
        right: x + half,
        bottom: bottom + 2.0,
    };
    scene.shape(Shape::Fill(bar(3.0), PAPER));
    scene.shape(Shape::Fill(bar(1.5), INK));
    scene.shape(Shape::Polygon(
        vec![(x - 5.0, top - 4.0), (x + 5.0, top - 4.0), (x, top + 4.0)],
        INK,
    ));
}

/// The scale that all panels share.
struct Map<'a> {
    left: f64,
    right: f64,
    tokens: u64,
    sources: &'a [&'a str],
}

impl Map<'_> {
    fn x(&self, tokens: u64) -> f64 {
        on_scale(tokens as f64 / self.tokens as f64, self.left, self.right).round()
    }

    fn panel(&self, scene: &mut Scene, panel: &Panel, top: f64) -> f64 {
        let lines = wrap(&panel.configuration, 14.0, true, WIDTH - 2.0 * MARGIN);
        let y = top + 14.0;
        scene.lines(&lines, &Label::new("", MARGIN, y).size(14.0).bold(), 18.0);
        let mut next = y + lines.len() as f64 * 18.0 - 8.0;
        for row in &panel.rows {
            next = self.row(scene, row, next);
        }
        next + 8.0
    }

    fn row(&self, scene: &mut Scene, row: &Row, top: f64) -> f64 {
        let says = wrap(&says(row), 12.0, false, SAYS - 14.0);
        let height = (says.len() as f64 * LEADING).max(BAR) + 8.0;
        let middle = (top + height / 2.0).round();
        let (upper, lower) = (middle - BAR / 2.0, middle + BAR / 2.0);
        let turn = Label::new(&row.turn, self.left - 10.0, middle);
        scene.label(turn.anchor(Anchor::End));
        let first = middle - (says.len() - 1) as f64 * LEADING / 2.0;
        scene.lines(&says, &Label::new("", self.right + 14.0, first), LEADING);
        let mut from = 0;
        for span in merged(&row.spans) {
            let to = from + span.tokens;
            self.span(scene, &span, (from, to), row.read, (upper, lower));
            from = to;
        }
        if let Some(broke) = &row.broke {
            break_mark(scene, self.x(broke.at), upper, lower);
        }
        top + height
    }

    fn span(
        &self,
        scene: &mut Scene,
        span: &Span,
        (from, to): (u64, u64),
        read: Option<u64>,
        (top, bottom): (f64, f64),
    ) {
        let position = |source: &&str| *source == span.source;
        let index = self.sources.iter().position(position).unwrap_or(0);
        let colour = colour::source(index);
        let area = |from: u64, to: u64| Area {
            left: self.x(from),
            top,
            right: self.x(to),
            bottom,
        };
        let Some(read) = read else {
            scene.shape(Shape::Outline(area(from, to), colour));
            return name(scene, (&span.source, index), area(from, to), None);
        };
        let cut = read.clamp(from, to);
        let (solid, rest) = (area(from, cut), area(cut, to));
        if rest.width() > 0.0 {
            scene.shape(Shape::Hatch(rest, colour));
        }
        if solid.width() > 0.0 {
            scene.shape(Shape::Fill(solid, colour));
            scene.rule((solid.left, top), (solid.left, bottom), PAPER);
        }
        if solid.width() >= rest.width() {
            name(scene, (&span.source, index), solid, Some(colour));
        } else {
            name(scene, (&span.source, index), rest, None);
        }
    }

    /// A scale of tokens, with its name.
    fn axis(&self, scene: &mut Scene, top: f64) -> f64 {
        let step = step(self.tokens);
        scene.rule((self.left, top), (self.right, top), INK);
        let mut at = 0;
        while at <= self.tokens {
            let x = self.x(at);
            scene.rule((x, top), (x, top + 4.0), INK);
            let label = Label::new(&grouped(at), x, top + 14.0);
            scene.label(label.anchor(Anchor::Middle).muted());
            at += step;
        }
        let label = Label::new("tokens from the start of the prompt", self.left, top + 32.0);
        scene.label(label.muted());
        top + 38.0
    }
}

/// A round distance for at most eight ticks.
fn step(tokens: u64) -> u64 {
    let mut scale = 1;
    loop {
        for round in [1, 2, 5] {
            if tokens / (round * scale) <= 7 {
                return round * scale;
            }
        }
        scale *= 10;
    }
}

/// Neighbours from the same source as one: a seam between two messages says nothing here.
fn merged(spans: &[Span]) -> Vec<Span> {
    let mut out: Vec<Span> = Vec::new();
    for span in spans {
        match out.last_mut() {
            Some(last) if last.source == span.source => last.tokens += span.tokens,
            _ => out.push(span.clone()),
        }
    }
    out
}

/// Writes the source into its span, or its number, as there is room; on hatching, on a patch of
/// paper.
fn name(scene: &mut Scene, (source, index): (&str, usize), area: Area, solid: Option<Colour>) {
    let fits = |label: &Label| label.bounds().width() + 6.0 <= area.width();
    let whole = Some(centred(source, area)).filter(fits);
    let Some(label) = whole.or_else(|| Some(number(index, area)).filter(fits)) else {
        return;
    };
    if let Some(colour) = solid {
        scene.label(label.colour(colour.text_on()));
        return;
    }
    let bounds = label.bounds();
    let patch = Area {
        left: bounds.left - 1.0,
        right: bounds.right + 1.0,
        top: area.top + 1.0,
        bottom: area.bottom - 1.0,
    };
    scene.shape(Shape::Fill(patch, PAPER));
    scene.label(label);
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
