//! `predict`: total, eligible and bound of every request, with no server.

use super::choice::{Configurations, Files};
use super::exit::{Exit, Failure};
use super::fleet;
use super::output;
use super::planned;
use super::predicted::{Model, Predicted, predicted};
use super::requests::Form;
use super::target::parse_model;
use super::{resources, tokens};
use crate::scenario::plan::Plan;
use crate::tokens::{SharedEncoder, embedded};
use crate::units::{Share, Tokens};
use comfy_table::{CellAlignment, Table, presets};
use serde::Serialize;
use std::path::PathBuf;
use std::sync::Arc;

/// Compute what a cache could return for every request of scenarios or a plan, without a server
#[derive(clap::Args)]
pub(super) struct Arguments {
    #[command(flatten)]
    files: Files,

    #[command(flatten)]
    configurations: Configurations,

    #[command(flatten)]
    form: Form,

    #[command(flatten)]
    fleet: fleet::FleetArguments,

    /// How the cache works (see `list cache-models`) [default: the plan's, else blocks:16]
    #[arg(long, value_name = "MODEL")]
    cache_model: Option<String>,

    /// How long an unused cache entry lives, in seconds of the scenario's time
    #[arg(long, value_name = "SECONDS", conflicts_with = "capacity")]
    lifetime: Option<u64>,

    /// A local tokenizer.json to count tokens with [default: the embedded server's]
    #[arg(long, value_name = "FILE")]
    tokenizer: Option<PathBuf>,

    /// How it is printed
    #[arg(long, value_enum, default_value_t = Format::Text)]
    format: Format,
}

#[derive(Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
enum Format {
    /// A row per scenario and configuration
    Text,
    /// One JSON object a request
    Jsonl,
}

#[derive(Serialize)]
struct Line<'a> {
    scenario: &'a str,
    configuration: &'a str,
    turn: u32,
    request: u32,
    total_tokens: Option<Tokens>,
    eligible_tokens: Option<Tokens>,
    bound_tokens: Option<Tokens>,
    #[serde(rename = "break")]
    broke: Option<BreakLine<'a>>,
}

#[derive(Serialize)]
struct BreakLine<'a> {
    origin: &'a str,
    cause: &'a str,
    byte: usize,
}

/// Sums over the requests of one scenario under one configuration.
#[derive(Default)]
struct Sums {
    requests: usize,
    total: Tokens,
    eligible: Share,
    bound: Share,
    breaks: usize,
}

/// Without `--cache-model` and a plan that states one.
const USUAL_CACHE: &str = "blocks:16";

/// Takes from a plan what the flags leave open.
fn follow(arguments: &mut Arguments) -> Result<Option<Plan>, Failure> {
    let Arguments {
        files,
        configurations,
        ..
    } = arguments;
    let Some(plan) = planned::take(None, files, configurations)? else {
        return Ok(None);
    };
    if arguments.configurations.names.is_empty() {
        arguments.configurations.names = match plan.setting("config") {
            [] => planned::usual(Some(&plan)),
            names => names.to_vec(),
        };
    }
    let first = |name| plan.setting(name).first();
    if arguments.cache_model.is_none() {
        let own = plan.embedded.cache.as_ref().map(ToString::to_string);
        arguments.cache_model = first("cache-model").cloned().or(own);
    }
    let lifetime = first("lifetime").and_then(|text| text.parse().ok());
    let own = plan.embedded.lifetime.map(|span| span.as_secs());
    arguments.lifetime = arguments.lifetime.or(lifetime).or(own);
    Ok(Some(plan))
}

pub(super) fn run(mut arguments: Arguments) -> Result<Exit, Failure> {
    let plan = follow(&mut arguments)?;
    let cache = parse_model(arguments.cache_model.as_deref().unwrap_or(USUAL_CACHE))?;
    let encoder: SharedEncoder = match &arguments.tokenizer {
        Some(path) => tokens::local(path)?,
        None => embedded(),
    };
    let lifetime_ms = arguments
        .lifetime
        .map(|seconds| seconds.saturating_mul(1000));
    let model = Model {
        cache: &cache,
        encoder: &encoder,
        lifetime_ms,
    };
    let scenarios = arguments.files.load_all()?;
    let fleets = match &plan {
        Some(plan) => arguments.fleet.following(plan),
        None => vec![arguments.fleet],
    };
    if fleets.iter().any(fleet::FleetArguments::asked_for) {
        let played = fleet::Played {
            scenarios: &scenarios,
            configurations: &arguments.configurations,
            form: &arguments.form,
            model: &model,
        };
        let jsonl = arguments.format == Format::Jsonl;
        for fleet in &fleets {
            fleet::run(fleet, &played, jsonl)?;
        }
        return Ok(Exit::Done);
    }
    let mut rows = Vec::new();
    for scenario in scenarios {
        for name in arguments.configurations.chosen() {
            let configuration = arguments.configurations.find(&name, &scenario)?;
            let chosen = [configuration.clone()];
            let files = resources::Files::read(&scenario, &chosen, &arguments.configurations)?;
            let files = Arc::new(files);
            let (requests, _) =
                predicted(&scenario, &configuration, files, &arguments.form, &model)?;
            if arguments.format == Format::Jsonl {
                requests
                    .iter()
                    .try_for_each(|one| output::data(&line(one)))?;
            }
            rows.push((scenario.name.to_string(), name, sums(&requests)));
        }
    }
    if arguments.format == Format::Text {
        output::data(&table(&rows, &cache.to_string(), encoder.name()))?;
    }
    Ok(Exit::Done)
}

fn line(one: &Predicted) -> String {
    let line = Line {
        scenario: &one.record.scenario,
        configuration: &one.record.configuration,
        turn: one.record.turn,
        request: one.record.request,
        total_tokens: one.bound.prompt,
        eligible_tokens: one.bound.eligible,
        bound_tokens: one.bound.bound,
        broke: one.bound.broke.as_ref().map(|broke| BreakLine {
            origin: broke.origin.as_str(),
            cause: &broke.cause,
            byte: broke.byte,
        }),
    };
    let mut json = serde_json::to_string(&line).unwrap_or_default();
    json.push('\n');
    json
}

fn sums(requests: &[Predicted]) -> Sums {
    let mut sums = Sums {
        requests: requests.len(),
        ..Sums::default()
    };
    for Predicted { bound, .. } in requests {
        if let (Some(whole), Some(eligible), Some(part)) =
            (bound.prompt, bound.eligible, bound.bound)
        {
            sums.eligible = sums.eligible
                + Share {
                    part: eligible,
                    whole,
                };
            sums.bound = sums.bound + Share { part, whole };
        }
        sums.total += bound.prompt.unwrap_or_default();
        sums.breaks += usize::from(bound.broke.is_some());
    }
    sums
}

/// `-` where one request has no bound.
fn computed(sums: &Sums) -> String {
    if sums.bound.whole == sums.total {
        sums.total.saturating_sub(sums.bound.part).to_string()
    } else {
        "-".to_owned()
    }
}

fn table(rows: &[(String, String, Sums)], cache: &str, encoder: &str) -> String {
    let mut table = Table::new();
    table.load_style(presets::NOTHING);
    table.set_header([
        "SCENARIO",
        "CONFIGURATION",
        "REQUESTS",
        "TOTAL",
        "ELIGIBLE",
        "ACHIEVABLE",
        "COMPUTED",
        "BREAKS",
    ]);
    for (scenario, configuration, sums) in rows {
        table.add_row([
            scenario.clone(),
            configuration.clone(),
            sums.requests.to_string(),
            sums.total.to_string(),
            sums.eligible.to_string(),
            sums.bound.to_string(),
            computed(sums),
            sums.breaks.to_string(),
        ]);
    }
    for column in table.column_iter_mut().skip(2) {
        column.set_cell_alignment(CellAlignment::Right);
    }
    format!(
        "Predicted with cache model {cache}, tokens counted with {encoder}; nothing was sent.\n\
         Eligible: share of the prompt tokens that repeat an earlier prompt. Achievable: what of \
         it the cache can return. Computed: tokens left to prefill.\n\n{}\n",
        table.trim_fmt()
    )
}
