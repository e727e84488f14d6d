//! What a run would send and what may be expected of it, with nothing sent; and the
//! questions that this answers before a run: does it stay within what its plan allows,
//! and may it spend that much?
//!
//! Every conversation is taken to begin on a cold cache and to run alone. So the
//! achievable share holds for `--isolate conversation`; where conversations share
//! a cache it can be more, and where a cache is too small for all of them, less.

mod shown;
mod spending;
mod width;

use super::plan::{EMBEDDED, Planned};
use super::{Arguments, progress};
use crate::analysis::cost::{Moment, buckets};
use crate::cache::Model;
use crate::chat::{Usage, UsageOrigin};
use crate::cli::assumed::Stated;
use crate::cli::exit::{Exit, Failure};
use crate::cli::predicted::{self, Predicted, predicted};
use crate::cli::requests::Form;
use crate::cli::target::parse_model;
use crate::cli::targets::Entry;
use crate::cli::{output, prices, tokens};
use crate::load::{Beginning, MOST_CONVERSATIONS, Opening, Target};
use crate::record::{Price, PublicUrl, WallTime};
use crate::scenario::pace::Think;
use crate::scenario::plan::Embedded;
use crate::server::Speed;
use crate::tokens::{SharedEncoder, embedded};
use crate::units::{Money, Share, Tokens, grouped};
use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::Duration;
use tokio_util::sync::CancellationToken;

/// What prompts are counted with where the cache model is not known: that of the
/// embedded server. Nothing is said of what it returns.
const COUNTED_WITH: &str = "blocks:16";

/// What one cell would send.
struct Row {
    scenario: Arc<str>,
    configuration: String,
    target: String,
    load: Arc<str>,
    /// `None`: as many as the target gets through in the time given, which nobody knows.
    conversations: Option<u64>,
    estimate: Estimate,
    /// Whether a provider is paid for it.
    hosted: bool,
}

/// What conversations would send, and get.
#[derive(Clone, Default)]
struct Estimate {
    requests: u64,
    total: Tokens,
    output: Tokens,
    /// Of the requests that the cache model says something of; `None` where it is not
    /// known.
    achievable: Option<Share>,
    /// At least this long, by schedule and limits.
    at_least: Duration,
    /// About this long, where the target's speed is known.
    time: Option<Duration>,
    /// With nothing read and everything written, where prices are known.
    cost: Option<Money>,
}

/// What is taken for true of a target without asking it.
struct Assumed {
    form: Form,
    cache: Option<Model>,
    lifetime: Option<Duration>,
    speed: Option<Speed>,
    price: Option<Price>,
}

impl Assumed {
    /// Milliseconds that the cache keeps an entry for.
    fn kept_ms(&self) -> Option<u64> {
        self.lifetime
            .and_then(|span| u64::try_from(span.as_millis()).ok())
    }
}

/// Prints the plan of the run.
pub(super) fn run(given: &Arguments, planned: &Planned) -> Result<Exit, Failure> {
    let rows = rows(given, planned)?;
    let repeats = width::repeats(given, &rows)?;
    output::data(&shown::shown(&rows, repeats.as_deref(), planned))?;
    for warning in warnings(planned) {
        output::warn(&warning);
    }
    for over in over(&rows, planned) {
        output::warn(&format!("the run would not begin: {over}"));
    }
    if let Some(early) = early(&rows, planned) {
        output::warn(&early);
    }
    Ok(Exit::Done)
}

fn warnings(planned: &Planned) -> BTreeSet<String> {
    let scenarios = planned.scenarios.iter();
    scenarios
        .flat_map(|scenario| planned.load.warnings(&planned.beginnings(scenario)))
        .collect()
}

/// Asks what has to be asked before a run. Returns the achievable shares of its cells, in
/// their order, where these were computed: for somebody who looks on, or because of a limit.
///
/// # Errors
///
/// A run that needs more than its plan allows, and one that may spend more than is
/// spent without asking.
pub(super) async fn before(
    given: &Arguments,
    planned: &Planned,
    stop: &CancellationToken,
) -> Result<Vec<Option<Share>>, Failure> {
    for warning in warnings(planned) {
        output::warn(&warning);
    }
    let plan = planned.plan.as_ref();
    let limited = plan.is_some_and(|plan| plan.limits != crate::scenario::plan::Limits::default());
    let mut hosted = false;
    for target in &planned.targets {
        hosted |= Assumed::of(target, given, planned)?.hosted();
    }
    // With live replies the prompts are not known before.
    let watched = progress::is_watched(given.quiet) && !planned.live();
    if !limited && !hosted && !watched {
        return Ok(Vec::new());
    }
    let rows = rows(given, planned)?;
    if let Some(over) = over(&rows, planned).first() {
        return Err(Failure::wrong(
            over,
            "`--dry-run` shows what is needed; run less, or raise the limit in the plan",
        ));
    }
    if hosted && !given.yes {
        spending::ask(&rows, given, planned, stop).await?;
    }
    if planned.live() {
        return Ok(Vec::new());
    }
    Ok(rows.iter().map(|row| row.estimate.achievable).collect())
}

/// Limits of the plan that are exceeded.
fn over(rows: &[Row], planned: &Planned) -> Vec<String> {
    let limits = planned.plan.as_ref().map(|plan| plan.limits);
    let limits = limits.unwrap_or_default();
    let whole = whole(rows);
    let mut over = Vec::new();
    if let Some(limit) = limits.requests.filter(|limit| whole.requests > *limit) {
        let (needed, limit) = (grouped(whole.requests), grouped(limit));
        over.push(format!("{needed} requests, and the limit is {limit}"));
    }
    if let Some(limit) = limits.tokens.filter(|limit| whole.total > *limit) {
        let needed = whole.total;
        over.push(format!("{needed} prompt tokens, and the limit is {limit}"));
    }
    if planned.load.max_usd.is_some() && whole.cost.is_none() && rows.iter().any(Row::unpriced) {
        over.push("its cost is limited, and the price of a target is not known".to_owned());
    }
    over
}

/// What to say of a run that may reach its limit of money.
fn early(rows: &[Row], planned: &Planned) -> Option<String> {
    let (limit, cost) = (planned.load.max_usd?, whole(rows).cost?);
    (cost > limit).then(|| {
        format!(
            "the run may cost up to {} USD with nothing read from a cache, and ends before it has \
             cost more than {}",
            cost.decimal(),
            limit.decimal()
        )
    })
}

impl Row {
    fn unpriced(&self) -> bool {
        self.conversations.is_some() && self.estimate.cost.is_none()
    }
}

fn whole(rows: &[Row]) -> Estimate {
    let none = Estimate {
        time: Some(Duration::ZERO),
        cost: Some(Money(0)),
        achievable: Some(Share::default()),
        ..Estimate::default()
    };
    rows.iter().fold(none, |sum, row| {
        let Estimate {
            requests,
            total,
            output,
            achievable,
            at_least,
            time,
            cost,
        } = &row.estimate;
        Estimate {
            requests: sum.requests + requests,
            total: sum.total + *total,
            output: sum.output + *output,
            achievable: sum.achievable.zip(*achievable).map(|(a, b)| a + b),
            at_least: sum.at_least + *at_least,
            time: sum.time.zip(*time).map(|(a, b)| a + b),
            cost: sum.cost.zip(*cost).map(|(a, b)| a + b),
        }
    })
}

fn rows(given: &Arguments, planned: &Planned) -> Result<Vec<Row>, Failure> {
    let encoder: SharedEncoder = match &given.aim.tokenizer {
        Some(path) => tokens::local(path)?,
        None => embedded(),
    };
    let mut rows = Vec::new();
    for (scenario, (configurations, resources)) in planned.scenarios.iter().zip(&planned.chosen) {
        let beginnings = planned.beginnings(scenario);
        for configuration in configurations {
            for target in &planned.targets {
                let assumed = Assumed::of(target, given, planned)?;
                let stand_in = parse_model(COUNTED_WITH)?;
                let model = predicted::Model {
                    cache: assumed.cache.as_ref().unwrap_or(&stand_in),
                    encoder: &encoder,
                    lifetime_ms: assumed.kept_ms(),
                };
                let resources = Arc::clone(resources);
                let (requests, _) =
                    predicted(scenario, configuration, resources, &assumed.form, &model)?;
                let one = One {
                    estimate: estimate(&requests, &assumed),
                    turns: requests.last().map_or(0, |last| last.record.turn),
                };
                for (level, begin) in planned.load.levels.iter().zip(&beginnings) {
                    let (conversations, estimate) = one.at(begin, planned);
                    rows.push(Row {
                        scenario: Arc::clone(&scenario.name),
                        configuration: configuration.name.clone(),
                        target: PublicUrl::new(target).as_str().to_owned(),
                        load: planned.load.label(level),
                        conversations,
                        estimate,
                        hosted: assumed.hosted(),
                    });
                }
            }
        }
    }
    Ok(rows)
}

/// What one conversation needs.
struct One {
    estimate: Estimate,
    turns: u32,
}

impl One {
    /// What a cell needs whose conversations begin so. How many there are is not known
    /// where as many run as fit and nobody knows how fast the target is.
    fn at(&self, begin: &Beginning, planned: &Planned) -> (Option<u64>, Estimate) {
        let thought = planned.load.think.map(Think::mean).unwrap_or_default();
        let thought = thought.saturating_mul(self.turns.saturating_sub(1));
        let time = self.estimate.time.map(|time| time + thought);
        let ceiling = u64::from(begin.conversations);
        let (conversations, at_least, about) = match &begin.opening {
            Opening::Open(times) => {
                let last = times.last().copied().unwrap_or_default();
                (Some(ceiling), last + thought, time.map(|time| last + time))
            }
            Opening::Closed(changes) => {
                let most = changes.iter().map(|(_, sessions)| *sessions).max();
                closed(ceiling, most.unwrap_or(1), begin.until, time, thought)
            }
        };
        let mut whole = match conversations {
            Some(conversations) => self.estimate.times(conversations),
            None => Estimate {
                cost: None,
                ..Estimate::default()
            },
        };
        let minutes = planned.load.quotas.requests_per_minute.map(|a_minute| {
            // The first minute's requests may all begin at once.
            let minutes = whole.requests.saturating_sub(1) / a_minute.max(1);
            Duration::from_mins(minutes)
        });
        whole.at_least = at_least.max(minutes.unwrap_or_default());
        whole.time = about.map(|about| about.max(whole.at_least));
        if conversations.is_none() {
            whole.achievable = self.estimate.achievable;
        }
        (conversations, whole)
    }
}

/// Conversations of a closed level, how long they take at least, and about how long.
fn closed(
    ceiling: u64,
    sessions: usize,
    until: Option<Duration>,
    time: Option<Duration>,
    thought: Duration,
) -> (Option<u64>, Duration, Option<Duration>) {
    let sessions = sessions.max(1) as u64;
    let rounds = |conversations: u64| u32::try_from(conversations.div_ceil(sessions));
    let Some(until) = until else {
        let rounds = rounds(ceiling).unwrap_or(u32::MAX);
        let time = time.map(|time| time.saturating_mul(rounds));
        return (Some(ceiling), thought.saturating_mul(rounds), time);
    };
    let Some(time) = time.filter(|time| !time.is_zero()) else {
        let known = (ceiling < u64::from(MOST_CONVERSATIONS)).then_some(ceiling);
        return (known, Duration::ZERO, None);
    };
    #[expect(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "not negative; what is too large becomes the largest"
    )]
    let begun = (until.as_secs_f64() / time.as_secs_f64()).ceil() as u64;
    let conversations = begun.saturating_mul(sessions).min(ceiling);
    let rounds = rounds(conversations).unwrap_or(u32::MAX);
    (
        Some(conversations),
        Duration::ZERO,
        Some(time.saturating_mul(rounds)),
    )
}

impl Assumed {
    /// Whether a provider is paid by the token.
    fn hosted(&self) -> bool {
        self.price.is_some() && self.speed.is_none()
    }

    fn of(target: &str, given: &Arguments, planned: &Planned) -> Result<Self, Failure> {
        let mut aim = given.aim.clone();
        let stated = if target == EMBEDDED {
            let (profile, cache, lifetime) = planned.embedded(&aim)?;
            let own = Embedded {
                cache: Some(cache),
                lifetime,
            };
            aim.dialect.get_or_insert_with(|| "openai-chat".to_owned());
            Stated::embedded(aim, profile, &own)?
        } else {
            aim.target = Some(target.to_owned());
            Stated::remote(&aim, &given.files.scenarios)?
        };
        let simulated = target == EMBEDDED;
        let price = if simulated {
            None
        } else {
            price(target, &stated, given)?
        };
        Ok(Self {
            form: Form {
                max_tokens: planned.limits.max_tokens,
                ..stated.form
            },
            cache: stated.cache,
            lifetime: stated.lifetime,
            speed: simulated.then(Speed::default),
            price,
        })
    }
}

/// What a target costs, where anybody knows.
fn price(target: &str, stated: &Stated, given: &Arguments) -> Result<Option<Price>, Failure> {
    let (dialect, _) = stated.form.resolve()?;
    let mut at = Target {
        model: Arc::from(stated.form.model.as_deref().unwrap_or_default()),
        ..Target::at(target, target, dialect)
    };
    if let Some(entry) = &stated.entry {
        // Who serves a model decides what it costs.
        entry.after(&mut at);
    }
    let catalogue = prices::catalogue(given.aim.prices.as_deref())?;
    let own = stated.entry.as_ref().and_then(Entry::prices);
    prices::of(&at, own, &catalogue, &WallTime::now().date())
}

fn estimate(requests: &[Predicted], assumed: &Assumed) -> Estimate {
    let output = Tokens(u64::from(assumed.form.max_tokens));
    let mut sum = Estimate {
        time: assumed.speed.map(|_| Duration::ZERO),
        // The embedded server costs nothing.
        cost: (assumed.price.is_some() || assumed.speed.is_some()).then_some(Money(0)),
        achievable: assumed.cache.as_ref().map(|_| Share::default()),
        ..Estimate::default()
    };
    for Predicted { bound, .. } in requests {
        sum.requests += 1;
        sum.output += output;
        let Some(whole) = bound.prompt else { continue };
        sum.total += whole;
        let part = bound.bound.unwrap_or_default();
        if let (Some(achievable), Some(_)) = (&mut sum.achievable, bound.bound) {
            *achievable = *achievable + Share { part, whole };
        }
        if let (Some(time), Some(speed)) = (&mut sum.time, &assumed.speed) {
            let computed = whole.saturating_sub(part);
            *time +=
                speed.overhead + at(computed, speed.prefill_per_s) + at(output, speed.decode_per_s);
        }
        if let Some(price) = &assumed.price {
            sum.cost = sum
                .cost
                .zip(dearest(price, assumed.kept_ms(), whole, output))
                .map(|(a, b)| a + b);
        }
    }
    sum
}

fn at(tokens: Tokens, per_second: f64) -> Duration {
    Duration::try_from_secs_f64(tokens.0 as f64 / per_second).unwrap_or_default()
}

/// The most that a request may cost: nothing is read, what is billed most for newly
/// cached tokens is billed for all of them, and at the dearest hour of the week.
///
/// `None` where keeping them is charged and how long a cache keeps them is not known.
pub(super) fn dearest(
    price: &Price,
    kept_ms: Option<u64>,
    prompt: Tokens,
    output: Tokens,
) -> Option<Money> {
    let usage = Usage {
        total: Some(prompt),
        read: Some(Tokens(0)),
        write: Some(Tokens(0)),
        output: Some(output),
        origin: UsageOrigin::Reported,
        ..Usage::default()
    };
    let short = Usage {
        write: Some(prompt),
        ..usage.clone()
    };
    let long = Usage {
        write_long: Some(prompt),
        ..usage.clone()
    };
    if price.storage_hour.is_some() && kept_ms.is_none() {
        return None;
    }
    let moment = Moment {
        at_ms: None,
        kept_ms,
    };
    let at_peak = price.peak.as_ref().map(|peak| Price {
        tiers: peak.tiers.clone(),
        ..price.clone()
    });
    let most = |price: &Price| {
        let each = [&usage, &short, &long].map(|usage| buckets(price, usage, moment));
        let bills = each.into_iter().flatten().map(|buckets| buckets.sum());
        bills.max()
    };
    most(price).max(at_peak.as_ref().and_then(most))
}

impl Estimate {
    fn times(&self, conversations: u64) -> Self {
        let n = u32::try_from(conversations).unwrap_or(u32::MAX);
        let times = |tokens: Tokens| Tokens(tokens.0.saturating_mul(conversations));
        Self {
            requests: self.requests.saturating_mul(conversations),
            total: times(self.total),
            output: times(self.output),
            achievable: self.achievable.map(|Share { part, whole }| Share {
                part: times(part),
                whole: times(whole),
            }),
            at_least: Duration::ZERO,
            time: self.time.map(|time| time.saturating_mul(n)),
            cost: self.cost.map(|cost| cost * Tokens(conversations)),
        }
    }
}
