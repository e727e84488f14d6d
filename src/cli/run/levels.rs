//! How conversations begin and what holds them back: flags, variables and plan.

use crate::cli::exit::{Exit, Failure};
use crate::cli::settings::Settings;
use crate::load::limits::Quotas;
use crate::load::{Beginning, MOST_CONVERSATIONS, beginning, trace};
use crate::record::SettingOrigin;
use crate::scenario::duration;
use crate::scenario::pace::{Amount, Level, Process, Sweep, Think, Until};
use crate::units::Money;
use std::collections::BTreeSet;
use std::fmt;
use std::fs;
use std::num::{NonZeroU64, NonZeroUsize};
use std::path::{Path, PathBuf};
use std::str::FromStr;
use std::sync::Arc;
use std::time::Duration;

/// Load and limits on the command line.
#[derive(Clone, clap::Args)]
pub(super) struct LoadArguments {
    /// Conversations at once [default: 1]; several, separated by commas, are a load level each
    #[arg(long, value_name = "N", value_delimiter = ',')]
    pub(super) sessions: Vec<usize>,

    /// How conversations begin; again for further levels: `sessions=8` (closed),
    /// `open=2/s,poisson` (also `constant`, `gamma=3`), `ramp=1/s..10/s,over=5m` or
    /// `ramp=1..50,over=5m`, `steps=1@30s,8@30s`, `trace=FILE`
    #[arg(long, value_name = "LEVEL")]
    load: Vec<Level>,

    /// Level after level, from low to high: `sessions=1..64,x2`, `open=1/s..32/s,+4`
    #[arg(long, value_name = "LEVELS")]
    sweep: Option<Sweep>,

    /// End the sweep at the first level that does not keep this; may be repeated: `ttft_p90<=500ms`,
    /// `ttft_due_p90<=500ms`, `late_p99<=1ms`, `failed<=1%`, `shed<=0%`
    #[arg(long, value_name = "RULE")]
    until: Vec<Until>,

    /// Conversations begin for so long in each cell: `10m`; with --repeat, whichever ends first
    #[arg(long, value_name = "SPAN")]
    duration: Option<Span>,

    /// How long a person thinks between an answer and the next message [default: not at all]:
    /// `2s`, `uniform=1s..5s`, `exponential=5s`, `lognormal=5s,sigma=1`
    #[arg(long, value_name = "TIME")]
    think: Option<Think>,

    /// Requests in flight at a target; arrivals above it are shed, turns wait
    #[arg(long, value_name = "N")]
    in_flight: Option<NonZeroUsize>,

    /// Requests that may begin in any minute, for each target
    #[arg(long, value_name = "N")]
    requests_per_minute: Option<NonZeroU64>,

    /// Tokens, of prompts and answers, in any minute, for each target
    #[arg(long, value_name = "N")]
    tokens_per_minute: Option<NonZeroU64>,

    /// US dollars that the run may cost; it ends before the sum is exceeded
    #[arg(long, value_name = "USD")]
    pub(super) max_usd: Option<Usd>,

    /// The longest wait that a server may ask for [default: 1m]
    #[arg(long, value_name = "SPAN")]
    longest_wait: Option<Span>,
}

impl LoadArguments {
    /// Files of traces, each with what names it.
    pub(super) fn traces(&self) -> impl Iterator<Item = (String, PathBuf)> {
        self.load.iter().filter_map(|level| match level {
            Level::Trace { file, .. } => Some((format!("--load {level}"), file.clone())),
            _ => None,
        })
    }
}

/// A duration as people write it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Span(pub(super) Duration);

impl FromStr for Span {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        match duration::parse(text) {
            Ok(span) if span.is_zero() => Err("must be above 0".to_owned()),
            Ok(span) => Ok(Self(span)),
            Err(said) => Err(format!("it {said} (`30s`, `10m`, `1h30m`)")),
        }
    }
}

impl fmt::Display for Span {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&duration::shown(self.0))
    }
}

/// An amount of US dollars.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Usd(pub(super) Money);

impl FromStr for Usd {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let amount = text.trim().parse::<f64>().ok();
        let amount = amount.filter(|usd| usd.is_finite() && (0.0..=1e9).contains(usd));
        #[expect(
            clippy::cast_possible_truncation,
            reason = "at most 1e21, and an i128 holds 1e38"
        )]
        amount
            .map(|usd| Self(Money((usd * 1e12).round() as i128)))
            .ok_or_else(|| "it is no amount of dollars, 0 or more".to_owned())
    }
}

impl fmt::Display for Usd {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0.decimal())
    }
}

/// How the cells of a run begin.
pub(super) struct Load {
    /// At least one.
    pub(super) levels: Vec<Planned>,
    /// The levels are a sweep, which ends where one of these breaks.
    pub(super) sweep: Option<Vec<Until>>,
    pub(super) think: Option<Think>,
    /// Conversations a cell, where a number was set.
    repeat: Option<u32>,
    duration: Option<Duration>,
    /// Whether the cells are interleaved.
    pub(super) shuffled: bool,
    pub(super) quotas: Quotas,
    pub(super) max_usd: Option<Money>,
    pub(super) longest_wait: Duration,
}

/// One load level with what it needs to be run.
pub(super) struct Planned {
    pub(super) level: Level,
    /// What records call it.
    pub(super) label: Arc<str>,
    trace: Vec<Duration>,
}

impl Load {
    /// Numbers of streams that the client is worth measuring at before: those of
    /// closed levels; what a schedule opens at once only its server knows.
    pub(super) fn streams(&self) -> Vec<usize> {
        let closed = self.levels.iter().filter_map(|of| match of.level {
            Level::Sessions(sessions) => usize::try_from(sessions).ok(),
            _ => None,
        });
        let closed: BTreeSet<usize> = closed.collect();
        if closed.is_empty() {
            return vec![self.quotas.in_flight.unwrap_or(16)];
        }
        closed.into_iter().collect()
    }

    pub(super) fn new(
        given: &LoadArguments,
        repeat: Option<u32>,
        settings: &mut Settings,
    ) -> Result<Self, Failure> {
        let (levels, sweep) = levels(given, settings)?;
        let think = settings.optional("think", given.think)?;
        let duration = settings.optional("duration", given.duration)?;
        let repeat = settings.optional("repeat", repeat)?;
        let bounded = |level: &Level| {
            duration.is_some() || level.length().is_some() || level.kind() == "trace"
        };
        if repeat.is_none() && !levels.iter().all(bounded) {
            // Of those that do not end by themselves, and of no others.
            settings.resolve("repeat", None, 1)?;
        }
        if repeat == Some(0) {
            return Err(Failure::wrong("`--repeat` is 0", "it must be at least 1"));
        }
        let quotas = Quotas {
            requests_per_minute: settings
                .optional("requests-per-minute", given.requests_per_minute)?
                .map(NonZeroU64::get),
            tokens_per_minute: settings
                .optional("tokens-per-minute", given.tokens_per_minute)?
                .map(NonZeroU64::get),
            in_flight: settings
                .optional("in-flight", given.in_flight)?
                .map(NonZeroUsize::get),
        };
        let longest = Span(Duration::from_mins(1));
        let load = Self {
            levels: levels.into_iter().map(planned).collect::<Result<_, _>>()?,
            sweep,
            think,
            repeat,
            duration: duration.map(|Span(span)| span),
            shuffled: false,
            quotas,
            max_usd: settings
                .optional("max-usd", given.max_usd)?
                .map(|usd| usd.0),
            longest_wait: settings
                .resolve("longest-wait", given.longest_wait, longest)?
                .0,
        };
        load.labels_differ()?;
        Ok(load)
    }

    fn labels_differ(&self) -> Result<(), Failure> {
        let mut seen = BTreeSet::new();
        let mut labels = self.levels.iter().map(|level| &level.label);
        match labels.find(|label| !seen.insert(Arc::clone(label))) {
            Some(twice) => Err(Failure::wrong(
                format!("load level `{twice}` is named twice"),
                "records could not be told apart; take one of them out",
            )),
            None => Ok(()),
        }
    }

    /// Refuses a weight that nothing would follow: where a level itself says when it ends,
    /// it cannot go on for several times as long, and it is not counted.
    pub(super) fn weighs(&self, scenario: &str, weight: u32) -> Result<(), Failure> {
        let mut levels = self.levels.iter().map(|planned| &planned.level);
        let by_itself = levels.find(|level| level.length().is_some() || level.kind() == "trace");
        match by_itself.filter(|_| weight > 1 && self.repeat.is_none()) {
            Some(level) => Err(Failure::wrong(
                format!(
                    "scenario `{scenario}` has the weight {weight}, and `{}` ends by itself: nothing would be \
                     run more often",
                    level.label()
                ),
                "leave out the weight, say how many by --repeat, or use a level of one rate or \
                 number with --duration: a weight multiplies both",
            )),
            None => Ok(()),
        }
    }

    /// How a cell at `level` begins, whose scenario has this weight: so many times as many
    /// conversations, or for so many times as long.
    pub(super) fn beginning(&self, level: &Planned, weight: u32, seed: u64) -> Beginning {
        let ends = self.duration.is_some()
            || level.level.length().is_some()
            || level.level.kind() == "trace";
        let count = match self.repeat {
            None if ends => None,
            repeat => Some(repeat.unwrap_or(1).saturating_mul(weight)),
        };
        let duration = self.duration.map(|span| span.saturating_mul(weight));
        beginning(&level.level, count, duration, &level.trace, seed)
    }

    /// Whether conversations may run side by side.
    pub(super) fn overlaps(&self) -> bool {
        let mut levels = self.levels.iter();
        levels.any(|planned| planned.level != Level::Sessions(1))
    }

    /// What records call `level`.
    pub(super) fn label(&self, level: &Planned) -> Arc<str> {
        match self.think {
            Some(think) => Arc::from(format!("{},think={think}", level.label)),
            None => Arc::clone(&level.label),
        }
    }

    /// What a person should know of it before it begins.
    pub(super) fn warnings(&self, beginnings: &[Beginning]) -> Vec<String> {
        let mut warnings = Vec::new();
        for (planned, beginning) in self.levels.iter().zip(beginnings) {
            if self.shuffled && beginning.opening.round() == usize::MAX {
                warnings.push(format!(
                    "`{}` is a schedule and is not cut: its cells come in random order, each as a whole; \
                     a drift of the server within one meets that one alone",
                    planned.label
                ));
            }
            let Level::Sessions(sessions) = planned.level else {
                continue;
            };
            if self.sweep.is_some() && sessions > beginning.conversations {
                warnings.push(format!(
                    "`{}` is never reached by {} conversations in a cell; give more by --repeat, or \
                     a --duration",
                    planned.label, beginning.conversations
                ));
            }
        }
        warnings
    }
}

/// The levels, by the first of those who name any: flags, variables, plan.
fn levels(
    given: &LoadArguments,
    settings: &mut Settings,
) -> Result<(Vec<Level>, Option<Vec<Until>>), Failure> {
    let ways = [
        ("sessions", !given.sessions.is_empty()),
        ("load", !given.load.is_empty()),
        ("sweep", given.sweep.is_some()),
    ];
    let named = ways.map(|(name, flag)| (name, settings.who(name, flag)));
    let mut named: Vec<(&str, SettingOrigin)> = named
        .into_iter()
        .filter_map(|(name, who)| Some((name, who?)))
        .collect();
    named.sort_by_key(|(_, who)| rank(*who));
    if let [(one, first), (other, second), ..] = named.as_slice()
        && first == second
    {
        return Err(Failure::wrong(
            format!("`{one}` and `{other}` both say how conversations begin"),
            "name one of `sessions`, `load` and `sweep`",
        ));
    }
    let rules = if goes_before(&named, settings.who("until", !given.until.is_empty())) {
        settings.note("until", Vec::<String>::new(), true);
        Vec::new()
    } else {
        settings.list("until", &given.until, Vec::new())?
    };
    match named.first() {
        Some(("load", _)) => {
            no_rules(&rules)?;
            let levels = settings.list("load", &given.load, Vec::new())?;
            Ok((levels, None))
        }
        Some(("sweep", _)) => {
            let sweep = settings.optional("sweep", given.sweep)?;
            let levels = sweep.map(|sweep| sweep.levels()).unwrap_or_default();
            Ok((levels, Some(rules)))
        }
        _ => {
            no_rules(&rules)?;
            let sessions = settings.list("sessions", &given.sessions, vec![1])?;
            let levels = sessions.into_iter().map(|sessions| {
                let amount = sessions.to_string().parse::<Amount>();
                let level = amount.and_then(|amount| Level::steady(amount, Process::default()));
                level.map_err(|said| {
                    Failure::wrong(
                        format!("`--sessions` {said}"),
                        "it must be from 1 to 1,000,000",
                    )
                })
            });
            Ok((levels.collect::<Result<_, _>>()?, None))
        }
    }
}

/// Whether levels that are no sweep were named by somebody who goes before him who named
/// rules: then the rules go with the sweep that is not run.
fn goes_before(named: &[(&str, SettingOrigin)], rules: Option<SettingOrigin>) -> bool {
    let Some(((way, who), rules)) = named.first().copied().zip(rules) else {
        return false;
    };
    way != "sweep" && rank(who) < rank(rules)
}

fn no_rules(rules: &[Until]) -> Result<(), Failure> {
    match rules.first() {
        Some(rule) => Err(Failure::wrong(
            format!("the rule `{rule}` ends a sweep, and there is none"),
            "name the levels by --sweep, or hold results against rules by `gate`",
        )),
        None => Ok(()),
    }
}

fn rank(who: SettingOrigin) -> u8 {
    match who {
        SettingOrigin::Flag => 0,
        SettingOrigin::Env => 1,
        SettingOrigin::Plan => 2,
        SettingOrigin::Default => 3,
    }
}

fn planned(level: Level) -> Result<Planned, Failure> {
    let trace = match &level {
        Level::Trace { file, .. } => arrivals(file)?,
        _ => Vec::new(),
    };
    Ok(Planned {
        label: Arc::from(level.label()),
        level,
        trace,
    })
}

fn arrivals(file: &Path) -> Result<Vec<Duration>, Failure> {
    let help =
        "a trace is JSONL or CSV with a time in `at_s`, `at_ms`, `at_us` or `timestamp` (ms)";
    let shown = file.display();
    let text = fs::read_to_string(file)
        .map_err(|error| Failure::wrong(format!("cannot read trace `{shown}`: {error}"), help))?;
    let arrivals = trace::parse(&text)
        .map_err(|error| Failure::wrong(format!("trace `{shown}`: {error}"), help))?;
    if arrivals.len() > MOST_CONVERSATIONS as usize {
        return Err(Failure::new(
            Exit::WrongInput,
            format!("trace `{shown}` has more than {MOST_CONVERSATIONS} arrivals"),
            Some("cut it, or replay a part of it".to_owned()),
        ));
    }
    Ok(arrivals)
}

#[cfg(test)]
#[path = "levels_tests.rs"]
mod tests;
