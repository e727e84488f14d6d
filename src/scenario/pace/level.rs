//! One load level: how the conversations of a cell begin.

use super::{MOST_SESSIONS, Process, Rate, number, span};
use crate::scenario::duration;
use std::fmt;
use std::path::{Path, PathBuf};
use std::str::FromStr;
use std::time::Duration;

/// So many conversations at once, or so many that begin in a unit of time.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Amount {
    /// At once: closed.
    Sessions(u32),
    /// That begin: open.
    Rate(Rate),
}

impl Amount {
    /// Whether it is a number of conversations at once.
    pub fn is_closed(self) -> bool {
        matches!(self, Self::Sessions(_))
    }

    /// As a plain number: conversations, or conversations a second.
    pub fn value(self) -> f64 {
        match self {
            Self::Sessions(sessions) => f64::from(sessions),
            Self::Rate(rate) => rate.per_second(),
        }
    }
}

impl fmt::Display for Amount {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Sessions(sessions) => write!(f, "{sessions}"),
            Self::Rate(rate) => write!(f, "{rate}"),
        }
    }
}

impl FromStr for Amount {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let text = text.trim();
        if text.contains('/') {
            return text.parse().map(Self::Rate);
        }
        let sessions = text.parse().ok().filter(|n| *n <= MOST_SESSIONS);
        sessions.map(Self::Sessions).ok_or_else(|| {
            format!("`{text}` is neither a number of conversations at once nor a rate (`2/s`)")
        })
    }
}

/// How the conversations of a cell begin. Shown and read as the records' column `load`
/// has it: `sessions=8`, `open=2/s,poisson`, `ramp=1/s..10/s,over=5m,poisson`,
/// `steps=1@30s,8@30s`, `trace=arrivals.csv`.
#[derive(Clone, Debug, PartialEq)]
pub enum Level {
    /// Closed: so many at once, the next begins when one ends. From 1.
    Sessions(u32),
    /// Open: they begin by a schedule, whatever the server does.
    Open {
        /// How many; above 0.
        rate: Rate,
        /// How they are spread.
        process: Process,
    },
    /// From one amount to another in a straight line. Both of one kind, not both 0.
    Ramp {
        /// At the beginning.
        from: Amount,
        /// At the end.
        to: Amount,
        /// How long it takes; above 0.
        over: Duration,
        /// How arrivals are spread, where the amounts are rates.
        process: Process,
    },
    /// One amount after the other, all of one kind; at least one, not all 0.
    Steps {
        /// Amounts and how long each holds, above 0.
        steps: Vec<(Amount, Duration)>,
        /// How arrivals are spread, where the amounts are rates.
        process: Process,
    },
    /// They begin when those of a recorded trace did.
    Trace {
        /// The file of their times.
        file: PathBuf,
        /// How many times as fast; above 0.
        speed: f64,
    },
}

impl Level {
    /// The word for its kind: `closed`, `open`, `ramp`, `steps` or `trace`.
    pub fn kind(&self) -> &'static str {
        match self {
            Self::Sessions(_) => "closed",
            Self::Open { .. } => "open",
            Self::Ramp { .. } => "ramp",
            Self::Steps { .. } => "steps",
            Self::Trace { .. } => "trace",
        }
    }

    /// How long conversations go on to begin, where the level itself says so.
    pub fn length(&self) -> Option<Duration> {
        match self {
            Self::Ramp { over, .. } => Some(*over),
            Self::Steps { steps, .. } => Some(steps.iter().map(|(_, span)| *span).sum()),
            Self::Sessions(_) | Self::Open { .. } | Self::Trace { .. } => None,
        }
    }

    /// What records call it: as [shown](fmt::Display), without the folder of a trace.
    pub fn label(&self) -> String {
        match self {
            Self::Trace { file, speed } => {
                let name = file.file_name().unwrap_or(file.as_os_str());
                trace(&name.to_string_lossy(), *speed)
            }
            _ => self.to_string(),
        }
    }

    /// The same level with the file of its trace looked for in `folder`.
    #[must_use]
    pub fn within(self, folder: &Path) -> Self {
        match self {
            Self::Trace { file, speed } => Self::Trace {
                file: folder.join(file),
                speed,
            },
            other => other,
        }
    }

    /// A level at which the amount does not change.
    ///
    /// # Errors
    ///
    /// An amount of 0: nothing would begin.
    pub fn steady(amount: Amount, process: Process) -> Result<Self, String> {
        match amount {
            _ if amount.value() <= 0.0 => Err("must be above 0".to_owned()),
            Amount::Sessions(sessions) => Ok(Self::Sessions(sessions)),
            Amount::Rate(rate) => Ok(Self::Open { rate, process }),
        }
    }
}

impl fmt::Display for Level {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let spread = |amount: Amount, process: Process| match amount {
            Amount::Sessions(_) => String::new(),
            Amount::Rate(_) => format!(",{process}"),
        };
        match self {
            Self::Sessions(sessions) => write!(f, "sessions={sessions}"),
            Self::Open { rate, process } => write!(f, "open={rate},{process}"),
            Self::Ramp {
                from,
                to,
                over,
                process,
            } => {
                let over = duration::shown(*over);
                write!(
                    f,
                    "ramp={from}..{to},over={over}{}",
                    spread(*from, *process)
                )
            }
            Self::Steps { steps, process } => {
                let shown: Vec<String> = steps
                    .iter()
                    .map(|(amount, span)| format!("{amount}@{}", duration::shown(*span)))
                    .collect();
                let spread = steps.first().map(|(amount, _)| spread(*amount, *process));
                write!(f, "steps={}{}", shown.join(","), spread.unwrap_or_default())
            }
            Self::Trace { file, speed } => f.write_str(&trace(&file.to_string_lossy(), *speed)),
        }
    }
}

fn trace(file: &str, speed: f64) -> String {
    if (speed - 1.0).abs() < f64::EPSILON {
        format!("trace={file}")
    } else {
        format!("trace={file},speed={speed}")
    }
}

impl FromStr for Level {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let text = text.trim();
        let (word, rest) = text.split_once('=').unwrap_or((text, ""));
        match word {
            "sessions" => match rest.parse()? {
                Amount::Rate(_) => Err(format!("`{rest}` is a rate: write `open={rest}`")),
                amount @ Amount::Sessions(_) => {
                    Self::steady(amount, Process::default()).map_err(about("sessions"))
                }
            },
            "open" => open(rest),
            "ramp" => ramp(rest),
            "steps" => steps(rest),
            "trace" => read_trace(rest),
            _ => Err(format!(
                "`{word}` is no load model: `sessions=8` (closed), `open=2/s,poisson`, \
                 `ramp=1/s..10/s,over=5m`, `steps=1@30s,8@30s` or `trace=FILE`"
            )),
        }
    }
}

fn about(what: &str) -> impl Fn(String) -> String {
    move |said| format!("`{what}` {said}")
}

fn open(text: &str) -> Result<Level, String> {
    let (rate, process) = text.split_once(',').unwrap_or((text, "poisson"));
    match rate.parse()? {
        Amount::Sessions(_) => Err(format!("`open={rate}` has no unit of time (`{rate}/s`)")),
        amount @ Amount::Rate(_) => Level::steady(amount, process.parse()?).map_err(about("open")),
    }
}

fn ramp(text: &str) -> Result<Level, String> {
    let mut parts = text.split(',');
    let (from, to) = span(parts.next().unwrap_or_default())
        .ok_or("a ramp is written `ramp=1/s..10/s,over=5m` or `ramp=1..50,over=5m`")?;
    let (from, to) = (from.parse()?, to.parse()?);
    let over = parts
        .next()
        .and_then(|part| part.trim().strip_prefix("over="));
    let over = held(over.ok_or("a ramp says how long it takes: `over=5m`")?)?;
    let process = spread(from, parts.next())?;
    nothing_more(parts.next())?;
    checked(&[from, to])?;
    Ok(Level::Ramp {
        from,
        to,
        over,
        process,
    })
}

fn steps(text: &str) -> Result<Level, String> {
    let mut steps = Vec::new();
    let mut parts = text.split(',').peekable();
    while let Some(part) = parts.next_if(|part| part.contains('@')) {
        let (amount, span) = part.split_once('@').unwrap_or_default();
        steps.push((amount.parse()?, held(span)?));
    }
    let Some(&(first, _)) = steps.first() else {
        return Err("steps are written `steps=1@30s,8@30s` or `steps=1/s@30s,4/s@1m`".to_owned());
    };
    let process = spread(first, parts.next())?;
    nothing_more(parts.next())?;
    let amounts: Vec<Amount> = steps.iter().map(|(amount, _)| *amount).collect();
    checked(&amounts)?;
    Ok(Level::Steps { steps, process })
}

/// Amounts of one kind, not all of them 0.
pub(crate) fn checked(amounts: &[Amount]) -> Result<(), String> {
    let closed = amounts.first().is_some_and(|amount| amount.is_closed());
    if amounts.iter().any(|amount| amount.is_closed() != closed) {
        return Err("mixes conversations at once with rates".to_owned());
    }
    if amounts.iter().all(|amount| amount.value() <= 0.0) {
        return Err("is 0 throughout".to_owned());
    }
    Ok(())
}

fn spread(amount: Amount, text: Option<&str>) -> Result<Process, String> {
    match text {
        Some(text) if amount.is_closed() => Err(format!(
            "`{}` spreads arrivals, and these are conversations at once",
            text.trim()
        )),
        text => text.map_or(Ok(Process::default()), str::parse),
    }
}

fn nothing_more(text: Option<&str>) -> Result<(), String> {
    text.map_or(Ok(()), |more| Err(format!("`{more}` is too much")))
}

fn held(text: &str) -> Result<Duration, String> {
    let span = duration::parse(text).map_err(|said| format!("`{}` {said}", text.trim()))?;
    if span.is_zero() {
        return Err("a duration is 0".to_owned());
    }
    Ok(span)
}

fn read_trace(text: &str) -> Result<Level, String> {
    let (file, speed) = match text.rsplit_once(",speed=") {
        Some((file, speed)) => (file, speed),
        None => (text, "1"),
    };
    if file.trim().is_empty() {
        return Err("`trace` names no file".to_owned());
    }
    let speed = number(speed).filter(|speed| (1e-6..=1e6).contains(speed));
    Ok(Level::Trace {
        file: PathBuf::from(file.trim()),
        speed: speed.ok_or("`speed` must be a number above 0, at most a million")?,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn levels_read_back_as_they_are_shown() {
        for (text, kind) in [
            ("sessions=8", "closed"),
            ("open=2/s,poisson", "open"),
            ("open=30/min,gamma=3", "open"),
            ("ramp=1/s..10/s,over=5m,constant", "ramp"),
            ("ramp=1..50,over=5m", "ramp"),
            ("ramp=0/s..5/s,over=500ms,poisson", "ramp"),
            ("steps=1@30s,8@1m", "steps"),
            ("steps=1/s@30s,0/s@10s,4/s@1m,poisson", "steps"),
            ("trace=a/b, c.csv", "trace"),
            ("trace=a.jsonl,speed=2.5", "trace"),
        ] {
            let level: Level = text.parse().unwrap();
            assert_eq!(level.to_string(), text);
            assert_eq!(level.kind(), kind);
        }
        let level: Level = "open=2/s".parse().unwrap();
        assert_eq!(level.to_string(), "open=2/s,poisson");
    }

    #[test]
    fn a_label_hides_the_folder_of_a_trace() {
        let level: Level = "trace=a/b.csv,speed=2".parse().unwrap();
        assert_eq!(level.label(), "trace=b.csv,speed=2");
        let level = level.within(Path::new("plans"));
        assert_eq!(level.to_string(), "trace=plans/a/b.csv,speed=2");
    }

    #[test]
    fn what_is_no_level_says_why() {
        for (text, said) in [
            ("8", "is no load model"),
            ("closed=8", "is no load model"),
            ("sessions=0", "must be above 0"),
            ("sessions=2/s", "write `open=2/s`"),
            ("sessions=9999999", "neither"),
            ("open=2", "no unit of time"),
            ("open=0/s", "must be above 0"),
            ("open=2/s,bursty", "no spread"),
            ("ramp=1/s,over=5m", "is written"),
            ("ramp=1/s..2/s", "`over=5m`"),
            ("ramp=1/s..2/s,over=0s", "is 0"),
            ("ramp=1..2/s,over=1m", "mixes"),
            ("ramp=0..0,over=1m", "0 throughout"),
            ("ramp=1..2,over=1m,poisson", "at once"),
            ("ramp=1/s..2/s,over=1m,poisson,x", "too much"),
            ("steps=", "are written"),
            ("steps=1@30s,2/s@30s", "mixes"),
            ("steps=1@0s", "is 0"),
            ("trace=", "no file"),
            ("trace=a,speed=0", "`speed`"),
        ] {
            let error = text.parse::<Level>().unwrap_err();
            assert!(error.contains(said), "{text}: {error}");
        }
    }

    #[test]
    fn only_ramps_and_steps_say_how_long_they_last() {
        for (text, seconds) in [
            ("sessions=8", None),
            ("open=2/s", None),
            ("ramp=1..2,over=5m", Some(300)),
            ("steps=1@30s,8@1m", Some(90)),
            ("trace=x", None),
        ] {
            let level: Level = text.parse().unwrap();
            assert_eq!(level.length(), seconds.map(Duration::from_secs), "{text}");
        }
    }
}
