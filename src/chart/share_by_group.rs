//! Cached share per configuration, by group: a bar for what was read from
//! cache, a mark for what could have been, whiskers for the interval.

use super::colour::{self, Colour, INK, MUTED};
use super::frame::{self, LEADING, MARGIN, WIDTH, on_scale, percent};
use super::scene::{Area, Label, Scene, Shape};
use super::text::{widest, wrap};
use super::{Chart, Note};
use crate::units::grouped;
use serde::{Deserialize, Serialize};

/// This chart's line in the list.
pub(super) const CHART: Chart = Chart {
    name: "share-by-group",
    help: "cached share of each configuration by group of scenarios, with the achievable share marked",
};

/// What the chart shows.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ShareByGroup {
    /// Groups of scenarios, in the order in which they are shown.
    pub groups: Vec<Group>,
    /// What the numbers rest on.
    pub note: Note,
}

/// A group of scenarios.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Group {
    /// Its label; may be empty where there is only one.
    pub name: String,
    /// A bar for each configuration.
    pub bars: Vec<Bar>,
}

/// A configuration in a group. Shares are fractions of 1, always of sums.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Bar {
    /// Its name.
    pub configuration: String,
    /// Cached share; `None` where no request has a count.
    pub share: Option<f64>,
    /// Lower end of the interval, where there are repeats.
    pub low: Option<f64>,
    /// Upper end of the interval, where there are repeats.
    pub high: Option<f64>,
    /// Achievable share; `None` where no bound was computed.
    pub achievable: Option<f64>,
    /// Requests that the share is taken from.
    pub requests: u64,
    /// All that were counted, where that is more than those.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub of: Option<u64>,
}

const BAR: f64 = 16.0;
const VALUES: f64 = 190.0;
/// The same where requests are told as a part of all.
const VALUES_OF: f64 = 236.0;
const NAMES: f64 = 300.0;

/// Lays the figure out.
pub(super) fn scene(figure: &ShareByGroup) -> Scene {
    let scene = frame::start(
        &title(figure),
        "Share of prompt tokens read from cache: each bar is tokens read, of all prompt tokens of its requests.",
    );
    bars(scene, &figure.groups, &figure.note)
}

/// Groups of bars below what the scene has; each name has its colour in all groups.
pub(super) fn bars(mut scene: Scene, groups: &[Group], note: &Note) -> Scene {
    let names = names(groups);
    if names.is_empty() {
        return frame::nothing(scene, note);
    }
    let top = key(&mut scene, groups) + 8.0;
    let wrapped = |name: &str| wrap(name, 13.0, false, NAMES);
    let gutter = names
        .iter()
        .map(|name| widest(&wrapped(name), 13.0))
        .fold(80.0, f64::max);
    let left = (MARGIN + gutter + 12.0).round();
    let rows = rows(groups, top, wrapped);
    let bottom = rows.last().map_or(top, Row::bottom) + 8.0;
    let part = groups
        .iter()
        .flat_map(|group| &group.bars)
        .any(|bar| bar.of.is_some());
    let values = if part { VALUES_OF } else { VALUES };
    let plot = Area::new(left, top, WIDTH - MARGIN - values - left, bottom - top);
    let end = frame::percent_below(&mut scene, plot, "cached share of prompt tokens (%)");
    for row in &rows {
        match row {
            Row::Heading { lines, y } => {
                let at = Label::new("", MARGIN, *y).size(13.0).bold();
                heading(&mut scene, lines, &at);
            }
            Row::Bar { bar, lines, y, .. } => {
                let colour = colour::configuration(position(&names, &bar.configuration));
                draw(&mut scene, bar, lines, *y, plot, colour);
            }
        }
    }
    scene.description = describe(groups);
    frame::finish(scene, end, note)
}

/// The answer: the best and the worst configuration of the first group, which is named where
/// there are others.
fn title(figure: &ShareByGroup) -> String {
    let first = figure.groups.first();
    let bars = first.map_or(&[][..], |group| &group.bars);
    let place = first.filter(|_| figure.groups.len() > 1);
    let place = place.map_or("", |group| &group.name);
    let known = bars.iter().filter_map(|bar| Some((bar.share?, bar)));
    let best = known.clone().reduce(|a, b| if b.0 > a.0 { b } else { a });
    let worst = known.reduce(|a, b| if b.0 < a.0 { b } else { a });
    let what = match (best, worst) {
        (Some((high, best)), Some((low, worst))) if high > low => format!(
            "{} reads {} of its prompt tokens from cache, {} {}",
            best.configuration,
            percent(Some(high)),
            worst.configuration,
            percent(Some(low))
        ),
        (Some((share, bar)), _) if bars.len() == 1 => format!(
            "{} reads {} of its prompt tokens from cache",
            bar.configuration,
            percent(Some(share))
        ),
        _ => return "Share of prompt tokens read from cache".to_owned(),
    };
    frame::title(place, &what)
}

/// The name of a group, on a strip of paper that the grid does not cross.
fn heading(scene: &mut Scene, lines: &[String], at: &Label) {
    let height = lines.len() as f64 * LEADING + 10.0;
    let strip = Area::new(MARGIN, at.y - LEADING, WIDTH - 2.0 * MARGIN, height);
    scene.shape(Shape::Fill(strip, colour::PAPER));
    scene.lines(lines, at, LEADING);
}

/// A row of the picture and where its middle line is.
enum Row<'a> {
    Heading {
        lines: Vec<String>,
        y: f64,
    },
    Bar {
        bar: &'a Bar,
        lines: Vec<String>,
        y: f64,
        height: f64,
    },
}

impl Row<'_> {
    fn bottom(&self) -> f64 {
        match self {
            Self::Heading { lines, y } => y + lines.len() as f64 * LEADING - LEADING / 2.0,
            Self::Bar { y, height, .. } => y + height / 2.0,
        }
    }
}

fn rows(groups: &[Group], top: f64, wrapped: impl Fn(&str) -> Vec<String>) -> Vec<Row<'_>> {
    let mut rows = Vec::new();
    let mut next = top;
    for group in groups {
        if !group.name.is_empty() {
            let lines = wrap(&group.name, 13.0, true, WIDTH - 2.0 * MARGIN);
            let y = next + LEADING;
            next = y + lines.len() as f64 * LEADING - LEADING / 2.0 + 4.0;
            rows.push(Row::Heading { lines, y });
        }
        for bar in &group.bars {
            let lines = wrapped(&bar.configuration);
            let height = (lines.len() as f64 * LEADING).max(BAR) + 8.0;
            let y = next + height / 2.0;
            next += height;
            rows.push(Row::Bar {
                bar,
                lines,
                y,
                height,
            });
        }
    }
    rows
}

fn draw(scene: &mut Scene, bar: &Bar, lines: &[String], y: f64, plot: Area, colour: Colour) {
    let first = y - (lines.len() - 1) as f64 * LEADING / 2.0;
    let name = Label::new("", plot.left - 12.0, first).size(13.0);
    scene.lines(lines, &name.anchor(super::scene::Anchor::End), LEADING);
    let x = |share: f64| on_scale(share, plot.left, plot.right);
    let (top, bottom) = ((y - BAR / 2.0).round(), (y + BAR / 2.0).round());
    let strip = |from: f64, to: f64| Area {
        left: from,
        top,
        right: to,
        bottom,
    };
    if let (Some(achievable), Some(read)) = (bar.achievable, bar.share)
        && achievable > read
    {
        scene.shape(Shape::Hatch(strip(x(read), x(achievable)), colour));
    }
    if let Some(share) = bar.share.filter(|share| *share > 0.0) {
        scene.shape(Shape::Fill(
            strip(plot.left, x(share).max(plot.left + 1.0)),
            colour,
        ));
    }
    if let Some(achievable) = bar.achievable {
        achievable_mark(scene, x(achievable), top, bottom);
    }
    if let (Some(low), Some(high)) = (bar.low, bar.high) {
        frame::whiskers(scene, x(low), x(high), y.round());
    }
    value(scene, bar, y, plot.right + 16.0);
}

fn achievable_mark(scene: &mut Scene, x: f64, top: f64, bottom: f64) {
    let (top, bottom) = (top - 3.0, bottom + 3.0);
    scene.shape(Shape::Fill(
        Area {
            left: x - 1.5,
            top,
            right: x + 1.5,
            bottom,
        },
        INK,
    ));
}

fn value(scene: &mut Scene, bar: &Bar, y: f64, x: f64) {
    let share = percent(bar.share);
    scene.label(if bar.share.is_some() {
        Label::new(&share, x, y).size(13.0).bold()
    } else {
        Label::new(&share, x, y).size(13.0).muted()
    });
    let of = bar.achievable.map_or_else(String::new, |achievable| {
        format!("of {} · ", percent(Some(achievable)))
    });
    let all = bar
        .of
        .map_or_else(String::new, |all| format!(" of {}", grouped(all)));
    let rest = format!("{of}n {}{all}", grouped(bar.requests));
    scene.label(Label::new(&rest, x + 68.0, y).muted());
}

fn key(scene: &mut Scene, groups: &[Group]) -> f64 {
    let bars = || groups.iter().flat_map(|group| &group.bars);
    let mut meanings = vec!["read from cache"];
    if bars().any(|bar| bar.achievable.is_some()) {
        meanings.extend(["could have been read", "achievable share"]);
    }
    let interval = bars().any(|bar| bar.low.is_some() && bar.high.is_some());
    if interval {
        meanings.push("95 % interval over conversations");
    }
    let count = meanings.len();
    let top = scene.height;
    frame::key(scene, top, &meanings, |scene, index, area| match index {
        0 => scene.shape(Shape::Fill(area, MUTED)),
        1 if count > 2 => scene.shape(Shape::Hatch(area, MUTED)),
        2 if count > 2 => {
            achievable_mark(
                scene,
                f64::midpoint(area.left, area.right),
                area.top,
                area.bottom,
            );
        }
        _ => {
            let y = f64::midpoint(area.top, area.bottom).round();
            frame::whiskers(scene, area.left, area.right, y);
        }
    })
}

fn names(groups: &[Group]) -> Vec<&str> {
    let mut names: Vec<&str> = Vec::new();
    for bar in groups.iter().flat_map(|group| &group.bars) {
        if !names.contains(&bar.configuration.as_str()) {
            names.push(&bar.configuration);
        }
    }
    names
}

fn position(names: &[&str], name: &str) -> usize {
    names.iter().position(|other| *other == name).unwrap_or(0)
}

fn describe(groups: &[Group]) -> String {
    let mut sentences = Vec::new();
    for group in groups {
        for bar in &group.bars {
            let of = bar.achievable.map_or_else(String::new, |a| {
                format!(" of achievable {}", percent(Some(a)))
            });
            let name = format!("{} {}", group.name, bar.configuration);
            sentences.push(format!("{}: {}{of}.", name.trim(), percent(bar.share)));
        }
    }
    sentences.join(" ")
}
