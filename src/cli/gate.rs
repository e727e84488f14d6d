//! `gate`: exit 3 when a rule is missed.

use super::assumed::{Assumptions, tell_unused};
use super::choice::{Configurations, Files};
use super::exit::{Exit, Failure};
use super::measured::{self, MeasuredRun, is_run};
use super::predicted::{PREDICTED, Predicted, all};
use super::requests::Form;
use super::{output, planned};
use crate::analysis::Samples;
use crate::analysis::rules::{
    Baseline, Facts, Measured, Rule, Stored, Verdicts, judge, parse, parse_file,
};
use crate::chat::UsageOrigin;
use crate::record::{BoundRecord, Manifest, Outcome, RequestRecord};
use crate::report::gate::{self as shown, Gate};
use crate::scenario::model::Scenario;
use crate::scenario::plan::Plan;
use crate::units::grouped;
use std::fs;
use std::io::{self, IsTerminal as _};
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// Judge a run, or scenarios without a server, by rules; exit 3 when one is missed
///
/// A rule compares figures: `cached_share(turn-context) >= 0.8`, `achievable_share >= baseline - 0.01`,
/// `ttft_p90_us <= 1.1 * baseline`. What it does not say of the configuration holds for each. A figure
/// without evidence decides nothing, and then the rule is not met. See docs/gate.md.
#[derive(clap::Args)]
pub(super) struct Arguments {
    /// A run folder; or scenario files, folders of them or a plan, judged by prediction
    #[arg(required = true, value_name = "RUN or SCENARIO")]
    inputs: Vec<PathBuf>,

    /// A rule; may be given several times
    #[arg(long = "rule", value_name = "RULE")]
    rules: Vec<String>,

    /// A file of rules, one a line; `#` begins a comment
    #[arg(long = "rules", value_name = "FILE")]
    files: Vec<PathBuf>,

    /// What `baseline` stands for: a run folder, or a file that --write-baseline wrote
    #[arg(long, value_name = "RUN or FILE")]
    baseline: Option<PathBuf>,

    /// Keep the figures, as the baseline of a later gate
    #[arg(long, value_name = "FILE")]
    write_baseline: Option<PathBuf>,

    /// How the verdict is printed
    #[arg(long, value_enum, default_value_t = Format::Text)]
    format: Format,

    /// Write the verdict to a file as well; .json, .xml, .md and .txt say in which form, else
    /// --format does. May be given several times
    #[arg(long, value_name = "FILE")]
    out: Vec<PathBuf>,

    #[command(flatten)]
    configurations: Configurations,

    #[command(flatten)]
    form: Form,

    #[command(flatten)]
    assumptions: Assumptions,

    /// Let scenarios name files outside their own folder
    #[arg(long)]
    outside_folder: bool,
}

#[derive(Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
enum Format {
    /// For reading
    Text,
    /// For a program
    Json,
    /// JUnit XML, for a build server
    Junit,
    /// A comment for a pull request
    Markdown,
}

/// What rules are judged over.
struct Subject {
    about: String,
    measured: Measured,
    facts: Facts,
    notes: Vec<String>,
    /// Rules of the plan.
    rules: Vec<Rule>,
}

pub(super) fn run(mut arguments: Arguments) -> Result<Exit, Failure> {
    // Before anything is computed: a typing slip is told at once.
    let mut rules = rules(&arguments)?;
    let baseline = arguments.baseline.as_deref().map(baseline).transpose()?;
    let mut subject = subject(&mut arguments)?;
    rules.append(&mut subject.rules);
    if let Some(path) = &arguments.write_baseline {
        write_baseline(path, &subject)?;
        if rules.is_empty() {
            output::tell(&format!("The baseline is in {}.", path.display()));
            return Ok(Exit::Done);
        }
    }
    if rules.is_empty() {
        return Err(Failure::wrong(
            "no rule is given",
            "give one, as --rule 'achievable_share(append-only) >= 0.8', or a file with --rules",
        ));
    }
    if let Some(baseline) = &baseline {
        subject
            .notes
            .extend(subject.facts.differences(baseline.facts()));
    }
    let verdicts = judged(&rules, &subject, baseline.as_ref())?;
    let gate = Gate {
        about: &subject.about,
        predicted: subject.measured.is_predicted(),
        notes: &subject.notes,
        verdicts: &verdicts,
    };
    for path in &arguments.out {
        let form = form_of(path).unwrap_or(arguments.format);
        written(path, &rendered(&gate, form, false)?)?;
    }
    let colour = io::stdout().is_terminal();
    output::data(&rendered(&gate, arguments.format, colour)?)?;
    Ok(if gate.is_met() {
        Exit::Done
    } else {
        Exit::RuleMissed
    })
}

fn judged(
    rules: &[Rule],
    subject: &Subject,
    baseline: Option<&Baseline>,
) -> Result<Vec<Verdicts>, Failure> {
    let judged = rules.iter().map(|rule| {
        if rule.needs_baseline() && baseline.is_none() {
            return Err(Failure::wrong(
                format!("rule `{rule}` names a baseline, and none is given"),
                "give one with --baseline: a run folder, or a file that --write-baseline wrote",
            ));
        }
        judge(rule, &subject.measured, &subject.facts, baseline)
            .map_err(|error| Failure::wrong(&error, error.help()))
    });
    judged.collect()
}

fn rules(arguments: &Arguments) -> Result<Vec<Rule>, Failure> {
    let mut rules = Vec::new();
    for text in &arguments.rules {
        rules.push(parse(text).map_err(Failure::input)?);
    }
    for path in &arguments.files {
        let text = read(path, "rules")?;
        let name = path
            .file_name()
            .unwrap_or(path.as_os_str())
            .to_string_lossy();
        rules.extend(parse_file(&name, &text).map_err(Failure::input)?);
    }
    Ok(rules)
}

fn baseline(path: &Path) -> Result<Baseline, Failure> {
    if is_run(path) {
        let MeasuredRun {
            manifest, samples, ..
        } = measured::read(path)?;
        let measured = Measured::run(samples.list().to_vec(), manifest.seed);
        return Ok(Baseline::measured(measured, Facts::from(&manifest)));
    }
    let help = "give a run folder, or a file that --write-baseline wrote";
    if path.is_dir() {
        let message = format!(
            "`{}` is not a run folder: it has no `manifest.json`",
            path.display()
        );
        return Err(Failure::wrong(message, help));
    }
    let stored = Stored::parse(&read(path, "baseline")?).map_err(|error| {
        let reason = std::error::Error::source(&error).map(|source| format!(": {source}"));
        let reason = reason.unwrap_or_default();
        Failure::wrong(
            format!("baseline `{}`: {error}{reason}", path.display()),
            help,
        )
    })?;
    Ok(Baseline::stored(stored))
}

fn read(path: &Path, what: &str) -> Result<String, Failure> {
    fs::read_to_string(path).map_err(|error| {
        let message = format!("cannot read {what} `{}`: {error}", path.display());
        Failure::new(Exit::WrongInput, message, None)
    })
}

fn subject(arguments: &mut Arguments) -> Result<Subject, Failure> {
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
    let silent = is(|sample| sample.outcome == Outcome::Ok && sample.counted().is_none());
    let all = samples.list().len();
    if failed + silent > 0 {
        notes.push(format!(
            "of {all} attempts {failed} failed and {silent} were answered without a usable count: \
             shares leave them out"
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
        measured: Measured::run(samples.list().to_vec(), manifest.seed),
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
        arguments.assumptions.follow(plan);
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
        measured: Measured::prediction(samples.list().to_vec()),
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
fn facts(
    scenarios: &[Arc<Scenario>],
    assumed: &super::assumed::Assumed,
    dialect: Option<&str>,
) -> Facts {
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

fn write_baseline(path: &Path, subject: &Subject) -> Result<(), Failure> {
    let stored = Stored::of(&subject.measured, subject.facts.clone());
    let json = stored
        .json()
        .map_err(|error| Failure::new(Exit::Unexpected, error, None))?;
    written(path, &json)
}

fn written(path: &Path, text: &str) -> Result<(), Failure> {
    fs::write(path, text).map_err(|error| {
        let message = format!("cannot write `{}`: {error}", path.display());
        Failure::new(Exit::NotWritten, message, None)
    })
}

/// The form that a file's ending names.
fn form_of(path: &Path) -> Option<Format> {
    match path.extension()?.to_str()? {
        "json" => Some(Format::Json),
        "xml" => Some(Format::Junit),
        "md" => Some(Format::Markdown),
        "txt" => Some(Format::Text),
        _ => None,
    }
}

fn rendered(gate: &Gate<'_>, format: Format, colour: bool) -> Result<String, Failure> {
    match format {
        Format::Text => Ok(shown::text(gate, colour)),
        Format::Json => {
            shown::json(gate).map_err(|error| Failure::new(Exit::Unexpected, error, None))
        }
        Format::Junit => Ok(shown::junit(gate)),
        Format::Markdown => Ok(shown::markdown(gate)),
    }
}
