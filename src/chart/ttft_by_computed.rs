//! Time to first token against computed tokens: a panel of points for each
//! configuration, with the line through them and where it may lie.
//!
//! The line is what a computed token costs in time on this server; a
//! configuration only moves along it.

use super::colour::{self, INK};
use super::frame;
use super::panels::{Axis, Heading, panels, ticks_across};
use super::scale::{Scale, TimeUnit, digits, plain, time};
use super::scene::{Area, Scene, Shape};
use super::{Chart, Note};
use crate::units::grouped;
use serde::{Deserialize, Serialize};

/// This chart's line in the list.
pub(super) const CHART: Chart = Chart {
    name: "ttft-by-computed",
    help: "time to first token of each request against its computed tokens, with the line through them and its interval",
};

/// What the chart shows.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct TtftByComputed {
    /// Target, model and load level, as far as the run has several; may be empty.
    pub place: String,
    /// A panel for each configuration.
    pub panels: Vec<Panel>,
    /// The line through the points of all configurations together.
    pub fit: Option<Fit>,
    /// What the numbers rest on.
    pub note: Note,
}

/// A configuration.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Panel {
    /// Its name.
    pub configuration: String,
    /// Some of its requests, or all.
    pub points: Vec<Point>,
    /// Requests that the line is drawn through.
    pub requests: u64,
    /// The line.
    pub fit: Option<Fit>,
}

/// A request.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Point {
    /// Tokens that the server had to compute.
    pub computed: u64,
    /// Time to first token, in microseconds.
    pub ttft_us: u64,
}

/// A straight line through points.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Fit {
    /// Time of a request that computes nothing, in microseconds.
    pub intercept_us: f64,
    /// Time that a computed token adds, in microseconds.
    pub us_per_token: f64,
    /// Lower end of the 95 % interval of that.
    pub low: Option<f64>,
    /// Upper end of the 95 % interval of that.
    pub high: Option<f64>,
    /// Where the line may lie, by ascending computed tokens; may be empty.
    pub band: Vec<Band>,
}

/// Where a line may lie at one place.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Band {
    /// The place.
    pub computed: f64,
    /// Lower end of the 95 % interval, in microseconds.
    pub low_us: f64,
    /// Upper end of the 95 % interval, in microseconds.
    pub high_us: f64,
}

/// An axis is logarithmic only where it must: on one, a straight line is a curve.
const STRAIGHT: f64 = 200.0;
/// Places of a line at which it is drawn: on a logarithmic axis it is a curve.
const PLACES: u32 = 48;

/// Lays the figure out.
pub(super) fn scene(figure: &TtftByComputed) -> Scene {
    let mut scene = frame::start(
        &title(figure),
        "Each point is a request. The line is the straight one through them, the shade around it its 95 % interval over conversations.",
    );
    let drawn: Vec<&Panel> = figure
        .panels
        .iter()
        .filter(|panel| !panel.points.is_empty())
        .collect();
    if drawn.is_empty() {
        return frame::nothing(scene, &figure.note);
    }
    let points = || drawn.iter().flat_map(|panel| &panel.points);
    let across = Scale::of(
        points().map(|point| point.computed as f64),
        ticks_across(drawn.len()),
        STRAIGHT,
    );
    let longest = points().map(|point| point.ttft_us).max().unwrap_or(0) as f64;
    let unit = TimeUnit::of(longest);
    let upright = Scale::of(
        points().map(|point| unit.in_unit(point.ttft_us as f64)),
        5,
        STRAIGHT,
    );
    let headings: Vec<Heading> = drawn.iter().map(|panel| heading(panel)).collect();
    let logarithmic = |scale: &Scale| if scale.log { ", logarithmic" } else { "" };
    let x = Axis {
        scale: &across,
        name: &format!(
            "computed prompt tokens of the request{}",
            logarithmic(&across)
        ),
        label: &plain,
    };
    let y = Axis {
        scale: &upright,
        name: &format!(
            "time to first token ({}{})",
            unit.name(),
            logarithmic(&upright)
        ),
        label: &plain,
    };
    let (places, end) = panels(&mut scene, &headings, &x, &y);
    for (panel, place) in drawn.iter().zip(places) {
        let index = figure
            .panels
            .iter()
            .position(|other| std::ptr::eq(other, *panel));
        let paper = Paper {
            place,
            across: &across,
            upright: &upright,
            unit,
        };
        paper.draw(&mut scene, panel, index.unwrap_or(0));
    }
    scene.description = describe(figure);
    frame::finish(scene, end, &figure.note)
}

/// The answer: what a computed token costs in time.
fn title(figure: &TtftByComputed) -> String {
    let what = match &figure.fit {
        Some(fit) if fit.low.is_some_and(|low| low <= 0.0) || fit.us_per_token <= 0.0 => {
            "Time to first token does not visibly depend on computed tokens".to_owned()
        }
        Some(fit) => format!(
            "A thousand computed tokens add {} to the time to first token",
            time(fit.us_per_token * 1e3)
        ),
        None => "Time to first token against computed tokens".to_owned(),
    };
    frame::title(&figure.place, &what)
}

fn heading(panel: &Panel) -> Heading {
    let n = grouped(panel.requests);
    let drawn = panel.points.len() as u64;
    let mut below = if drawn < panel.requests {
        format!("n {n}, {} of them drawn", grouped(drawn))
    } else {
        format!("n {n}")
    };
    match &panel.fit {
        Some(fit) => {
            below.push_str(" · ");
            below.push_str(&slope(fit));
        }
        None => below.push_str(" · too few for a line"),
    }
    Heading {
        name: panel.configuration.clone(),
        below,
    }
}

/// `41.2 µs a token [38.0, 45.1]`.
fn slope(fit: &Fit) -> String {
    let interval = match (fit.low, fit.high) {
        (Some(low), Some(high)) => format!(" [{}, {}]", digits(low), digits(high)),
        _ => String::new(),
    };
    format!("{} µs a token{interval}", digits(fit.us_per_token))
}

/// Where points of a panel lie.
struct Paper<'a> {
    place: Area,
    across: &'a Scale,
    upright: &'a Scale,
    unit: TimeUnit,
}

impl Paper<'_> {
    fn at(&self, computed: f64, us: f64) -> (f64, f64) {
        let Area {
            left,
            right,
            top,
            bottom,
        } = self.place;
        let y = self.unit.in_unit(us);
        (
            self.across.place(computed, left, right),
            self.upright.place(y, bottom, top),
        )
    }

    fn draw(&self, scene: &mut Scene, panel: &Panel, index: usize) {
        let colour = colour::configuration(index);
        if let Some(fit) = &panel.fit {
            let low = fit
                .band
                .iter()
                .map(|band| self.at(band.computed, band.low_us));
            let high = fit
                .band
                .iter()
                .rev()
                .map(|band| self.at(band.computed, band.high_us));
            let around: Vec<_> = low.chain(high).collect();
            if around.len() > 2 {
                scene.shape(Shape::Band(around, colour));
            }
        }
        for point in &panel.points {
            let at = self.at(point.computed as f64, point.ttft_us as f64);
            scene.shape(Shape::Dot(at, colour));
        }
        if let Some(fit) = &panel.fit {
            scene.shape(Shape::Line(self.line(panel, fit), INK, 2));
        }
    }

    /// The line from the first to the last point, as far as it lies on the paper.
    fn line(&self, panel: &Panel, fit: &Fit) -> Vec<(f64, f64)> {
        let computed = panel.points.iter().map(|point| point.computed as f64);
        let from = computed.clone().fold(f64::INFINITY, f64::min);
        let to = computed.fold(0.0, f64::max);
        let (least, most) = self.upright.ends();
        let places =
            (0..=PLACES).map(|step| from + (to - from) * f64::from(step) / f64::from(PLACES));
        let on_paper = places.filter_map(|computed| {
            let us = fit.intercept_us + fit.us_per_token * computed;
            (least..=most)
                .contains(&self.unit.in_unit(us))
                .then(|| self.at(computed, us))
        });
        let on_paper: Vec<_> = on_paper.collect();
        if self.across.log || self.upright.log || on_paper.len() < 2 {
            return on_paper;
        }
        vec![on_paper[0], on_paper[on_paper.len() - 1]]
    }
}

fn describe(figure: &TtftByComputed) -> String {
    let of = |panel: &Panel| {
        let line = panel.fit.as_ref().map_or_else(
            || "too few requests for a line".to_owned(),
            |fit| format!("{} and {} for none", slope(fit), time(fit.intercept_us)),
        );
        format!(
            "{}: {} requests, {line}.",
            panel.configuration,
            grouped(panel.requests)
        )
    };
    figure.panels.iter().map(of).collect::<Vec<_>>().join(" ")
}
