//! What is assumed of a cache where no server is asked.

use super::exit::Failure;
use super::output;
use super::predicted::Model;
use super::target::parse_model;
use super::tokens;
use crate::cache;
use crate::scenario::plan::Plan;
use crate::tokens::{SharedEncoder, embedded};
use std::path::PathBuf;

/// Without `--cache-model` and a plan that states one.
const USUAL_CACHE: &str = "blocks:16";

/// How the cache of a prediction works.
#[derive(Debug, Default, clap::Args)]
pub(super) struct Assumptions {
    /// How the cache works (see `list cache-models`) [default: the plan's, else blocks:16]
    #[arg(long, value_name = "MODEL")]
    cache_model: Option<String>,

    /// How long an unused cache entry lives, in seconds of the scenario's time
    #[arg(long, value_name = "SECONDS")]
    lifetime: Option<u64>,

    /// A local tokenizer.json to count tokens with [default: the embedded server's]
    #[arg(long, value_name = "FILE")]
    tokenizer: Option<PathBuf>,
}

/// Settings of a plan that a prediction of one conversation has no use for.
const UNUSED: &[&str] = &[
    "sessions",
    "repeat",
    "target",
    "isolate",
    "order",
    "seed",
    "max-tokens",
];

impl Assumptions {
    /// Takes from a plan what the flags leave open.
    pub(super) fn follow(&mut self, plan: &Plan) {
        let first = |name| plan.setting(name).first();
        if self.cache_model.is_none() {
            let own = plan.embedded.cache.as_ref().map(ToString::to_string);
            self.cache_model = first("cache-model").cloned().or(own);
        }
        let lifetime = first("lifetime").and_then(|text| text.parse().ok());
        let own = plan.embedded.lifetime.map(|span| span.as_secs());
        self.lifetime = self.lifetime.or(lifetime).or(own);
        if self.tokenizer.is_none() {
            self.tokenizer = first("tokenizer").map(PathBuf::from);
        }
    }

    /// The cache model, the encoder and the lifetime.
    pub(super) fn resolve(&self) -> Result<Assumed, Failure> {
        let cache = parse_model(self.cache_model.as_deref().unwrap_or(USUAL_CACHE))?;
        let encoder: SharedEncoder = match &self.tokenizer {
            Some(path) => tokens::local(path)?,
            None => embedded(),
        };
        Ok(Assumed {
            cache,
            encoder,
            lifetime_ms: self.lifetime.map(|seconds| seconds.saturating_mul(1000)),
        })
    }
}

/// [`Assumptions`], read.
pub(super) struct Assumed {
    pub(super) cache: cache::Model,
    pub(super) encoder: SharedEncoder,
    pub(super) lifetime_ms: Option<u64>,
}

impl Assumed {
    pub(super) fn model(&self) -> Model<'_> {
        Model {
            cache: &self.cache,
            encoder: &self.encoder,
            lifetime_ms: self.lifetime_ms,
        }
    }
}

/// Tells which of a plan's settings play no part where conversations are
/// predicted one at a time on a cache of their own.
pub(super) fn tell_unused(plan: &Plan) {
    let mut unused: Vec<&str> = UNUSED
        .iter()
        .copied()
        .filter(|name| !plan.setting(name).is_empty())
        .collect();
    if plan.scenarios.iter().any(|scenario| scenario.weight > 1) {
        unused.push("weight");
    }
    if !unused.is_empty() {
        output::warn(&format!(
            "one conversation of each scenario is predicted, on a cache of its own: of plan `{}` the \
             settings {} play no part",
            plan.name,
            unused.join(", ")
        ));
    }
}
