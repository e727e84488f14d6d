//! `list`: the registries.

use super::exit::{Exit, Failure};
use super::output;
use crate::context::{keeps, registry, strategy};
use comfy_table::{ContentArrangement, Table, presets};
use std::path::PathBuf;

/// List what can be named in scenarios and on the command line
#[derive(clap::Args)]
pub(super) struct Arguments {
    /// Which registry
    #[arg(value_enum)]
    what: What,

    /// With `targets`: the file [default: targets.yaml in this folder]
    #[arg(long, value_name = "FILE")]
    targets: Option<PathBuf>,
}

#[derive(Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
enum What {
    /// Ways of building prompts
    Configurations,
    /// Wire formats
    Dialects,
    /// Pieces of context, in canonical order
    Sources,
    /// Steps of a scenario
    Steps,
    /// Models of prefix caches
    CacheModels,
    /// Profiles of the embedded server
    Profiles,
    /// Charts of a report
    Charts,
    /// Vendors, gateways and servers, and what is known of each
    Targets,
}

/// What a registry says of itself: a header and its rows.
struct Listing {
    header: &'static [&'static str],
    rows: Vec<Vec<String>>,
}

pub(super) fn run(arguments: &Arguments) -> Result<Exit, Failure> {
    let listing = match arguments.what {
        What::Targets => {
            output::data(&super::targets::listing(arguments.targets.as_deref())?)?;
            return Ok(Exit::Done);
        }
        What::Configurations => configurations(),
        What::Dialects => pairs(
            crate::provider::DIALECTS
                .iter()
                .map(|one| (one.name(), one.about())),
        ),
        What::Sources => sources(),
        What::Steps => steps(),
        What::CacheModels => pairs(crate::cache::MODELS.iter().copied()),
        What::Profiles => pairs(
            crate::server::PROFILES
                .iter()
                .map(|one| (one.name, one.about)),
        ),
        What::Charts => pairs(crate::chart::CHARTS.iter().map(|one| (one.name, one.help))),
    };
    let mut table = Table::new();
    table
        .load_style(presets::NOTHING)
        .set_content_arrangement(ContentArrangement::Dynamic);
    table.set_header(listing.header);
    table.add_rows(listing.rows);
    output::data(&format!("{}\n", table.trim_fmt()))?;
    Ok(Exit::Done)
}

fn pairs<'a>(entries: impl Iterator<Item = (&'a str, &'a str)>) -> Listing {
    Listing {
        header: &["NAME", "WHAT IT IS"],
        rows: entries
            .map(|(name, about)| vec![name.to_owned(), about.to_owned()])
            .collect(),
    }
}

fn configurations() -> Listing {
    let row = |kind: &strategy::StrategyKind| {
        let keeps = keeps::keeps(kind.name).map(keeps::Keeps::shown);
        vec![
            kind.name.to_owned(),
            keeps.unwrap_or_default(),
            kind.about.to_owned(),
        ]
    };
    Listing {
        header: &["NAME", "KEEPS ALL FACTS", "WHAT IT IS"],
        rows: strategy::STRATEGIES.iter().map(row).collect(),
    }
}

fn steps() -> Listing {
    let kinds = crate::scenario::step_kinds();
    Listing {
        header: &["NAME", "WHAT IT IS"],
        rows: kinds
            .into_iter()
            .map(|(name, about)| vec![name, about])
            .collect(),
    }
}

fn sources() -> Listing {
    let row = |source: &registry::Source| {
        vec![
            source.key.to_owned(),
            source.class.as_str().to_owned(),
            source.about.to_owned(),
        ]
    };
    Listing {
        header: &["KEY", "CLASS", "WHAT IT IS"],
        rows: registry::SOURCES.iter().map(row).collect(),
    }
}
