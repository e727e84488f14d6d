//! What the counts say about the cache. Pure: from what was seen to what follows.
//!
//! The rules: a repeat of a prompt of `P` tokens on a cache of blocks reads
//! `B * floor((P - 1) / B)`, one block less where a drafter costs the last one.
//! So every read is a multiple of the step, and what is left over, `P - 1 - R`,
//! lies below it (or between once and twice it).

use super::ask::Seen;
use super::fit::Fit;
use super::steps::Observed;
use crate::cache::Model;
use serde::Serialize;

/// A prompt and its repeat.
#[derive(Clone, Debug, Serialize)]
pub(super) struct Pair {
    pub(super) first: Seen,
    pub(super) again: Seen,
}

impl Pair {
    /// Whether the repeat read what the first wrote: more than the template's first
    /// words, which every prompt shares.
    pub(super) fn is_hit(&self) -> bool {
        let (Some(read), Some(total)) = (self.again.read, self.again.total) else {
            return false;
        };
        read > self.first.read.unwrap_or(0).min(64) && read * 3 >= total
    }

    fn hit(&self) -> Option<(u64, u64)> {
        self.is_hit().then_some(())?;
        Some((self.again.total?, self.again.read?))
    }
}

/// Whether reads are counted.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum Counts {
    /// Always, also a 0.
    Reported,
    /// Only where there is something: absent means 0.
    LeftOutWhenZero,
    /// The prompt is counted and what was read of it is not.
    NoReads,
    /// Nothing is counted.
    Nothing,
}

/// What the server's own prompt count means.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum Convention {
    /// It includes what was read.
    Inclusive,
    /// It excludes what was read and written.
    Exclusive,
    /// The parts of a prompt and of its repeat do not add up to the same.
    Contradictory,
}

/// The granularity of reads.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub(super) struct Step {
    /// Tokens.
    pub(super) tokens: u64,
    /// Whether the last block of a hit is lost.
    pub(super) dropped: bool,
    /// Whether the prompts tried exclude every other step.
    pub(super) sure: bool,
}

/// The least prompt that hits.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub(super) struct Minimum {
    /// The longest that did not; 0 where all did.
    pub(super) missed: u64,
    /// The shortest that did.
    pub(super) hit: u64,
    /// A usual minimum within the range, where the step alone does not explain it.
    pub(super) tokens: Option<u64>,
}

/// How much of a prompt was read.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub(super) struct Read {
    pub(super) total: u64,
    pub(super) read: u64,
}

impl Read {
    fn of(seen: &Seen) -> Option<Self> {
        Some(Self {
            total: seen.total?,
            read: seen.read?,
        })
    }
}

/// Everything that follows.
#[derive(Clone, Debug, Serialize)]
pub(super) struct Findings {
    pub(super) counts: Counts,
    /// The same for answers in one piece, where they differ from streams.
    pub(super) counts_whole: Option<Counts>,
    pub(super) writes: bool,
    pub(super) convention: Option<Convention>,
    pub(super) repeat: Option<Read>,
    pub(super) appended: Option<Read>,
    pub(super) changed: Option<Read>,
    pub(super) changed_again: Option<Read>,
    pub(super) step: Option<Step>,
    pub(super) minimum: Option<Minimum>,
    pub(super) delay_ms: Option<u64>,
    pub(super) answer_cache: Option<String>,
    pub(super) cache_model: Option<String>,
    /// Whether the prompt's count excludes what was read though its dialect's includes it.
    pub(super) excludes: bool,
    /// How many counts it explains: all that were to be explained.
    pub(super) explained: Option<usize>,
    /// Tokens at the end of a prompt that are never found again, where that explains
    /// the counts.
    pub(super) wrapper: Option<usize>,
    /// Why no model is offered, where prompts were read.
    pub(super) unexplained: Option<String>,
    /// First token of the first prompt and of its repeat, in microseconds.
    pub(super) first_token_us: Option<(u64, u64)>,
    /// Whether reasoning in history leaves the prompt as long as without it.
    pub(super) reasoning_dropped: Option<bool>,
}

/// What follows from `seen`, but for the cache model.
pub(super) fn findings(seen: &Observed) -> Findings {
    let first = seen.lengths.first();
    let streams: Vec<&Seen> = seen
        .lengths
        .iter()
        .flat_map(|pair| [&pair.first, &pair.again])
        .collect();
    let whole: Vec<&Seen> = seen.whole.iter().collect();
    let counts_of_streams = counts(&streams);
    let (step, minimum) = (step(&seen.lengths), minimum(seen));
    let changed = |index: usize| seen.changed.get(index).and_then(Read::of);
    let repeat = seen.lengths.iter().rev().find(|pair| pair.is_hit());
    let repeat = repeat.or(first).and_then(|pair| Read::of(&pair.again));
    Findings {
        counts: counts_of_streams,
        counts_whole: (!whole.is_empty() && whole.iter().all(|seen| seen.ok()))
            .then(|| counts(&whole))
            .filter(|whole| {
                *whole != counts_of_streams
                    && !(counts_of_streams == Counts::LeftOutWhenZero && *whole == Counts::Reported)
            }),
        writes: streams.iter().any(|seen| seen.written.is_some()),
        convention: seen
            .lengths
            .iter()
            .find(|pair| pair.is_hit())
            .and_then(convention),
        repeat,
        appended: seen.appended.as_ref().and_then(Read::of),
        changed: changed(0),
        changed_again: changed(1),
        step,
        minimum,
        delay_ms: seen.delay_ms,
        answer_cache: answer_cache(seen),
        cache_model: None,
        excludes: false,
        explained: None,
        wrapper: None,
        unexplained: None,
        first_token_us: first
            .and_then(|pair| pair.first.first_token_us.zip(pair.again.first_token_us)),
        reasoning_dropped: seen
            .reasoned
            .as_ref()
            .filter(|seen| seen.ok())
            .and_then(|reasoned| {
                let without = seen.appended.as_ref()?.total?;
                Some(reasoned.total?.saturating_sub(without) < 20)
            }),
    }
}

impl Findings {
    /// Takes what was found of the cache model, and what follows for step and minimum.
    pub(super) fn conclude(&mut self, fit: Fit) {
        match fit {
            Fit::Explained {
                model,
                counts,
                wrapper,
            } => {
                if let (
                    Model::Blocks { size, drop, .. } | Model::Align { size, drop },
                    Some(step),
                ) = (&model, &mut self.step)
                {
                    (step.tokens, step.dropped) = (size.get() as u64, *drop > 0);
                }
                if let Some(minimum) = &mut self.minimum {
                    minimum.tokens = model.minimum().map(|tokens| tokens as u64);
                }
                self.explained = Some(counts);
                self.wrapper = (wrapper > 0).then_some(wrapper);
                self.cache_model = Some(model.to_string());
            }
            Fit::Nothing(nearest) => {
                let nearest = nearest.map_or(String::new(), |(model, wrong)| {
                    format!(
                        "; the nearest, `{model}`, would read {} of the prompt `{}`, where {} were read",
                        wrong.expected, wrong.what, wrong.read
                    )
                });
                self.unexplained = Some(format!(
                    "none of the known models explains these counts{nearest}"
                ));
            }
        }
    }

    /// Whether there is anything that a model could explain.
    pub(super) fn explainable(&self) -> bool {
        self.minimum.is_some()
            && self.answer_cache.is_none()
            && self.convention != Some(Convention::Contradictory)
    }
}

fn counts(seen: &[&Seen]) -> Counts {
    let good: Vec<&&Seen> = seen.iter().filter(|seen| seen.ok()).collect();
    let some = good.iter().any(|seen| seen.read.is_some());
    let all = good.iter().all(|seen| seen.read.is_some());
    match (some, all) {
        (true, true) => Counts::Reported,
        (true, false) => Counts::LeftOutWhenZero,
        _ if good.iter().any(|seen| seen.total.is_some()) => Counts::NoReads,
        _ => Counts::Nothing,
    }
}

fn convention(pair: &Pair) -> Option<Convention> {
    let (cold, warm) = (pair.first.said?, pair.again.said?);
    if pair.first.total != pair.again.total {
        return Some(Convention::Contradictory);
    }
    let total = pair.again.total?;
    Some(if cold == warm && warm == total {
        Convention::Inclusive
    } else {
        Convention::Exclusive
    })
}

/// Whether a server's own count of a prompt excludes what was read, though its
/// dialect's includes that: cold it says as much as warm and read together.
pub(super) fn excludes(pair: &Pair) -> bool {
    let parts = |seen: &Seen| {
        let included = seen.total? == seen.said?;
        let apart = seen.read.unwrap_or(0) + seen.written.unwrap_or(0);
        included.then_some((seen.said?, apart))
    };
    let (Some((cold, before)), Some((warm, apart))) = (parts(&pair.first), parts(&pair.again))
    else {
        return false;
    };
    warm < cold && cold + before == warm + apart
}

/// The step that explains every repeat; `None` where no common one does, or where
/// it is so small that it is as good as none.
pub(super) fn step(lengths: &[Pair]) -> Option<Step> {
    let hits: Vec<(u64, u64)> = lengths.iter().filter_map(Pair::hit).collect();
    let tokens = hits.iter().map(|(_, read)| *read).reduce(gcd)?;
    if hits.len() < 2 || tokens < 4 {
        return None;
    }
    let left: Vec<u64> = hits
        .iter()
        .map(|(total, read)| total.saturating_sub(read + 1))
        .collect();
    let dropped = left.iter().all(|left| *left >= tokens);
    let explained = left
        .iter()
        .all(|left| *left < tokens * if dropped { 2 } else { 1 });
    // Half a step left over excludes every divisor of it; less than half excludes
    // half the step with its last block lost.
    let (low, high) = (left.iter().min()?, left.iter().max()?);
    let sure = dropped || (*high >= tokens / 2 && *low < tokens / 2);
    explained.then_some(Step {
        tokens,
        dropped,
        sure,
    })
}

pub(super) fn gcd(a: u64, b: u64) -> u64 {
    if b == 0 { a } else { gcd(b, a % b) }
}

/// The longest prompt that did not hit (below the shortest that did), and that one.
pub(super) fn range(pairs: &[Pair]) -> (u64, u64) {
    let totals = |hit: bool| {
        let of_kind = pairs.iter().filter(move |pair| pair.is_hit() == hit);
        of_kind.filter_map(|pair| pair.again.total)
    };
    let high = totals(true).min().unwrap_or(u64::MAX);
    let low = totals(false).filter(|total| *total < high).max();
    (low.unwrap_or(0), high)
}

fn minimum(seen: &Observed) -> Option<Minimum> {
    const USUAL: [u64; 6] = [256, 512, 1_024, 1_536, 2_048, 4_096];
    let pairs: Vec<Pair> = seen.lengths.iter().chain(&seen.shorts).cloned().collect();
    let (missed, hit) = range(&pairs);
    if hit == u64::MAX {
        return None;
    }
    let need = step(&seen.lengths).map_or(0, |step| step.tokens * (1 + u64::from(step.dropped)));
    let by_step = missed <= need + 1;
    let usual = USUAL
        .into_iter()
        .find(|usual| (missed..=hit).contains(usual));
    Some(Minimum {
        missed,
        hit,
        tokens: usual.filter(|_| !by_step && missed > 64),
    })
}

fn answer_cache(seen: &Observed) -> Option<String> {
    let pairs = seen
        .lengths
        .iter()
        .flat_map(|pair| [&pair.first, &pair.again]);
    let header = pairs
        .chain(&seen.whole)
        .find_map(|seen| seen.answer_cache.clone());
    header.or_else(|| {
        let [first, second] = seen.whole.as_slice() else {
            return None;
        };
        let id = first.id.as_ref().filter(|id| !id.is_empty())?;
        (second.id.as_ref() == Some(id)).then(|| format!("two answers have the id `{id}`"))
    })
}

#[cfg(test)]
mod tests;
