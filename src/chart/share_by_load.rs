//! Load level against cached share and time to first token: two panels, a line
//! for each configuration.
//!
//! With more conversations at once a cache holds less of each, and requests
//! wait for each other: the first panel tells the one from the other.

mod panel;

use super::frame::{self, percent};
use super::scale::{Scale, TimeUnit, plain, time};
use super::scene::Scene;
use super::{Chart, Note};
use panel::{Sides, Values, panel};
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
    /// Median time to first token over all requests, in microseconds; `None` where more than half
    /// of them were never answered, or none was sent.
    pub p50_us: Option<f64>,
    /// The time within which nine in ten of all requests have their first token, in microseconds;
    /// `None` where more than one in ten were never answered.
    pub p90_us: Option<f64>,
    /// Requests that were never answered.
    pub failed: u64,
    /// Requests.
    pub requests: u64,
}

/// A load multiplies times, so an axis becomes logarithmic earlier than elsewhere.
const LOAD_FAR: f64 = 10.0;

/// Lays the figure out.
pub(super) fn scene(figure: &ShareByLoad) -> Scene {
    let mut scene = frame::start(
        &title(figure),
        "Above, the share of prompt tokens read from cache, with its 95 % interval where there are repeats; below, the median time to first token over all requests, one that was never answered counted as endless, with upright lines up to the time within which nine in ten come (up to the edge where they do not).",
    );
    if figure.series.is_empty() || figure.levels.is_empty() {
        return frame::nothing(scene, &figure.note);
    }
    let shares = shares();
    let waits = waits(figure);
    let sides = Sides::of(figure, &[&shares, &waits]);
    let first = panel(&mut scene, figure, &shares, sides, false);
    scene.height = first + 10.0;
    let end = panel(&mut scene, figure, &waits, sides, true);
    scene.description = describe(figure);
    frame::finish(scene, end, &figure.note)
}

fn shares() -> Values {
    Values {
        caption: "cached share (%)".to_owned(),
        scale: Scale::from_zero(100.0, 4),
        tick: |tick| format!("{} %", plain(tick)),
        of: |point| point.share.map(|share| share * 100.0),
        ends: |point| Some((point.low? * 100.0, Some(point.high? * 100.0))),
        says: |point| percent(point.share),
        unit: 1.0,
    }
}

fn waits(figure: &ShareByLoad) -> Values {
    let series = figure.series.iter();
    let points = series.flat_map(|series| series.points.iter().flatten());
    let times = points.flat_map(|point| [point.p50_us, point.p90_us]);
    let times: Vec<f64> = times.flatten().collect();
    let unit = TimeUnit::of(times.iter().copied().fold(0.0, f64::max));
    let in_unit = times.iter().map(|us| unit.in_unit(*us));
    let scale = Scale::of(in_unit, 4, LOAD_FAR);
    let how = if scale.log { ", logarithmic" } else { "" };
    Values {
        caption: format!("time to first token ({}{how})", unit.name()),
        scale,
        tick: plain,
        of: |point| point.p50_us,
        ends: |point| Some((point.p50_us?, point.p90_us)),
        says: |point| {
            let median = point.p50_us.map(time);
            median.unwrap_or_else(|| missing(point).to_owned())
        },
        unit: unit.microseconds(),
    }
}

/// What is said where the median is no time.
fn missing(point: &Point) -> &'static str {
    if point.failed > 0 {
        "never answered"
    } else {
        "no first token"
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
        let from = first.p50_us.filter(|from| *from > 0.0)?;
        // A median among requests that were never answered is the slowest of all.
        let endless = (last.failed > 0).then_some(f64::INFINITY);
        let to = last.p50_us.or(endless)?;
        Some((to / from, series, first, last, from, to))
    });
    let what = match slowed.reduce(|a, b| if b.0 > a.0 { b } else { a }) {
        Some((_, series, first, last, from, to)) => format!(
            "From {light} to {heavy}, {} reads {} after {} of its prompt tokens from cache, and its median time to first token goes from {} to {}",
            series.configuration,
            percent(last.share),
            percent(first.share),
            time(from),
            if to.is_finite() {
                time(to)
            } else {
                missing(last).to_owned()
            }
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
            let level_us = |us: Option<f64>| us.map_or_else(|| missing(point).to_owned(), time);
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
