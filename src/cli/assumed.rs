//! What is assumed of a cache where no server is asked.

use super::exit::Failure;
use super::predicted::Model;
use super::requests::{Form, dialect};
use super::target::{Aim, EMBEDDED, parse_model};
use super::{output, serve, targets, tokens};
use crate::cache;
use crate::chat::Family;
use crate::load::Target;
use crate::record::PublicUrl;
use crate::scenario::plan::{Embedded, Plan};
use crate::server::{PROFILES, Profile};
use crate::tokens::{SharedEncoder, embedded};
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

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
    "isolate",
    "isolate-by",
    "warm-up",
    "eviction-probe",
    "order",
    "seed",
    "max-tokens",
];

impl Assumptions {
    /// Takes from a plan what the flags leave open: what its target is, the first of
    /// several. Nothing is sent there.
    ///
    /// # Errors
    ///
    /// A target or a profile that nobody knows.
    pub(super) fn follow(
        &mut self,
        form: &mut Form,
        plan: &Plan,
        scenarios: &[PathBuf],
    ) -> Result<(), Failure> {
        let first = |name| plan.setting(name).first().cloned();
        let seconds = |text: String| text.parse().ok();
        let aim = Aim {
            target: first("target").filter(|target| target != EMBEDDED),
            model: form.model.take().or_else(|| first("model")),
            dialect: form.dialect.take().or_else(|| first("dialect")),
            wire: form.wire.take().or_else(|| first("wire")),
            cache_model: self.cache_model.take().or_else(|| first("cache-model")),
            lifetime: self
                .lifetime
                .or_else(|| first("lifetime").and_then(seconds)),
            ..Aim::default()
        };
        let stated = if aim.target.is_some() {
            Stated::remote(&aim, scenarios)?
        } else {
            let profile = first("profile");
            let profile = profile.as_deref().map(serve::profile).transpose()?;
            Stated::embedded(aim, profile.unwrap_or(&PROFILES[0]), &plan.embedded)?
        };
        let Form { max_tokens, .. } = *form;
        *form = Form {
            max_tokens,
            ..stated.form
        };
        if stated.cache.is_none() {
            output::warn(&format!(
                "how the target's cache works is not known: what follows is of {USUAL_CACHE}; \
                 `--cache-model` states another, and `prefixbench probe` finds out"
            ));
        }
        self.cache_model = stated.cache.map(|cache| cache.to_string());
        self.lifetime = stated.lifetime.map(|span| span.as_secs());
        if self.tokenizer.is_none() {
            self.tokenizer = first("tokenizer").map(PathBuf::from);
        }
        Ok(())
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

/// What is known of a target that nobody asks.
pub(super) struct Stated {
    pub(super) form: Form,
    pub(super) cache: Option<cache::Model>,
    pub(super) lifetime: Option<Duration>,
    /// Its entry in a file or among the presets, where it has one.
    pub(super) entry: Option<targets::Entry>,
}

impl Stated {
    /// The embedded server of that profile, as `own` changes it.
    pub(super) fn embedded(aim: Aim, profile: &Profile, own: &Embedded) -> Result<Self, Failure> {
        let asked = aim.lifetime.map(Duration::from_secs);
        let cache = match (aim.cache_model()?, &own.cache) {
            (Some(cache), _) => cache,
            (None, Some(cache)) => cache.clone(),
            (None, None) => parse_model(profile.model)?,
        };
        let mut form = form(aim, false);
        let openai = dialect(form.dialect())?.family() == Family::Openai;
        if form.wire.is_none() && openai {
            form.wire = Some(Family::Compatible.as_str().to_owned());
        }
        Ok(Self {
            form,
            cache: Some(cache),
            lifetime: asked.or(own.lifetime).or(profile.lifetime),
            entry: None,
        })
    }

    /// The target that `aim` names, as a file of targets or a preset states it.
    ///
    /// # Errors
    ///
    /// A name that nobody knows.
    pub(super) fn remote(aim: &Aim, scenarios: &[PathBuf]) -> Result<Self, Failure> {
        let name = aim.target.clone().unwrap_or_default();
        let entry = targets::named(aim, scenarios)?;
        let aim = entry
            .as_ref()
            .map_or_else(|| aim.clone(), |entry| entry.aim(aim));
        let (cache, lifetime) = (aim.cache_model()?, aim.lifetime.map(Duration::from_secs));
        let form = form(aim, true);
        let (dialect, _) = form.resolve()?;
        let mut target = Target {
            model: Arc::from(form.model.as_deref().unwrap_or_default()),
            cache,
            lifetime,
            ..Target::at(&name, &name, dialect)
        };
        if let Some(entry) = &entry {
            entry.after(&mut target);
        }
        Ok(Self {
            form,
            cache: target.cache,
            lifetime: target.lifetime,
            entry,
        })
    }
}

fn form(aim: Aim, one_model: bool) -> Form {
    Form {
        dialect: aim.dialect,
        wire: aim.wire,
        model: aim.model,
        one_model,
        max_tokens: 16,
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
    if let [first, _, ..] = plan.setting("target") {
        output::warn(&format!(
            "of the targets of plan `{}` the first is predicted: {}",
            plan.name,
            PublicUrl::new(first)
        ));
    }
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
