//! `explain`: where each prefix broke, in which source, which step did it.

use super::choice::{Configurations, Files};
use super::exit::{Exit, Failure};
use super::output;
use super::predicted::{Model, predicted};
use super::requests::Form;
use super::resources;
use super::target::parse_model;
use crate::record::{BoundRecord, RequestRecord, Run};
use crate::tokens::{SharedEncoder, embedded};
use crate::units::{Tokens, grouped};
use std::collections::HashMap;
use std::fmt::Write;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// Say per turn where the prefix broke, in which source, which step did it, and what it cost
#[derive(clap::Args)]
pub(super) struct Arguments {
    /// Run folders, or scenario files (explained with no server)
    #[arg(required = true, value_name = "RUN or SCENARIO")]
    inputs: Vec<PathBuf>,

    #[command(flatten)]
    configurations: Configurations,

    #[command(flatten)]
    form: Form,

    /// Let scenarios name files outside their own folder
    #[arg(long)]
    outside_folder: bool,

    /// How the cache works, for scenarios (see `list cache-models`)
    #[arg(long, value_name = "MODEL", default_value = "blocks:16")]
    cache_model: String,
}

pub(super) fn run(arguments: &Arguments) -> Result<Exit, Failure> {
    for input in &arguments.inputs {
        if input.join("manifest.json").is_file() {
            explain_run(input)?;
        } else {
            explain_scenarios(arguments, input)?;
        }
    }
    Ok(Exit::Done)
}

fn explain_run(dir: &Path) -> Result<(), Failure> {
    let contents = Run::read(dir)
        .and_then(Run::contents)
        .map_err(super::report::unreadable)?;
    let bounds = super::report::bounds_of(&contents)?;
    let by_key: HashMap<_, _> = bounds.iter().map(|bound| (bound.key(), bound)).collect();
    let mut conversations: Vec<(Arc<str>, Vec<(&RequestRecord, &BoundRecord)>)> = Vec::new();
    for record in &contents.requests {
        let Some(bound) = by_key.get(&record.key()) else {
            continue;
        };
        match conversations
            .iter_mut()
            .find(|(name, _)| *name == record.conversation)
        {
            Some((_, requests)) => requests.push((record, bound)),
            None => conversations.push((Arc::clone(&record.conversation), vec![(record, bound)])),
        }
    }
    conversations
        .iter()
        .try_for_each(|(name, requests)| output::data(&explained(name, requests)))
}

fn explain_scenarios(arguments: &Arguments, path: &Path) -> Result<(), Failure> {
    let files = Files {
        scenarios: vec![path.to_owned()],
        outside_folder: arguments.outside_folder,
    };
    let cache = parse_model(&arguments.cache_model)?;
    let encoder: SharedEncoder = embedded();
    let model = Model {
        cache: &cache,
        encoder: &encoder,
        lifetime_ms: None,
    };
    for scenario in files.load_all()? {
        for name in arguments.configurations.chosen() {
            let configuration = arguments.configurations.find(&name, &scenario)?;
            let chosen = [configuration.clone()];
            let files = resources::Files::read(&scenario, &chosen, &arguments.configurations)?;
            let (requests, _) = predicted(
                &scenario,
                &configuration,
                Arc::new(files),
                &arguments.form,
                &model,
            )?;
            let pairs: Vec<_> = requests
                .iter()
                .map(|one| (&one.record, &one.bound))
                .collect();
            output::data(&explained(&format!("{}/{name}", scenario.name), &pairs))?;
        }
    }
    Ok(())
}

/// The turns of one conversation, a line each, and what the breaks cost in sum.
fn explained(name: &str, requests: &[(&RequestRecord, &BoundRecord)]) -> String {
    let mut out = format!("{name}\n");
    let (mut lost, mut breaks) = (Tokens(0), 0);
    for (record, bound) in requests {
        for event in &record.events {
            let _infallible = writeln!(out, "        {} (line {})", event.label, event.line);
        }
        let total = bound
            .prompt
            .map_or_else(|| "-".to_owned(), |tokens| grouped(tokens.0));
        let kept = bound
            .eligible
            .map_or_else(|| "-".to_owned(), |tokens| grouped(tokens.0));
        let _infallible = write!(
            out,
            "  {:>2}.{:<2} {total:>8} tokens, {kept:>8} repeat",
            record.turn, record.request
        );
        match &bound.broke {
            None => out.push_str("  goes on\n"),
            Some(broke) => {
                lost += broke.lost.unwrap_or_default();
                let behind = broke
                    .lost
                    .map_or_else(|| "unknown".to_owned(), |lost| lost.to_string());
                breaks += 1;
                let _infallible = writeln!(
                    out,
                    "  BREAK in {} at byte {} because of {}: {behind} tokens lost behind it",
                    broke.origin, broke.byte, broke.cause
                );
            }
        }
    }
    let plural = if breaks == 1 { "" } else { "s" };
    let _infallible = writeln!(out, "  {breaks} break{plural}, {lost} tokens lost\n");
    out
}
