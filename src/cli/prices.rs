//! Which prices hold for a target.

use super::exit::Failure;
use super::targets::Prices;
use crate::analysis::prices::Catalogue;
use crate::load::{Engine, Target};
use crate::record::Price;
use std::path::Path;

/// The prices in `file`, else those that come with the program.
pub(super) fn catalogue(file: Option<&Path>) -> Result<Catalogue, Failure> {
    let Some(path) = file else {
        return Ok(Catalogue::shipped());
    };
    let help = "a price file has the form of the one that comes with the program (src/analysis/prices.json)";
    let text = std::fs::read_to_string(path).map_err(|error| {
        Failure::wrong(
            format!("cannot read prices `{}`: {error}", path.display()),
            help,
        )
    })?;
    Catalogue::parse(&text).map_err(|error| {
        let cause = std::error::Error::source(&error).map(|cause| format!(": {cause}"));
        let cause = cause.unwrap_or_default();
        Failure::wrong(format!("prices `{}`: {error}{cause}", path.display()), help)
    })
}

/// The price of `target` on `date`: what its entry states, else that of its
/// model. A model that one serves oneself costs nothing by the token, whatever
/// its name, unless the entry says so.
pub(super) fn of(
    target: &Target,
    stated: Option<&Prices>,
    catalogue: &Catalogue,
    date: &str,
) -> Result<Option<Price>, Failure> {
    match stated {
        Some(Prices::Amounts(price)) => Ok(Some(Price::clone(price))),
        Some(Prices::Model(model)) => match catalogue.find(model, date) {
            Some(price) => Ok(Some(price.clone())),
            None => Err(Failure::wrong(
                format!(
                    "`{model}`, which target `{}` names, has no price on {date}",
                    target.name
                ),
                "give amounts in its entry, or a price file with --prices",
            )),
        },
        None if matches!(target.engine, Engine::Vllm | Engine::LlamaCpp) => Ok(None),
        None => Ok(catalogue.find(&target.model, date).cloned()),
    }
}
