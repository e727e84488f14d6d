//! Tokens lost behind breaks, by source and step.

use crate::analysis::points::{PointSet, Points};
use crate::analysis::{BreakTotal, Results, TotalKey};
use crate::chart::lost_by_cause::{Bar, Cause};
use crate::chart::{Figure, LostByCause};
use crate::report::html::Picture;
use crate::report::scenes::{Place, places};
use crate::report::words::count;
use std::cmp::Reverse;
use std::collections::HashMap;

/// Causes that have a colour of their own; the others are drawn together.
const CAUSES: usize = 11;

const CAPTION: &str = "What each configuration lost for each of its conversations, by the step \
    that broke the prefix and the source in which the prompt then differed.";

/// A picture for each arena in which a prefix broke.
pub(super) fn pictures(results: &Results, points: &Points) -> Vec<(String, Picture)> {
    let broken = |place: &Place<'_>| {
        place
            .totals
            .iter()
            .any(|total| !breaks(results, &total.key).is_empty())
    };
    let every: Vec<&BreakTotal> = results.breaks.iter().collect();
    // The same ones in every picture, so that each has its colour.
    let known = causes(&every);
    let drawn = places(results).into_iter().filter(broken);
    let drawn = drawn.map(|place| {
        let label = place.label.clone();
        (label, picture(&place, results, points, &known))
    });
    drawn.collect()
}

fn breaks<'a>(results: &'a Results, key: &TotalKey) -> Vec<&'a BreakTotal> {
    results
        .breaks
        .iter()
        .filter(|broken| broken.key == *key)
        .collect()
}

fn picture(
    place: &Place<'_>,
    results: &Results,
    points: &Points,
    (causes, left): &(Vec<Cause>, usize),
) -> Picture {
    let all: Vec<_> = place
        .totals
        .iter()
        .map(|total| (total, breaks(results, &total.key)))
        .collect();
    let mut caption = CAPTION.to_owned();
    if *left > 0 {
        caption.push_str(" Less frequent ones are drawn together: ");
        caption.push_str(&count(*left as u64, "cause"));
        caption.push('.');
    }
    caption.push_str(&place.not_drawn());
    let bars = all.iter().map(|(total, breaks)| Bar {
        configuration: total.key.configuration.to_string(),
        lost: lost(causes, breaks),
        breaks: breaks.iter().map(|broken| broken.breaks).sum(),
        uncounted: breaks
            .iter()
            .filter(|broken| broken.lost.is_none())
            .map(|broken| broken.breaks)
            .sum(),
        conversations: points
            .get(&total.key)
            .map_or(0, PointSet::answered_conversations),
    });
    Picture {
        figure: Figure::LostByCause(LostByCause {
            place: place.label.clone(),
            bars: bars.collect(),
            causes: causes.clone(),
            note: place.note(results),
        }),
        caption,
        file: String::new(),
    }
}

fn cause(broken: &BreakTotal) -> Cause {
    Cause {
        source: broken.origin.to_string(),
        step: broken.cause.to_string(),
    }
}

/// The causes that lose most, and how many others there are, which then are the last one.
fn causes(breaks: &[&BreakTotal]) -> (Vec<Cause>, usize) {
    let mut sums: HashMap<(String, String), u64> = HashMap::new();
    for broken in breaks {
        let Cause { source, step } = cause(broken);
        let sum = sums.entry((source, step)).or_default();
        *sum = sum.saturating_add(broken.lost.map_or(0, |lost| lost.0));
    }
    let mut sums: Vec<_> = sums.into_iter().collect();
    sums.sort_by(|(a, lost_a), (b, lost_b)| (Reverse(lost_a), a).cmp(&(Reverse(lost_b), b)));
    // One more than fit would be called a group of one.
    let drawn = if sums.len() > CAUSES + 1 {
        CAUSES
    } else {
        sums.len()
    };
    let left = sums.len() - drawn;
    let own = sums.into_iter().take(drawn);
    let mut causes: Vec<Cause> = own
        .map(|((source, step), _)| Cause { source, step })
        .collect();
    if left > 0 {
        causes.push(Cause {
            source: String::new(),
            step: "other causes".to_owned(),
        });
    }
    (causes, left)
}

/// Tokens by cause, in their order; what has no cause of its own goes to the last.
fn lost(causes: &[Cause], breaks: &[&BreakTotal]) -> Vec<u64> {
    let mut sums = vec![0_u64; causes.len()];
    for broken in breaks {
        let own = cause(broken);
        let at = causes
            .iter()
            .position(|other| *other == own)
            .unwrap_or(causes.len() - 1);
        sums[at] = sums[at].saturating_add(broken.lost.map_or(0, |lost| lost.0));
    }
    sums
}
