//! What the cells of a run would send, and what all of them come to.

use super::assumed::Assumed;
use super::begun::{Begun, Closed};
use super::beside::{self, Beside};
use super::one::{Amounts, One};
use super::pace::Taken;
use super::whole::Whole;
use crate::cli::exit::Failure;
use crate::cli::predicted::{self, predicted};
use crate::cli::run::Arguments;
use crate::cli::run::plan::{EMBEDDED, Planned};
use crate::cli::target::parse_model;
use crate::cli::tokens;
use crate::load::limits::Quotas;
use crate::load::{Beginning, MOST_CONVERSATIONS, Named, Opening};
use crate::record::Shard;
use crate::scenario::model::Replies;
use crate::scenario::pace::Think;
use crate::tokens::{SharedEncoder, embedded};
use crate::units::Share;
use std::sync::Arc;
use std::time::Duration;

/// What prompts are counted with where the cache model is not known: that of the
/// embedded server. Nothing is said of what it returns.
const COUNTED_WITH: &str = "blocks:16";

/// What one cell would send.
pub(super) struct Row {
    pub(super) scenario: Arc<str>,
    pub(super) configuration: String,
    pub(super) target: String,
    pub(super) load: Arc<str>,
    /// `None`: as many as the target gets through in the time given, which nobody knows.
    pub(super) conversations: Option<u64>,
    /// What is measured, and what is sent beside it at most.
    pub(super) measured: Amounts,
    pub(super) beside: Amounts,
    pub(super) achievable: Option<Share>,
    /// Whether a provider is paid for it.
    pub(super) hosted: bool,
    /// Whether it is known what a request costs.
    pub(super) priced: bool,
    pub(super) span: Span,
}

/// How long a cell takes by itself, and what it takes of its target's minutes.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Span {
    pub(super) at_least: Duration,
    pub(super) about: Option<Duration>,
    pub(super) quotas: Quotas,
    /// Of what is measured, without answers.
    pub(super) least: Taken,
    /// Of all that is usually sent, with answers of full length.
    pub(super) usual: Taken,
}

/// What is looked at.
#[derive(Clone, Copy, Debug)]
pub(super) struct Part {
    /// Only what this shard runs.
    shard: Option<Shard>,
    /// Processes that run side by side.
    processes: u32,
}

impl Part {
    /// What this process does.
    pub(super) fn own(planned: &Planned) -> Self {
        Self {
            shard: planned.shard,
            processes: 1,
        }
    }

    /// What all shards do.
    pub(super) fn all(planned: &Planned) -> Self {
        Self {
            shard: None,
            processes: planned.shard.map_or(1, |shard| shard.count),
        }
    }
}

/// The conversations of a run, one of each kind.
pub(super) struct Outlook {
    targets: Vec<Assumed>,
    /// By scenario, configuration and target.
    kinds: Vec<Kind>,
}

struct Kind {
    scenario: usize,
    configuration: String,
    target: usize,
    one: One,
}

impl Outlook {
    pub(super) fn new(given: &Arguments, planned: &Planned) -> Result<Self, Failure> {
        let encoder: SharedEncoder = match &given.aim.tokenizer {
            Some(path) => tokens::local(path)?,
            None => embedded(),
        };
        let targets = planned.targets.iter();
        let targets: Vec<Assumed> = targets
            .map(|target| Assumed::of(target, given, planned))
            .collect::<Result<_, _>>()?;
        let stand_in = parse_model(COUNTED_WITH)?;
        let mut kinds = Vec::new();
        let chosen = planned.scenarios.iter().zip(&planned.chosen).enumerate();
        for (number, (scenario, (configurations, resources))) in chosen {
            for configuration in configurations {
                for (target, assumed) in targets.iter().enumerate() {
                    let model = predicted::Model {
                        cache: assumed.cache.as_ref().unwrap_or(&stand_in),
                        encoder: &encoder,
                        lifetime_ms: assumed.kept_ms(),
                    };
                    let resources = Arc::clone(resources);
                    let (requests, _) =
                        predicted(scenario, configuration, resources, &assumed.form, &model)?;
                    kinds.push(Kind {
                        scenario: number,
                        configuration: configuration.name.clone(),
                        target,
                        one: One::of(&requests, assumed, scenario.replies == Replies::Live),
                    });
                }
            }
        }
        Ok(Self { targets, kinds })
    }

    /// What `part` of the run comes to. Rows are in the order of the cells.
    pub(super) fn whole(&self, planned: &Planned, part: Part) -> Whole {
        let scenarios = planned.scenarios.iter();
        let beginnings: Vec<Vec<Beginning>> = scenarios
            .map(|scenario| planned.beginnings(scenario))
            .collect();
        let mut rows = Vec::new();
        for kind in &self.kinds {
            let levels = planned.load.levels.iter();
            for (level, begin) in levels.zip(&beginnings[kind.scenario]) {
                let load = planned.load.label(level);
                rows.push(self.row(planned, part, (kind, load, begin)));
            }
        }
        let probed = planned.targets.iter().zip(&self.targets);
        let probed = probed.filter(|(target, _)| planned.probes && *target != EMBEDDED);
        // Each process probes for itself.
        let probing = probed.map(|(_, assumed)| {
            let each = beside::probing(assumed);
            (assumed.hosted(), each.times(u64::from(part.processes)))
        });
        let probing = probing.collect();
        Whole::of(rows, probing)
    }

    fn row(&self, planned: &Planned, part: Part, cell: (&Kind, Arc<str>, &Beginning)) -> Row {
        let (kind, load, begin) = cell;
        let assumed = &self.targets[kind.target];
        let scenario = Arc::clone(&planned.scenarios[kind.scenario].name);
        let named = Named {
            scenario: &scenario,
            configuration: &kind.configuration,
            target: &assumed.name,
            load: &load,
        };
        let own = |repeat: u32| {
            part.shard
                .is_none_or(|shard| named.runs(shard, planned.isolate, repeat))
        };
        let one = &kind.one;
        let begun = begun(one, begin, planned, part, own);
        let begun = held_back(begun, one, begin, (assumed.quotas, part));
        let (measured, aside, beside) = match begun.conversations {
            Some(conversations) => {
                let aside = Beside::of(planned, assumed, conversations, part.processes);
                (one.all.times(conversations), aside, aside.amounts(one))
            }
            None => (Amounts::UNKNOWN, Beside::default(), Amounts::UNKNOWN),
        };
        let conversations = begun.conversations.unwrap_or_default();
        let output = u64::from(assumed.form.max_tokens);
        let answered: Vec<u64> = one.prompts.iter().map(|prompt| prompt + output).collect();
        let first = answered.first().map_or(&[][..], std::slice::from_ref);
        let quotas = assumed.quotas;
        let usual = Taken::by(&answered, conversations, quotas);
        let warmed = one.first_time.map(|time| {
            let times = u32::try_from(aside.usual).unwrap_or(u32::MAX);
            time.saturating_mul(times)
        });
        Row {
            scenario,
            configuration: kind.configuration.clone(),
            target: assumed.shown.clone(),
            load,
            conversations: begun.conversations,
            measured,
            beside,
            achievable: achievable(one, begun.conversations),
            hosted: assumed.hosted(),
            priced: one.all.cost.is_some(),
            span: Span {
                at_least: begun.at_least,
                about: begun.about.zip(warmed).map(|(own, warmed)| own + warmed),
                quotas,
                least: Taken::by(&one.prompts, conversations, quotas),
                usual: usual.and(Taken::by(first, aside.usual, quotas)),
            },
        }
    }
}

/// The share of so many conversations; of a number that nobody knows that of one.
fn achievable(one: &One, conversations: Option<u64>) -> Option<Share> {
    let n = conversations.unwrap_or(1).max(1);
    one.achievable.map(
        |Share {
             mut part,
             mut whole,
         }| {
            (part.0, whole.0) = (part.0.saturating_mul(n), whole.0.saturating_mul(n));
            Share { part, whole }
        },
    )
}

/// How many conversations of the cell begin in `part`, of which `own` are, and how long
/// that takes.
fn begun(
    one: &One,
    begin: &Beginning,
    planned: &Planned,
    part: Part,
    own: impl Fn(u32) -> bool,
) -> Begun {
    let thought = planned.load.think.map(Think::mean).unwrap_or_default();
    let thought = thought.saturating_mul(one.turns.saturating_sub(1));
    let time = one.time.map(|time| time + thought);
    match &begin.opening {
        Opening::Open(times) => {
            let arrivals = (1..).zip(times.iter());
            let arrivals = arrivals.filter(|(repeat, _)| own(*repeat));
            let (count, last) = arrivals.fold((0, None), |(n, _), (_, at)| (n + 1, Some(*at)));
            Begun {
                conversations: Some(count),
                at_least: last.map_or(Duration::ZERO, |last| last + thought),
                about: time.map(|time| last.map_or(Duration::ZERO, |last| last + time)),
            }
        }
        Opening::Closed(changes) => {
            let processes = part.processes as usize;
            let changes: Vec<(Duration, usize)> = changes
                .iter()
                .map(|(at, seats)| (*at, seats.saturating_mul(processes)))
                .collect();
            // More than can begin is not counted one by one.
            let countless = begin.conversations >= MOST_CONVERSATIONS;
            let ceiling = if part.shard.is_none() || countless {
                u64::from(begin.conversations)
            } else {
                (1..=begin.conversations)
                    .filter(|repeat| own(*repeat))
                    .count() as u64
            };
            let closed = Closed {
                changes: &changes,
                until: begin.until,
                ceiling,
                one: time,
                thought,
            };
            closed.begun()
        }
    }
}

/// Fewer begin within a time where quotas hold them back: as many as these let through,
/// and those that are then on their way.
fn held_back(begun: Begun, one: &One, begin: &Beginning, held: (Quotas, Part)) -> Begun {
    let (quotas, Part { processes, .. }) = held;
    let (Opening::Closed(changes), Some(until)) = (&begin.opening, begin.until) else {
        return begun;
    };
    let taken = Taken::by(&one.prompts, 1, quotas);
    let Some(requests) = taken.within(until, quotas) else {
        return begun;
    };
    let seats = changes.iter().map(|(_, seats)| *seats).max().unwrap_or(1);
    let each = requests.div_ceil(taken.requests.max(1)) + seats as u64;
    let through = each.saturating_mul(u64::from(processes));
    Begun {
        conversations: begun.conversations.map(|all| all.min(through)),
        ..begun
    }
}
