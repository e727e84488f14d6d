//! Time to first token: its distribution, and what a computed token adds to it.

use crate::analysis::points::{Answered, PointSet, Points, quantile_with_endless};
use crate::analysis::stats::{self, Line, band, line};
use crate::analysis::{Results, Total};
use crate::chart::ttft_by_computed::{Band, Fit, Panel, Point};
use crate::chart::ttft_distribution::{LEVELS, Strip};
use crate::chart::{Figure, Note, TtftByComputed, TtftDistribution};
use crate::report::html::Picture;
use crate::report::scenes::{Place, places};

/// Points of a picture, all configurations together: more would cover each other.
const POINTS: usize = 900;
/// Times of a strip that are drawn one by one.
const TIMES: usize = 120;
/// Places at which the interval of a line is computed.
const PLACES: u32 = 24;

const DISTRIBUTION: &str = "Time from sending to the first token, over all requests: one that was \
    never answered counts as endless, so a quantile among them has no end.";
const COMPUTED: &str = "What a computed token costs in time on this server: a layout that computes \
    less moves its points to the left, along the line.";
const SIMULATED: &str = " The embedded server answered: these are the times that it was told to \
    take, and what this machine added, not those of a model.";

/// A picture of the distributions for each arena in which a request had a first token.
pub(super) fn distributions(results: &Results, points: &Points) -> Vec<(String, Picture)> {
    let drawn = places(results).into_iter().filter_map(|place| {
        let strips: Vec<Strip> = place
            .totals
            .iter()
            .map(|total| strip(total, points))
            .collect();
        let any = strips.iter().any(|strip| strip.answered > 0);
        let figure = Figure::TtftDistribution(TtftDistribution {
            place: place.label.clone(),
            note: distribution_note(&place, results, &strips),
            strips,
        });
        any.then(|| {
            (
                place.label.clone(),
                picture(&place, results, figure, DISTRIBUTION),
            )
        })
    });
    drawn.collect()
}

/// Counts of tokens are no matter here: every answered request has a time.
fn distribution_note(place: &Place<'_>, results: &Results, strips: &[Strip]) -> Note {
    let mut note = place.note(results);
    note.requests = strips
        .iter()
        .map(|strip| strip.answered + strip.failed)
        .sum();
    note.without_count = 0;
    note
}

fn strip(total: &Total, points: &Points) -> Strip {
    let set = points.get(&total.key);
    let times = set.map_or_else(Vec::new, PointSet::times);
    let failed = total.figures.failed;
    let quantile = |q| quantile_with_endless(&times, failed, q);
    Strip {
        configuration: total.key.configuration.to_string(),
        quantiles_us: LEVELS.map(quantile),
        some_us: some(&times, TIMES),
        answered: times.len() as u64,
        failed,
    }
}

/// At most `most` of `sorted`, evenly spaced, the first and the last among them.
fn some(sorted: &[u64], most: usize) -> Vec<u64> {
    if sorted.len() <= most {
        return sorted.to_vec();
    }
    let last = sorted.len() - 1;
    (0..most)
        .map(|index| sorted[index * last / (most - 1)])
        .collect()
}

/// A picture of times against computed tokens for each arena that has such requests.
pub(super) fn by_computed(results: &Results, points: &Points) -> Vec<(String, Picture)> {
    let drawn = places(results).into_iter().filter_map(|place| {
        let sets = place
            .totals
            .iter()
            .filter_map(|total| points.get(&total.key));
        let all = PointSet::lines_together(sets);
        let most = POINTS / place.totals.len().max(1);
        let first = place.totals.first();
        let seed = first.map_or(results.seed, |total| results.seed_of(&total.key.target));
        let panels: Vec<Panel> = place
            .totals
            .iter()
            .map(|total| panel(total, results.seed_of(&total.key.target), points, most))
            .collect();
        let any = panels.iter().any(|panel| !panel.points.is_empty());
        let mut note = place.note(results);
        note.requests = panels.iter().map(|panel| panel.requests).sum();
        let figure = Figure::TtftByComputed(TtftByComputed {
            place: place.label.clone(),
            fit: line(&all, seed).map(|line| fit(&line, &[])),
            panels,
            note,
        });
        any.then(|| {
            (
                place.label.clone(),
                picture(&place, results, figure, COMPUTED),
            )
        })
    });
    drawn.collect()
}

fn panel(total: &Total, seed: u64, points: &Points, most: usize) -> Panel {
    let mut panel = Panel {
        configuration: total.key.configuration.to_string(),
        points: Vec::new(),
        requests: 0,
        fit: None,
    };
    let Some(set) = points.get(&total.key) else {
        return panel;
    };
    panel.requests = set.answered.offered();
    let drawn = set.answered.points(most);
    let point = |answered: &Answered| Point {
        computed: answered.computed.0,
        ttft_us: answered.ttft.0,
    };
    panel.points = drawn.iter().map(point).collect();
    let computed = || panel.points.iter().map(|point| point.computed as f64);
    let from = computed().fold(f64::INFINITY, f64::min);
    let to = computed().fold(0.0, f64::max);
    let places: Vec<f64> = (0..=PLACES)
        .map(|step| from + (to - from) * f64::from(step) / f64::from(PLACES))
        .collect();
    let conversations = set.lines();
    panel.fit = line(&conversations, seed).map(|line| {
        let around = band(&line, &conversations, seed, &places);
        fit(&line, &around)
    });
    panel
}

fn fit(line: &Line, around: &[stats::Band]) -> Fit {
    let band = around.iter().map(|band| Band {
        computed: band.x,
        low_us: band.low,
        high_us: band.high,
    });
    Fit {
        intercept_us: line.intercept,
        us_per_token: line.slope,
        low: line.interval.map(|interval| interval.low),
        high: line.interval.map(|interval| interval.high),
        band: band.collect(),
    }
}

fn picture(place: &Place<'_>, results: &Results, figure: Figure, caption: &str) -> Picture {
    let simulated = if place.simulated(results) {
        SIMULATED
    } else {
        ""
    };
    Picture {
        figure,
        caption: format!("{caption}{simulated}{}", place.not_drawn()),
        file: String::new(),
    }
}
