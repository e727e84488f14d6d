//! What all charts have in common: title, key, foot, a scale of percent.

use super::colour::{INK, MUTED, PAPER};
use super::note::Note;
use super::scene::{Anchor, Area, Label, Scene, Shape};
use super::text::{width, wrap};

/// Width of every picture: a slide, or a page across.
pub(super) const WIDTH: f64 = 960.0;
/// Paper left free on each side.
pub(super) const MARGIN: f64 = 24.0;
/// Distance between two lines of usual text.
pub(super) const LEADING: f64 = 16.0;

/// Starts a scene with its title and a line below it. The height is where the chart may begin;
/// [`finish`] sets the real one.
pub(super) fn start(title: &str, below: &str) -> Scene {
    let mut scene = Scene {
        width: WIDTH,
        height: 0.0,
        title: title.to_owned(),
        description: String::new(),
        shapes: Vec::new(),
        labels: Vec::new(),
    };
    let limit = WIDTH - 2.0 * MARGIN;
    let heading = wrap(title, 18.0, true, limit);
    let at = Label::new("", MARGIN, 30.0).size(18.0).bold();
    scene.lines(&heading, &at, 24.0);
    let mut bottom = 30.0 + heading.len() as f64 * 24.0;
    if !below.is_empty() {
        let lines = wrap(below, 13.0, false, limit);
        let at = Label::new("", MARGIN, bottom).size(13.0).muted();
        scene.lines(&lines, &at, LEADING);
        bottom += lines.len() as f64 * LEADING;
    }
    scene.height = bottom;
    scene
}

/// A title: what was found, behind where, as far as that is to be told.
pub(super) fn title(place: &str, found: &str) -> String {
    if place.is_empty() {
        return found.to_owned();
    }
    format!("{place}: {found}")
}

/// An interval that can be seen on a bar and beside it: the line has a light rim.
pub(super) fn whiskers(scene: &mut Scene, low: f64, high: f64, y: f64) {
    for (colour, width) in [(PAPER, 4), (INK, 2)] {
        for (from, to) in [
            ((low, y), (high, y)),
            ((low, y - 4.0), (low, y + 4.0)),
            ((high, y - 4.0), (high, y + 4.0)),
        ] {
            scene.shape(Shape::Line(vec![from, to], colour, width));
        }
    }
}

/// Puts the note below everything and sets the height of the paper.
pub(super) fn finish(mut scene: Scene, bottom: f64, note: &Note) -> Scene {
    let lines = wrap(&note.text(), 11.5, false, WIDTH - 2.0 * MARGIN);
    let top = bottom + 26.0;
    let at = Label::new("", MARGIN, top).size(11.5).muted();
    scene.lines(&lines, &at, LEADING);
    scene.height = top + lines.len() as f64 * LEADING;
    scene.description = format!("{} {}.", scene.description, note.text());
    scene
}

/// Says in the middle of the paper that there is nothing to draw, since nothing was counted.
pub(super) fn nothing(scene: Scene, note: &Note) -> Scene {
    nothing_because(scene, note, "Nothing to draw: no request has a count.")
}

/// Says in the middle of the paper, in `words`, that there is nothing to draw.
pub(super) fn nothing_because(mut scene: Scene, note: &Note, words: &str) -> Scene {
    let top = scene.height + 10.0;
    scene.shape(Shape::Outline(
        Area::new(MARGIN, top, WIDTH - 2.0 * MARGIN, 80.0),
        MUTED,
    ));
    let label = Label::new(words, WIDTH / 2.0, top + 40.0).size(14.0);
    scene.label(label.anchor(Anchor::Middle));
    scene.description.push_str(words);
    finish(scene, top + 80.0, note)
}

/// Puts samples with their meaning in rows from `top` on; gives where the last row ends.
///
/// `draw` paints the sample of an entry into its box.
pub(super) fn key(
    scene: &mut Scene,
    top: f64,
    meanings: &[&str],
    draw: impl Fn(&mut Scene, usize, Area),
) -> f64 {
    const ROW: f64 = 22.0;
    const SAMPLE: f64 = 26.0;
    let mut x = MARGIN;
    let mut y = top + ROW / 2.0;
    for (index, meaning) in meanings.iter().enumerate() {
        let lines = wrap(meaning, 12.0, false, WIDTH - 2.0 * MARGIN - SAMPLE - 8.0);
        let own = SAMPLE
            + 8.0
            + lines
                .iter()
                .map(|l| width(l, 12.0, false))
                .fold(0.0, f64::max);
        if x > MARGIN && x + own > WIDTH - MARGIN {
            x = MARGIN;
            y += ROW;
        }
        draw(scene, index, Area::new(x, y - 7.0, SAMPLE, 14.0));
        scene.lines(&lines, &Label::new("", x + SAMPLE + 8.0, y), LEADING);
        if lines.len() > 1 {
            y += (lines.len() - 1) as f64 * LEADING;
        }
        x += own + 22.0;
    }
    y + ROW / 2.0
}

/// The place of a fraction on a scale from `left` to `right`, kept within it.
pub(super) fn on_scale(fraction: f64, left: f64, right: f64) -> f64 {
    left + fraction.clamp(0.0, 1.0) * (right - left)
}

/// A horizontal scale of percent below `plot`, with grid lines through it and its name.
pub(super) fn percent_below(scene: &mut Scene, plot: Area, name: &str) -> f64 {
    for quarter in 0..=4_u32 {
        let fraction = f64::from(quarter) / 4.0;
        let x = on_scale(fraction, plot.left, plot.right).round();
        scene.grid((x, plot.top), (x, plot.bottom));
        let label = Label::new(&format!("{} %", quarter * 25), x, plot.bottom + 14.0);
        scene.label(label.anchor(Anchor::Middle).muted());
    }
    scene.rule((plot.left, plot.bottom), (plot.right, plot.bottom), INK);
    let middle = f64::midpoint(plot.left, plot.right);
    let label = Label::new(name, middle, plot.bottom + 32.0);
    scene.label(label.anchor(Anchor::Middle).muted());
    plot.bottom + 40.0
}

/// `62.4 %`; `no count` where there is none. Never 0 or 100 for what is only close to it.
pub(super) fn percent(share: Option<f64>) -> String {
    let Some(share) = share else {
        return "no count".to_owned();
    };
    let rounded = (share * 1000.0).round() / 10.0;
    if rounded <= 0.0 && share > 0.0 {
        "< 0.1 %".to_owned()
    } else if rounded >= 100.0 && share < 1.0 {
        "> 99.9 %".to_owned()
    } else {
        format!("{rounded:.1} %")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_share_is_never_rounded_to_none_or_all() {
        let cases = [
            (None, "no count"),
            (Some(0.0), "0.0 %"),
            (Some(0.000_01), "< 0.1 %"),
            (Some(0.6237), "62.4 %"),
            (Some(0.999_99), "> 99.9 %"),
            (Some(1.0), "100.0 %"),
        ];
        for (share, expected) in cases {
            assert_eq!(percent(share), expected);
        }
    }
}
