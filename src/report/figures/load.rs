//! Load level against cached share and time to first token.

use crate::analysis::{Results, Total};
use crate::chart::share_by_load::{Point, Series};
use crate::chart::{Figure, ShareByLoad};
use crate::report::html::Picture;
use crate::report::scenes::{Arena, DRAWN_ARENAS, DRAWN_CONFIGURATIONS, note};
use crate::report::words::count;
use std::sync::Arc;

const CAPTION: &str = "The load grows to the right. A share that falls says that the cache no \
    longer holds what it held; a time that rises while the share stays says that requests wait. \
    Times are over all requests, as in the distributions: one that was never answered counts as \
    endless. The first table has those of answered requests alone.";

/// Target and model.
type Server = (Arc<str>, Arc<str>);

/// A picture for each target and model that ran at several load levels.
pub(super) fn pictures(results: &Results) -> Vec<(String, Picture)> {
    let mut servers: Vec<Server> = Vec::new();
    for total in &results.totals {
        let server = server(total);
        if !servers.contains(&server) {
            servers.push(server);
        }
    }
    let several = servers.len() > 1;
    let picture = |server: &Server| {
        let totals: Vec<&Total> = results
            .totals
            .iter()
            .filter(|total| self::server(total) == *server)
            .collect();
        let levels = levels(&totals);
        let place = match server {
            _ if !several => String::new(),
            (target, model) if model.is_empty() => target.to_string(),
            (target, model) => format!("{target}, {model}"),
        };
        (levels.len() > 1).then(|| (place.clone(), of_server(results, &totals, &levels, place)))
    };
    servers
        .iter()
        .filter_map(picture)
        .take(DRAWN_ARENAS)
        .collect()
}

fn server(total: &Total) -> Server {
    (Arc::clone(&total.key.target), Arc::clone(&total.key.model))
}

/// Load levels, in the order of the tables.
fn levels<'a>(totals: &[&'a Total]) -> Vec<&'a str> {
    let mut levels: Vec<&str> = Vec::new();
    for total in totals {
        if !levels.contains(&&*total.key.load) {
            levels.push(&total.key.load);
        }
    }
    levels
}

fn of_server(results: &Results, totals: &[&Total], levels: &[&str], place: String) -> Picture {
    let mut names: Vec<&str> = Vec::new();
    for total in totals {
        if !names.contains(&&*total.key.configuration) {
            names.push(&total.key.configuration);
        }
    }
    let left_out = names.len().saturating_sub(DRAWN_CONFIGURATIONS);
    names.truncate(DRAWN_CONFIGURATIONS);
    let series = names.iter().map(|name| Series {
        configuration: (*name).to_owned(),
        points: levels
            .iter()
            .map(|level| point(totals, name, level))
            .collect(),
    });
    let figures: Vec<_> = totals.iter().map(|total| &total.figures).collect();
    let arena = totals.first().map(|total| Arena::from(&total.key));
    let mut caption = CAPTION.to_owned();
    if left_out > 0 {
        caption.push_str(" Not drawn for want of colours: ");
        caption.push_str(&count(left_out as u64, "configuration"));
        caption.push('.');
    }
    Picture {
        figure: Figure::ShareByLoad(ShareByLoad {
            place,
            levels: levels.iter().map(|level| (*level).to_owned()).collect(),
            series: series.collect(),
            note: note(results, arena.as_ref(), &figures),
        }),
        caption,
        file: String::new(),
    }
}

fn point(totals: &[&Total], configuration: &str, level: &str) -> Option<Point> {
    let found = totals
        .iter()
        .find(|total| &*total.key.configuration == configuration && &*total.key.load == level);
    let figures = &found?.figures;
    Some(Point {
        share: figures.cached_share,
        low: figures.cached_interval.map(|interval| interval.low),
        high: figures.cached_interval.map(|interval| interval.high),
        p50_us: figures.ttft.with_failures.p50_us,
        p90_us: figures.ttft.with_failures.p90_us,
        failed: figures.failed,
        requests: figures.requests,
    })
}
