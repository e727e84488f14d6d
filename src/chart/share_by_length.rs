//! Cached share against prompt length: a panel of points for each configuration,
//! under the most that the target's cache model can return of a prompt of that
//! length.
//!
//! What a cache cannot keep (a prompt below its minimum, what is behind the last
//! whole block) shows as a roof that is no configuration's fault.

use super::colour::{self, INK};
use super::frame::{self, percent};
use super::panels::{Axis, Heading, panels, ticks_across};
use super::scale::{FAR, Scale, plain};
use super::scene::{Area, Scene, Shape};
use super::{Chart, Note};
use crate::units::grouped;
use serde::{Deserialize, Serialize};

/// This chart's line in the list.
pub(super) const CHART: Chart = Chart {
    name: "share-by-length",
    help: "cached share of each request against the length of its prompt, under the most that the cache model can return",
};

/// What the chart shows.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ShareByLength {
    /// Target, model and load level, as far as the run has several; may be empty.
    pub place: String,
    /// A panel for each configuration.
    pub panels: Vec<Panel>,
    /// What the cache can return of a prompt; `None` where the target has no cache model.
    pub grain: Option<Grain>,
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
    /// Requests with a count.
    pub requests: u64,
}

/// A request.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Point {
    /// The whole prompt, in tokens.
    pub total: u64,
    /// Of it, read from cache.
    pub read: u64,
}

/// What a cache can return of a prompt that it has seen before, whatever else it holds: whole
/// steps, and nothing below a minimum.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Grain {
    /// Tokens of a step; 1 where every length can be returned.
    pub step: u64,
    /// The least that is returned.
    pub minimum: u64,
    /// Steps that are taken off the end.
    pub dropped: u64,
    /// Tokens at the end that are always computed.
    pub spared: u64,
}

impl Grain {
    /// The most tokens that can be read of a prompt of `total` tokens.
    pub fn most(&self, total: u64) -> u64 {
        let step = self.step.max(1);
        let steps = (total.saturating_sub(self.spared) / step).saturating_sub(self.dropped);
        let most = steps.saturating_mul(step);
        if most < self.minimum { 0 } else { most }
    }

    fn says(&self) -> String {
        let mut facts = Vec::new();
        if self.step > 1 {
            facts.push(format!("steps of {} tokens", grouped(self.step)));
        }
        if self.minimum > 1 {
            facts.push(format!("nothing below {}", grouped(self.minimum)));
        }
        if self.dropped > 0 {
            facts.push("the last whole one left out".to_owned());
        }
        if facts.is_empty() {
            return String::new();
        }
        format!(": {}", facts.join(", "))
    }
}

/// Lays the figure out.
pub(super) fn scene(figure: &ShareByLength) -> Scene {
    let roof = figure.grain.as_ref().map_or_else(String::new, |grain| {
        format!(
            " The line is the most that the cache can return of a prompt of that length{}.",
            grain.says()
        )
    });
    let mut scene = frame::start(&title(figure), &format!("Each point is a request.{roof}"));
    let drawn: Vec<&Panel> = figure
        .panels
        .iter()
        .filter(|panel| !panel.points.is_empty())
        .collect();
    if drawn.is_empty() {
        return frame::nothing(scene, &figure.note);
    }
    let totals = drawn
        .iter()
        .flat_map(|panel| &panel.points)
        .map(|point| point.total as f64);
    let across = Scale::of(totals, ticks_across(drawn.len()), FAR);
    let upright = Scale::from_zero(100.0, 4);
    let headings: Vec<Heading> = drawn.iter().map(|panel| heading(panel)).collect();
    let how = if across.log { ", logarithmic" } else { "" };
    let x = Axis {
        scale: &across,
        name: &format!("prompt tokens of the request{how}"),
        label: &plain,
    };
    let y = Axis {
        scale: &upright,
        name: "cached share of the request (%)",
        label: &|tick| format!("{tick} %"),
    };
    let (places, end) = panels(&mut scene, &headings, &x, &y);
    for (panel, place) in drawn.iter().zip(places) {
        let index = figure
            .panels
            .iter()
            .position(|other| std::ptr::eq(other, *panel));
        let colour = colour::configuration(index.unwrap_or(0));
        if let Some(grain) = &figure.grain {
            scene.shape(Shape::Line(ceiling(grain, &across, place), INK, 1));
        }
        for point in &panel.points {
            let share = point.read as f64 / point.total.max(1) as f64;
            let at = (
                across.place(point.total as f64, place.left, place.right),
                upright.place(share * 100.0, place.bottom, place.top),
            );
            scene.shape(Shape::Dot(at, colour));
        }
    }
    scene.description = describe(figure);
    frame::finish(scene, end, &figure.note)
}

/// Steps of the line that are drawn one by one; finer ones would be a grey area.
const TEETH: u32 = 60;
/// Places of the line otherwise.
const PLACES: u32 = 160;

/// The most that can be read, as a line across a panel.
fn ceiling(grain: &Grain, across: &Scale, place: Area) -> Vec<(f64, f64)> {
    let (low, high) = across.ends();
    let step = grain.step.max(1) as f64;
    let spared = grain.spared as f64;
    let mut totals: Vec<f64> = if (high - low) / step <= f64::from(TEETH) {
        // Just below and at each place where another step fits.
        (0..=TEETH + 1)
            .map(|tooth| f64::from(tooth) * step + spared)
            .flat_map(|fits| [fits - 1.0, fits])
            .collect()
    } else {
        // Places at which a step has just been filled: the upper rim.
        let width = (high - low) / f64::from(PLACES);
        (0..=PLACES)
            .map(|index| low + width * f64::from(index))
            .map(|total| (total / step).floor() * step + spared)
            .collect()
    };
    let first = (grain.minimum as f64 / step).ceil() + grain.dropped as f64;
    let first = first * step + spared;
    totals.extend([first - 1.0, first, low, high]);
    totals.retain(|total| (low..=high).contains(total));
    totals.sort_by(f64::total_cmp);
    totals.dedup();
    let at = |total: f64| {
        #[expect(
            clippy::cast_possible_truncation,
            clippy::cast_sign_loss,
            reason = "a length on the axis; a cast of floating point saturates"
        )]
        let most = grain.most(total as u64) as f64;
        let share = (most / total.max(1.0)).clamp(0.0, 1.0);
        let y = place.bottom - share * (place.bottom - place.top);
        (across.place(total, place.left, place.right), y)
    };
    totals.into_iter().map(at).collect()
}

fn heading(panel: &Panel) -> Heading {
    let drawn = panel.points.len() as u64;
    let n = grouped(panel.requests);
    Heading {
        name: panel.configuration.clone(),
        below: if drawn < panel.requests {
            format!("n {n}, {} of them drawn", grouped(drawn))
        } else {
            format!("n {n}")
        },
    }
}

/// The answer: the share of the shorter and of the longer half of the prompts drawn.
fn title(figure: &ShareByLength) -> String {
    let mut points: Vec<&Point> = figure
        .panels
        .iter()
        .flat_map(|panel| &panel.points)
        .collect();
    points.sort_by_key(|point| point.total);
    let (shorter, longer) = points.split_at(points.len() / 2);
    let share = |points: &[&Point]| {
        let sum = |of: fn(&Point) -> u64| points.iter().map(|point| of(point) as f64).sum::<f64>();
        let total = sum(|point| point.total);
        (total > 0.0).then(|| sum(|point| point.read.min(point.total)) / total)
    };
    let what = match (share(shorter), share(longer)) {
        (Some(short), Some(long)) if points.len() >= 4 => format!(
            "Of the longer half of the prompts {} is read from cache, of the shorter half {}",
            percent(Some(long)),
            percent(Some(short))
        ),
        _ => "Share read from cache against prompt length".to_owned(),
    };
    frame::title(&figure.place, &what)
}

fn describe(figure: &ShareByLength) -> String {
    let of = |panel: &Panel| {
        let total: u128 = panel
            .points
            .iter()
            .map(|point| u128::from(point.total))
            .sum();
        let read: u128 = panel
            .points
            .iter()
            .map(|point| u128::from(point.read))
            .sum();
        let share = (total > 0).then(|| read as f64 / total as f64);
        let longest = panel
            .points
            .iter()
            .map(|point| point.total)
            .max()
            .unwrap_or(0);
        format!(
            "{}: {} requests of up to {} tokens, {} read.",
            panel.configuration,
            grouped(panel.requests),
            grouped(longest),
            percent(share)
        )
    };
    figure.panels.iter().map(of).collect::<Vec<_>>().join(" ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_grain_returns_whole_steps_and_nothing_below_its_minimum() {
        let grain = |step, minimum, dropped, spared| Grain {
            step,
            minimum,
            dropped,
            spared,
        };
        let cases = [
            // vLLM: floor((T - 1) / 16) blocks.
            (grain(16, 0, 0, 1), 1_600, 1_584),
            (grain(16, 0, 0, 1), 1_601, 1_600),
            (grain(16, 0, 1, 1), 1_601, 1_584),
            // OpenAI before 5.6: multiples of 128 from 1,024 on.
            (grain(128, 1_024, 0, 0), 1_023, 0),
            (grain(128, 1_024, 0, 0), 1_100, 1_024),
            (grain(1, 0, 0, 1), 7, 6),
            (grain(0, 0, 0, 1), 0, 0),
            (grain(u64::MAX, 0, 0, 0), 5, 0),
        ];
        for (grain, total, most) in cases {
            assert_eq!(grain.most(total), most, "{grain:?} of {total}");
        }
    }
}
