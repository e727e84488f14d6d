//! Which cache model explains everything that the probe saw.
//!
//! Candidates come from the repeats, whose counts are exact; each is then played
//! against every request. A model that contradicts one count is not offered.

use super::infer::{Pair, gcd};
use super::play::{Contradiction, Play};
use crate::cache::Model;

/// Tokens at the end of a prompt that may never be found again: a generation suffix.
const LONGEST_WRAPPER: usize = 64;

/// Least prompts that services have published, in tokens.
const USUAL: [u64; 7] = [256, 512, 1_024, 1_536, 2_048, 4_096, 8_192];

/// Distances at which entries are known to lie (GPT-5.5: 2,048).
const INTERVALS: [u64; 3] = [1_024, 2_048, 4_096];

/// A model, and how many tokens at the end of a prompt are never found again.
#[derive(Clone, Debug, PartialEq)]
struct Candidate {
    model: Model,
    wrapper: usize,
}

/// What came of it.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Fit {
    /// The model that explains all counts, their number, and the tokens at the end of
    /// a prompt that are never found again.
    Explained {
        model: Model,
        counts: usize,
        wrapper: usize,
    },
    /// None does; the one that comes nearest.
    Nothing(Option<(Model, Contradiction)>),
}

/// The first model that explains every request; what the server `stated` is tried first.
pub(super) fn fit(play: &Play, pairs: &[Pair], stated: Option<&Model>, marked: bool) -> Fit {
    let mut nearest: Option<(Model, Contradiction)> = None;
    for Candidate { model, wrapper } in candidates(play, pairs, stated, marked) {
        let Some(wrong) = play.against(&model, wrapper) else {
            return Fit::Explained {
                model,
                wrapper,
                counts: play.checked(),
            };
        };
        if nearest
            .as_ref()
            .is_none_or(|(_, known)| wrong.count < known.count)
        {
            nearest = Some((model, wrong));
        }
    }
    Fit::Nothing(nearest)
}

fn candidates(play: &Play, pairs: &[Pair], stated: Option<&Model>, marked: bool) -> Vec<Candidate> {
    let repeats = Repeats::of(pairs);
    let mut found: Vec<Candidate> = stated
        .into_iter()
        .filter_map(|model| repeats.stated(model))
        .collect();
    for size in repeats.sizes(&play.reads()) {
        found.extend(repeats.blocks(size));
        found.extend(repeats.steps(size));
        if size % 128 == 0 {
            found.extend(repeats.intervals());
        }
    }
    let every = repeats.wrapper(|total, wrapper| total.saturating_sub(wrapper.max(1)));
    found.extend(
        every
            .filter(|(_, missed)| *missed == 0)
            .and_then(|(wrapper, _)| candidate("radix:1", wrapper)),
    );
    found.extend(repeats.steps(1));
    for name in ["breakpoints", "units", "message-ends"] {
        if name == "breakpoints" && !marked {
            continue;
        }
        if name == "units" {
            found.extend(candidate(name, 0));
        } else {
            found.extend(with_minimum(play, name, &repeats));
        }
    }
    found
}

fn candidate(text: &str, wrapper: usize) -> Option<Candidate> {
    let model = text.parse().ok()?;
    Some(Candidate { model, wrapper })
}

/// A model of message ends with the minimum that the repeats show.
fn with_minimum(play: &Play, name: &str, repeats: &Repeats) -> Option<Candidate> {
    let open: Model = format!("{name},min=0").parse().ok()?;
    let played = play.repeats(&open).into_iter();
    let missed = played.filter(|(_, read)| *read == 0);
    let missed = missed.map(|(would, _)| would).max().unwrap_or(0);
    let least = repeats.minimum(missed)?;
    candidate(&format!("{name},min={least}"), 0)
}

/// Prompts and what their repeats read.
struct Repeats {
    /// Tokens of the prompt, and tokens read.
    hits: Vec<(u64, u64)>,
    /// Tokens of prompts whose repeats read nothing.
    misses: Vec<u64>,
}

impl Repeats {
    fn of(pairs: &[Pair]) -> Self {
        let (mut hits, mut misses) = (Vec::new(), Vec::new());
        for pair in pairs {
            let Some(total) = pair.again.total else {
                continue;
            };
            match pair.again.read.unwrap_or(0) {
                read if pair.is_hit() => hits.push((total, read)),
                _ => misses.push(total),
            }
        }
        Self { hits, misses }
    }

    /// The fewest tokens at the end of a prompt that are never found again so that
    /// `rule` gives every hit, and the most that it would have read of a miss.
    fn wrapper(&self, rule: impl Fn(u64, u64) -> u64) -> Option<(usize, u64)> {
        self.wrappers(rule).next()
    }

    fn wrappers(&self, rule: impl Fn(u64, u64) -> u64) -> impl Iterator<Item = (usize, u64)> {
        (0..=LONGEST_WRAPPER).filter_map(move |wrapper| {
            let tokens = wrapper as u64;
            let all = self
                .hits
                .iter()
                .all(|(total, read)| rule(*total, tokens) == *read);
            let missed = self.misses.iter().map(|total| rule(*total, tokens)).max();
            (all && !self.hits.is_empty()).then_some((wrapper, missed.unwrap_or(0)))
        })
    }

    /// The least entry, where one of `missed` tokens is none; 0 where all are entries.
    fn minimum(&self, missed: u64) -> Option<u64> {
        let hit = self.hits.iter().map(|(_, read)| *read).min()?;
        if missed == 0 {
            return Some(0);
        }
        let usual = USUAL
            .into_iter()
            .find(|usual| (missed + 1..=hit).contains(usual));
        (missed < hit).then_some(usual.unwrap_or(hit))
    }

    /// Sizes of blocks: what all repeats are multiples of, and what all counts are.
    fn sizes(&self, reads: &[u64]) -> Vec<u64> {
        let hits = self.hits.iter().map(|(_, read)| *read);
        let of_repeats = hits.reduce(gcd).unwrap_or(0);
        let of_all = reads.iter().copied().fold(of_repeats, gcd);
        let mut sizes = vec![of_repeats, of_all];
        sizes.dedup();
        sizes.retain(|&size| size >= 4 && self.hits.len() >= 2);
        sizes
    }

    /// Blocks with and without a lost last one, kept anywhere or at states only; those
    /// first that need the fewest tokens that are never found again.
    fn blocks(&self, size: u64) -> Vec<Candidate> {
        let mut found = Vec::new();
        for name in ["blocks", "align"] {
            for (drop, written) in [(0, ""), (1, ",drop=1")] {
                let fitting = self.wrapper(|total, wrapper| {
                    let held = total.saturating_sub(wrapper.max(1)) / size;
                    held.saturating_sub(drop) * size
                });
                let exact = fitting.filter(|(_, missed)| *missed == 0);
                let text = format!("{name}:{size}{written}");
                found.extend(exact.and_then(|(wrapper, _)| candidate(&text, wrapper)));
            }
        }
        found.sort_by_key(|candidate| candidate.wrapper);
        found
    }

    fn steps(&self, size: u64) -> Option<Candidate> {
        let rule = |total: u64, wrapper: u64| total.saturating_sub(wrapper) / size * size;
        let (wrapper, least) = self
            .wrappers(rule)
            .find_map(|(wrapper, missed)| Some((wrapper, self.minimum(missed)?)))?;
        candidate(&format!("steps:{size},min={least}"), wrapper)
    }

    /// Entries at fixed distances behind a hidden text, of which the shortest that fits is taken.
    fn intervals(&self) -> Option<Candidate> {
        INTERVALS.into_iter().find_map(|size| {
            (0..size).find_map(|hidden| {
                let rule = |total: u64| {
                    ((total + hidden) / size * size).saturating_sub(hidden) / 128 * 128
                };
                let all = self.hits.iter().all(|(total, read)| rule(*total) == *read);
                let missed = self
                    .misses
                    .iter()
                    .map(|total| rule(*total))
                    .max()
                    .unwrap_or(0);
                let least = self.minimum(missed).filter(|_| all)?;
                candidate(&format!("intervals:{size},hidden={hidden},min={least}"), 0)
            })
        })
    }

    /// What the server states, with the wrapper that the repeats show.
    fn stated(&self, model: &Model) -> Option<Candidate> {
        let wrapper = match model {
            Model::Blocks { size, drop, .. } | Model::Align { size, drop } => {
                let (size, drop) = (size.get() as u64, *drop as u64);
                let rule = |total: u64, wrapper: u64| {
                    (total.saturating_sub(wrapper.max(1)) / size).saturating_sub(drop) * size
                };
                self.wrapper(rule)?.0
            }
            _ => 0,
        };
        Some(Candidate {
            model: model.clone(),
            wrapper,
        })
    }
}

#[cfg(test)]
#[path = "fit_tests.rs"]
mod tests;
