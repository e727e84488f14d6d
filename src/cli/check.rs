//! `check`: validates scenarios.

use super::choice::Files;
use super::exit::{Exit, Failure};
use super::output;

/// Validate scenario files
#[derive(clap::Args)]
pub(super) struct Arguments {
    #[command(flatten)]
    files: Files,
}

pub(super) fn run(arguments: &Arguments) -> Result<Exit, Failure> {
    let mut wrong = 0;
    let paths = arguments.files.paths()?;
    let mut seen = std::collections::BTreeMap::new();
    for path in &paths {
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
