//! What a run's manifest says of its plan before the first request.

use super::Planned;
use crate::cli::run::Arguments;
use crate::cli::settings::Settings;
use crate::cli::tokens::Counter;
use crate::load::Target;
use crate::record::{ConfigurationFacts, Manifest, PublicUrl, ScenarioFacts, TargetFacts};
use std::collections::BTreeSet;
use std::sync::Arc;

impl Planned {
    /// What is known of the run before its first request.
    pub(in crate::cli::run) fn manifest(
        &self,
        given: &Arguments,
        mut settings: Settings,
        targets: &[Arc<Target>],
    ) -> Manifest {
        settings.note("no-text", given.no_text, given.no_text);
        let mut manifest = Manifest::begin(self.seed, &self.nonce.to_string());
        manifest.settings = settings.into_map();
        manifest.shard = self.shard;
        manifest.plan_sha256 = self.plan.as_ref().map(|plan| plan.digest);
        manifest.scenarios = self
            .scenarios
            .iter()
            .map(|scenario| ScenarioFacts {
                name: Arc::clone(&scenario.name),
                group: Arc::clone(&scenario.group),
                sha256: scenario.digest,
            })
            .collect();
        let mut known = BTreeSet::new();
        let all = self
            .chosen
            .iter()
            .flat_map(|(configurations, _)| configurations);
        manifest.configurations = all
            .filter(|configuration| known.insert(configuration.name.clone()))
            .map(|configuration| ConfigurationFacts {
                name: Arc::from(configuration.name.as_str()),
                base: Arc::from(configuration.base.name),
                options: serde_json::to_value(&configuration.options).unwrap_or_default(),
            })
            .collect();
        let order = |name: &Arc<str>| self.names.iter().position(|known| **known == **name);
        manifest
            .configurations
            .sort_by_key(|facts| order(&facts.name));
        manifest.targets = targets.iter().map(|target| facts(given, target)).collect();
        manifest
    }
}

fn facts(given: &Arguments, target: &Target) -> TargetFacts {
    // One that cannot be used has been refused before.
    let counter = Counter::of(&given.aim, target).ok().flatten();
    TargetFacts {
        name: Arc::clone(&target.name),
        url: PublicUrl::new(&target.url),
        dialect: Arc::from(target.dialect.name()),
        model: Arc::clone(&target.model),
        cache_model: target
            .cache
            .as_ref()
            .map(|model| Arc::from(model.to_string())),
        simulated: target.simulated(),
        tokenizer: counter.map(|counter| counter.name()),
        lifetime_ms: target
            .lifetime
            .and_then(|span| u64::try_from(span.as_millis()).ok()),
        tolerance: target.tolerance.tokens,
        tolerance_permille: target.tolerance.permille,
        price: target.price.clone(),
    }
}
