//! A sweep: level after level, until a rule breaks.

use super::{Amount, Level, MOST_SESSIONS, Process, Rate, level, number, span};
use std::fmt;
use std::str::FromStr;

/// Most levels of a sweep.
const MOST_LEVELS: usize = 1_000;

/// Most steps of a sweep; of sessions, which are whole, several may end at the same level.
const MOST_STEPS: f64 = 100_000.0;

/// How a sweep goes from one level to the next.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Step {
    /// So many times as much; above 1.
    Times(f64),
    /// So much more; above 0.
    Plus(f64),
}

/// Levels from one amount to another, ascending: `sessions=1..64,x2`,
/// `open=1/s..32/s,+4,poisson`.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Sweep {
    from: Amount,
    to: Amount,
    step: Step,
    process: Process,
}

impl Sweep {
    /// From the lowest level to the highest that is not above the end; at least one,
    /// at most a thousand.
    pub fn levels(&self) -> Vec<Level> {
        let (from, to) = (plain(self.from), plain(self.to));
        let mut levels: Vec<Level> = Vec::new();
        let mut at = from;
        // A hair above, so that 0.1 added ten times still reaches 1.
        while at <= to * (1.0 + 1e-9) {
            let level = Level::steady(self.amount(at), self.process);
            match level {
                Ok(level) if levels.last() != Some(&level) => levels.push(level),
                _ => {}
            }
            at = match self.step {
                Step::Times(factor) => at * factor,
                Step::Plus(more) => at + more,
            };
        }
        levels
    }

    /// How many steps it takes from one end to the other.
    fn steps(&self) -> f64 {
        let (from, to) = (plain(self.from), plain(self.to));
        match self.step {
            Step::Times(factor) => (to / from).ln() / factor.ln(),
            Step::Plus(more) => (to - from) / more,
        }
    }

    fn amount(&self, at: f64) -> Amount {
        match self.from {
            Amount::Sessions(_) => {
                #[expect(
                    clippy::cast_possible_truncation,
                    clippy::cast_sign_loss,
                    reason = "clamped to what a u32 holds"
                )]
                let sessions = at.round().clamp(0.0, f64::from(MOST_SESSIONS)) as u32;
                Amount::Sessions(sessions)
            }
            // What adding and multiplying leaves behind the ninth digit is not meant.
            Amount::Rate(rate) => Amount::Rate(rate.with_number((at * 1e9).round() / 1e9)),
        }
    }
}

/// In the unit in which it was written.
fn plain(amount: Amount) -> f64 {
    match amount {
        Amount::Sessions(sessions) => f64::from(sessions),
        Amount::Rate(rate) => rate.number(),
    }
}

impl fmt::Display for Sweep {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (word, spread) = match self.from {
            Amount::Sessions(_) => ("sessions", String::new()),
            Amount::Rate(_) => ("open", format!(",{}", self.process)),
        };
        let (from, to) = (self.from, self.to);
        match self.step {
            Step::Times(factor) => write!(f, "{word}={from}..{to},x{factor}{spread}"),
            Step::Plus(more) => write!(f, "{word}={from}..{to},+{more}{spread}"),
        }
    }
}

impl FromStr for Sweep {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let help = "a sweep is written `sessions=1..64,x2` or `open=1/s..32/s,+4,poisson`";
        let (word, rest) = text.trim().split_once('=').ok_or(help)?;
        let mut parts = rest.split(',');
        let (from, to) = parts.next().and_then(span).ok_or(help)?;
        let (from, to): (Amount, Amount) = (from.parse()?, to.parse()?);
        level::checked(&[from, to])?;
        if !matches!(
            (word, from.is_closed()),
            ("sessions", true) | ("open", false)
        ) {
            return Err(help.to_owned());
        }
        let to = same_unit(from, to);
        if from.value() <= 0.0 || plain(from) > plain(to) {
            return Err("a sweep begins above 0 and ends at no less".to_owned());
        }
        let step = parts.next().and_then(step).ok_or(
            "a sweep says how it goes on: `x2` (twice as much, above 1) or `+4` (so much more)",
        )?;
        let process = match parts.next() {
            Some(_) if from.is_closed() => return Err(help.to_owned()),
            spread => spread.map_or(Ok(Process::default()), str::parse)?,
        };
        if let Some(more) = parts.next() {
            return Err(format!("`{more}` is too much"));
        }
        let sweep = Self {
            from,
            to,
            step,
            process,
        };
        if sweep.steps() > MOST_STEPS || sweep.levels().len() > MOST_LEVELS {
            return Err(format!(
                "a sweep of more than {MOST_LEVELS} levels; a larger step makes fewer"
            ));
        }
        Ok(sweep)
    }
}

/// `to` in the unit of `from`.
fn same_unit(from: Amount, to: Amount) -> Amount {
    match (from, to) {
        (Amount::Rate(from), Amount::Rate(to)) if from.per_second() > 0.0 => {
            let units: f64 = from.number() / from.per_second();
            Amount::Rate(Rate::with_number(from, to.per_second() * units))
        }
        _ => to,
    }
}

fn step(text: &str) -> Option<Step> {
    let text = text.trim();
    if let Some(factor) = text.strip_prefix('x') {
        return number(factor).filter(|f| *f > 1.0).map(Step::Times);
    }
    number(text.strip_prefix('+')?)
        .filter(|more| *more > 0.0)
        .map(Step::Plus)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_sweep_goes_from_level_to_level_up_to_its_end() {
        for (text, expected) in [
            (
                "sessions=1..10,x2",
                "sessions=1 sessions=2 sessions=4 sessions=8",
            ),
            ("sessions=2..8,+3", "sessions=2 sessions=5 sessions=8"),
            ("sessions=1..3,x1.2", "sessions=1 sessions=2 sessions=3"),
            ("sessions=4..4,x2", "sessions=4"),
            ("sessions=1..2,+0.0001", "sessions=1 sessions=2"),
            (
                "open=0.1/s..0.3/s,+0.1,constant",
                "open=0.1/s,constant open=0.2/s,constant open=0.3/s,constant",
            ),
            (
                "open=30/min..1/s,x2",
                "open=30/min,poisson open=60/min,poisson",
            ),
        ] {
            let sweep: Sweep = text.parse().unwrap();
            let levels: Vec<String> = sweep.levels().iter().map(Level::to_string).collect();
            assert_eq!(levels.join(" "), expected, "{text}");
            assert_eq!(sweep.to_string().parse(), Ok(sweep), "{text}");
        }
    }

    #[test]
    fn what_is_no_sweep_says_why() {
        for text in [
            "1..8",
            "sessions=1",
            "sessions=1..8",
            "sessions=8..1,x2",
            "sessions=0..8,x2",
            "sessions=1..8,x1",
            "sessions=1..8,+0",
            "sessions=1..8,x2,poisson",
            "sessions=1/s..8/s,x2",
            "open=1..8,x2",
            "open=1/s..8/s,x2,poisson,1",
            "ramp=1..8,x2",
            // These would go on for hours, or for ever, or end before their end.
            "sessions=1..2,+0.0000000000000000001",
            "sessions=1..2,x1.0000000000001",
            "open=1/s..2/s,+0.000001",
            "open=1/s..1001/s,+1",
            "sessions=1..1001,+1",
        ] {
            assert!(text.parse::<Sweep>().is_err(), "{text}");
        }
    }
}
