//! What a run would send and what may be expected of it, with nothing sent.
//!
//! Every conversation is taken to begin on a cold cache and to run alone. So the
//! achievable share holds for `--isolate conversation`; where conversations share
//! a cache it can be more, and where a cache is too small for all of them, less.

use super::Arguments;
use super::plan::{EMBEDDED, Planned};
use crate::analysis::cost::{bill, bill_uncached};
use crate::cache::Model;
use crate::chat::{Family, Usage, UsageOrigin};
use crate::cli::exit::{Exit, Failure};
use crate::cli::predicted::{self, Predicted, predicted};
use crate::cli::requests::Form;
use crate::cli::target::{Aim, parse_model};
use crate::cli::{output, prices, targets, tokens};
use crate::load::Target;
use crate::record::{Price, PublicUrl, WallTime};
use crate::server::Speed;
use crate::tokens::{SharedEncoder, embedded};
use crate::units::{Money, Share, Tokens, grouped};
use comfy_table::{CellAlignment, Table, presets};
use std::sync::Arc;
use std::time::Duration;

/// Cache model of a target that states none.
const UNSTATED: &str = "blocks:16";

/// What one cell would send.
struct Row {
    scenario: Arc<str>,
    configuration: String,
    target: String,
    sessions: usize,
    conversations: u64,
    estimate: Estimate,
}

/// What conversations would send, and get.
#[derive(Clone, Default)]
struct Estimate {
    requests: u64,
    total: Tokens,
    output: Tokens,
    /// Of the requests that the cache model says something of.
    achievable: Share,
    /// One after the other, where the speed is known.
    time: Option<Duration>,
    /// With nothing read and everything written, where prices are known.
    cost: Option<Money>,
}

/// What is taken for true of a target without asking it.
struct Assumed {
    form: Form,
    cache: Model,
    lifetime: Option<Duration>,
    speed: Option<Speed>,
    price: Option<Price>,
}

/// Prints the plan of the run.
pub(super) fn run(given: &Arguments, planned: &Planned) -> Result<Exit, Failure> {
    let rows = rows(given, planned)?;
    output::data(&shown(&rows, planned))?;
    for over in over(&rows, planned) {
        output::warn(&format!("the run would not begin: {over}"));
    }
    Ok(Exit::Done)
}

/// Refuses a run that would need more than its plan allows.
pub(super) fn within_limits(given: &Arguments, planned: &Planned) -> Result<(), Failure> {
    let Some(plan) = &planned.plan else {
        return Ok(());
    };
    if plan.limits == crate::scenario::plan::Limits::default() {
        return Ok(());
    }
    match over(&rows(given, planned)?, planned).first() {
        None => Ok(()),
        Some(over) => Err(Failure::wrong(
            over,
            "`--dry-run` shows what is needed; run less, or raise the limit in the plan",
        )),
    }
}

/// Limits that are exceeded, or that cannot be kept because the price is not known.
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
    match (limits.cost, whole.cost) {
        (Some(limit), Some(cost)) if cost > limit => over.push(format!(
            "up to {} USD, and the limit is {}",
            cost.decimal(),
            limit.decimal()
        )),
        (Some(_), None) => {
            over.push(
                "the plan limits the cost, and the price of a target is not known".to_owned(),
            );
        }
        _ => {}
    }
    over
}

fn whole(rows: &[Row]) -> Estimate {
    let none = Estimate {
        time: Some(Duration::ZERO),
        cost: Some(Money(0)),
        ..Estimate::default()
    };
    rows.iter().fold(none, |sum, row| {
        let Estimate {
            requests,
            total,
            output,
            achievable,
            time,
            cost,
        } = &row.estimate;
        let sessions = u32::try_from(row.sessions.max(1)).unwrap_or(u32::MAX);
        Estimate {
            requests: sum.requests + requests,
            total: sum.total + *total,
            output: sum.output + *output,
            achievable: sum.achievable + *achievable,
            time: sum.time.zip(*time).map(|(a, b)| a + b / sessions),
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
        let conversations = u64::from(planned.repeats(scenario));
        for configuration in configurations {
            for target in &planned.targets {
                let assumed = Assumed::of(target, given, planned)?;
                let model = predicted::Model {
                    cache: &assumed.cache,
                    encoder: &encoder,
                    lifetime_ms: assumed
                        .lifetime
                        .and_then(|span| u64::try_from(span.as_millis()).ok()),
                };
                let resources = Arc::clone(resources);
                let (requests, _) =
                    predicted(scenario, configuration, resources, &assumed.form, &model)?;
                let one = estimate(&requests, &assumed);
                for &sessions in &planned.sessions {
                    rows.push(Row {
                        scenario: Arc::clone(&scenario.name),
                        configuration: configuration.name.clone(),
                        target: PublicUrl::new(target).as_str().to_owned(),
                        sessions,
                        conversations,
                        estimate: one.times(conversations),
                    });
                }
            }
        }
    }
    Ok(rows)
}

impl Assumed {
    fn of(target: &str, given: &Arguments, planned: &Planned) -> Result<Self, Failure> {
        let form = |aim: &Aim| Form {
            dialect: aim.dialect.clone(),
            wire: aim.wire.clone(),
            model: aim.model.clone().unwrap_or_default(),
            max_tokens: planned.limits.max_tokens,
        };
        if target == EMBEDDED {
            let (_, cache, lifetime) = planned.embedded(&given.aim)?;
            let mut form = form(&given.aim);
            let openai = matches!(form.dialect.as_deref(), None | Some("openai-chat"));
            if form.wire.is_none() && openai {
                form.wire = Some(Family::Compatible.as_str().to_owned());
                form.dialect.get_or_insert_with(|| "openai-chat".to_owned());
            }
            return Ok(Self {
                form,
                cache: given.aim.cache_model()?.unwrap_or(cache),
                lifetime,
                speed: Some(Speed::default()),
                price: None,
            });
        }
        let aim = Aim {
            target: Some(target.to_owned()),
            ..given.aim.clone()
        };
        let entry = targets::named(&aim, &given.files.scenarios)?;
        let aim = entry.as_ref().map_or(aim.clone(), |entry| entry.aim(&aim));
        let form = form(&aim);
        let (dialect, _) = form.resolve()?;
        let mut stated = Target {
            model: Arc::from(form.model.as_str()),
            cache: aim.cache_model()?,
            lifetime: aim.lifetime.map(Duration::from_secs),
            ..Target::at(target, target, dialect)
        };
        if let Some(entry) = &entry {
            entry.after(&mut stated);
        }
        let catalogue = prices::catalogue(aim.prices.as_deref())?;
        let own = entry.as_ref().and_then(targets::Entry::prices);
        let price = prices::of(&stated, own, &catalogue, &WallTime::now().date())?;
        Ok(Self {
            form,
            cache: match stated.cache {
                Some(cache) => cache,
                None => parse_model(UNSTATED)?,
            },
            lifetime: stated.lifetime,
            speed: None,
            price,
        })
    }
}

fn estimate(requests: &[Predicted], assumed: &Assumed) -> Estimate {
    let output = Tokens(u64::from(assumed.form.max_tokens));
    let mut sum = Estimate {
        time: assumed.speed.map(|_| Duration::ZERO),
        // The embedded server costs nothing.
        cost: (assumed.price.is_some() || assumed.speed.is_some()).then_some(Money(0)),
        ..Estimate::default()
    };
    for Predicted { bound, .. } in requests {
        sum.requests += 1;
        sum.output += output;
        let Some(whole) = bound.prompt else { continue };
        sum.total += whole;
        let part = bound.bound.unwrap_or_default();
        if bound.bound.is_some() {
            sum.achievable = sum.achievable + Share { part, whole };
        }
        if let (Some(time), Some(speed)) = (&mut sum.time, &assumed.speed) {
            let computed = whole.saturating_sub(part);
            *time +=
                speed.overhead + at(computed, speed.prefill_per_s) + at(output, speed.decode_per_s);
        }
        if let Some(price) = &assumed.price {
            sum.cost = sum
                .cost
                .zip(dearest(price, whole, output))
                .map(|(a, b)| a + b);
        }
    }
    sum
}

fn at(tokens: Tokens, per_second: f64) -> Duration {
    Duration::try_from_secs_f64(tokens.0 as f64 / per_second).unwrap_or_default()
}

/// The most that a request may cost: nothing is read, and what is billed most for
/// newly cached tokens is billed for all of them.
fn dearest(price: &Price, prompt: Tokens, output: Tokens) -> Option<Money> {
    let usage = Usage {
        total: Some(prompt),
        read: Some(Tokens(0)),
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
    let written = [bill(price, &short), bill(price, &long)];
    written
        .into_iter()
        .flatten()
        .chain(bill_uncached(price, &usage))
        .max()
}

impl Estimate {
    fn times(&self, conversations: u64) -> Self {
        let n = u32::try_from(conversations).unwrap_or(u32::MAX);
        let times = |tokens: Tokens| Tokens(tokens.0.saturating_mul(conversations));
        Self {
            requests: self.requests.saturating_mul(conversations),
            total: times(self.total),
            output: times(self.output),
            achievable: Share {
                part: times(self.achievable.part),
                whole: times(self.achievable.whole),
            },
            time: self.time.map(|time| time.saturating_mul(n)),
            cost: self.cost.map(|cost| cost * Tokens(conversations)),
        }
    }
}

fn shown(rows: &[Row], planned: &Planned) -> String {
    let mut table = Table::new();
    table.load_style(presets::NOTHING);
    table.set_header([
        "SCENARIO",
        "CONFIGURATION",
        "TARGET",
        "SESSIONS",
        "CONVERSATIONS",
        "REQUESTS",
        "PROMPT TOKENS",
        "ACHIEVABLE",
    ]);
    for row in rows {
        table.add_row([
            row.scenario.to_string(),
            row.configuration.clone(),
            row.target.clone(),
            row.sessions.to_string(),
            row.conversations.to_string(),
            grouped(row.estimate.requests),
            row.estimate.total.to_string(),
            row.estimate.achievable.to_string(),
        ]);
    }
    for column in table.column_iter_mut().skip(3) {
        column.set_cell_alignment(CellAlignment::Right);
    }
    let whole = whole(rows);
    format!(
        "{}\n\nNothing was sent. {} cells, {} requests, {} prompt tokens, at most {} output \
         tokens.\n{}\n{}\n",
        table.trim_fmt(),
        rows.len(),
        grouped(whole.requests),
        whole.total,
        whole.output,
        assumptions(planned),
        bounds(&whole),
    )
}

fn assumptions(planned: &Planned) -> String {
    let shared = match planned.isolate.as_str() {
        "conversation" => "",
        _ => " Conversations share a cache here, so it may be more.",
    };
    format!(
        "Achievable: what a cache of the target's model ({UNSTATED} where it is not stated) can \
         return to conversations that begin cold, one at a time.{shared}"
    )
}

fn bounds(whole: &Estimate) -> String {
    let time = match whole.time {
        Some(time) => format!("about {:.1} s on the embedded server", time.as_secs_f64()),
        None => "not known: the target's speed is not".to_owned(),
    };
    let cost = match whole.cost {
        Some(Money(0)) => "nothing".to_owned(),
        Some(cost) => format!(
            "at most {} USD, with nothing read from a cache and no request sent twice",
            cost.decimal()
        ),
        None => "not known: name a model that has a price with --model".to_owned(),
    };
    format!("Time: {time}. Cost: {cost}.")
}
