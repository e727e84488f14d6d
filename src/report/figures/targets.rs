//! Targets side by side.

use crate::analysis::points::Points;
use crate::analysis::{Across, Results, Side};
use crate::chart::share_by_target::{Bar, Configuration};
use crate::chart::{Figure, ShareByTarget};
use crate::report::html::Picture;
use crate::report::scenes::note;
use std::sync::Arc;

/// Bars of a picture; more would not be read.
const BARS: usize = 80;

const CAPTION: &str = "The same configuration on each target, over the same requests: those that \
    all of them answered with a count. Solid: prompt tokens read from the cache, of all prompt \
    tokens. Hatched, up to the mark: what its cache could have returned besides.";

/// A picture for each load level at which there are several targets or models.
pub(super) fn pictures(results: &Results, points: &Points) -> Vec<(String, Picture)> {
    let mut loads: Vec<&Arc<str>> = Vec::new();
    for total in &results.totals {
        if !loads.contains(&&total.key.load) {
            loads.push(&total.key.load);
        }
    }
    let several = loads.len() > 1;
    let picture = |load: &Arc<str>| {
        let place = if several {
            load.to_string()
        } else {
            String::new()
        };
        let picture = of_load(results, points, load, place.clone())?;
        Some((place, picture))
    };
    loads.into_iter().filter_map(picture).collect()
}

/// `None` where no configuration ran on two targets or models.
fn of_load(results: &Results, points: &Points, load: &Arc<str>, place: String) -> Option<Picture> {
    let mut names: Vec<&Arc<str>> = Vec::new();
    for total in &results.totals {
        let name = &total.key.configuration;
        if total.key.load == *load && !names.contains(&name) {
            names.push(name);
        }
    }
    let here = || points.across().iter().filter(|across| across.load == *load);
    let of_name = |name: &&Arc<str>| here().find(|across| across.configuration == **name);
    let compared: Vec<&Across> = names.iter().filter_map(of_name).collect();
    if compared.is_empty() {
        return None;
    }
    let mut all: Vec<Configuration> = compared
        .iter()
        .map(|across| configuration(across, results))
        .collect();
    let mut caption = CAPTION.to_owned();
    let sides = || compared.iter().flat_map(|across| &across.sides);
    if sides().any(|side| side.counted > side.requests) {
        caption.push_str(
            " n tells these, of all that the target counted: others were not answered, or not \
             counted, by another target.",
        );
    }
    let mut bars = 0;
    let fitting = all.iter().take_while(|one| {
        bars += one.bars.len();
        bars <= BARS
    });
    let shown = fitting.count().max(1);
    if shown < all.len() {
        all.truncate(shown);
        caption.push_str(" Further configurations are not drawn; the tables have them all.");
    }
    let mut note = note(results, None, &[]);
    note.requests = sides().map(|side| side.requests).sum();
    note.conversations = sides().map(Side::conversations).sum();
    Some(Picture {
        figure: Figure::ShareByTarget(ShareByTarget {
            place,
            configurations: all,
            note,
        }),
        caption,
        file: String::new(),
    })
}

/// The bars of a configuration, in the order of the tables.
fn configuration(across: &Across, results: &Results) -> Configuration {
    let in_order = results.totals.iter().filter_map(|total| {
        let mut sides = across.sides.iter();
        sides.find(|side| side.key == total.key)
    });
    Configuration {
        name: across.configuration.to_string(),
        bars: in_order.map(|side| bar(side, results)).collect(),
    }
}

fn bar(side: &Side, results: &Results) -> Bar {
    let key = &side.key;
    let models = results
        .totals
        .iter()
        .any(|other| other.key.target == key.target && other.key.model != key.model);
    let interval = side.interval(results.seed);
    Bar {
        target: if models {
            format!("{} {}", key.target, key.model)
        } else {
            key.target.to_string()
        },
        share: side.share,
        low: interval.map(|interval| interval.low),
        high: interval.map(|interval| interval.high),
        achievable: side.achievable,
        requests: side.requests,
        counted: side.counted,
    }
}
