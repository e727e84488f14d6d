//! Cached share against prompt length, under what the cache model can return.

use crate::analysis::points::{Counted, Points};
use crate::analysis::{Results, Total};
use crate::cache::Model;
use crate::chart::share_by_length::{Grain, Panel, Point};
use crate::chart::{Figure, ShareByLength};
use crate::report::html::Picture;
use crate::report::scenes::{Place, places};

/// Points of a picture, all configurations together: more would cover each other.
const POINTS: usize = 900;

const CAPTION: &str = "Points on the line are read as far as the cache can return a prompt of that \
    length; what is below it was computed again, or is new.";

/// A picture for each arena in which a request has a count.
pub(super) fn pictures(results: &Results, points: &Points) -> Vec<(String, Picture)> {
    let drawn = places(results).into_iter().filter_map(|place| {
        let most = POINTS / place.totals.len().max(1);
        let panels: Vec<Panel> = place
            .totals
            .iter()
            .map(|total| panel(total, points, most))
            .collect();
        let any = panels.iter().any(|panel| !panel.points.is_empty());
        any.then(|| (place.label.clone(), picture(&place, results, panels)))
    });
    drawn.collect()
}

fn picture(place: &Place<'_>, results: &Results, panels: Vec<Panel>) -> Picture {
    let target = place.target(results);
    let model = target.and_then(|target| target.cache_model.as_deref()?.parse().ok());
    let grain = model.as_ref().and_then(grain);
    let caption = if grain.is_some() {
        CAPTION
    } else {
        "Each point is a request."
    };
    Picture {
        figure: Figure::ShareByLength(ShareByLength {
            place: place.label.clone(),
            grain,
            panels,
            note: place.note(results),
        }),
        caption: format!("{caption}{}", place.not_drawn()),
        file: String::new(),
    }
}

fn panel(total: &Total, points: &Points, most: usize) -> Panel {
    let set = points.get(&total.key);
    let drawn = set.map_or_else(Vec::new, |set| set.counted.points(most));
    let point = |counted: &Counted| Point {
        total: counted.total.0,
        read: counted.read.0,
    };
    Panel {
        configuration: total.key.configuration.to_string(),
        points: drawn.iter().map(point).collect(),
        requests: set.map_or(0, |set| set.counted.offered()),
    }
}

/// What a model can return of a prompt by its length alone; `None` where nothing is known of that.
fn grain(model: &Model) -> Option<Grain> {
    let grain = |step: usize, minimum: usize, dropped: usize, spared: u64| Grain {
        step: step as u64,
        minimum: minimum as u64,
        dropped: dropped as u64,
        spared,
    };
    match *model {
        Model::Blocks { size, drop, .. } | Model::Align { size, drop } => {
            Some(grain(size.get(), 0, drop, 1))
        }
        Model::Radix { page } => Some(grain(page.get(), 0, 0, 1)),
        Model::Slots { .. } => Some(grain(1, 0, 0, 1)),
        Model::Steps { size, min } => Some(grain(size.get(), min, 0, 0)),
        Model::MessageEnds { min } | Model::Breakpoints { min, .. } => Some(grain(1, min, 0, 0)),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_cache_model_that_has_steps_or_a_minimum_gives_its_grain() {
        let cases = [
            ("blocks:16", Some((16, 0, 0, 1))),
            ("align:1600,drop=1", Some((1_600, 0, 1, 1))),
            ("radix:1", Some((1, 0, 0, 1))),
            ("slots:2", Some((1, 0, 0, 1))),
            ("steps:128,min=1024", Some((128, 1_024, 0, 0))),
            ("message-ends,min=1024", Some((1, 1_024, 0, 0))),
            ("units", None),
        ];
        for (text, expected) in cases {
            let model: Model = text.parse().expect("a model");
            let found =
                grain(&model).map(|grain| (grain.step, grain.minimum, grain.dropped, grain.spared));
            assert_eq!(found, expected, "{text}");
        }
    }
}
