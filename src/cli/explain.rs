//! `explain`: where each prefix broke, in which source, which step did it, what it
//! cost, and what to change.

mod worst;

use super::assumed::{Assumptions, tell_unused};
use super::choice::{Configurations, Files};
use super::exit::{Exit, Failure};
use super::measured::is_run;
use super::predicted::all;
use super::requests::Form;
use super::{output, planned};
use crate::chat::UsageOrigin;
use crate::record::{BoundRecord, RequestRecord, Run};
use crate::units::{Tokens, grouped};
use std::collections::HashMap;
use std::fmt::Write;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// Say per turn where the prefix broke, in which source, which step did it, what it cost, and
/// what to change
#[derive(clap::Args)]
pub(super) struct Arguments {
    /// Run folders, or scenario files or a plan (explained with no server)
    #[arg(required = true, value_name = "RUN or SCENARIO")]
    inputs: Vec<PathBuf>,

    #[command(flatten)]
    configurations: Configurations,

    #[command(flatten)]
    form: Form,

    /// Let scenarios name files outside their own folder
    #[arg(long)]
    outside_folder: bool,

    #[command(flatten)]
    assumptions: Assumptions,

    /// Breaks that are looked into, those that cost most first; 0 for none
    #[arg(long, value_name = "N", default_value_t = 5)]
    worst: usize,
}

pub(super) fn run(mut arguments: Arguments) -> Result<Exit, Failure> {
    let (runs, scenarios): (Vec<_>, Vec<_>) = std::mem::take(&mut arguments.inputs)
        .into_iter()
        .partition(|path| is_run(path));
    for run in &runs {
        explain_run(run, &arguments.configurations.names, arguments.worst)?;
    }
    if !scenarios.is_empty() {
        explain_scenarios(&mut arguments, scenarios)?;
    }
    Ok(Exit::Done)
}

/// Requests of one conversation, with what was computed for them.
type Requests<'a> = Vec<(&'a RequestRecord, &'a BoundRecord)>;

/// Every conversation of a run, or those of the configurations that were named.
fn explain_run(dir: &Path, names: &[String], most: usize) -> Result<(), Failure> {
    let contents = Run::read(dir)
        .and_then(Run::contents)
        .map_err(super::report::unreadable)?;
    let bounds = super::report::bounds_of(&contents)?;
    let by_key: HashMap<_, _> = bounds.iter().map(|bound| (bound.key(), bound)).collect();
    known(names, &contents.manifest)?;
    let wanted = |record: &&RequestRecord| {
        names.is_empty() || names.iter().any(|name| **name == *record.configuration)
    };
    let mut places: HashMap<&Arc<str>, usize> = HashMap::new();
    let mut conversations: Vec<(&Arc<str>, Requests<'_>)> = Vec::new();
    for record in contents.requests.iter().filter(wanted) {
        let Some(bound) = by_key.get(&record.key()) else {
            continue;
        };
        let place = *places
            .entry(&record.conversation)
            .or_insert(conversations.len());
        if place == conversations.len() {
            conversations.push((&record.conversation, Vec::new()));
        }
        conversations[place].1.push((record, bound));
    }
    for (name, requests) in &conversations {
        output::data(&explained(name, requests))?;
    }
    let slopes = worst::slopes(&contents, &bounds);
    let costs = worst::of_run(&contents, &by_key, &slopes, wanted);
    let fits = worst::fits(&contents.manifest, &slopes);
    output::data(&worst::shown(&costs, most, &fits))
}

/// Refuses the name of a configuration that the run does not have.
fn known(names: &[String], manifest: &crate::record::Manifest) -> Result<(), Failure> {
    let known: Vec<&str> = manifest
        .configurations
        .iter()
        .map(|facts| &*facts.name)
        .collect();
    match names.iter().find(|name| !known.contains(&name.as_str())) {
        None => Ok(()),
        Some(name) => Err(Failure::wrong(
            format!("the run has no configuration `{name}`"),
            format!("it has: {}", known.join(", ")),
        )),
    }
}

fn explain_scenarios(arguments: &mut Arguments, paths: Vec<PathBuf>) -> Result<(), Failure> {
    let mut files = Files {
        scenarios: paths,
        outside_folder: arguments.outside_folder,
    };
    let configurations = &mut arguments.configurations;
    if let Some(plan) = planned::take(None, &mut files, configurations)? {
        let form = &mut arguments.form;
        arguments
            .assumptions
            .follow(form, &plan, &files.scenarios)?;
        if configurations.names.is_empty() {
            configurations.names = match plan.setting("config") {
                [] => planned::usual(Some(&plan)),
                names => names.to_vec(),
            };
        }
        tell_unused(&plan);
    }
    let assumed = arguments.assumptions.resolve()?;
    let scenarios = files.load_all()?;
    let mut costs = Vec::new();
    for cell in all(
        &scenarios,
        configurations,
        &arguments.form,
        &assumed.model(),
    )? {
        let pairs: Vec<_> = cell
            .requests
            .iter()
            .map(|one| (&one.record, &one.bound))
            .collect();
        let name = format!("{}/{}", cell.scenario.name, cell.configuration);
        output::data(&explained(&name, &pairs))?;
        costs.extend(worst::of_prediction(&pairs, &cell.spans, &assumed.encoder));
    }
    worst::worst_first(&mut costs);
    output::data(&worst::shown(&costs, arguments.worst, &[]))
}

/// Tokens by which an unbroken prompt may fall short of its predecessor: the
/// words with which a template asks for an answer.
const SUFFIX: Tokens = Tokens(12);

/// The turns of one conversation, a line each, and what the breaks cost in sum.
fn explained(name: &str, requests: &[(&RequestRecord, &BoundRecord)]) -> String {
    let mut out = format!("{name}\n");
    let (mut lost, mut breaks) = (Tokens(0), 0);
    let mut before = None;
    for (record, bound) in requests {
        for event in &record.events {
            let _infallible = writeln!(out, "        {} (line {})", event.label, event.line);
        }
        if let Some(broke) = &bound.broke {
            lost += broke.lost.unwrap_or_default();
            breaks += 1;
        }
        let _infallible = writeln!(
            out,
            "  {:>2}.{:<2} {:>8} tokens, {:>8} repeat{}  {}",
            record.turn,
            record.request,
            shown(bound.prompt),
            shown(bound.eligible),
            counted(record, bound),
            place(bound, before),
        );
        before = bound.prompt;
    }
    let plural = if breaks == 1 { "" } else { "s" };
    let _infallible = writeln!(out, "  {breaks} break{plural}, {lost} tokens lost\n");
    out
}

fn shown(tokens: Option<Tokens>) -> String {
    tokens.map_or_else(|| "-".to_owned(), |tokens| grouped(tokens.0))
}

const RED: &str = "\u{1b}[31m";
const BOLD: &str = "\u{1b}[1m";
const RESET: &str = "\u{1b}[0m";

/// Where the prefix broke, or what the request goes on from. `before` is the
/// size of the conversation's previous prompt.
fn place(bound: &BoundRecord, before: Option<Tokens>) -> String {
    if let Some(broke) = &bound.broke {
        let behind = broke
            .lost
            .map_or_else(|| "unknown".to_owned(), |lost| lost.to_string());
        return format!(
            "{RED}BREAK in {}{RESET} at byte {} because of {BOLD}{}{RESET}: {behind} tokens lost behind it",
            broke.origin, broke.byte, broke.cause
        );
    }
    let Some(before) = before else {
        return "first request".to_owned();
    };
    match (bound.prompt, bound.eligible) {
        (Some(prompt), Some(eligible)) if eligible + SUFFIX < before.min(prompt) => format!(
            "returns to an earlier prompt: {} tokens of the previous one do not repeat",
            before.saturating_sub(eligible)
        ),
        _ => "goes on".to_owned(),
    }
}

/// Of a request that was sent: what the server took from its cache, and what of
/// the bound is missing. Empty where it was not sent or said nothing.
fn counted(record: &RequestRecord, bound: &BoundRecord) -> String {
    if record.usage.origin != UsageOrigin::Reported {
        return String::new();
    }
    let Some(read) = record.usage.read else {
        return String::new();
    };
    let missing = bound.bound.map(|bound| bound.saturating_sub(read));
    match missing {
        Some(missing) if missing > Tokens(0) => {
            format!(", {:>8} read, {missing} missing", grouped(read.0))
        }
        _ => format!(", {:>8} read", grouped(read.0)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn bound(prompt: u64, eligible: u64) -> BoundRecord {
        BoundRecord {
            v: 1,
            conversation: Arc::from("c"),
            turn: 2,
            request: 1,
            attempt: 1,
            prompt: Some(Tokens(prompt)),
            eligible: Some(Tokens(eligible)),
            bound: Some(Tokens(eligible)),
            cache_model: None,
            tokenizer: None,
            broke: None,
            cost: None,
            flags: Vec::new(),
        }
    }

    #[test]
    fn a_request_without_a_break_says_what_it_goes_on_from() {
        let cases = [
            (bound(100, 0), None, "first request"),
            (bound(200, 98), Some(100), "goes on"),
            (bound(100, 100), Some(400), "goes on"),
            (
                bound(300, 98),
                Some(250),
                "returns to an earlier prompt: 152 tokens of the previous one do not repeat",
            ),
        ];
        for (bound, before, expected) in cases {
            assert_eq!(place(&bound, before.map(Tokens)), expected);
        }
    }
}
