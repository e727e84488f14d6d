//! Load level against cached share and time to first token: two panels, a line
//! for each configuration.
//!
//! With more conversations at once a cache holds less of each, and requests
//! wait for each other: the first panel tells the one from the other.

use super::colour::{self, INK};
use super::frame::{self, LEADING, MARGIN, WIDTH, percent};
use super::scale::{Scale, TimeUnit, plain, time};
use super::scene::{Anchor, Area, Label, Scene, Shape, marker};
use super::spread::spread;
use super::text::{widest, width, wrap};
use super::{Chart, Note};
use serde::{Deserialize, Serialize};

/// This chart's line in the list.
pub(super) const CHART: Chart = Chart {
    name: "share-by-load",
    help: "cached share and time to first token of each configuration by load level",
};

/// What the chart shows.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ShareByLoad {
    /// Target and model, as far as the run has several; may be empty.
    pub place: String,
    /// Load levels, the lightest first.
    pub levels: Vec<String>,
    /// A line for each configuration.
    pub series: Vec<Series>,
    /// What the numbers rest on.
    pub note: Note,
}

/// A configuration.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Series {
    /// Its name.
    pub configuration: String,
    /// A point for each level, in their order; `None` where it was not run.
    pub points: Vec<Option<Point>>,
}

/// A configuration at a load level.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Point {
    /// Cached share, a fraction of 1; `None` where no request has a count.
    pub share: Option<f64>,
    /// Lower end of its interval, where there are repeats.
    pub low: Option<f64>,
    /// Upper end of its interval, where there are repeats.
    pub high: Option<f64>,
    /// Median time to first token, in microseconds.
    pub p50_us: Option<f64>,
    /// The time within which nine in ten first tokens come, in microseconds.
    pub p90_us: Option<f64>,
    /// Requests that were never answered.
    pub failed: u64,
    /// Requests.
    pub requests: u64,
}

/// A load multiplies times, so an axis becomes logarithmic earlier than elsewhere.
const LOAD_FAR: f64 = 10.0;
/// Room for names at the end of the lines.
const NAMES: f64 = 230.0;

/// Lays the figure out.
pub(super) fn scene(figure: &ShareByLoad) -> Scene {
    let mut scene = frame::start(
        &title(figure),
        "Above, the share of prompt tokens read from cache, with its 95 % interval where there are repeats; below, the median time to first token, upright lines up to the time within which nine in ten come.",
    );
    if figure.series.is_empty() || figure.levels.is_empty() {
        return frame::nothing(scene, &figure.note);
    }
    let shares = Values {
        caption: "cached share (%)".to_owned(),
        scale: Scale::from_zero(100.0, 4),
        tick: |tick| format!("{} %", plain(tick)),
        of: |point| point.share.map(|share| share * 100.0),
        ends: |point| Some((point.low? * 100.0, point.high? * 100.0)),
        says: |point| percent(point.share),
        unit: 1.0,
    };
    let points = || {
        figure
            .series
            .iter()
            .flat_map(|series| series.points.iter().flatten())
    };
    let times = || {
        points()
            .flat_map(|point| [point.p50_us, point.p90_us])
            .flatten()
    };
    let unit = TimeUnit::of(times().fold(0.0, f64::max));
    let per_unit = if unit == TimeUnit::Seconds { 1e6 } else { 1e3 };
    let waits = Values {
        caption: String::new(),
        scale: Scale::of(times().map(|us| us / per_unit), 4, LOAD_FAR),
        tick: plain,
        of: |point| point.p50_us,
        ends: |point| Some((point.p50_us?, point.p90_us?)),
        says: |point| {
            point
                .p50_us
                .map_or_else(|| "no first token".to_owned(), time)
        },
        unit: per_unit,
    };
    let how = if waits.scale.log { ", logarithmic" } else { "" };
    let waits = Values {
        caption: format!("time to first token ({}{how})", unit.name()),
        ..waits
    };
    let first = panel(&mut scene, figure, &shares, false);
    scene.height = first + 10.0;
    let end = panel(&mut scene, figure, &waits, true);
    scene.description = describe(figure);
    frame::finish(scene, end, &figure.note)
}

/// What a panel shows of a point.
struct Values {
    caption: String,
    scale: Scale,
    tick: fn(f64) -> String,
    of: fn(&Point) -> Option<f64>,
    /// What the upright line at a point goes from and to.
    ends: fn(&Point) -> Option<(f64, f64)>,
    says: fn(&Point) -> String,
    /// What values are divided by to be put on the scale.
    unit: f64,
}

/// Draws a panel from the scene's height on; gives where it ends.
fn panel(scene: &mut Scene, figure: &ShareByLoad, values: &Values, levels: bool) -> f64 {
    let names: Vec<Vec<String>> = figure
        .series
        .iter()
        .map(|series| name(series, values))
        .collect();
    let heights: Vec<f64> = names
        .iter()
        .map(|lines| lines.len() as f64 * LEADING + 4.0)
        .collect();
    let ticks = values.scale.ticks.iter().map(|tick| (values.tick)(*tick));
    let gutter = ticks
        .map(|text| width(&text, 12.0, false))
        .fold(40.0, f64::max);
    let left = (MARGIN + gutter + 10.0).round();
    let right = WIDTH
        - MARGIN
        - names
            .iter()
            .map(|lines| widest(lines, 12.0))
            .fold(0.0, f64::max)
        - 44.0;
    let caption = Label::new(&values.caption, MARGIN, scene.height + 8.0);
    scene.label(caption.muted());
    let top = scene.height + 26.0;
    let plot = Area::new(
        left,
        top,
        right - left,
        heights.iter().sum::<f64>().max(190.0),
    );
    for tick in &values.scale.ticks {
        let y = values.scale.place(*tick, plot.bottom, plot.top).round();
        scene.grid((plot.left, y), (plot.right, y));
        let label = Label::new(&(values.tick)(*tick), plot.left - 8.0, y);
        scene.label(label.anchor(Anchor::End).muted());
    }
    scene.rule((plot.left, plot.bottom), (plot.right, plot.bottom), INK);
    let axis = Axis {
        plot,
        levels: figure.levels.len(),
        series: figure.series.len(),
        values,
    };
    for (index, series) in figure.series.iter().enumerate() {
        axis.line(scene, series, index);
    }
    axis.ends(scene, &figure.series, &names, &heights);
    axis.below(scene, &figure.levels, levels)
}

/// What a line is called at its end: name and last value.
fn name(series: &Series, values: &Values) -> Vec<String> {
    let last = series.points.iter().flatten().next_back();
    let value = last.map_or_else(String::new, |point| {
        (values.says)(point).replace(' ', "\u{a0}")
    });
    wrap(
        &format!("{} {value}", series.configuration),
        12.0,
        false,
        NAMES,
    )
}

/// Places in a panel.
struct Axis<'a> {
    plot: Area,
    levels: usize,
    series: usize,
    values: &'a Values,
}

impl Axis<'_> {
    /// The middle of a level.
    fn middle(&self, level: usize) -> f64 {
        self.plot.left + (level as f64 + 0.5) / self.levels as f64 * self.plot.width()
    }

    /// The place of a configuration at a level: beside the others, so that no upright line covers
    /// another.
    fn x(&self, level: usize, index: usize) -> f64 {
        let room = (self.plot.width() / self.levels as f64 * 0.5).min(9.0 * self.series as f64);
        let step = room / self.series as f64;
        self.middle(level) + (index as f64 - (self.series as f64 - 1.0) / 2.0) * step
    }

    fn y(&self, value: f64) -> f64 {
        self.values
            .scale
            .place(value / self.values.unit, self.plot.bottom, self.plot.top)
    }

    fn line(&self, scene: &mut Scene, series: &Series, index: usize) {
        let colour = colour::configuration(index);
        let mut path = Vec::new();
        let mut marks = Vec::new();
        for (level, point) in series.points.iter().enumerate() {
            let value = point
                .as_ref()
                .and_then(|point| Some(((self.values.of)(point)?, point)));
            let Some((value, point)) = value else {
                // A level without a value is a gap.
                stroke(scene, &mut path, colour);
                continue;
            };
            let x = self.x(level, index);
            path.push((x, self.y(value)));
            marks.push((x, self.y(value)));
            if let Some((low, high)) = (self.values.ends)(point) {
                scene.shape(Shape::Line(
                    vec![(x, self.y(low)), (x, self.y(high))],
                    colour,
                    2,
                ));
                for end in [low, high]
                    .into_iter()
                    .filter(|end| (end - value).abs() > f64::EPSILON)
                {
                    let y = self.y(end);
                    scene.shape(Shape::Line(vec![(x - 4.0, y), (x + 4.0, y)], colour, 2));
                }
            }
        }
        stroke(scene, &mut path, colour);
        for at in marks {
            scene.shape(Shape::Mark(at, marker(index), colour));
        }
    }

    /// Names at the right, each as near to the end of its line as the others allow.
    fn ends(&self, scene: &mut Scene, series: &[Series], names: &[Vec<String>], heights: &[f64]) {
        let last = |series: &Series, index: usize| {
            let mut known = series.points.iter().enumerate().rev();
            known.find_map(|(level, point)| {
                let value = (self.values.of)(point.as_ref()?)?;
                Some((self.x(level, index), self.y(value)))
            })
        };
        let ends: Vec<_> = series
            .iter()
            .enumerate()
            .map(|(index, series)| last(series, index))
            .collect();
        let wanted: Vec<(f64, f64)> = ends
            .iter()
            .zip(heights)
            .map(|(end, height)| (end.map_or(self.plot.bottom, |(_, y)| y), *height))
            .collect();
        let places = spread(&wanted, self.plot.top - 8.0, self.plot.bottom + 4.0);
        let x = self.plot.right + 28.0;
        for (index, y) in places.into_iter().enumerate() {
            let colour = colour::configuration(index);
            if let Some(end) = ends[index] {
                dashed(scene, (end.0 + 6.0, end.1), (x - 10.0, y), colour);
            }
            scene.shape(Shape::Mark((x - 4.0, y), marker(index), colour));
            let first = y - (names[index].len() - 1) as f64 * LEADING / 2.0;
            scene.lines(&names[index], &Label::new("", x + 6.0, first), LEADING);
        }
    }

    /// The levels below the lowest panel, and their ticks below each; gives where they end.
    fn below(&self, scene: &mut Scene, levels: &[String], named: bool) -> f64 {
        let bottom = self.plot.bottom;
        for level in 0..self.levels {
            let x = self.middle(level).round();
            scene.rule((x, bottom), (x, bottom + 4.0), INK);
        }
        if !named {
            return bottom + 8.0;
        }
        let room = self.plot.width() / self.levels as f64 - 8.0;
        let mut lowest = 1;
        for (level, name) in levels.iter().enumerate() {
            let lines = wrap(name, 12.0, false, room);
            lowest = lowest.max(lines.len());
            let at = Label::new("", self.middle(level), bottom + 14.0)
                .anchor(Anchor::Middle)
                .muted();
            scene.lines(&lines, &at, LEADING);
        }
        let y = bottom + 14.0 + lowest as f64 * LEADING + 2.0;
        let name = Label::new(
            "load level",
            f64::midpoint(self.plot.left, self.plot.right),
            y,
        );
        scene.label(name.anchor(Anchor::Middle).muted());
        y + 8.0
    }
}

/// Dashes that lead from a line to its name and are not a part of the line.
fn dashed(scene: &mut Scene, from: (f64, f64), to: (f64, f64), colour: colour::Colour) {
    let length = (to.0 - from.0).hypot(to.1 - from.1).max(1.0);
    let at = |distance: f64| {
        let part = (distance / length).min(1.0);
        (
            from.0 + (to.0 - from.0) * part,
            from.1 + (to.1 - from.1) * part,
        )
    };
    let mut distance = 0.0;
    while distance < length {
        scene.rule(at(distance), at(distance + 3.0), colour);
        distance += 6.0;
    }
}

fn stroke(scene: &mut Scene, path: &mut Vec<(f64, f64)>, colour: colour::Colour) {
    let points = std::mem::take(path);
    if points.len() > 1 {
        scene.shape(Shape::Line(points, colour, 2));
    }
}

/// The answer: what the heaviest level does to the configuration that it hurts most.
fn title(figure: &ShareByLoad) -> String {
    let (Some(light), Some(heavy)) = (figure.levels.first(), figure.levels.last()) else {
        return frame::title(
            &figure.place,
            "Cached share and time to first token by load level",
        );
    };
    let ends = figure.series.iter().filter_map(|series| {
        let first = series.points.first()?.as_ref()?;
        let last = series.points.last()?.as_ref()?;
        Some((series, first, last))
    });
    let slowed = ends.filter_map(|(series, first, last)| {
        let (from, to) = first
            .p50_us
            .zip(last.p50_us)
            .filter(|(from, _)| *from > 0.0)?;
        Some((to / from, series, first, last, from, to))
    });
    let what = match slowed.reduce(|a, b| if b.0 > a.0 { b } else { a }) {
        Some((_, series, first, last, from, to)) => format!(
            "From {light} to {heavy}, {} reads {} after {} of its prompt tokens from cache, and its median time to first token goes from {} to {}",
            series.configuration,
            percent(last.share),
            percent(first.share),
            time(from),
            time(to)
        ),
        None => "Cached share and time to first token by load level".to_owned(),
    };
    frame::title(&figure.place, &what)
}

fn describe(figure: &ShareByLoad) -> String {
    let mut sentences = Vec::new();
    for series in &figure.series {
        for (level, point) in figure.levels.iter().zip(&series.points) {
            let Some(point) = point else {
                continue;
            };
            let level_us = |us: Option<f64>| us.map_or_else(|| "none".to_owned(), time);
            sentences.push(format!(
                "{} at {level}: {} read, first token p50 {}, p90 {}, {} of {} requests failed.",
                series.configuration,
                percent(point.share),
                level_us(point.p50_us),
                level_us(point.p90_us),
                point.failed,
                point.requests
            ));
        }
    }
    sentences.join(" ")
}
