//! One panel: a line for each configuration over the load levels.

use super::{Point, Series, ShareByLoad};
use crate::chart::colour::{self, Colour, INK};
use crate::chart::frame::{LEADING, MARGIN, WIDTH};
use crate::chart::scale::Scale;
use crate::chart::scene::{Anchor, Area, Label, Scene, Shape, marker};
use crate::chart::spread::spread;
use crate::chart::text::{widest, width, wrap};

/// Room for names at the end of the lines.
const NAMES: f64 = 230.0;

/// What a panel shows of a point.
pub(super) struct Values {
    /// What it measures, with its unit.
    pub(super) caption: String,
    /// Places.
    pub(super) scale: Scale,
    /// How a tick is written.
    pub(super) tick: fn(f64) -> String,
    /// The value.
    pub(super) of: fn(&Point) -> Option<f64>,
    /// What the upright line at a point goes from and to; to nothing: it has no end.
    pub(super) ends: fn(&Point) -> Option<(f64, Option<f64>)>,
    /// How the value is told.
    pub(super) says: fn(&Point) -> String,
    /// What values are divided by to be put on the scale.
    pub(super) unit: f64,
}

/// Where the plots of all panels begin and how wide they are, so that a level stands below itself.
#[derive(Clone, Copy)]
pub(super) struct Sides {
    left: f64,
    across: f64,
}

impl Sides {
    /// Beside the longest tick, and the longest name at the end of a line, of all panels.
    pub(super) fn of(figure: &ShareByLoad, panels: &[&Values]) -> Self {
        let ticks = panels.iter().flat_map(|values| {
            let ticks = values.scale.ticks.iter();
            ticks.map(|tick| width(&(values.tick)(*tick), 12.0, false))
        });
        let left = (MARGIN + ticks.fold(40.0, f64::max) + 10.0).round();
        let names = panels.iter().flat_map(|values| {
            let series = figure.series.iter();
            series.map(|one| widest(&name(one, values), 12.0))
        });
        let across = WIDTH - MARGIN - names.fold(0.0, f64::max) - 44.0 - left;
        Self { left, across }
    }
}

/// Draws a panel from the scene's height on; gives where it ends.
pub(super) fn panel(
    scene: &mut Scene,
    figure: &ShareByLoad,
    values: &Values,
    sides: Sides,
    levels: bool,
) -> f64 {
    let names: Vec<_> = figure.series.iter().map(|one| name(one, values)).collect();
    let height = |lines: &Vec<String>| lines.len() as f64 * LEADING + 4.0;
    let heights: Vec<f64> = names.iter().map(height).collect();
    let caption = Label::new(&values.caption, MARGIN, scene.height + 8.0);
    scene.label(caption.muted());
    let room = heights.iter().sum::<f64>().max(190.0);
    let plot = Area::new(sides.left, scene.height + 26.0, sides.across, room);
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
                let top = high.map_or(self.plot.top, |high| self.y(high));
                scene.shape(Shape::Line(vec![(x, self.y(low)), (x, top)], colour, 2));
                for end in [Some(low), high]
                    .into_iter()
                    .flatten()
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
fn dashed(scene: &mut Scene, from: (f64, f64), to: (f64, f64), colour: Colour) {
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

fn stroke(scene: &mut Scene, path: &mut Vec<(f64, f64)>, colour: Colour) {
    let points = std::mem::take(path);
    if points.len() > 1 {
        scene.shape(Shape::Line(points, colour, 2));
    }
}
