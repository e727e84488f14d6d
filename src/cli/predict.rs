//! `predict`: total, eligible and bound of every request, with no server.

use super::assumed::{Assumptions, tell_unused};
use super::choice::{Configurations, Files};
use super::exit::{Exit, Failure};
use super::fleet;
use super::output;
use super::planned;
use super::predicted::{Predicted, PredictedCell, all};
use super::requests::Form;
use crate::scenario::plan::Plan;
use crate::units::{Share, Tokens};
use comfy_table::{CellAlignment, Table, presets};
use serde::Serialize;

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

    #[command(flatten)]
    assumptions: Assumptions,

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

/// A row of the table.
struct Row {
    scenario: String,
    configuration: String,
    sums: Sums,
}

impl Row {
    fn of(cell: &PredictedCell) -> Self {
        Self {
            scenario: cell.scenario.name.to_string(),
            configuration: cell.configuration.clone(),
            sums: sums(&cell.requests),
        }
    }
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
    arguments
        .assumptions
        .follow(&mut arguments.form, &plan, &arguments.files.scenarios)?;
    Ok(Some(plan))
}

pub(super) fn run(mut arguments: Arguments) -> Result<Exit, Failure> {
    let plan = follow(&mut arguments)?;
    let assumed = arguments.assumptions.resolve()?;
    let model = assumed.model();
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
    if let Some(plan) = &plan {
        tell_unused(plan);
    }
    let cells = all(
        &scenarios,
        &arguments.configurations,
        &arguments.form,
        &model,
    )?;
    match arguments.format {
        Format::Text => {
            let rows: Vec<_> = cells.iter().map(Row::of).collect();
            let cache = assumed.cache.to_string();
            output::data(&table(&rows, &cache, assumed.encoder.name()))?;
        }
        Format::Jsonl => {
            let requests = cells.iter().flat_map(|cell| &cell.requests);
            let mut lines = requests.map(line);
            lines.try_for_each(|line| output::data(&line))?;
        }
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

fn table(rows: &[Row], cache: &str, encoder: &str) -> String {
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
    for Row {
        scenario,
        configuration,
        sums,
    } in rows
    {
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
