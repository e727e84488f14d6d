//! Cached share per configuration, by group of scenarios.

use crate::analysis::{Figures, Results, TotalKey};
use crate::chart::share_by_group::{Bar, Group};
use crate::chart::{Figure, ShareByGroup};
use crate::report::html::Picture;
use crate::report::scenes::{Arena, note};

/// Bars of a picture; more would not be read.
const BARS: usize = 80;

const CAPTION: &str = "Solid: prompt tokens read from the cache, of all prompt tokens. \
    Hatched, up to the mark: what the cache could have returned besides.";

/// The picture; `None` where nothing was sent.
pub(super) fn picture(results: &Results) -> Option<Picture> {
    let mut all = groups(results);
    if all.is_empty() {
        return None;
    }
    let mut bars = 0;
    let fitting = all.iter().take_while(|group| {
        bars += group.bars.len();
        bars <= BARS
    });
    let shown = fitting.count().max(1);
    let mut caption = CAPTION.to_owned();
    if shown < all.len() {
        all.truncate(shown);
        caption.push_str(" Further groups are not drawn; the tables have them all.");
    }
    let figures: Vec<&Figures> = results.totals.iter().map(|total| &total.figures).collect();
    Some(Picture {
        figure: Figure::ShareByGroup(ShareByGroup {
            groups: all,
            note: note(results, None, &figures),
        }),
        caption,
        file: String::new(),
    })
}

/// All scenarios together, then each group; once per arena.
fn groups(results: &Results) -> Vec<Group> {
    let totals = results
        .totals
        .iter()
        .map(|total| ("all scenarios", &total.key, &total.figures));
    let groups = results
        .groups
        .iter()
        .map(|group| (&*group.group, &group.key, &group.figures));
    let together = results
        .groups
        .windows(2)
        .any(|two| two[0].group != two[1].group);
    let mut out: Vec<(Arena, &str, Group)> = Vec::new();
    for (name, key, figures) in totals.filter(|_| together).chain(groups) {
        let arena = Arena::from(key);
        match out.last_mut() {
            Some((known, known_name, group)) if *known == arena && *known_name == name => {
                group.bars.push(bar(key, figures));
            }
            _ => {
                let label = labelled(name, &arena.label(results));
                let bars = vec![bar(key, figures)];
                out.push((arena, name, Group { name: label, bars }));
            }
        }
    }
    out.into_iter().map(|(_, _, group)| group).collect()
}

fn labelled(group: &str, arena: &str) -> String {
    match (group, arena) {
        (group, "") => group.to_owned(),
        ("", arena) => arena.to_owned(),
        (group, arena) => format!("{group} on {arena}"),
    }
}

fn bar(key: &TotalKey, figures: &Figures) -> Bar {
    Bar {
        configuration: key.configuration.to_string(),
        share: figures.cached_share,
        low: figures.cached_interval.map(|interval| interval.low),
        high: figures.cached_interval.map(|interval| interval.high),
        achievable: figures.achievable_share,
        requests: figures.counted,
        of: None,
    }
}
