//! Load level against cached share and time to first token.

use crate::analysis::{Results, Total};
use crate::chart::share_by_load::{Point, Series};
use crate::chart::{Figure, ShareByLoad};
use crate::report::html::Picture;
use crate::report::scenes::{Arena, DRAWN_ARENAS, DRAWN_CONFIGURATIONS, note};
use crate::report::words::count;
use std::sync::Arc;

const CAPTION: &str = "The load grows to the right. A share that falls says that the cache no \
    longer holds what it held; a time that rises while the share stays says that requests wait.";

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

/// Load levels, those of a kind by their number: `sessions=2` before `sessions=16`.
fn levels<'a>(totals: &[&'a Total]) -> Vec<&'a str> {
    let mut levels: Vec<&str> = totals.iter().map(|total| &*total.key.load).collect();
    levels.sort_by(|a, b| {
        let (kind_a, number_a) = parted(a);
        let (kind_b, number_b) = parted(b);
        kind_a
            .cmp(kind_b)
            .then(number_a.total_cmp(&number_b))
            .then(a.cmp(b))
    });
    levels.dedup();
    levels
}

/// What stands before the first number of a level, and that number, a rate as one of a second; 0
/// where there is none.
fn parted(level: &str) -> (&str, f64) {
    let start = level
        .find(|letter: char| letter.is_ascii_digit())
        .unwrap_or(level.len());
    let (kind, rest) = level.split_at(start);
    let end = rest
        .find(|letter: char| !letter.is_ascii_digit() && letter != '.')
        .unwrap_or(rest.len());
    let number: f64 = rest[..end].parse().unwrap_or(0.0);
    let seconds = match rest[end..].strip_prefix('/') {
        Some(unit) if unit.starts_with("min") => 60.0,
        Some(unit) if unit.starts_with('h') => 3_600.0,
        _ => 1.0,
    };
    (kind, number / seconds)
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
        p50_us: figures.ttft.p50_us,
        p90_us: figures.ttft.p90_us,
        failed: figures.failed,
        requests: figures.requests,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn levels_are_parted_into_kind_and_number() {
        let cases = [
            ("sessions=16", ("sessions=", 16.0)),
            ("open=2.5/s,poisson", ("open=", 2.5)),
            ("open=30/min,poisson", ("open=", 0.5)),
            ("open=1800/h,even", ("open=", 0.5)),
            ("", ("", 0.0)),
            ("idle", ("idle", 0.0)),
            ("a=1.2.3", ("a=", 0.0)),
        ];
        for (level, expected) in cases {
            assert_eq!(parted(level), expected, "{level}");
        }
    }
}
