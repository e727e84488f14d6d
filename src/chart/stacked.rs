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
    /// The number of its colour: the same thing has the same one in every picture.
    pub(super) colour: usize,
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
    let texts: Vec<Text> = rows.iter().map(Text::of).collect();
    let names = texts.iter().map(|text| widest(&text.name, 13.0));
    let left = (MARGIN + names.fold(80.0, f64::max) + 12.0).round();
    let heights: Vec<f64> = texts.iter().zip(rows).map(Text::height).collect();
    let across = WIDTH - MARGIN - VALUES - left;
    let plot = Area::new(left, top, across, heights.iter().sum());
    let ends = rows.iter().flat_map(Row::ends);
    let scale = Scale::from_zero(ends.fold(0.0, f64::max), 5);
    let end = frame::scale_below(scene, plot, &scale, axis.label, axis.name);
    scene.rule((plot.left, plot.top), (plot.left, plot.bottom), INK);
    let mut row_top = top;
    for ((row, text), height) in rows.iter().zip(&texts).zip(heights) {
        let y = (row_top + height / 2.0).round();
        text.write(scene, plot, y);
        let x = |value| scale.place(value, plot.left, plot.right);
        draw(scene, row, parts, y, x);
        row_top += height;
    }
    end
}

/// The lines on both sides of a row.
struct Text {
    name: Vec<String>,
    says: Vec<String>,
}

impl Text {
    fn of(row: &Row) -> Self {
        Self {
            name: wrap(&row.name, 13.0, false, NAMES),
            says: said(&row.says),
        }
    }

    fn height((text, row): (&Self, &Row)) -> f64 {
        let lines = text.name.len().max(text.says.len()) as f64 * LEADING;
        let bars = BAR + row.beside.map_or(0.0, |_| BESIDE + 2.0);
        lines.max(bars) + 12.0
    }

    fn write(&self, scene: &mut Scene, plot: Area, y: f64) {
        let first = |lines: &[String]| y - (lines.len() - 1) as f64 * LEADING / 2.0;
        let name = Label::new("", plot.left - 12.0, first(&self.name)).size(13.0);
        scene.lines(&self.name, &name.anchor(Anchor::End), LEADING);
        for (line, text) in self.says.iter().enumerate() {
            let y = first(&self.says) + line as f64 * LEADING;
            let label = Label::new(text, plot.right + 16.0, y);
            scene.label(if line == 0 {
                label.size(13.0).bold()
            } else {
                label.muted()
            });
        }
    }
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
                scene.shape(Shape::Fill(area, colour::source(part.colour)));
                write(scene, part, area);
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

fn draw(scene: &mut Scene, row: &Row, parts: &[Part], y: f64, x: impl Fn(f64) -> f64) {
    let below = row.beside.map_or(0.0, |_| BESIDE + 2.0);
    let top = (y - f64::midpoint(BAR, below)).round();
    // What is written under the interval could not be read.
    let ends = row.interval.map(|(low, high)| (x(low), x(high)));
    let crossed =
        |area: Area| ends.is_some_and(|(low, high)| low <= area.right && high >= area.left);
    let mut sum = 0.0;
    for (part, length) in parts
        .iter()
        .zip(&row.parts)
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
        scene.shape(Shape::Fill(area, colour::source(part.colour)));
        if !crossed(area) {
            write(scene, part, area);
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
fn write(scene: &mut Scene, part: &Part, area: Area) {
    let short = part.short.as_str();
    if !short.is_empty() && width(short, 11.0, true) + 6.0 <= area.width() {
        let label = Label::new(
            short,
            f64::midpoint(area.left, area.right),
            f64::midpoint(area.top, area.bottom),
        );
        let colour = colour::source(part.colour).text_on();
        scene.label(
            label
                .size(11.0)
                .bold()
                .anchor(Anchor::Middle)
                .colour(colour),
        );
    }
}
