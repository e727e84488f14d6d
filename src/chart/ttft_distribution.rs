//! The distribution of the time to first token: for each configuration its
//! quantiles as a strip, over some of its requests as points.
//!
//! A request that was never answered has waited for ever: quantiles are over
//! all requests, and one that falls among the failures lies beyond the axis.

mod strip;

use super::colour::{self, MUTED};
use super::frame::{self, MARGIN, WIDTH};
use super::scale::{FAR, Scale, TimeUnit, plain, time};
use super::scene::{Area, Scene, Shape};
use super::text::widest;
use super::{Chart, Note};
use crate::units::grouped;
use serde::{Deserialize, Serialize};
use strip::{Row, Text, cross, half, median, span};

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
    let texts: Vec<Text> = strips.iter().map(Text::of).collect();
    let names = texts.iter().map(|text| widest(&text.name, 13.0));
    let left = (MARGIN + names.fold(80.0, f64::max) + 14.0).round();
    let heights: Vec<f64> = texts.iter().map(Text::height).collect();
    let any_failed = strips.iter().any(|strip| strip.failed > 0);
    let never = if any_failed { NEVER } else { 0.0 };
    let across = WIDTH - MARGIN - VALUES - never - left;
    let plot = Area::new(left, top, across, heights.iter().sum());
    let how = if scale.log { ", logarithmic" } else { "" };
    let name = format!("time to first token ({}{how})", unit.name());
    let end = frame::scale_below(&mut scene, plot, &scale, &plain, &name);
    let mut row_top = top;
    for (index, strip) in strips.iter().enumerate() {
        let row = Row {
            plot,
            y: (row_top + heights[index] / 2.0).round(),
            scale: &scale,
            unit,
            never,
            colour: colour::configuration(index),
        };
        row.draw(&mut scene, strip, &texts[index]);
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

/// The answer: the configurations with the shortest and the longest median.
fn title(figure: &TtftDistribution) -> String {
    let strips = figure.strips.iter();
    let all = strips.filter_map(|strip| Some((strip.median()?, strip)));
    let known = all.clone().count();
    let fast = all.clone().reduce(|a, b| if b.0 < a.0 { b } else { a });
    let slow = all.reduce(|a, b| if b.0 > a.0 { b } else { a });
    let what = match (fast, slow) {
        (Some((low, fast)), Some((high, slow))) if low < high => format!(
            "Half of the requests of {} have a first token within {}, of {} within {}",
            fast.configuration,
            time(low),
            slow.configuration,
            time(high)
        ),
        (Some((low, strip)), _) if known == 1 => {
            format!(
                "Half of the requests of {} have a first token within {}",
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
