//! Under what figures were made, and whether two of them may be compared.

use super::metrics::Metric;
use crate::record::Manifest;
use crate::tokens::embedded;
use serde::{Deserialize, Serialize};
use std::collections::{BTreeMap, BTreeSet};

/// Cache model, tokenizer and the like, and the scenarios' hashes.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Facts {
    /// By target: what is known of it, by name.
    pub targets: BTreeMap<String, BTreeMap<String, String>>,
    /// Hashes of the scenarios by name.
    pub scenarios: BTreeMap<String, String>,
}

/// What bounds are computed with.
const BOUNDS: &[&str] = &["cache model", "tokenizer", "lifetime"];

/// Figures that bounds go into.
const FROM_BOUNDS: &[&str] = &[
    "achievable_share",
    "eligible_share",
    "eligible_tokens",
    "bound_tokens",
    "efficiency",
    "lost_tokens",
];

impl From<&Manifest> for Facts {
    fn from(manifest: &Manifest) -> Self {
        let targets = manifest.targets.iter().map(|target| {
            let mut facts = BTreeMap::new();
            let mut fact = |what: &str, value: Option<&str>| {
                if let Some(value) = value.filter(|value| !value.is_empty()) {
                    facts.insert(what.to_owned(), value.to_owned());
                }
            };
            let lifetime = target.lifetime_ms.map(|ms| format!("{ms} ms"));
            fact(
                "url",
                Some(target.url.as_str()).filter(|_| !target.simulated),
            );
            fact("dialect", Some(&target.dialect));
            fact("model", Some(&target.model));
            fact("cache model", target.cache_model.as_deref());
            let embedded = target.simulated.then(|| embedded().name().to_owned());
            fact(
                "tokenizer",
                target.tokenizer.as_deref().or(embedded.as_deref()),
            );
            fact("lifetime", lifetime.as_deref());
            fact(
                "simulated",
                Some(if target.simulated { "yes" } else { "no" }),
            );
            fact("prices", target.price.as_ref().map(|price| &*price.source));
            (target.name.to_string(), facts)
        });
        let scenarios = manifest.scenarios.iter();
        Self {
            targets: targets.collect(),
            scenarios: scenarios
                .map(|facts| (facts.name.to_string(), facts.sha256.to_string()))
                .collect(),
        }
    }
}

impl Facts {
    /// What is not alike in `base`: lowercase sentences without a full stop.
    pub fn differences(&self, base: &Self) -> Vec<String> {
        let mut said = self.target_differences(base, "the baseline");
        match self.changed_scenarios(base).as_slice() {
            [] => {}
            [one] => said.push(format!("scenario `{one}` has changed since the baseline")),
            many => said.push(format!(
                "{} scenarios have changed since the baseline: {}",
                many.len(),
                many.join(", ")
            )),
        }
        said
    }

    /// What is not alike of the targets. What only one side knows counts where
    /// bounds are computed with it.
    pub fn target_differences(&self, base: &Self, name_of_base: &str) -> Vec<String> {
        let mut said = Vec::new();
        for (name, (own, other)) in self.pairs(base) {
            let keys: BTreeSet<&String> = own.keys().chain(other.keys()).collect();
            for key in keys {
                let (own, other) = (own.get(key), other.get(key));
                let told = own.is_some() && other.is_some() || BOUNDS.contains(&key.as_str());
                if told && own != other {
                    let (own, other) = (known(own), known(other));
                    said.push(format!(
                        "the {key} of target `{name}` was {other} in {name_of_base}, and is {own}"
                    ));
                }
            }
        }
        said
    }

    /// Scenarios that both have, and whose files differ.
    pub fn changed_scenarios(&self, base: &Self) -> Vec<String> {
        let changed = self.scenarios.iter().filter(|(name, hash)| {
            let other = base.scenarios.get(*name);
            other.is_some_and(|other| other != *hash)
        });
        changed.map(|(name, _)| name.clone()).collect()
    }

    /// Whether a fact is not alike for a target of both.
    pub(in crate::analysis) fn differ(&self, base: &Self, key: &str) -> bool {
        let mut pairs = self.pairs(base).into_iter();
        pairs.any(|(_, (own, other))| own.get(key) != other.get(key))
    }

    /// Why what is computed from bounds cannot be compared.
    pub(in crate::analysis) fn bounds_differ(
        &self,
        base: &Self,
        name_of_base: &str,
    ) -> Option<String> {
        self.pairs(base).into_iter().find_map(|(_, (own, other))| {
            let key = BOUNDS
                .iter()
                .find(|key| own.get(**key) != other.get(**key))?;
            Some(format!(
                "{name_of_base} was computed with {key} {}, and this with {}",
                known(other.get(*key)),
                known(own.get(*key))
            ))
        })
    }

    /// Why a figure cannot be compared with that of `base`.
    pub(super) fn forbids(&self, base: &Self, metric: &Metric, predicted: bool) -> Option<String> {
        let from_bounds =
            FROM_BOUNDS.contains(&metric.name) || predicted && metric.name.starts_with("computed");
        from_bounds.then(|| self.bounds_differ(base, "the baseline"))?
    }

    /// Targets of both, by name, or the only one of each.
    fn pairs<'a>(&'a self, base: &'a Self) -> Vec<(&'a str, Both<'a>)> {
        if let (1, 1) = (self.targets.len(), base.targets.len()) {
            let both = self.targets.iter().zip(base.targets.values());
            return both
                .map(|((name, own), other)| (name.as_str(), (own, other)))
                .collect();
        }
        let common = self.targets.iter().filter_map(|(name, own)| {
            let other = base.targets.get(name)?;
            Some((name.as_str(), (own, other)))
        });
        common.collect()
    }
}

fn known(value: Option<&String>) -> &str {
    value.map_or("unknown", String::as_str)
}

/// What is known of a target here and in the baseline.
type Both<'a> = (&'a BTreeMap<String, String>, &'a BTreeMap<String, String>);
