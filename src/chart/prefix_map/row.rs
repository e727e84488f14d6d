//! Rows of the prefix map: spans to scale, and what stands beside them.

use super::{Panel, Row, Span, says};
use crate::chart::colour::{self, Colour, INK, PAPER};
use crate::chart::frame::{LEADING, MARGIN, WIDTH, on_scale};
use crate::chart::scene::{Anchor, Area, Label, Scene, Shape};
use crate::chart::text::wrap;
use crate::units::grouped;

const BAR: f64 = 18.0;
/// Of a longer panel, this many rows are drawn from its start, and from its end.
const ENDS: usize = 40;
/// Room for what stands beside a row.
pub(super) const SAYS: f64 = 236.0;

/// The scale that all panels share.
pub(super) struct Map<'a> {
    pub(super) left: f64,
    pub(super) right: f64,
    pub(super) tokens: u64,
    pub(super) sources: &'a [&'a str],
}

impl Map<'_> {
    fn x(&self, tokens: u64) -> f64 {
        on_scale(tokens as f64 / self.tokens as f64, self.left, self.right).round()
    }

    /// Draws a panel from `top` on and gives its lower end.
    pub(super) fn panel(&self, scene: &mut Scene, panel: &Panel, top: f64) -> f64 {
        let lines = wrap(&panel.configuration, 14.0, true, WIDTH - 2.0 * MARGIN);
        let y = top + 14.0;
        scene.lines(&lines, &Label::new("", MARGIN, y).size(14.0).bold(), 18.0);
        let mut next = y + lines.len() as f64 * 18.0 - 8.0;
        let left_out = panel.rows.len().saturating_sub(2 * ENDS);
        for (index, row) in panel.rows.iter().enumerate() {
            if left_out == 0 || index < ENDS || index >= ENDS + left_out {
                next = self.row(scene, row, next);
            } else if index == ENDS {
                let words = format!("{} more requests are not drawn", grouped(left_out as u64));
                scene.label(Label::new(&words, self.left, next + 14.0).muted());
                next += 28.0;
            }
        }
        next + 8.0
    }

    fn row(&self, scene: &mut Scene, row: &Row, top: f64) -> f64 {
        let says = wrap(&says(row), 12.0, false, SAYS - 14.0);
        let height = (says.len() as f64 * LEADING).max(BAR) + 8.0;
        let middle = (top + height / 2.0).round();
        let (upper, lower) = (middle - BAR / 2.0, middle + BAR / 2.0);
        let turn = Label::new(&row.turn, self.left - 10.0, middle);
        scene.label(turn.anchor(Anchor::End));
        let first = middle - (says.len() - 1) as f64 * LEADING / 2.0;
        scene.lines(&says, &Label::new("", self.right + 14.0, first), LEADING);
        let mut from = 0;
        for span in merged(&row.spans) {
            let to = from + span.tokens;
            self.span(scene, &span, (from, to), row.read, (upper, lower));
            from = to;
        }
        if let Some(broke) = &row.broke {
            break_mark(scene, self.x(broke.at), upper, lower);
        }
        top + height
    }

    fn span(
        &self,
        scene: &mut Scene,
        span: &Span,
        (from, to): (u64, u64),
        read: Option<u64>,
        (top, bottom): (f64, f64),
    ) {
        let position = |source: &&str| *source == span.source;
        let index = self.sources.iter().position(position).unwrap_or(0);
        let colour = colour::source(index);
        let area = |from: u64, to: u64| Area {
            left: self.x(from),
            top,
            right: self.x(to),
            bottom,
        };
        let Some(read) = read else {
            scene.shape(Shape::Outline(area(from, to), colour));
            return name(scene, (&span.source, index), area(from, to), None);
        };
        let cut = read.clamp(from, to);
        let (solid, rest) = (area(from, cut), area(cut, to));
        if rest.width() > 0.0 {
            scene.shape(Shape::Hatch(rest, colour));
        }
        if solid.width() > 0.0 {
            scene.shape(Shape::Fill(solid, colour));
            scene.rule((solid.left, top), (solid.left, bottom), PAPER);
        }
        if solid.width() >= rest.width() {
            name(scene, (&span.source, index), solid, Some(colour));
        } else {
            name(scene, (&span.source, index), rest, None);
        }
    }

    /// A scale of tokens, with its name.
    pub(super) fn axis(&self, scene: &mut Scene, top: f64) -> f64 {
        let step = step(self.tokens);
        scene.rule((self.left, top), (self.right, top), INK);
        let mut at = 0;
        while at <= self.tokens {
            let x = self.x(at);
            scene.rule((x, top), (x, top + 4.0), INK);
            let label = Label::new(&grouped(at), x, top + 14.0);
            scene.label(label.anchor(Anchor::Middle).muted());
            at += step;
        }
        let label = Label::new("tokens from the start of the prompt", self.left, top + 32.0);
        scene.label(label.muted());
        top + 38.0
    }
}

/// A round distance for at most eight ticks.
fn step(tokens: u64) -> u64 {
    let mut scale = 1;
    loop {
        for round in [1, 2, 5] {
            if tokens / (round * scale) <= 7 {
                return round * scale;
            }
        }
        scale *= 10;
    }
}

/// Neighbours from the same source as one: a seam between two messages says nothing here.
fn merged(spans: &[Span]) -> Vec<Span> {
    let mut out: Vec<Span> = Vec::new();
    for span in spans {
        match out.last_mut() {
            Some(last) if last.source == span.source => last.tokens += span.tokens,
            _ => out.push(span.clone()),
        }
    }
    out
}

/// Writes the source into its span, or its number, as there is room; on hatching, on a patch of
/// paper.
fn name(scene: &mut Scene, (source, index): (&str, usize), area: Area, solid: Option<Colour>) {
    let fits = |label: &Label| label.bounds().width() + 6.0 <= area.width();
    let whole = Some(centred(source, area)).filter(fits);
    let Some(label) = whole.or_else(|| Some(number(index, area)).filter(fits)) else {
        return;
    };
    if let Some(colour) = solid {
        scene.label(label.colour(colour.text_on()));
        return;
    }
    let bounds = label.bounds();
    let patch = Area {
        left: bounds.left - 1.0,
        right: bounds.right + 1.0,
        top: area.top + 1.0,
        bottom: area.bottom - 1.0,
    };
    scene.shape(Shape::Fill(patch, PAPER));
    scene.label(label);
}

/// The number of a source, which stands for its name where that has no room.
pub(super) fn number(index: usize, area: Area) -> Label {
    centred(&(index + 1).to_string(), area)
}

fn centred(text: &str, area: Area) -> Label {
    let x = f64::midpoint(area.left, area.right);
    let y = f64::midpoint(area.top, area.bottom);
    Label::new(text, x, y).size(11.0).anchor(Anchor::Middle)
}

/// A bar through the row with a triangle on top, with a light rim.
pub(super) fn break_mark(scene: &mut Scene, x: f64, top: f64, bottom: f64) {
    let x = x.round();
    let bar = |half: f64| Area {
        left: x - half,
        top: top - 2.0,
        right: x + half,
        bottom: bottom + 2.0,
    };
    scene.shape(Shape::Fill(bar(3.0), PAPER));
    scene.shape(Shape::Fill(bar(1.5), INK));
    scene.shape(Shape::Polygon(
        vec![(x - 5.0, top - 4.0), (x + 5.0, top - 4.0), (x, top + 4.0)],
        INK,
    ));
}
