//! Results and records to figures, with the sentences below them.
//!
//! Invariants: a figure holds only what its records say; what was left out, or
//! only estimated, stands in the sentence below it; a kind of picture that a run
//! has nothing for is left out with its reason.

mod by_group;
mod by_turn;
mod cost;
mod length;
mod load;
mod lost;
mod map;
mod targets;
mod ttft;

use super::detail::Detail;
use super::files::CHARTS;
use super::html::Picture;
use super::scenes::{DRAWN_SCENES, scenes};
use crate::analysis::Results;
use crate::analysis::points::Points;
use std::collections::HashSet;

/// The pictures of a run.
pub(super) struct Figures {
    /// Every picture, in the order of a page.
    pub(super) drawn: Vec<Picture>,
    /// Kinds of pictures that there are none of, each with its reason.
    pub(super) left_out: Vec<String>,
}

/// Every picture of the run.
pub(super) fn figures(results: &Results, detail: &Detail, points: &Points) -> Figures {
    let mut all = Collected::default();
    all.one(&["share-by-group"], by_group::picture(results));
    let reason = "no configuration ran on two targets or models";
    let targets = targets::pictures(results, points);
    all.kind("share-by-target", reason, targets);
    let reason = "there is one load level only";
    all.kind("share-by-load", reason, load::pictures(results));
    let scenes = scenes(results);
    let scenes = &scenes[..scenes.len().min(DRAWN_SCENES)];
    for scene in scenes {
        let name = scene.name(results);
        all.one(&["share-by-turn", &name], by_turn::picture(scene, results));
    }
    from_points(&mut all, results, points);
    let sizes = map::Sizes::of(detail);
    for scene in scenes {
        let name = scene.name(results);
        for (configuration, picture) in map::pictures(scene, results, detail, &sizes) {
            all.one(&["prefix-map", &name, &configuration], Some(picture));
        }
    }
    Figures {
        drawn: all.drawn,
        left_out: all.left_out,
    }
}

/// Pictures of what tables do not have.
fn from_points(all: &mut Collected, results: &Results, points: &Points) {
    let reason = "no prefix broke";
    all.kind("lost-by-cause", reason, lost::pictures(results, points));
    let reason = no_cost(results);
    all.kind("cost-by-part", reason, cost::pictures(results, points));
    let reason = "no request had a first token";
    let times = ttft::distributions(results, points);
    all.kind("ttft-distribution", reason, times);
    let reason = "no request had both a count and a first token";
    let times = ttft::by_computed(results, points);
    all.kind("ttft-by-computed", reason, times);
    let reason = "no request has a count";
    let lengths = length::pictures(results, points);
    all.kind("share-by-length", reason, lengths);
}

/// Why there is no picture of costs.
fn no_cost(results: &Results) -> &'static str {
    if results
        .targets
        .iter()
        .any(|target| target.price_source.is_some())
    {
        "no conversation has a bill for each of its requests"
    } else {
        "no target has prices"
    }
}

/// Pictures so far.
#[derive(Default)]
struct Collected {
    names: Names,
    drawn: Vec<Picture>,
    left_out: Vec<String>,
}

impl Collected {
    fn one(&mut self, parts: &[&str], picture: Option<Picture>) {
        let names = &mut self.names;
        self.drawn.extend(picture.map(|picture| Picture {
            file: format!("{CHARTS}/{}.svg", names.free(parts)),
            ..picture
        }));
    }

    /// All pictures of a kind, each with where it was measured; or why there is none.
    fn kind(&mut self, name: &str, reason: &str, pictures: Vec<(String, Picture)>) {
        if pictures.is_empty() {
            let said = name.replace('-', " ");
            self.left_out.push(format!("{said} ({reason})"));
        }
        for (place, picture) in pictures {
            if place.is_empty() {
                self.one(&[name], Some(picture));
            } else {
                self.one(&[name, &place], Some(picture));
            }
        }
    }
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

/// Bytes of a file's name, less its ending and what tells it from another: file systems take 255.
const LONGEST: usize = 160;

/// Lowercase letters of any script, digits and single hyphens.
fn slug(text: &str) -> String {
    let mut out = String::new();
    for letter in text.chars().flat_map(char::to_lowercase) {
        if out.len() + letter.len_utf8() > LONGEST {
            break;
        }
        // Also the marks of a letter that is written in two.
        if letter.is_alphanumeric() || ('\u{300}'..='\u{36F}').contains(&letter) {
            out.push(letter);
        } else if !out.ends_with('-') {
            out.push('-');
        }
    }
    out.trim_matches('-').to_owned()
}

#[cfg(test)]
mod tests;
