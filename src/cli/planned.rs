//! Takes the plan file of a command line: by `--plan`, or in the place of scenarios.

use super::choice::{Configurations, DEFAULT_CONFIGURATIONS, Defined, Files};
use super::exit::Failure;
use crate::scenario::LoadOptions;
use crate::scenario::plan::{self, Plan};
use std::path::{Path, PathBuf};

/// The plan that was given, if one was.
///
/// Puts its scenarios in the place of those that `files` does not name, and what
/// it defines into `configurations`. Scenarios on the command line go before the
/// plan's.
///
/// # Errors
///
/// A plan that does not read, and one among scenarios.
pub(super) fn take(
    given: Option<&Path>,
    files: &mut Files,
    configurations: &mut Configurations,
) -> Result<Option<Plan>, Failure> {
    let Some(path) = file(given, files)? else {
        return Ok(None);
    };
    let options = LoadOptions {
        outside_folder: files.outside_folder,
    };
    let plan = plan::load(&path, &options).map_err(Failure::input)?;
    if files.scenarios.is_empty() {
        let paths = plan.scenarios.iter().map(|scenario| scenario.path.clone());
        files.scenarios = paths.collect();
    }
    configurations.planned = Defined {
        folder: path.parent().map(Path::to_owned).unwrap_or_default(),
        specs: plan.configurations.clone(),
    };
    Ok(Some(plan))
}

/// Configurations that are run where nobody names any: the usual ones, and those
/// that the plan defines.
pub(super) fn usual(plan: Option<&Plan>) -> Vec<String> {
    let usual = DEFAULT_CONFIGURATIONS.iter().map(|name| (*name).to_owned());
    let own = plan.iter().flat_map(|plan| plan.configurations.keys());
    usual.chain(own.cloned()).collect()
}

fn file(given: Option<&Path>, files: &mut Files) -> Result<Option<PathBuf>, Failure> {
    let named = &mut files.scenarios;
    let among = named.iter().position(|path| plan::is_plan(path));
    match (given, among) {
        (given, None) => Ok(given.map(Path::to_owned)),
        (None, Some(_)) if named.len() == 1 => Ok(named.pop()),
        (_, Some(at)) => Err(Failure::wrong(
            format!("`{}` is a plan among scenarios", named[at].display()),
            "give a plan alone, or with --plan and the scenarios that go before its own",
        )),
    }
}
