//! When the conversations of a cell begin: pure functions of a level and the seed.
//!
//! Arrivals are made by stretching time. Gaps of mean 1 are drawn and summed; the sum
//! at which the rate's integral reaches it is the arrival. So one function serves a
//! steady rate, a ramp and steps, and the number of arrivals in any stretch has the
//! mean that its rate says.
//!
//! Invariants: the same level and seed give the same times on every machine; times
//! ascend; nothing here knows a clock or waits for anybody.

use crate::chat::Digest;
use crate::scenario::pace::{Amount, Level, MOST_SESSIONS, Process, Think};
use rand::SeedableRng;
use rand_chacha::ChaCha8Rng;
use rand_distr::{Distribution, Exp1, Gamma, LogNormal, Uniform};
use std::sync::Arc;
use std::time::Duration;

/// Most conversations of one cell.
pub const MOST_CONVERSATIONS: u32 = 1_000_000;

/// A generator for one purpose: what is drawn for another follows from nothing of it.
pub(super) fn drawn_for(purpose: &str, seed: u64) -> ChaCha8Rng {
    ChaCha8Rng::from_seed(Digest::of(format!("{purpose} {seed}").as_bytes()).0)
}

/// How the conversations of a cell begin.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Opening {
    /// So many at once from each instant on; the first instant is 0.
    Closed(Arc<[(Duration, usize)]>),
    /// Each at its instant, ascending, whatever became of the others.
    Open(Arc<[Duration]>),
}

impl Opening {
    /// So many at once, always.
    pub fn sessions(sessions: usize) -> Self {
        Self::Closed(Arc::from([(Duration::ZERO, sessions)]))
    }

    /// How many conversations make one round of an interleaved order: a closed level
    /// is made of as many as run at once; a schedule is one whole.
    pub fn round(&self) -> usize {
        match self {
            Self::Closed(changes) => match **changes {
                [(_, sessions)] => sessions,
                _ => usize::MAX,
            },
            Self::Open(_) => usize::MAX,
        }
    }
}

/// How many conversations a cell has, and how they begin.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Beginning {
    /// At most so many conversations.
    pub conversations: u32,
    /// Whether there are so many, unless time ends them before; else as many as begin in
    /// the time given.
    pub counted: bool,
    /// None begins later than this after the cell's start.
    pub until: Option<Duration>,
    /// How they begin.
    pub opening: Opening,
}

/// How a cell at `level` begins, where `count` conversations were asked for (`None`:
/// as many as fit) and none is to begin after `duration`.
///
/// `trace` holds the arrivals of a trace, which a level only names. A count is at most
/// [`MOST_CONVERSATIONS`].
pub fn beginning(
    level: &Level,
    count: Option<u32>,
    duration: Option<Duration>,
    trace: &[Duration],
    seed: u64,
) -> Beginning {
    let until = [duration, level.length()].into_iter().flatten().min();
    let most = count.unwrap_or(MOST_CONVERSATIONS).min(MOST_CONVERSATIONS);
    let closed = |changes: Vec<(Duration, usize)>| Beginning {
        conversations: most,
        counted: count.is_some() || until.is_none(),
        until,
        opening: Opening::Closed(Arc::from(changes)),
    };
    let open = |times: &mut dyn Iterator<Item = Duration>| {
        let within = times.take_while(|at| until.is_none_or(|until| *at < until));
        let times: Arc<[Duration]> = within.take(most as usize).collect();
        Beginning {
            conversations: u32::try_from(times.len()).unwrap_or(u32::MAX),
            counted: true,
            until,
            opening: Opening::Open(times),
        }
    };
    let purpose = format!("arrivals {}", level.label());
    let rng = drawn_for(&purpose, seed);
    match level {
        Level::Sessions(sessions) => closed(vec![(Duration::ZERO, *sessions as usize)]),
        Level::Open { rate, process } => {
            let pieces = vec![Piece::forever(rate.per_second())];
            open(&mut Arrivals::new(pieces, *process, rng))
        }
        Level::Ramp { from, to, over, .. } if from.is_closed() => {
            closed(changes(*from, *to, *over))
        }
        Level::Ramp {
            from,
            to,
            over,
            process,
        } => {
            let piece = Piece {
                from: from.value(),
                to: to.value(),
                over: over.as_secs_f64(),
            };
            open(&mut Arrivals::new(vec![piece], *process, rng))
        }
        Level::Steps { steps, .. } if steps[0].0.is_closed() => closed(stairs(steps)),
        Level::Steps { steps, process } => {
            let pieces = steps.iter().map(|(amount, span)| Piece {
                from: amount.value(),
                to: amount.value(),
                over: span.as_secs_f64(),
            });
            open(&mut Arrivals::new(pieces.collect(), *process, rng))
        }
        Level::Trace { speed, .. } => {
            let faster = |at: &Duration| Duration::try_from_secs_f64(at.as_secs_f64() / speed);
            open(&mut trace.iter().map_while(|at| faster(at).ok()))
        }
    }
}

/// A ramp of conversations at once: one more, or one less, at even distances.
fn changes(from: Amount, to: Amount, over: Duration) -> Vec<(Duration, usize)> {
    let (Amount::Sessions(from), Amount::Sessions(to)) = (from, to) else {
        return Vec::new();
    };
    let many = from.abs_diff(to);
    let at = |change: u32| {
        let part = f64::from(change) / f64::from(many.max(1));
        let sessions = if to > from {
            from + change
        } else {
            from - change
        };
        (over.mul_f64(part), sessions as usize)
    };
    (0..=many).map(at).collect()
}

fn stairs(steps: &[(Amount, Duration)]) -> Vec<(Duration, usize)> {
    let mut at = Duration::ZERO;
    let mut changes = Vec::new();
    for (amount, span) in steps {
        if let Amount::Sessions(sessions) = amount {
            changes.push((at, (*sessions).min(MOST_SESSIONS) as usize));
        }
        at += *span;
    }
    changes
}

/// A stretch of time over which a rate goes in a straight line from one value to another.
#[derive(Clone, Copy, Debug)]
struct Piece {
    /// A second, at the beginning.
    from: f64,
    /// A second, at the end.
    to: f64,
    /// Seconds.
    over: f64,
}

impl Piece {
    fn forever(rate: f64) -> Self {
        Self {
            from: rate,
            to: rate,
            over: f64::INFINITY,
        }
    }

    /// Arrivals that it has on average.
    fn whole(self) -> f64 {
        if self.over.is_infinite() {
            return f64::INFINITY;
        }
        f64::midpoint(self.from, self.to) * self.over
    }

    /// Seconds from its beginning at which `mean` arrivals are to be expected: where
    /// `from x + slope x^2 / 2` is `mean`, in the form that loses no digits.
    fn at(self, mean: f64) -> f64 {
        let slope = if self.over.is_infinite() {
            0.0
        } else {
            (self.to - self.from) / self.over
        };
        let root = (self.from * self.from + 2.0 * slope * mean).max(0.0).sqrt();
        let below = self.from + root;
        if below > 0.0 { 2.0 * mean / below } else { 0.0 }
    }
}

/// Arrivals, ascending; ends where the pieces do.
struct Arrivals {
    pieces: Vec<Piece>,
    process: Process,
    rng: ChaCha8Rng,
    /// Sum of the gaps drawn so far; `None` before the first.
    sum: Option<f64>,
    /// Position of the piece that the last arrival was in, the seconds and the mean
    /// arrivals before it.
    piece: usize,
    before: (f64, f64),
}

impl Arrivals {
    fn new(pieces: Vec<Piece>, process: Process, rng: ChaCha8Rng) -> Self {
        Self {
            pieces,
            process,
            rng,
            sum: None,
            piece: 0,
            before: (0.0, 0.0),
        }
    }

    /// A gap of mean 1.
    fn gap(&mut self) -> f64 {
        match self.process {
            // The first of an even spread comes at once.
            Process::Constant if self.sum.is_none() => 0.0,
            Process::Constant => 1.0,
            Process::Poisson => Exp1.sample(&mut self.rng),
            Process::Gamma(variation) => {
                let scale = variation * variation;
                // Refused only where shape or scale is not above 0.
                Gamma::new(1.0 / scale, scale).map_or(1.0, |gamma| gamma.sample(&mut self.rng))
            }
        }
    }
}

impl Iterator for Arrivals {
    type Item = Duration;

    fn next(&mut self) -> Option<Duration> {
        let gap = self.gap();
        let sum = self.sum.unwrap_or(0.0) + gap;
        self.sum = Some(sum);
        loop {
            let piece = *self.pieces.get(self.piece)?;
            let (seconds, mean) = self.before;
            let whole = piece.whole();
            if sum - mean < whole {
                return Duration::try_from_secs_f64(seconds + piece.at(sum - mean)).ok();
            }
            self.before = (seconds + piece.over, mean + whole);
            self.piece += 1;
        }
    }
}

/// Think times of one conversation, one a turn; the same for every configuration and
/// target, so that these are compared over the same pauses.
pub(super) struct Thinking {
    think: Think,
    rng: ChaCha8Rng,
}

impl Thinking {
    /// Of the conversation that is `repeat` of `scenario`.
    pub(super) fn new(think: Think, scenario: &str, repeat: u32, seed: u64) -> Self {
        Self {
            think,
            rng: drawn_for(&format!("think {scenario} {repeat}"), seed),
        }
    }

    /// The next one; at most a day, which no person thinks.
    pub(super) fn draw(&mut self) -> Duration {
        const LONGEST: Duration = Duration::from_hours(24);
        let rng = &mut self.rng;
        let seconds = match self.think {
            Think::Fixed(span) => return span.min(LONGEST),
            Think::Uniform { from, to } => {
                let both = Uniform::new_inclusive(from.as_secs_f64(), to.as_secs_f64());
                both.map_or(from.as_secs_f64(), |both| both.sample(rng))
            }
            Think::Exponential { mean } => {
                let draw: f64 = Exp1.sample(rng);
                mean.as_secs_f64() * draw
            }
            Think::Lognormal { median, sigma } => {
                let factor = LogNormal::new(0.0, sigma).map_or(1.0, |factor| factor.sample(rng));
                median.as_secs_f64() * factor
            }
        };
        Duration::try_from_secs_f64(seconds)
            .unwrap_or(LONGEST)
            .min(LONGEST)
    }
}

#[cfg(test)]
#[path = "arrivals_tests.rs"]
mod tests;
