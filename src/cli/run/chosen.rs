//! What the command line leaves open is taken from a plan file.

use super::Arguments;
use crate::cli::choice::Defined;
use crate::cli::exit::Failure;
use crate::cli::settings::Settings;
use crate::scenario::LoadOptions;
use crate::scenario::plan::{self, Plan};
use std::path::{Path, PathBuf};

/// The plan of `--plan`, or the one that stands in the place of scenarios.
///
/// Fills in what `arguments` leave open and lets `settings` follow the plan.
/// Scenarios on the command line go before the plan's.
///
/// # Errors
///
/// A plan that does not read, and one among scenarios.
pub(super) fn plan(
    arguments: &mut Arguments,
    settings: &mut Settings,
) -> Result<Option<Plan>, Failure> {
    let plan = match file(arguments)? {
        Some(path) => Some(read(arguments, settings, &path)?),
        None => None,
    };
    let aim = &mut arguments.aim;
    aim.model = settings.optional("model", aim.model.take())?;
    aim.dialect = settings.optional("dialect", aim.dialect.take())?;
    aim.wire = settings.optional("wire", aim.wire.take())?;
    aim.cache_model = settings.optional("cache-model", aim.cache_model.take())?;
    aim.lifetime = settings.optional("lifetime", aim.lifetime.take())?;
    Ok(plan)
}

fn file(arguments: &mut Arguments) -> Result<Option<PathBuf>, Failure> {
    let named = &mut arguments.files.scenarios;
    let among = named.iter().position(|path| plan::is_plan(path));
    match (arguments.plan.clone(), among) {
        (given, None) => Ok(given),
        (None, Some(_)) if named.len() == 1 => Ok(named.pop()),
        (_, Some(at)) => Err(Failure::wrong(
            format!("`{}` is a plan among scenarios", named[at].display()),
            "give a plan alone, or with --plan and the scenarios that go before its own",
        )),
    }
}

fn read(arguments: &mut Arguments, settings: &mut Settings, path: &Path) -> Result<Plan, Failure> {
    let options = LoadOptions {
        outside_folder: arguments.files.outside_folder,
    };
    let plan = plan::load(path, &options).map_err(Failure::input)?;
    if arguments.files.scenarios.is_empty() {
        let paths = plan.scenarios.iter().map(|scenario| scenario.path.clone());
        arguments.files.scenarios = paths.collect();
    }
    arguments.configurations.planned = Defined {
        folder: path.parent().map(Path::to_owned).unwrap_or_default(),
        specs: plan.configurations.clone(),
    };
    settings.follow(&plan);
    Ok(plan)
}
