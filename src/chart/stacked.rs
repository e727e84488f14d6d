//! Bars of several parts, a row for each name.
//!
//! Invariants: the parts of a bar lie in the order of the key and are as long
//! as what they stand for; what a row says stands beside it, whatever its
//! length.

use super::colour::{self, INK, MUTED};
use super::frame::{self, LEADING, MARGIN, WIDTH};
use super::scale::Scale;
use super::scene::{Anchor, Area, Label, Scene, Shape};
use super::text::{widest, width, wrap};

/// A row.
pub(super) struct Row {
    /// What it is about.
    pub(super) name: String,
    /// Lengths, by the place of the part in the key.
    pub(super) parts: Vec<f64>,
    /// The length of a second bar below, hatched.
    pub(super) beside: Option<f64>,
    /// The interval of the whole.
    pub(super) interval: Option<(f64, f64)>,
    /// What stands beside it: first its value, then what that rests on.
    pub(super) says: Vec<String>,
}

/// A part of the bars.
pub(super) struct Part {
    /// What it is, for the key.
    pub(super) name: String,
    /// What is written in it where it has room.
    pub(super) short: String,
}

/// The axis of all rows.
pub(super) struct Axis<'a> {
    /// What it measures, with its unit.
    pub(super) name: &'a str,
    /// How a tick is written.
    pub(super) label: &'a dyn Fn(f64) -> String,
    /// What the hatched bars stand for; empty where there are none.
    pub(super) beside: &'a str,
}

const BAR: f64 = 18.0;
const BESIDE: f64 = 8.0;
const NAMES: f64 = 260.0;
const VALUES: f64 = 214.0;

/// Draws the key, the rows and the axis from the scene's height on; gives where they end.
pub(super) fn stacked(scene: &mut Scene, rows: &[Row], parts: &[Part], axis: &Axis<'_>) -> f64 {
    let top = key(scene, rows, parts, axis) + 8.0;
    let names: Vec<_> = rows
        .iter()
        .map(|row| wrap(&row.name, 13.0, false, NAMES))
        .collect();
    let says: Vec<_> = rows.iter().map(|row| said(&row.says)).collect();
    let gutter = names
        .iter()
        .map(|lines| widest(lines, 13.0))
        .fold(80.0, f64::max);
    let left = (MARGIN + gutter + 12.0).round();
    let height = |index: usize| {
        let lines = names[index].len().max(says[index].len()) as f64 * LEADING;
        let bars = BAR + rows[index].beside.map_or(0.0, |_| BESIDE + 2.0);
        lines.max(bars) + 12.0
    };
    let heights: Vec<f64> = (0..rows.len()).map(height).collect();
    let plot = Area::new(
        left,
        top,
        WIDTH - MARGIN - VALUES - left,
        heights.iter().sum(),
    );
    let ends = rows.iter().flat_map(Row::ends);
    let scale = Scale::from_zero(ends.fold(0.0, f64::max), 5);
    let end = below(scene, plot, &scale, axis);
    let mut row_top = top;
    for (index, row) in rows.iter().enumerate() {
        let y = (row_top + heights[index] / 2.0).round();
        let first = |lines: usize| y - (lines - 1) as f64 * LEADING / 2.0;
        let name = Label::new("", left - 12.0, first(names[index].len())).size(13.0);
        scene.lines(&names[index], &name.anchor(Anchor::End), LEADING);
        draw(scene, row, parts, y, |value| {
            scale.place(value, plot.left, plot.right)
        });
        for (line, text) in says[index].iter().enumerate() {
            let at = Label::new(
                text,
                plot.right + 16.0,
                first(says[index].len()) + line as f64 * LEADING,
            );
            scene.label(if line == 0 {
                at.size(13.0).bold()
            } else {
                at.muted()
            });
        }
        row_top += heights[index];
    }
    end
}

impl Row {
    fn ends(&self) -> impl Iterator<Item = f64> {
        let whole: f64 = self.parts.iter().sum();
        let high = self.interval.map(|(_, high)| high);
        [Some(whole), self.beside, high].into_iter().flatten()
    }
}

/// The lines beside a row: the first is the value and keeps its line.
fn said(says: &[String]) -> Vec<String> {
    let room = VALUES - 16.0;
    let mut lines = Vec::new();
    for (index, text) in says.iter().enumerate() {
        let size = if index == 0 { 13.0 } else { 12.0 };
        lines.extend(wrap(text, size, index == 0, room));
    }
    lines
}

fn key(scene: &mut Scene, rows: &[Row], parts: &[Part], axis: &Axis<'_>) -> f64 {
    let mut meanings: Vec<&str> = parts.iter().map(|part| &*part.name).collect();
    let beside = rows.iter().any(|row| row.beside.is_some());
    if beside {
        meanings.push(axis.beside);
    }
    let interval = rows.iter().any(|row| row.interval.is_some());
    if interval {
        meanings.push("95 % interval over conversations");
    }
    frame::key(
        scene,
        scene.height,
        &meanings,
        |scene, index, area| match parts.get(index) {
            Some(part) => {
                scene.shape(Shape::Fill(area, colour::source(index)));
                write(scene, &part.short, area, index);
            }
            None if beside && index == parts.len() => scene.shape(Shape::Hatch(area, MUTED)),
            None => frame::whiskers(
                scene,
                area.left,
                area.right,
                f64::midpoint(area.top, area.bottom).round(),
            ),
        },
    )
}

fn below(scene: &mut Scene, plot: Area, scale: &Scale, axis: &Axis<'_>) -> f64 {
    let mut free = 0.0;
    for tick in &scale.ticks {
        let x = scale.place(*tick, plot.left, plot.right).round();
        scene.grid((x, plot.top), (x, plot.bottom));
        let label = Label::new(&(axis.label)(*tick), x, plot.bottom + 14.0);
        let label = label.anchor(Anchor::Middle).muted();
        let own = label.bounds();
        if own.left >= free {
            free = own.right + 6.0;
            scene.label(label);
        }
    }
    scene.rule((plot.left, plot.bottom), (plot.right, plot.bottom), INK);
    scene.rule((plot.left, plot.top), (plot.left, plot.bottom), INK);
    let label = Label::new(
        axis.name,
        f64::midpoint(plot.left, plot.right),
        plot.bottom + 32.0,
    );
    scene.label(label.anchor(Anchor::Middle).muted());
    plot.bottom + 40.0
}

fn draw(scene: &mut Scene, row: &Row, parts: &[Part], y: f64, x: impl Fn(f64) -> f64) {
    let below = row.beside.map_or(0.0, |_| BESIDE + 2.0);
    let top = (y - (BAR + below) / 2.0).round();
    let mut sum = 0.0;
    for (index, length) in row
        .parts
        .iter()
        .enumerate()
        .filter(|(_, length)| **length > 0.0)
    {
        let from = x(sum);
        sum += length;
        // What is there is seen, however little it is.
        let area = Area {
            left: from,
            top,
            right: x(sum).max(from + 1.0),
            bottom: top + BAR,
        };
        scene.shape(Shape::Fill(area, colour::source(index)));
        if let Some(part) = parts.get(index) {
            write(scene, &part.short, area, index);
        }
    }
    if let Some(beside) = row.beside.filter(|beside| *beside > 0.0) {
        let top = top + BAR + 2.0;
        scene.shape(Shape::Hatch(
            Area {
                left: x(0.0),
                top,
                right: x(beside),
                bottom: top + BESIDE,
            },
            MUTED,
        ));
    }
    if let Some((low, high)) = row.interval {
        frame::whiskers(scene, x(low), x(high), top + BAR / 2.0);
    }
}

/// What a part is called, in it, where it has room.
fn write(scene: &mut Scene, short: &str, area: Area, index: usize) {
    if !short.is_empty() && width(short, 11.0, true) + 6.0 <= area.width() {
        let label = Label::new(
            short,
            f64::midpoint(area.left, area.right),
            f64::midpoint(area.top, area.bottom),
        );
        let colour = colour::source(index).text_on();
        scene.label(
            label
                .size(11.0)
                .bold()
                .anchor(Anchor::Middle)
                .colour(colour),
        );
    }
}
