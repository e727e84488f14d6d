//! What is judged: a run, or scenarios by prediction.

use super::Arguments;
use crate::analysis::Samples;
use crate::analysis::rules::{Facts, Measured, Rule, parse};
use crate::chat::UsageOrigin;
use crate::cli::assumed::{Assumed, tell_unused};
use crate::cli::choice::Files;
use crate::cli::exit::Failure;
use crate::cli::measured::{self, MeasuredRun, is_run};
use crate::cli::planned;
use crate::cli::predicted::{PREDICTED, Predicted, all};
use crate::record::{BoundRecord, Manifest, Outcome, RequestRecord};
use crate::scenario::model::Scenario;
use crate::scenario::plan::Plan;
use crate::units::grouped;
use std::path::Path;
use std::sync::Arc;

/// What rules are judged over.
pub(super) struct Subject {
    pub(super) about: String,
    pub(super) measured: Measured,
    pub(super) facts: Facts,
    pub(super) notes: Vec<String>,
    /// Rules of the plan.
    pub(super) rules: Vec<Rule>,
}

/// Reads the run, or builds and counts what the scenarios would send.
pub(super) fn subject(arguments: &mut Arguments) -> Result<Subject, Failure> {
    match arguments.inputs.as_slice() {
        [run] if is_run(run) => judged_run(&run.clone()),
        inputs => match inputs.iter().find(|input| is_run(input)) {
            None => judged_scenarios(arguments),
            Some(run) => Err(Failure::wrong(
                format!("`{}` is a run among other things", run.display()),
                "judge one run, or scenarios; a second run is what --baseline is for",
            )),
        },
    }
}

fn judged_run(dir: &Path) -> Result<Subject, Failure> {
    let MeasuredRun {
        manifest,
        samples,
        mut notes,
    } = measured::read(dir)?;
    if samples.list().is_empty() {
        let message = format!("run `{}` has no request", dir.display());
        return Err(Failure::wrong(message, "judge a run that was carried out"));
    }
    let is = |wanted: fn(&crate::analysis::Sample) -> bool| {
        samples
            .list()
            .iter()
            .filter(|sample| wanted(sample))
            .count()
    };
    let failed = is(|sample| sample.outcome != Outcome::Ok);
    let apart = is(|sample| sample.outcome == Outcome::Ok && sample.is_set_apart());
    let silent = is(|sample| {
        sample.outcome == Outcome::Ok && !sample.is_set_apart() && sample.counted().is_none()
    });
    let all = samples.list().len();
    if failed + silent + apart > 0 {
        notes.push(format!(
            "of {all} attempts {failed} failed, {silent} were answered without a usable count and \
             {apart} are set apart: shares leave them out"
        ));
    }
    let simulated = manifest.targets.iter().any(|target| target.simulated);
    let plural = if all == 1 { "" } else { "s" };
    let about = format!(
        "Measured: run `{}`, {} request{plural}{}.",
        dir.display(),
        grouped(all as u64),
        if simulated {
            ", on the embedded server (simulated)"
        } else {
            ""
        }
    );
    Ok(Subject {
        about,
        facts: Facts::from(&manifest),
        measured: Measured::run(samples, manifest.seed),
        notes,
        rules: Vec::new(),
    })
}

fn judged_scenarios(arguments: &mut Arguments) -> Result<Subject, Failure> {
    let mut files = Files {
        scenarios: arguments.inputs.clone(),
        outside_folder: arguments.outside_folder,
    };
    let configurations = &mut arguments.configurations;
    let plan = planned::take(None, &mut files, configurations)?;
    let mut own = Vec::new();
    if let Some(plan) = &plan {
        let form = &mut arguments.form;
        arguments.assumptions.follow(form, plan, &files.scenarios)?;
        if configurations.names.is_empty() {
            configurations.names = match plan.setting("config") {
                [] => planned::usual(Some(plan)),
                names => names.to_vec(),
            };
        }
        tell_unused(plan);
        own = plan_rules(plan)?;
    }
    let scenarios = files.load_all()?;
    let assumed = arguments.assumptions.resolve()?;
    let cells = all(
        &scenarios,
        configurations,
        &arguments.form,
        &assumed.model(),
    )?;
    let (mut records, mut bounds) = (Vec::new(), Vec::new());
    for Predicted { record, bound } in cells.into_iter().flat_map(|cell| cell.requests) {
        let (record, bound) = unsent(record, bound);
        records.push(record);
        bounds.push(bound);
    }
    let samples = Samples::of(&Manifest::begin(0, ""), &records, &bounds);
    let count = |number: usize, noun: &str| {
        let plural = if number == 1 { "" } else { "s" };
        format!("{number} {noun}{plural}")
    };
    Ok(Subject {
        about: format!(
            "Predicted: {} under {}, cache model {}, tokens counted with {}; nothing was sent.",
            count(scenarios.len(), "scenario"),
            count(configurations.chosen().len(), "configuration"),
            assumed.cache,
            assumed.encoder.name()
        ),
        facts: facts(&scenarios, &assumed, arguments.form.dialect.as_deref()),
        measured: Measured::prediction(samples),
        notes: Vec::new(),
        rules: own,
    })
}

/// A request that was not sent: its prompt is counted, and nothing is known of an answer.
fn unsent(mut record: RequestRecord, bound: BoundRecord) -> (RequestRecord, BoundRecord) {
    record.usage.total = bound.prompt;
    record.usage.origin = UsageOrigin::Absent;
    (record, bound)
}

/// Under what a prediction is made.
fn facts(scenarios: &[Arc<Scenario>], assumed: &Assumed, dialect: Option<&str>) -> Facts {
    let lifetime = assumed
        .lifetime_ms
        .map(|ms| ("lifetime", format!("{ms} ms")));
    let known = [
        ("cache model", assumed.cache.to_string()),
        ("tokenizer", assumed.encoder.name().to_owned()),
        ("dialect", dialect.unwrap_or("openai-chat").to_owned()),
    ];
    let known = known.into_iter().chain(lifetime);
    let known = known
        .map(|(name, value)| (name.to_owned(), value))
        .collect();
    Facts {
        targets: [(PREDICTED.to_owned(), known)].into(),
        scenarios: scenarios
            .iter()
            .map(|scenario| (scenario.name.to_string(), scenario.digest.to_string()))
            .collect(),
    }
}

fn plan_rules(plan: &Plan) -> Result<Vec<Rule>, Failure> {
    let rules = plan.rules.iter().enumerate().map(|(index, text)| {
        parse(text)
            .map_err(|error| Failure::input(plan.error("rules", index, &error.said, error.help)))
    });
    rules.collect()
}
