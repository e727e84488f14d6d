//! The distribution of the time to first token: for each configuration its
//! quantiles as a strip, over some of its requests as points.
//!
//! A request that was never answered has waited for ever: quantiles are over
//! all requests, and one that falls among the failures lies beyond the axis.

use super::colour::{self, Colour, INK, MUTED, PAPER};
use super::frame::{self, LEADING, MARGIN, WIDTH};
use super::scale::{FAR, Scale, TimeUnit, plain, time};
use super::scene::{Anchor, Area, Label, Scene, Shape};
use super::text::{widest, wrap};
use super::{Chart, Note};
use crate::units::grouped;
use serde::{Deserialize, Serialize};

/// This chart's line in the list.
pub(super) const CHART: Chart = Chart {
    name: "ttft-distribution",
    help: "distribution of the time to first token of each configuration, failures counted as never answered",
};

/// What the chart shows.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct TtftDistribution {
    /// Target, model and load level, as far as the run has several; may be empty.
    pub place: String,
    /// A strip for each configuration.
    pub strips: Vec<Strip>,
    /// What the numbers rest on.
    pub note: Note,
}

/// A configuration.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Strip {
    /// Its name.
    pub configuration: String,
    /// Times at the levels of [`LEVELS`], in microseconds, over all requests; `None` where the
    /// level falls among requests that were not answered.
    pub quantiles_us: [Option<f64>; 5],
    /// Times of some answered requests, or of all, in microseconds.
    pub some_us: Vec<u64>,
    /// Requests that had a first token.
    pub answered: u64,
    /// Requests that were never answered.
    pub failed: u64,
}

/// The quantiles that are drawn, as fractions.
pub const LEVELS: [f64; 5] = [0.1, 0.25, 0.5, 0.75, 0.9];

/// Room for the numbers beside a strip.
const VALUES: f64 = 196.0;
/// Room for names.
const NAMES: f64 = 250.0;
/// Height of a row.
const ROW: f64 = 44.0;
/// Width of the place where what was never answered lies.
const NEVER: f64 = 26.0;

/// Lays the figure out.
pub(super) fn scene(figure: &TtftDistribution) -> Scene {
    let mut scene = frame::start(
        &title(figure),
        "Time from sending to the first token, over all requests; one that was never answered counts as endless.",
    );
    let strips = &figure.strips;
    let times = || strips.iter().flat_map(Strip::times);
    if times().next().is_none() {
        return frame::nothing_because(
            scene,
            &figure.note,
            "Nothing to draw: no request had a first token.",
        );
    }
    let top = key(&mut scene, strips) + 6.0;
    let unit = TimeUnit::of(times().fold(0.0, f64::max));
    let scale = Scale::of(times().map(|us| unit.in_unit(us)), 8, FAR);
    let names: Vec<Vec<String>> = strips
        .iter()
        .map(|strip| wrap(&strip.configuration, 13.0, false, NAMES))
        .collect();
    let gutter = names
        .iter()
        .map(|lines| widest(lines, 13.0))
        .fold(80.0, f64::max);
    let left = (MARGIN + gutter + 14.0).round();
    let said = strips.iter().map(says);
    let lines = said
        .zip(&names)
        .map(|(said, name)| said.len().max(name.len()));
    let heights: Vec<f64> = lines
        .map(|lines| (lines as f64 * LEADING + 10.0).max(ROW))
        .collect();
    let any_failed = strips.iter().any(|strip| strip.failed > 0);
    let never = if any_failed { NEVER } else { 0.0 };
    let plot = Area::new(
        left,
        top,
        WIDTH - MARGIN - VALUES - never - left,
        heights.iter().sum(),
    );
    let end = axis(&mut scene, plot, &scale, unit);
    let mut row_top = top;
    for (index, strip) in strips.iter().enumerate() {
        let row = Row {
            plot,
            y: (row_top + heights[index] / 2.0).round(),
            scale: &scale,
            unit,
            colour: colour::configuration(index),
        };
        row.draw(&mut scene, strip, &names[index], never);
        row_top += heights[index];
    }
    scene.description = describe(figure);
    frame::finish(scene, end, &figure.note)
}

impl Strip {
    /// All times that must have a place.
    fn times(&self) -> impl Iterator<Item = f64> {
        let some = self.some_us.iter().map(|us| *us as f64);
        some.chain(self.quantiles_us.into_iter().flatten())
    }

    fn median(&self) -> Option<f64> {
        self.quantiles_us[2]
    }

    fn requests(&self) -> u64 {
        self.answered + self.failed
    }
}

/// The answer: the fastest and the slowest configuration by the ninth tenth.
fn title(figure: &TtftDistribution) -> String {
    let strips = figure.strips.iter();
    let all = strips.filter_map(|strip| Some((strip.median()?, strip)));
    let known = all.clone().count();
    let fast = all.clone().reduce(|a, b| if b.0 < a.0 { b } else { a });
    let slow = all.reduce(|a, b| if b.0 > a.0 { b } else { a });
    let what = match (fast, slow) {
        (Some((low, fast)), Some((high, slow))) if low < high => format!(
            "Half of the first tokens of {} come within {}, of {} within {}",
            fast.configuration,
            time(low),
            slow.configuration,
            time(high)
        ),
        (Some((low, strip)), _) if known == 1 => {
            format!(
                "Half of the first tokens of {} come within {}",
                strip.configuration,
                time(low)
            )
        }
        _ => "Time to first token of each configuration".to_owned(),
    };
    frame::title(&figure.place, &what)
}

fn key(scene: &mut Scene, strips: &[Strip]) -> f64 {
    let mut meanings = vec![
        "a request",
        "half of them (25 % to 75 %)",
        "eight in ten (10 % to 90 %)",
        "median",
    ];
    if strips.iter().any(|strip| strip.failed > 0) {
        meanings.push("never answered");
    }
    frame::key(scene, scene.height, &meanings, |scene, index, area| {
        let y = f64::midpoint(area.top, area.bottom);
        let middle = f64::midpoint(area.left, area.right);
        match index {
            0 => scene.shape(Shape::Dot((middle, y), MUTED)),
            1 => half(scene, area.left, area.right, y, MUTED),
            2 => span(scene, area.left, area.right, y, MUTED),
            3 => median(scene, middle, y),
            _ => cross(scene, middle, y),
        }
    })
}

fn axis(scene: &mut Scene, plot: Area, scale: &Scale, unit: TimeUnit) -> f64 {
    let mut free = 0.0;
    for tick in &scale.ticks {
        let x = scale.place(*tick, plot.left, plot.right).round();
        scene.grid((x, plot.top), (x, plot.bottom));
        let label = Label::new(&plain(*tick), x, plot.bottom + 14.0)
            .anchor(Anchor::Middle)
            .muted();
        let own = label.bounds();
        if own.left >= free {
            free = own.right + 6.0;
            scene.label(label);
        }
    }
    scene.rule((plot.left, plot.bottom), (plot.right, plot.bottom), INK);
    let how = if scale.log { ", logarithmic" } else { "" };
    let name = format!("time to first token ({}{how})", unit.name());
    let label = Label::new(
        &name,
        f64::midpoint(plot.left, plot.right),
        plot.bottom + 32.0,
    );
    scene.label(label.anchor(Anchor::Middle).muted());
    plot.bottom + 40.0
}

/// Where a strip is drawn.
struct Row<'a> {
    plot: Area,
    y: f64,
    scale: &'a Scale,
    unit: TimeUnit,
    colour: Colour,
}

impl Row<'_> {
    fn x(&self, us: f64) -> f64 {
        self.scale
            .place(self.unit.in_unit(us), self.plot.left, self.plot.right)
    }

    /// The place of a quantile: behind the axis where it falls among failures.
    fn end(&self, us: Option<f64>, never: f64) -> f64 {
        us.map_or(self.plot.right + never / 2.0, |us| self.x(us))
    }

    fn draw(&self, scene: &mut Scene, strip: &Strip, name: &[String], never: f64) {
        let first = self.y - (name.len() - 1) as f64 * LEADING / 2.0;
        let label = Label::new("", self.plot.left - 14.0, first).size(13.0);
        scene.lines(name, &label.anchor(Anchor::End), LEADING);
        let [p10, p25, p50, p75, p90] = strip.quantiles_us;
        if let Some(p10) = p10 {
            span(
                scene,
                self.x(p10),
                self.end(p90, never),
                self.y,
                self.colour,
            );
        }
        if let Some(p25) = p25 {
            half(
                scene,
                self.x(p25),
                self.end(p75, never),
                self.y,
                self.colour,
            );
        }
        for (index, us) in strip.some_us.iter().enumerate() {
            // Beside each other, always in the same way.
            let aside = f64::from((index as u32).wrapping_mul(7) % 13) - 6.0;
            scene.shape(Shape::Dot(
                (self.x(*us as f64), self.y + aside),
                self.colour,
            ));
        }
        if let Some(p50) = p50 {
            median(scene, self.x(p50), self.y);
        }
        if strip.failed > 0 {
            cross(scene, self.plot.right + never / 2.0 + 2.0, self.y);
        }
        self.says(scene, strip, self.plot.right + never + 14.0);
    }

    fn says(&self, scene: &mut Scene, strip: &Strip, x: f64) {
        let lines = says(strip);
        let first = self.y - (lines.len() - 1) as f64 * LEADING / 2.0;
        for (index, line) in lines.iter().enumerate() {
            let label = Label::new(line, x, first + index as f64 * LEADING);
            scene.label(if index == 0 && strip.requests() > 0 {
                label.size(13.0).bold()
            } else {
                label.muted()
            });
        }
    }
}

/// What stands beside a strip.
fn says(strip: &Strip) -> Vec<String> {
    if strip.requests() == 0 {
        return vec!["no request".to_owned()];
    }
    let level = |us: Option<f64>| us.map_or_else(|| "never".to_owned(), time);
    let mut lines = vec![
        format!("p50 {}", level(strip.median())),
        format!(
            "p90 {} · n {}",
            level(strip.quantiles_us[4]),
            compact(strip.requests())
        ),
    ];
    if strip.failed > 0 {
        lines.push(format!("{} never answered", compact(strip.failed)));
    }
    lines
}

/// A count that has room beside a strip.
fn compact(count: u64) -> String {
    if count < 1_000_000 {
        grouped(count)
    } else {
        plain(count as f64)
    }
}

fn half(scene: &mut Scene, from: f64, to: f64, y: f64, colour: Colour) {
    let corners = vec![
        (from, y - 9.0),
        (to, y - 9.0),
        (to, y + 9.0),
        (from, y + 9.0),
    ];
    scene.shape(Shape::Band(corners, colour));
    scene.shape(Shape::Outline(
        Area {
            left: from,
            top: y - 9.0,
            right: to,
            bottom: y + 9.0,
        },
        colour,
    ));
}

fn span(scene: &mut Scene, from: f64, to: f64, y: f64, colour: Colour) {
    scene.shape(Shape::Line(vec![(from, y), (to, y)], colour, 2));
    for end in [from, to] {
        scene.shape(Shape::Line(vec![(end, y - 5.0), (end, y + 5.0)], colour, 2));
    }
}

fn median(scene: &mut Scene, x: f64, y: f64) {
    for (colour, aside) in [(PAPER, 3.0), (INK, 1.5)] {
        scene.shape(Shape::Fill(
            Area {
                left: x - aside,
                top: y - 12.0,
                right: x + aside,
                bottom: y + 12.0,
            },
            colour,
        ));
    }
}

fn cross(scene: &mut Scene, x: f64, y: f64) {
    scene.shape(Shape::Mark((x, y), super::scene::Marker::Cross, INK));
}

fn describe(figure: &TtftDistribution) -> String {
    let of = |strip: &Strip| {
        let level = |us: Option<f64>| us.map_or_else(|| "never".to_owned(), time);
        let levels = ["p10", "p25", "p50", "p75", "p90"]
            .iter()
            .zip(strip.quantiles_us);
        let said: Vec<String> = levels
            .map(|(name, us)| format!("{name} {}", level(us)))
            .collect();
        format!(
            "{}: {}, of {} requests, {} failed.",
            strip.configuration,
            said.join(", "),
            grouped(strip.requests()),
            grouped(strip.failed)
        )
    };
    figure.strips.iter().map(of).collect::<Vec<_>>().join(" ")
}
