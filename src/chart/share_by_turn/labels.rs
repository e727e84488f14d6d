//! Names and events beside the lines, moved apart so that each can be read.

use super::{Axis, Event, Series, last_share};
use crate::chart::colour::{self, INK, MUTED};
use crate::chart::frame::{LEADING, MARGIN, WIDTH};
use crate::chart::scene::{Label, Scene, Shape, marker};
use crate::chart::spread::spread;
use crate::chart::text::{widest, wrap};

/// Flags below the axis. The farther left an event is, the lower its flag where they would
/// meet, so that no pole crosses a text. Gives the lower end of the lowest.
pub(super) fn events(scene: &mut Scene, axis: &Axis, events: &[Event]) -> f64 {
    let top = axis.plot.bottom + 34.0;
    let mut flags: Vec<(f64, f64)> = Vec::new();
    let mut lowest = axis.plot.bottom + 22.0;
    for (turn, text) in by_turn(events).into_iter().rev() {
        let x = axis
            .x(f64::from(turn.clamp(1, axis.last + 1)) - 0.5)
            .round();
        let lines = wrap(&text, 12.0, false, (WIDTH - MARGIN - x - 6.0).min(420.0));
        let right = x + 6.0 + widest(&lines, 12.0);
        let y = flags
            .iter()
            .filter(|(pole, _)| *pole <= right + 8.0)
            .map(|(_, bottom)| *bottom)
            .fold(top, f64::max);
        let bottom = y + lines.len() as f64 * LEADING + 2.0;
        scene.dashes(x, axis.plot.top, axis.plot.bottom, MUTED);
        // Not through the numbers of the turns, which may be near.
        scene.rule((x, axis.plot.bottom + 24.0), (x, bottom - 4.0), MUTED);
        scene.shape(Shape::Polygon(
            vec![
                (x - 4.0, axis.plot.bottom + 7.0),
                (x + 4.0, axis.plot.bottom + 7.0),
                (x, axis.plot.bottom),
            ],
            INK,
        ));
        scene.lines(&lines, &Label::new("", x + 6.0, y + LEADING / 2.0), LEADING);
        flags.push((x, bottom));
        lowest = lowest.max(bottom);
    }
    lowest
}

/// Events of the same turn joined, in order of turns.
pub(super) fn by_turn(events: &[Event]) -> Vec<(u32, String)> {
    let mut joined = std::collections::BTreeMap::<u32, Vec<&str>>::new();
    for event in events {
        joined.entry(event.turn).or_default().push(&event.label);
    }
    joined
        .into_iter()
        .map(|(turn, labels)| (turn, labels.join("; ")))
        .collect()
}

/// Names at the right, each as near to the end of its line as the others allow.
pub(super) fn ends(scene: &mut Scene, axis: &Axis, series: &[Series], names: &[Vec<String>]) {
    let wanted: Vec<(f64, f64)> = series
        .iter()
        .zip(names)
        .map(|(series, lines)| {
            let y = last_share(series).map_or(axis.plot.bottom, |(_, share)| axis.y(share));
            (y, lines.len() as f64 * LEADING + 4.0)
        })
        .collect();
    let places = spread(&wanted, axis.plot.top - 8.0, axis.plot.bottom + 4.0);
    let x = axis.plot.right + 28.0;
    for (index, (series, y)) in series.iter().zip(places).enumerate() {
        let colour = colour::configuration(index);
        if let Some((turn, share)) = last_share(series) {
            let end = (axis.x(f64::from(turn)) + 6.0, axis.y(share));
            let edge = axis.plot.right + 4.0;
            // Dashes: it leads from a line to its name and is not a part of the line.
            let mut from = end.0;
            while from < edge {
                scene.rule((from, end.1), ((from + 3.0).min(edge), end.1), colour);
                from += 6.0;
            }
            scene.shape(Shape::Line(vec![(edge, end.1), (x - 9.0, y)], colour, 1));
        }
        scene.shape(Shape::Mark((x - 4.0, y), marker(index), colour));
        let lines = &names[index];
        let first = y - (lines.len() - 1) as f64 * LEADING / 2.0;
        scene.lines(lines, &Label::new("", x + 6.0, first), LEADING);
    }
}
