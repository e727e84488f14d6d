//! One strip: points, box, line and median of a configuration.

use super::Strip;
use crate::chart::colour::{Colour, INK, PAPER};
use crate::chart::frame::LEADING;
use crate::chart::scale::{Scale, TimeUnit, plain, time};
use crate::chart::scene::{Anchor, Area, Label, Marker, Scene, Shape};
use crate::chart::text::wrap;
use crate::units::grouped;

/// Room for names.
const NAMES: f64 = 250.0;
/// Height of a row.
const ROW: f64 = 44.0;

/// Where a strip is drawn.
pub(super) struct Row<'a> {
    /// The plot of all strips.
    pub(super) plot: Area,
    /// The middle of the row.
    pub(super) y: f64,
    /// Places.
    pub(super) scale: &'a Scale,
    /// What the scale is in.
    pub(super) unit: TimeUnit,
    /// Room behind the axis for what was never answered.
    pub(super) never: f64,
    /// Its colour.
    pub(super) colour: Colour,
}

impl Row<'_> {
    fn x(&self, us: f64) -> f64 {
        self.scale
            .place(self.unit.in_unit(us), self.plot.left, self.plot.right)
    }

    /// The place of a quantile: behind the axis where it falls among failures.
    fn end(&self, us: Option<f64>) -> f64 {
        us.map_or(self.plot.right + self.never / 2.0, |us| self.x(us))
    }

    /// Draws a strip and what stands on both sides of it.
    pub(super) fn draw(&self, scene: &mut Scene, strip: &Strip, text: &Text) {
        let [p10, p25, p50, p75, p90] = strip.quantiles_us;
        if let Some(p10) = p10 {
            span(scene, self.x(p10), self.end(p90), self.y, self.colour);
        }
        if let Some(p25) = p25 {
            half(scene, self.x(p25), self.end(p75), self.y, self.colour);
        }
        // Beside each other, always in the same way.
        let asides = [
            0.0, 3.0, -5.0, 6.0, -2.0, 1.0, -6.0, 4.0, -3.0, 5.0, -1.0, 2.0, -4.0,
        ];
        for (us, aside) in strip.some_us.iter().zip(asides.iter().cycle()) {
            let at = (self.x(*us as f64), self.y + aside);
            scene.shape(Shape::Dot(at, self.colour));
        }
        if let Some(p50) = p50 {
            median(scene, self.x(p50), self.y);
        }
        if strip.failed > 0 {
            cross(scene, self.plot.right + self.never / 2.0 + 2.0, self.y);
        }
        text.write(scene, self);
    }
}

/// The lines on both sides of a strip.
pub(super) struct Text {
    /// The configuration.
    pub(super) name: Vec<String>,
    says: Vec<String>,
}

impl Text {
    /// What is said of a strip.
    pub(super) fn of(strip: &Strip) -> Self {
        Self {
            name: wrap(&strip.configuration, 13.0, false, NAMES),
            says: says(strip),
        }
    }

    /// Height of its row.
    pub(super) fn height(&self) -> f64 {
        let lines = self.name.len().max(self.says.len());
        (lines as f64 * LEADING + 10.0).max(ROW)
    }

    fn write(&self, scene: &mut Scene, row: &Row<'_>) {
        let first = |lines: &[String]| row.y - (lines.len() - 1) as f64 * LEADING / 2.0;
        let name = Label::new("", row.plot.left - 14.0, first(&self.name)).size(13.0);
        scene.lines(&self.name, &name.anchor(Anchor::End), LEADING);
        let x = row.plot.right + row.never + 14.0;
        for (index, line) in self.says.iter().enumerate() {
            let label = Label::new(line, x, first(&self.says) + index as f64 * LEADING);
            // The median first; a strip of nothing has but one line, which is no value.
            scene.label(if index == 0 && self.says.len() > 1 {
                label.size(13.0).bold()
            } else {
                label.muted()
            });
        }
    }
}

/// What stands beside a strip.
fn says(strip: &Strip) -> Vec<String> {
    if strip.requests() == 0 {
        return vec!["no request".to_owned()];
    }
    let level = |us: Option<f64>| us.map_or_else(|| "never".to_owned(), time);
    let mut lines = vec![
        format!("p50 {}", level(strip.median())),
        format!(
            "p90 {} · n {}",
            level(strip.quantiles_us[4]),
            compact(strip.requests())
        ),
    ];
    if strip.failed > 0 {
        lines.push(format!("{} never answered", compact(strip.failed)));
    }
    lines
}

/// A count that has room beside a strip.
fn compact(count: u64) -> String {
    if count < 1_000_000 {
        grouped(count)
    } else {
        plain(count as f64)
    }
}

/// What half of the requests lie in.
pub(super) fn half(scene: &mut Scene, from: f64, to: f64, y: f64, colour: Colour) {
    let corners = vec![
        (from, y - 9.0),
        (to, y - 9.0),
        (to, y + 9.0),
        (from, y + 9.0),
    ];
    scene.shape(Shape::Band(corners, colour));
    scene.shape(Shape::Outline(
        Area {
            left: from,
            top: y - 9.0,
            right: to,
            bottom: y + 9.0,
        },
        colour,
    ));
}

/// What eight in ten requests lie in.
pub(super) fn span(scene: &mut Scene, from: f64, to: f64, y: f64, colour: Colour) {
    scene.shape(Shape::Line(vec![(from, y), (to, y)], colour, 2));
    for end in [from, to] {
        scene.shape(Shape::Line(vec![(end, y - 5.0), (end, y + 5.0)], colour, 2));
    }
}

/// The median.
pub(super) fn median(scene: &mut Scene, x: f64, y: f64) {
    for (colour, aside) in [(PAPER, 3.0), (INK, 1.5)] {
        scene.shape(Shape::Fill(
            Area {
                left: x - aside,
                top: y - 12.0,
                right: x + aside,
                bottom: y + 12.0,
            },
            colour,
        ));
    }
}

/// What was never answered.
pub(super) fn cross(scene: &mut Scene, x: f64, y: f64) {
    scene.shape(Shape::Mark((x, y), Marker::Cross, INK));
}
