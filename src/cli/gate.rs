//! `gate`: exit 3 when a rule is missed.

mod subject;

use super::assumed::Assumptions;
use super::choice::Configurations;
use super::exit::{Exit, Failure};
use super::measured::{self, MeasuredRun, is_run};
use super::output;
use super::requests::Form;
use crate::analysis::rules::{
    Baseline, Facts, Measured, Rule, Stored, Verdicts, judge, parse, parse_file,
};
use crate::report::gate::{self as shown, Gate};
use std::fs;
use std::io::{self, IsTerminal as _};
use std::path::{Path, PathBuf};
use subject::{Subject, subject};

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
    /// `JUnit` XML, for a build server
    Junit,
    /// A comment for a pull request
    Markdown,
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
        let measured = Measured::run(samples, manifest.seed);
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
