//! Targets side by side.

use crate::analysis::{Results, Total};
use crate::chart::share_by_target::{Bar, Configuration};
use crate::chart::{Figure, ShareByTarget};
use crate::report::html::Picture;
use crate::report::scenes::note;
use std::sync::Arc;

/// Bars of a picture; more would not be read.
const BARS: usize = 80;

const CAPTION: &str = "The same configuration on each target. Solid: prompt tokens read from the \
    cache, of all prompt tokens. Hatched, up to the mark: what its cache could have returned besides.";

/// A picture for each load level at which there are several targets or models.
pub(super) fn pictures(results: &Results) -> Vec<(String, Picture)> {
    let mut loads: Vec<&Arc<str>> = Vec::new();
    for total in &results.totals {
        if !loads.contains(&&total.key.load) {
            loads.push(&total.key.load);
        }
    }
    let several = loads.len() > 1;
    let picture = |load: &Arc<str>| {
        let totals: Vec<&Total> = results
            .totals
            .iter()
            .filter(|total| total.key.load == *load)
            .collect();
        let first = totals.first()?;
        let two = |total: &&&Total| {
            (&total.key.target, &total.key.model) != (&first.key.target, &first.key.model)
        };
        totals.iter().find(two)?;
        let place = if several {
            load.to_string()
        } else {
            String::new()
        };
        Some((place.clone(), of_load(results, &totals, place)))
    };
    loads.into_iter().filter_map(picture).collect()
}

fn of_load(results: &Results, totals: &[&Total], place: String) -> Picture {
    let mut all: Vec<Configuration> = Vec::new();
    for total in totals {
        let name = &*total.key.configuration;
        let at = all
            .iter()
            .position(|one| one.name == name)
            .unwrap_or_else(|| {
                all.push(Configuration {
                    name: name.to_owned(),
                    bars: Vec::new(),
                });
                all.len() - 1
            });
        all[at].bars.push(bar(total, totals));
    }
    let mut bars = 0;
    let fitting = all.iter().take_while(|one| {
        bars += one.bars.len();
        bars <= BARS
    });
    let shown = fitting.count().max(1);
    let mut caption = CAPTION.to_owned();
    if shown < all.len() {
        all.truncate(shown);
        caption.push_str(" Further configurations are not drawn; the tables have them all.");
    }
    let figures: Vec<_> = totals.iter().map(|total| &total.figures).collect();
    Picture {
        figure: Figure::ShareByTarget(ShareByTarget {
            place,
            configurations: all,
            note: note(results, None, &figures),
        }),
        caption,
        file: String::new(),
    }
}

fn bar(total: &Total, totals: &[&Total]) -> Bar {
    let key = &total.key;
    let models = totals
        .iter()
        .any(|other| other.key.target == key.target && other.key.model != key.model);
    let figures = &total.figures;
    Bar {
        target: if models {
            format!("{} {}", key.target, key.model)
        } else {
            key.target.to_string()
        },
        share: figures.cached_share,
        low: figures.cached_interval.map(|interval| interval.low),
        high: figures.cached_interval.map(|interval| interval.high),
        achievable: figures.achievable_share,
        requests: figures.counted,
    }
}
