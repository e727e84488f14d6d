//! What a conversation costs, by what is billed.

use crate::analysis::points::Points;
use crate::analysis::{Results, Total};
use crate::chart::cost_by_part::Bar;
use crate::chart::{CostByPart, Figure};
use crate::report::html::Picture;
use crate::report::scenes::{Place, places};

const CAPTION: &str = "The mean of whole conversations, by what was billed; hatched, what they \
    would have cost had nothing been read from a cache.";

/// A picture for each arena whose target has prices and in which a conversation has a whole bill.
pub(super) fn pictures(results: &Results, points: &Points) -> Vec<(String, Picture)> {
    let drawn = places(results).into_iter().filter_map(|place| {
        let bars: Option<Vec<Bar>> = place
            .totals
            .iter()
            .map(|total| bar(total, results, points))
            .collect();
        let bars = bars.filter(|bars| bars.iter().any(|bar| bar.parts.is_some()))?;
        let bills = place
            .totals
            .iter()
            .filter_map(|total| points.bills(&total.key));
        let requests = bills.map(|bills| bills.requests).sum();
        let picture = picture(&place, results, bars, requests);
        Some((place.label.clone(), picture))
    });
    drawn.collect()
}

/// `requests` are those of the conversations that have a whole bill.
fn picture(place: &Place<'_>, results: &Results, bars: Vec<Bar>, requests: u64) -> Picture {
    let target = place.target(results);
    let prices = target.and_then(|target| target.price_source.as_deref());
    let mut note = place.note(results);
    // What has no whole bill is in no bar.
    note.requests = requests;
    note.without_count = 0;
    note.conversations = bars.iter().map(|bar| bar.conversations).sum();
    Picture {
        figure: Figure::CostByPart(CostByPart {
            place: place.label.clone(),
            untold: place.untold(results),
            prices: prices.unwrap_or_default().to_owned(),
            bars,
            note,
        }),
        caption: format!("{CAPTION}{}", place.not_drawn()),
        file: String::new(),
    }
}

/// `None` where the target has no price.
fn bar(total: &Total, results: &Results, points: &Points) -> Option<Bar> {
    let bills = points.bills(&total.key)?;
    let interval = bills.interval(results.seed_of(&total.key.target));
    Some(Bar {
        configuration: total.key.configuration.to_string(),
        parts: bills.mean_parts(),
        low: interval.map(|interval| interval.low),
        high: interval.map(|interval| interval.high),
        uncached: bills.mean_uncached(),
        conversations: bills.complete(),
        incomplete: bills.incomplete(),
    })
}
