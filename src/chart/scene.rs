//! A picture as data: shapes and labels at places, before any drawing.
//!
//! Charts lay out into a [`Scene`]; the renderer only paints it. So whether a
//! label is cut or covers another is a question about data, which tests answer.
//!
//! Coordinates are CSS pixels from the upper left corner. Invariants: labels
//! are painted last, in order, over all shapes; a label is one line of text
//! without control characters.

use super::colour::{Colour, GRID, INK, MUTED};
use super::text::width;

/// A rectangle.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Area {
    /// Left edge.
    pub(super) left: f64,
    /// Upper edge.
    pub(super) top: f64,
    /// Right edge.
    pub(super) right: f64,
    /// Lower edge.
    pub(super) bottom: f64,
}

impl Area {
    /// A rectangle from its upper left corner and its size.
    pub(super) fn new(left: f64, top: f64, width: f64, height: f64) -> Self {
        Self {
            left,
            top,
            right: left + width,
            bottom: top + height,
        }
    }

    /// Its extent from left to right.
    pub(super) fn width(self) -> f64 {
        self.right - self.left
    }

    /// Whether some point lies inside both; touching is not overlapping.
    #[cfg(test)]
    pub(super) fn overlaps(self, other: Self) -> bool {
        self.left < other.right
            && other.left < self.right
            && self.top < other.bottom
            && other.top < self.bottom
    }
}

/// Which end of its text a label's `x` is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Anchor {
    /// The text goes right from `x`.
    Start,
    /// The text is centred on `x`.
    Middle,
    /// The text ends at `x`.
    End,
}

/// One line of text.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Label {
    /// What it says.
    pub(super) text: String,
    /// Where, by `anchor`.
    pub(super) x: f64,
    /// Middle of the line.
    pub(super) y: f64,
    /// Which end `x` is.
    pub(super) anchor: Anchor,
    /// Font size in pixels.
    pub(super) size: f64,
    /// Whether it is set in the heavier weight.
    pub(super) bold: bool,
    /// Colour of the letters.
    pub(super) colour: Colour,
}

impl Label {
    /// A label of the usual size in ink, starting at `x`.
    pub(super) fn new(text: &str, x: f64, y: f64) -> Self {
        Self {
            text: text.to_owned(),
            x,
            y,
            anchor: Anchor::Start,
            size: 12.0,
            bold: false,
            colour: INK,
        }
    }

    /// The same with another anchor.
    pub(super) fn anchor(self, anchor: Anchor) -> Self {
        Self { anchor, ..self }
    }

    /// The same in another size.
    pub(super) fn size(self, size: f64) -> Self {
        Self { size, ..self }
    }

    /// The same in the heavier weight.
    pub(super) fn bold(self) -> Self {
        Self { bold: true, ..self }
    }

    /// The same in the colour of second rank.
    pub(super) fn muted(self) -> Self {
        self.colour(MUTED)
    }

    /// The same in another colour.
    pub(super) fn colour(self, colour: Colour) -> Self {
        Self { colour, ..self }
    }

    /// The box that the text fills, with room for a somewhat wider fallback font.
    pub(super) fn bounds(&self) -> Area {
        let width = width(&self.text, self.size, self.bold);
        let left = match self.anchor {
            Anchor::Start => self.x,
            Anchor::Middle => self.x - width / 2.0,
            Anchor::End => self.x - width,
        };
        Area::new(left, self.y - self.size * 0.6, width, self.size * 1.2)
    }
}

/// The sign at a point of a line; the shape tells lines apart without colour.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Marker {
    /// A disc.
    Disc,
    /// A square.
    Square,
    /// A triangle that points up.
    Up,
    /// A square on its corner.
    Diamond,
    /// A triangle that points down.
    Down,
    /// A circle.
    Ring,
    /// The outline of a square.
    Frame,
    /// A cross of two diagonals.
    Cross,
    /// An upright cross.
    Plus,
    /// The outline of a diamond.
    Lozenge,
}

/// Markers in the order in which configurations get them.
const MARKERS: &[Marker] = &[
    Marker::Disc,
    Marker::Square,
    Marker::Up,
    Marker::Diamond,
    Marker::Down,
    Marker::Ring,
    Marker::Frame,
    Marker::Cross,
    Marker::Plus,
    Marker::Lozenge,
];

/// The marker of the `index`-th configuration; they repeat after ten, as the colours do.
pub(super) fn marker(index: usize) -> Marker {
    MARKERS[index % MARKERS.len()]
}

/// Something to paint.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Shape {
    /// A filled rectangle.
    Fill(Area, Colour),
    /// The outline of a rectangle, one pixel wide.
    Outline(Area, Colour),
    /// A rectangle of slanting lines, with its outline.
    Hatch(Area, Colour),
    /// A line through points; the number is its width.
    Line(Vec<(f64, f64)>, Colour, u32),
    /// A filled polygon.
    Polygon(Vec<(f64, f64)>, Colour),
    /// A marker around a point.
    Mark((f64, f64), Marker, Colour),
    /// One of many points: a small disc through which others show.
    Dot((f64, f64), Colour),
    /// A filled polygon through which everything below shows.
    Band(Vec<(f64, f64)>, Colour),
}

/// A picture, ready to paint.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Scene {
    /// Width of the paper.
    pub(super) width: f64,
    /// Height of the paper.
    pub(super) height: f64,
    /// What it shows, for those who cannot see it.
    pub(super) title: String,
    /// What can be read in it, for those who cannot see it.
    pub(super) description: String,
    /// Shapes, the lowest first.
    pub(super) shapes: Vec<Shape>,
    /// Text, above all shapes.
    pub(super) labels: Vec<Label>,
}

impl Scene {
    /// Adds a shape.
    pub(super) fn shape(&mut self, shape: Shape) {
        self.shapes.push(shape);
    }

    /// Adds a straight line of one pixel.
    pub(super) fn rule(&mut self, from: (f64, f64), to: (f64, f64), colour: Colour) {
        self.shape(Shape::Line(vec![from, to], colour, 1));
    }

    /// Adds a grid line.
    pub(super) fn grid(&mut self, from: (f64, f64), to: (f64, f64)) {
        self.rule(from, to, GRID);
    }

    /// Adds an upright line of dashes.
    pub(super) fn dashes(&mut self, x: f64, top: f64, bottom: f64, colour: Colour) {
        let mut y = top;
        while y < bottom {
            self.rule((x, y), (x, (y + 3.0).min(bottom)), colour);
            y += 6.0;
        }
    }

    /// Adds a label; control characters, which XML cannot hold, become blanks.
    pub(super) fn label(&mut self, mut label: Label) {
        label.text = label.text.replace(char::is_control, " ");
        self.labels.push(label);
    }

    /// Adds lines of text one below the other, the first centred on `label.y`.
    pub(super) fn lines(&mut self, lines: &[String], label: &Label, leading: f64) {
        for (index, line) in lines.iter().enumerate() {
            let y = label.y + index as f64 * leading;
            self.label(Label {
                text: line.clone(),
                y,
                ..label.clone()
            });
        }
    }
}
