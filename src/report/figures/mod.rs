//! Results and records to figures, with the sentences below them.
//!
//! Invariants: a figure holds only what its records say; what was left out, or
//! only estimated, stands in the sentence below it.

mod by_group;
mod by_turn;
mod map;

use super::detail::Detail;
use super::files::CHARTS;
use super::html::Picture;
use super::scenes::{DRAWN_SCENES, scenes};
use crate::analysis::Results;
use std::collections::HashSet;

/// Every picture of the run, in the order of a page.
pub(super) fn figures(results: &Results, detail: &Detail) -> Vec<Picture> {
    let mut names = Names::default();
    let mut drawn: Vec<Picture> = Vec::new();
    let mut add = |parts: &[&str], picture: Option<Picture>| {
        drawn.extend(picture.map(|picture| Picture {
            file: format!("{CHARTS}/{}.svg", names.free(parts)),
            ..picture
        }));
    };
    add(&["share-by-group"], by_group::picture(results));
    let sizes = map::Sizes::of(detail);
    for scene in scenes(results).iter().take(DRAWN_SCENES) {
        let name = scene.name(results);
        add(&["share-by-turn", &name], by_turn::picture(scene, results));
        for (configuration, picture) in map::pictures(scene, results, detail, &sizes) {
            add(&["prefix-map", &name, &configuration], Some(picture));
        }
    }
    drawn
}

/// Names of files that are taken.
#[derive(Default)]
struct Names(HashSet<String>);

impl Names {
    /// A name made of `parts` that is not taken yet.
    fn free(&mut self, parts: &[&str]) -> String {
        let base = slug(&parts.join("-"));
        let mut name = base.clone();
        let mut next = 2;
        while !self.0.insert(name.clone()) {
            name = format!("{base}-{next}");
            next += 1;
        }
        name
    }
}

/// Lowercase letters, digits and single hyphens, at most a hundred.
fn slug(text: &str) -> String {
    let mut out = String::new();
    for letter in text.chars().flat_map(char::to_lowercase).take(100) {
        if letter.is_ascii_alphanumeric() {
            out.push(letter);
        } else if !out.ends_with('-') {
            out.push('-');
        }
    }
    out.trim_matches('-').to_owned()
}

#[cfg(test)]
mod tests;
