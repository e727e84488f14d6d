//! Cached share turn by turn, a line per configuration, with the scenario's
//! events on the axis: where a line falls, the event that did it is below.

mod labels;

use super::colour::{self, INK};
use super::frame::{self, LEADING, MARGIN, WIDTH, percent};
use super::scene::{Anchor, Area, Label, Scene, Shape, marker};
use super::text::{widest, wrap};
use super::{Chart, Note};
use labels::{by_turn, ends, events};
use serde::{Deserialize, Serialize};

/// This chart's line in the list.
pub(super) const CHART: Chart = Chart {
    name: "share-by-turn",
    help: "cached share of each configuration turn by turn, with the scenario's events on the axis",
};

/// What the chart shows.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ShareByTurn {
    /// The scenario.
    pub scenario: String,
    /// A line for each configuration.
    pub series: Vec<Series>,
    /// What happened between the sends.
    pub events: Vec<Event>,
    /// What the numbers rest on.
    pub note: Note,
}

/// The line of a configuration.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Series {
    /// The configuration.
    pub configuration: String,
    /// Its turns, in order.
    pub points: Vec<Point>,
}

/// A turn of a configuration.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Point {
    /// The turn, counted from 1.
    pub turn: u32,
    /// Cached share of its requests, a fraction of 1; `None` where none has a count.
    pub share: Option<f64>,
}

/// Something that happened just before a turn was sent.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Event {
    /// The turn that follows it, counted from 1.
    pub turn: u32,
    /// What happened, in a few words.
    pub label: String,
}

/// Lays the figure out.
pub(super) fn scene(figure: &ShareByTurn) -> Scene {
    let mut scene = frame::start(
        &title(figure),
        "Tokens read from cache, of all prompt tokens of the turn. Lines that coincide lie on each other.",
    );
    let last = figure
        .series
        .iter()
        .flat_map(|series| &series.points)
        .map(|point| point.turn)
        .max();
    let Some(last) = last else {
        return frame::nothing(scene, &figure.note);
    };
    let names: Vec<Vec<String>> = figure.series.iter().map(name_lines).collect();
    let room: f64 = names
        .iter()
        .map(|lines| lines.len() as f64 * LEADING + 4.0)
        .sum();
    let widest = names
        .iter()
        .map(|lines| widest(lines, 12.0))
        .fold(0.0, f64::max);
    let caption = Label::new("cached share (%)", MARGIN, scene.height + 4.0);
    scene.label(caption.muted());
    let top = scene.height + 26.0;
    let left = MARGIN + 48.0;
    let plot = Area::new(
        left,
        top,
        WIDTH - MARGIN - widest - 44.0 - left,
        room.max(300.0),
    );
    let axis = Axis { plot, last };
    axes(&mut scene, &axis);
    let bottom = events(&mut scene, &axis, &figure.events);
    for (index, series) in figure.series.iter().enumerate() {
        line(
            &mut scene,
            &axis,
            series,
            index,
            width(figure.series.len(), index),
        );
    }
    ends(&mut scene, &axis, &figure.series, &names);
    scene.description = describe(figure);
    frame::finish(scene, bottom, &figure.note)
}

/// A fall of fewer points than this is no answer to "where does it break?".
const FALL: f64 = 0.1;

/// The answer: the deepest fall from one turn to the next, and what happened between.
fn title(figure: &ShareByTurn) -> String {
    let mut deepest: Option<(f64, &str, &Point, f64)> = None;
    for series in &figure.series {
        for pair in series.points.windows(2) {
            let Some((before, after)) = pair[0].share.zip(pair[1].share) else {
                continue;
            };
            if before - after > deepest.as_ref().map_or(FALL, |known| known.0) {
                deepest = Some((before - after, &series.configuration, &pair[1], before));
            }
        }
    }
    let Some((_, configuration, point, before)) = deepest else {
        return format!("{}: share read from cache by turn", figure.scenario);
    };
    let events = by_turn(&figure.events);
    let event = events.iter().find(|(turn, _)| *turn == point.turn);
    let event = event.map_or_else(String::new, |(_, text)| format!(" ({text})"));
    format!(
        "{}: {configuration} falls from {} to {} at turn {}{event}",
        figure.scenario,
        percent(Some(before)),
        percent(point.share),
        point.turn
    )
}

/// What a line is called at its end: name and last share.
fn name_lines(series: &Series) -> Vec<String> {
    let share = last_share(series).map(|(_, share)| share);
    wrap(
        &format!(
            "{} {}",
            series.configuration,
            percent(share).replace(' ', "\u{a0}")
        ),
        12.0,
        false,
        250.0,
    )
}

fn last_share(series: &Series) -> Option<(u32, f64)> {
    let known = |point: &Point| point.share.map(|share| (point.turn, share));
    series.points.iter().rev().find_map(known)
}

/// Places in the plot.
struct Axis {
    plot: Area,
    last: u32,
}

impl Axis {
    /// The place of a turn; halves are between turns.
    fn x(&self, turn: f64) -> f64 {
        self.plot.left + (turn - 0.5) / f64::from(self.last) * self.plot.width()
    }

    fn y(&self, share: f64) -> f64 {
        self.plot.bottom - share.clamp(0.0, 1.0) * (self.plot.bottom - self.plot.top)
    }
}

fn axes(scene: &mut Scene, axis: &Axis) {
    let plot = axis.plot;
    for quarter in 0..=4_u32 {
        let y = axis.y(f64::from(quarter) / 4.0).round();
        scene.grid((plot.left, y), (plot.right, y));
        let label = Label::new(&format!("{} %", quarter * 25), plot.left - 8.0, y);
        scene.label(label.anchor(Anchor::End).muted());
    }
    scene.rule((plot.left, plot.bottom), (plot.right, plot.bottom), INK);
    let step = [1, 2, 5, 10, 20, 50, 100, 200, 500]
        .into_iter()
        .find(|step| f64::from(axis.last / step) * 34.0 <= plot.width())
        .unwrap_or(1_000);
    for turn in (1..=axis.last).filter(|turn| *turn == 1 && step <= 2 || turn % step == 0) {
        if turn == 2 && step == 2 {
            continue;
        }
        let x = axis.x(f64::from(turn));
        scene.rule((x, plot.bottom), (x, plot.bottom + 4.0), INK);
        let label = Label::new(&turn.to_string(), x, plot.bottom + 14.0);
        scene.label(label.anchor(Anchor::Middle).muted());
    }
    scene.label(Label::new("turn", plot.right + 28.0, plot.bottom + 14.0).muted());
}

/// Lines that are painted first are wider, so that one below another shows as its rim.
fn width(lines: usize, index: usize) -> u32 {
    u32::try_from(lines - 1 - index).map_or(2, |above| 2 + above.min(4))
}

fn line(scene: &mut Scene, axis: &Axis, series: &Series, index: usize, width: u32) {
    let mut path = Vec::new();
    for point in &series.points {
        if let Some(share) = point.share {
            path.push((axis.x(f64::from(point.turn)), axis.y(share)));
        } else {
            stroke(scene, &mut path, index, width);
        }
    }
    stroke(scene, &mut path, index, width);
}

/// Draws the path so far and begins anew: a turn without a count is a gap. Markers stand as far
/// apart as they must to be told from each other; the first point always has one.
fn stroke(scene: &mut Scene, path: &mut Vec<(f64, f64)>, index: usize, width: u32) {
    let points = std::mem::take(path);
    let colour = colour::configuration(index);
    if points.len() > 1 {
        scene.shape(Shape::Line(points.clone(), colour, width));
    }
    let mut free = f64::NEG_INFINITY;
    for (x, y) in points {
        if x >= free {
            scene.shape(Shape::Mark((x, y), marker(index), colour));
            free = x + 10.0;
        }
    }
}

fn describe(figure: &ShareByTurn) -> String {
    let mut sentences: Vec<String> = figure
        .series
        .iter()
        .map(|series| {
            let points = series.points.iter();
            let shares: Vec<_> = points
                .map(|point| format!("turn {} {}", point.turn, percent(point.share)))
                .collect();
            format!("{}: {}.", series.configuration, shares.join(", "))
        })
        .collect();
    sentences.extend(
        by_turn(&figure.events)
            .into_iter()
            .map(|(turn, text)| format!("Before turn {turn}: {text}.")),
    );
    sentences.join(" ")
}
