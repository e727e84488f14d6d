//! What the command line leaves open is taken from the environment and a plan.

use super::Arguments;
use crate::cli::exit::Failure;
use crate::cli::planned;
use crate::cli::settings::Settings;
use crate::cli::target::IsolateBy;
use crate::scenario::plan::Plan;

/// The plan, where there is one. Fills in what `arguments` leave open of the
/// target, and lets `settings` follow the plan in everything else.
///
/// # Errors
///
/// A plan that does not read, and a variable that does not.
pub(super) fn plan(
    arguments: &mut Arguments,
    settings: &mut Settings,
) -> Result<Option<Plan>, Failure> {
    let Arguments {
        plan,
        files,
        configurations,
        aim,
        ..
    } = arguments;
    let plan = planned::take(plan.as_deref(), files, configurations)?;
    if let Some(plan) = &plan {
        settings.follow(plan);
    }
    aim.model = settings.optional("model", aim.model.take())?;
    aim.dialect = settings.optional("dialect", aim.dialect.take())?;
    aim.wire = settings.optional("wire", aim.wire.take())?;
    aim.cache_model = settings.optional("cache-model", aim.cache_model.take())?;
    let by = settings.resolve("isolate-by", aim.isolate_by.take(), IsolateBy::default())?;
    aim.isolate_by = Some(by);
    aim.lifetime = settings.optional("lifetime", aim.lifetime.take())?;
    Ok(plan)
}
