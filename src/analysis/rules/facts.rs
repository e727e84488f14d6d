//! Under what figures were made, and whether two of them may be compared.

use super::metrics::Metric;
use crate::record::Manifest;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

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
            fact("tokenizer", target.tokenizer.as_deref());
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
        let mut said = Vec::new();
        for (name, (own, other)) in self.pairs(base) {
            let keys = own
                .keys()
                .chain(other.keys().filter(|key| !own.contains_key(*key)));
            for key in keys {
                let (own, other) = (own.get(key), other.get(key));
                if own != other {
                    let known =
                        |value: Option<&String>| value.map_or("unknown", String::as_str).to_owned();
                    let (own, other) = (known(own), known(other));
                    said.push(format!(
                        "the {key} of target `{name}` was {other} in the baseline, and is {own}"
                    ));
                }
            }
        }
        let mut changed: Vec<&str> = Vec::new();
        for (name, hash) in &self.scenarios {
            if base.scenarios.get(name).is_some_and(|other| other != hash) {
                changed.push(name);
            }
        }
        match changed.as_slice() {
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

    /// Why a figure cannot be compared with that of `base`.
    pub(super) fn forbids(&self, base: &Self, metric: &Metric, predicted: bool) -> Option<String> {
        let from_bounds =
            FROM_BOUNDS.contains(&metric.name) || predicted && metric.name.starts_with("computed");
        if !from_bounds {
            return None;
        }
        self.pairs(base).into_iter().find_map(|(_, (own, other))| {
            let key = BOUNDS
                .iter()
                .find(|key| own.get(**key) != other.get(**key))?;
            let known = |facts: &BTreeMap<String, String>| {
                facts.get(*key).map_or("unknown", String::as_str).to_owned()
            };
            Some(format!(
                "the baseline was computed with {key} {}, and this with {}",
                known(other),
                known(own)
            ))
        })
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

/// What is known of a target here and in the baseline.
type Both<'a> = (&'a BTreeMap<String, String>, &'a BTreeMap<String, String>);
