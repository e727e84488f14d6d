//! Small multiples: a panel for each configuration, all with the same axes, so
//! that nine configurations are read without a legend and nothing covers
//! anything.
//!
//! Invariant: a panel's name is whole; the names of its axes stand on the
//! picture once, with their units.

use super::colour::INK;
use super::frame::{LEADING, MARGIN, WIDTH};
use super::scale::Scale;
use super::scene::{Anchor, Area, Label, Scene};
use super::text::{width, wrap};

/// An axis of all panels.
pub(super) struct Axis<'a> {
    /// Places.
    pub(super) scale: &'a Scale,
    /// What it measures, with its unit.
    pub(super) name: &'a str,
    /// How a tick is written.
    pub(super) label: &'a dyn Fn(f64) -> String,
}

/// What stands above a panel.
pub(super) struct Heading {
    /// What is in it.
    pub(super) name: String,
    /// What was found in it.
    pub(super) below: String,
}

/// Distance between two panels.
const GAP: f64 = 46.0;

/// Columns for so many panels: as many as can be read, and no row of one.
fn columns(panels: usize) -> usize {
    match panels {
        0 | 1 => 1,
        2 | 4 => 2,
        7 | 8 | 10 => 4,
        _ => 3,
    }
}

/// Ticks that have room across one of so many panels.
pub(super) fn ticks_across(panels: usize) -> usize {
    match columns(panels) {
        1 => 8,
        2 => 5,
        3 => 4,
        _ => 3,
    }
}

/// Places of the panels, in order, and the lower end of all. Draws names, axes and grids from the
/// scene's height on.
pub(super) fn panels(
    scene: &mut Scene,
    headings: &[Heading],
    x: &Axis<'_>,
    y: &Axis<'_>,
) -> (Vec<Area>, f64) {
    let columns = columns(headings.len());
    let height = match headings.len() {
        0..=3 => 300.0,
        4..=6 => 210.0,
        _ => 170.0,
    };
    scene.label(Label::new(y.name, MARGIN, scene.height + 6.0).muted());
    let written = y.scale.ticks.iter().map(|tick| (y.label)(*tick));
    let gutter = written
        .map(|text| width(&text, 12.0, false))
        .fold(24.0, f64::max);
    let left = (MARGIN + gutter + 10.0).round();
    let across = (WIDTH - MARGIN - 12.0 - left - GAP * (columns - 1) as f64) / columns as f64;
    let mut places = Vec::new();
    let mut top = scene.height + 16.0;
    for (row, chunk) in headings.chunks(columns).enumerate() {
        let texts: Vec<_> = chunk
            .iter()
            .map(|heading| Text::of(heading, across))
            .collect();
        let said = texts.iter().map(Text::height).fold(0.0, f64::max);
        let plot_top = (top + said + 8.0).round();
        for (column, text) in texts.iter().enumerate() {
            let from = (left + column as f64 * (across + GAP)).round();
            text.write(scene, from, top);
            let plot = Area::new(from, plot_top, across.round(), height);
            let last = (row + 1) * columns + column >= headings.len();
            across_axis(scene, plot, x, last);
            upright_axis(scene, plot, y, column == 0);
            places.push(plot);
        }
        top = plot_top
            + height
            + if (row + 1) * columns < headings.len() {
                34.0
            } else {
                0.0
            };
    }
    let name = Label::new(x.name, f64::midpoint(left, WIDTH - MARGIN), top + 36.0);
    scene.label(name.anchor(Anchor::Middle).muted());
    (places, top + 44.0)
}

/// The lines above a panel.
struct Text {
    name: Vec<String>,
    below: Vec<String>,
}

impl Text {
    fn of(heading: &Heading, across: f64) -> Self {
        Self {
            name: wrap(&heading.name, 13.0, true, across),
            below: if heading.below.is_empty() {
                Vec::new()
            } else {
                wrap(&heading.below, 12.0, false, across)
            },
        }
    }

    fn height(&self) -> f64 {
        (self.name.len() + self.below.len()) as f64 * LEADING
    }

    fn write(&self, scene: &mut Scene, x: f64, top: f64) {
        let at = Label::new("", x, top + LEADING / 2.0).size(13.0).bold();
        scene.lines(&self.name, &at, LEADING);
        let y = top + LEADING / 2.0 + self.name.len() as f64 * LEADING;
        scene.lines(&self.below, &Label::new("", x, y).muted(), LEADING);
    }
}

/// The grid lines of the axis across, and its numbers where no other panel is below.
fn across_axis(scene: &mut Scene, plot: Area, x: &Axis<'_>, numbers: bool) {
    const OVERHANG: f64 = GAP / 2.0 - 1.0;
    let mut free = plot.left - OVERHANG;
    for tick in &x.scale.ticks {
        let at = x.scale.place(*tick, plot.left, plot.right).round();
        scene.grid((at, plot.top), (at, plot.bottom));
        let label = Label::new(&(x.label)(*tick), at, plot.bottom + 14.0);
        let label = label.anchor(Anchor::Middle).muted();
        // A number that would touch the one before it, or one of another panel, is not written.
        let own = label.bounds();
        if numbers && own.left >= free && own.right <= plot.right + OVERHANG {
            free = own.right + 6.0;
            scene.label(label);
        }
    }
    scene.rule((plot.left, plot.bottom), (plot.right, plot.bottom), INK);
}

/// The grid lines of the upright axis, and its numbers where no other panel is to the left.
fn upright_axis(scene: &mut Scene, plot: Area, y: &Axis<'_>, numbers: bool) {
    for tick in &y.scale.ticks {
        let at = y.scale.place(*tick, plot.bottom, plot.top).round();
        if at < plot.bottom - 0.5 {
            scene.grid((plot.left, at), (plot.right, at));
        }
        if numbers {
            let label = Label::new(&(y.label)(*tick), plot.left - 8.0, at);
            scene.label(label.anchor(Anchor::End).muted());
        }
    }
}
