//! `check`: validates scenario and plan files.

use super::choice::Files;
use super::exit::{Exit, Failure};
use super::output;
use crate::analysis::rules::parse;
use crate::scenario::{LoadOptions, plan};
use std::path::Path;

/// Validate scenario and plan files
#[derive(clap::Args)]
pub(super) struct Arguments {
    #[command(flatten)]
    files: Files,
}

pub(super) fn run(arguments: &Arguments) -> Result<Exit, Failure> {
    let mut wrong = 0_usize;
    let paths = arguments.files.paths()?;
    let mut seen = std::collections::BTreeMap::new();
    for path in &paths {
        if plan::is_plan(path) {
            wrong += usize::from(!plan_ok(arguments, path)?);
            continue;
        }
        match arguments.files.load(path) {
            Ok(scenario) => {
                let steps = scenario.steps.len();
                let plural = if steps == 1 { "" } else { "s" };
                let line = format!(
                    "{}: ok, `{}`, {steps} step{plural}\n",
                    path.display(),
                    scenario.name
                );
                output::data(&line)?;
                if let Some(other) = seen.insert(scenario.name.clone(), path.clone()) {
                    wrong += 1;
                    let other = other.display();
                    output::warn(&format!("`{}` is the name of {other} too", scenario.name));
                }
            }
            Err(failure) => {
                wrong += 1;
                output::failure(&failure);
            }
        }
    }
    Ok(if wrong == 0 {
        Exit::Done
    } else {
        Exit::WrongInput
    })
}

/// Whether the plan and every scenario that it names are valid; tells either way.
fn plan_ok(arguments: &Arguments, path: &Path) -> Result<bool, Failure> {
    let options = LoadOptions {
        outside_folder: arguments.files.outside_folder,
    };
    let plan = match plan::load(path, &options) {
        Ok(plan) => plan,
        Err(error) => {
            output::failure(&Failure::input(error));
            return Ok(false);
        }
    };
    for scenario in &plan.scenarios {
        if let Err(failure) = arguments.files.load(&scenario.path) {
            output::failure(&failure);
            return Ok(false);
        }
    }
    for (index, text) in plan.rules.iter().enumerate() {
        if let Err(error) = parse(text) {
            let error = plan.error("rules", index, &error.said, error.help);
            output::failure(&Failure::input(error));
            return Ok(false);
        }
    }
    let scenarios = plan.scenarios.len();
    let plural = if scenarios == 1 { "" } else { "s" };
    let (shown, name) = (path.display(), &plan.name);
    output::data(&format!(
        "{shown}: ok, plan `{name}`, {scenarios} scenario{plural}\n"
    ))?;
    Ok(true)
}
