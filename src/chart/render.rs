//! Paints a scene: SVG and PNG from the same code.
//!
//! The only file that knows the drawing library. Letters are shipped, so a picture
//! is the same on every machine; in an SVG, text stays text.
//!
//! Invariant: the same scene gives the same bytes.

use super::ChartError;
use super::colour::{Colour, PAPER};
use super::document::accessible;
use super::geometry::{corners, hatch};
use super::letters;
use super::scene::{Anchor, Area, Label, Marker, Scene, Shape};
use plotters::prelude::{BitMapBackend, DrawingBackend, SVGBackend};
use plotters::style::text_anchor::{HPos, Pos, VPos};
use plotters::style::{
    Color as _, FontDesc, FontFamily, FontStyle, RGBColor, ShapeStyle, TextStyle, register_font,
};
use std::sync::Once;

/// The shipped font first, then what looks most like it.
const FAMILY: &str = "Inter, 'Helvetica Neue', Arial, 'Liberation Sans', sans-serif";
/// Pixels of a PNG per pixel of a scene: sharp on a dense screen and in print.
const PNG_SCALE: f64 = 2.0;
/// Pictures higher than this have one pixel to one, to keep their size within bounds.
const TALL: f64 = 6_000.0;
/// What the SVG backend divides a font's size by to get the size of its em.
const SVG_EM: f64 = 1.24;

/// Registers the shipped fonts, once in a process.
fn fonts() {
    static ONCE: Once = Once::new();
    ONCE.call_once(|| {
        let fonts: [(FontStyle, &'static [u8]); 2] = [
            (FontStyle::Normal, letters::REGULAR),
            (FontStyle::Bold, letters::BOLD),
        ];
        for (style, bytes) in fonts {
            // A font that cannot be read shows as `FontUnavailable` at the first text.
            let _registered = register_font(FAMILY, style, bytes);
        }
    });
}

fn font(size: f64, bold: bool) -> FontDesc<'static> {
    let style = if bold {
        FontStyle::Bold
    } else {
        FontStyle::Normal
    };
    FontDesc::new(FontFamily::Name(FAMILY), size, style)
}

/// The scene as an SVG document that also reads on a dark page.
///
/// # Errors
///
/// [`ChartError::Draw`] when the drawing library fails.
pub(super) fn svg(scene: &Scene) -> Result<String, ChartError> {
    let mut out = String::new();
    let size = (whole(scene.width), whole(scene.height));
    let backend = SVGBackend::with_string(&mut out, size);
    let brush = Brush {
        scale: 1.0,
        pixels: false,
    };
    paint(backend, scene, &brush)?;
    Ok(accessible(&out, scene))
}

/// The scene as a PNG file on light paper, two pixels to each of the scene; a very high one, one.
///
/// # Errors
///
/// [`ChartError::Draw`] and [`ChartError::Encode`] when the libraries fail.
pub(super) fn png(scene: &Scene) -> Result<Vec<u8>, ChartError> {
    let scale = if scene.height > TALL { 1.0 } else { PNG_SCALE };
    let width = whole(scene.width * scale);
    let height = whole(scene.height * scale);
    let mut pixels = vec![0; width as usize * height as usize * 3];
    let backend = BitMapBackend::with_buffer(&mut pixels, (width, height));
    let brush = Brush {
        scale,
        pixels: true,
    };
    paint(backend, scene, &brush)?;
    encode(&pixels, width, height).map_err(|source| ChartError::Encode { source })
}

fn encode(pixels: &[u8], width: u32, height: u32) -> Result<Vec<u8>, png::EncodingError> {
    let mut out = Vec::new();
    let mut encoder = png::Encoder::new(&mut out, width, height);
    encoder.set_color(png::ColorType::Rgb);
    encoder.set_depth(png::BitDepth::Eight);
    // Flat areas repeat from row to row; the filter for photographs would hide that.
    encoder.set_filter(png::FilterType::NoFilter);
    encoder.set_compression(png::Compression::Default);
    let mut writer = encoder.write_header()?;
    writer.write_image_data(pixels)?;
    writer.finish()?;
    Ok(out)
}

#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "the size of a picture; a cast of floating point saturates"
)]
fn whole(length: f64) -> u32 {
    length.ceil().max(1.0) as u32
}

/// Where the backends differ.
struct Brush {
    /// Backend pixels per pixel of the scene.
    scale: f64,
    /// Whether text is put into pixels here, since the library would leave out what its font lacks.
    pixels: bool,
}

impl Brush {
    #[expect(
        clippy::cast_possible_truncation,
        reason = "a place on a picture; a cast of floating point saturates"
    )]
    fn at(&self, (x, y): (f64, f64)) -> (i32, i32) {
        let place = |value: f64| (value * self.scale).round() as i32;
        (place(x), place(y))
    }

    fn path(&self, points: &[(f64, f64)]) -> Vec<(i32, i32)> {
        points.iter().map(|&point| self.at(point)).collect()
    }

    fn stroke(&self, colour: Colour, width: u32) -> ShapeStyle {
        rgb(colour).stroke_width(whole(f64::from(width) * self.scale))
    }
}

fn rgb(colour: Colour) -> RGBColor {
    RGBColor(colour.0, colour.1, colour.2)
}

fn paint<B: DrawingBackend>(mut on: B, scene: &Scene, brush: &Brush) -> Result<(), ChartError> {
    fonts();
    let paper = Area::new(0.0, 0.0, scene.width, scene.height);
    shape(&mut on, &Shape::Fill(paper, PAPER), brush)?;
    for item in &scene.shapes {
        shape(&mut on, item, brush)?;
    }
    for item in &scene.labels {
        label(&mut on, item, brush)?;
    }
    drawn(on.present())
}

/// The backend's error, whose type the library does not export, as ours.
fn drawn(result: Result<(), impl std::error::Error>) -> Result<(), ChartError> {
    result.map_err(|cause| ChartError::Draw {
        cause: cause.to_string(),
    })
}

fn shape<B: DrawingBackend>(on: &mut B, shape: &Shape, brush: &Brush) -> Result<(), ChartError> {
    match shape {
        Shape::Fill(area, colour) => drawn(on.draw_rect(
            brush.at((area.left, area.top)),
            brush.at((area.right, area.bottom)),
            &brush.stroke(*colour, 1),
            true,
        )),
        Shape::Outline(area, colour) => {
            drawn(on.draw_path(brush.path(&corners(*area)), &brush.stroke(*colour, 1)))
        }
        Shape::Hatch(area, colour) => {
            let style = brush.stroke(*colour, 1);
            drawn(on.draw_path(brush.path(&hatch(*area)), &style))?;
            drawn(on.draw_path(brush.path(&corners(*area)), &style))
        }
        Shape::Line(points, colour, width) => match points.as_slice() {
            &[from, to] => {
                drawn(on.draw_line(brush.at(from), brush.at(to), &brush.stroke(*colour, *width)))
            }
            points => drawn(on.draw_path(brush.path(points), &brush.stroke(*colour, *width))),
        },
        Shape::Polygon(points, colour) => {
            drawn(on.fill_polygon(brush.path(points), &brush.stroke(*colour, 1)))
        }
        Shape::Mark(at, kind, colour) => mark(on, *at, *kind, *colour, brush),
        Shape::Dot(at, colour) => {
            let style = ShapeStyle::from(rgb(*colour).mix(0.55)).filled();
            drawn(on.draw_circle(brush.at(*at), whole(DOT * brush.scale), &style, true))
        }
        Shape::Band(points, colour) => {
            let style = ShapeStyle::from(rgb(*colour).mix(0.18)).filled();
            drawn(on.fill_polygon(brush.path(points), &style))
        }
    }
}

/// Half the width of a marker.
const R: f64 = 4.0;
/// Half the width of one of many points.
const DOT: f64 = 3.0;
const SQUARE: &[(f64, f64)] = &[
    (-1.0, -1.0),
    (1.0, -1.0),
    (1.0, 1.0),
    (-1.0, 1.0),
    (-1.0, -1.0),
];
const DIAMOND: &[(f64, f64)] = &[
    (0.0, -1.4),
    (1.4, 0.0),
    (0.0, 1.4),
    (-1.4, 0.0),
    (0.0, -1.4),
];

fn mark<B: DrawingBackend>(
    on: &mut B,
    (x, y): (f64, f64),
    kind: Marker,
    colour: Colour,
    brush: &Brush,
) -> Result<(), ChartError> {
    let around = |offsets: &[(f64, f64)]| -> Vec<(i32, i32)> {
        let points: Vec<_> = offsets
            .iter()
            .map(|(dx, dy)| (x + dx * R, y + dy * R))
            .collect();
        brush.path(&points)
    };
    let thick = brush.stroke(colour, 2);
    match kind {
        Marker::Disc => {
            drawn(on.draw_circle(brush.at((x, y)), whole(R * brush.scale), &thick, true))
        }
        Marker::Ring => {
            drawn(on.draw_circle(brush.at((x, y)), whole(R * brush.scale), &thick, false))
        }
        Marker::Square => drawn(on.fill_polygon(around(SQUARE), &thick)),
        Marker::Frame => drawn(on.draw_path(around(SQUARE), &thick)),
        Marker::Diamond => drawn(on.fill_polygon(around(DIAMOND), &thick)),
        Marker::Lozenge => drawn(on.draw_path(around(DIAMOND), &thick)),
        Marker::Up => {
            drawn(on.fill_polygon(around(&[(-1.2, 1.0), (1.2, 1.0), (0.0, -1.2)]), &thick))
        }
        Marker::Down => {
            drawn(on.fill_polygon(around(&[(-1.2, -1.0), (1.2, -1.0), (0.0, 1.2)]), &thick))
        }
        Marker::Cross => {
            drawn(on.draw_path(around(&[(-1.0, -1.0), (1.0, 1.0)]), &thick))?;
            drawn(on.draw_path(around(&[(-1.0, 1.0), (1.0, -1.0)]), &thick))
        }
        Marker::Plus => {
            drawn(on.draw_path(around(&[(-1.3, 0.0), (1.3, 0.0)]), &thick))?;
            drawn(on.draw_path(around(&[(0.0, -1.3), (0.0, 1.3)]), &thick))
        }
    }
}

fn label<B: DrawingBackend>(on: &mut B, label: &Label, brush: &Brush) -> Result<(), ChartError> {
    if brush.pixels {
        return letters(on, label, brush);
    }
    let side = match label.anchor {
        Anchor::Start => HPos::Left,
        Anchor::Middle => HPos::Center,
        Anchor::End => HPos::Right,
    };
    let colour = rgb(label.colour);
    let style = TextStyle::from(font(label.size * SVG_EM * brush.scale, label.bold))
        .color(&colour)
        .pos(Pos::new(side, VPos::Center));
    drawn(on.draw_text(&label.text, &style, brush.at((label.x, label.y))))
}

/// A label, pixel by pixel.
fn letters<B: DrawingBackend>(on: &mut B, label: &Label, brush: &Brush) -> Result<(), ChartError> {
    let size = label.size * brush.scale;
    let width = letters::text_width(&label.text, size, label.bold);
    let x = label.x * brush.scale;
    let left = match label.anchor {
        Anchor::Start => x,
        Anchor::Middle => x - width / 2.0,
        Anchor::End => x - width,
    };
    let colour = rgb(label.colour);
    let middle = label.y * brush.scale;
    for (at, covered) in letters::pixels(&label.text, left, middle, size, label.bold) {
        drawn(on.draw_pixel(at, colour.mix(f64::from(covered)).to_backend_color()))?;
    }
    Ok(())
}
