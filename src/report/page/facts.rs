//! What a reader needs to repeat the run, from its manifest.

use crate::context::keeps::keeps;
use crate::record::{ConfigurationFacts, Ending, Manifest, Setting, SettingOrigin, TargetFacts};
use crate::report::html::Fact;
use serde_json::Value;

/// Scenarios that are listed with their hashes; the manifest has them all.
const SCENARIOS: usize = 40;

pub(super) fn facts(manifest: &Manifest) -> Vec<Fact> {
    let mut facts = Vec::new();
    let mut add = |name: String, value: String| facts.push(Fact { name, value });
    let started = manifest.started.to_string();
    let ended = match &manifest.ended {
        Some(ended) => format!("{started} to {ended}"),
        None => started,
    };
    add("run".to_owned(), format!("{ended}, {}", ending(manifest)));
    add(
        "program".to_owned(),
        format!("prefixbench {}", manifest.program),
    );
    add("seed".to_owned(), manifest.seed.to_string());
    add("nonce".to_owned(), manifest.nonce.to_string());
    let host = &manifest.host;
    add(
        "machine".to_owned(),
        format!("{} cores, {}, {}", host.cores, host.os, host.arch),
    );
    for facts in &manifest.targets {
        add(format!("target {}", facts.name), target(facts));
    }
    for facts in &manifest.configurations {
        let keeps = keeps(&facts.base).map(|keeps| format!("; keeps all facts: {}", keeps.shown()));
        add(
            format!("configuration {}", facts.name),
            format!("{}{}", configuration(facts), keeps.unwrap_or_default()),
        );
    }
    for facts in manifest.scenarios.iter().take(SCENARIOS) {
        let name = format!("scenario {}", facts.name);
        add(name, format!("sha256 {}", facts.sha256));
    }
    if let Some(more) = manifest.scenarios.len().checked_sub(SCENARIOS + 1) {
        add(
            "scenarios".to_owned(),
            format!("{} more are in `manifest.json`", more + 1),
        );
    }
    for (name, one) in &manifest.settings {
        add(format!("setting {name}"), setting(one));
    }
    facts
}

fn ending(manifest: &Manifest) -> String {
    match &manifest.ending {
        Some(Ending::Complete) => "complete".to_owned(),
        Some(Ending::Interrupted) => "interrupted".to_owned(),
        Some(Ending::Partial(why)) => format!("complete in part: {why}"),
        Some(Ending::Limited(why)) => format!("ended at a limit: {why}"),
        Some(Ending::Failed(why)) => format!("failed: {why}"),
        None => "not ended".to_owned(),
    }
}

fn target(facts: &TargetFacts) -> String {
    let mut parts = vec![if facts.simulated {
        "the embedded server, simulated".to_owned()
    } else {
        facts.url.to_string()
    }];
    let mut add = |what: &str, value: &str| {
        if !value.is_empty() {
            parts.push(format!("{what} {value}"));
        }
    };
    add("dialect", &facts.dialect);
    add("model", &facts.model);
    add("cache model", facts.cache_model.as_deref().unwrap_or(""));
    let lifetime = facts.lifetime_ms.map(|ms| format!("{} s", ms / 1_000));
    add("lifetime", lifetime.as_deref().unwrap_or(""));
    add(
        "tokens counted by",
        facts.tokenizer.as_deref().unwrap_or(""),
    );
    let price = facts.price.as_ref().map(|price| &*price.source);
    add("prices", price.unwrap_or(""));
    parts.join(", ")
}

/// The strategy, and options that are not left to their defaults.
fn configuration(facts: &ConfigurationFacts) -> String {
    let mut parts = vec![facts.base.to_string()];
    for (name, value) in facts.options.as_object().into_iter().flatten() {
        if !value.is_null() {
            parts.push(format!("{name} {}", plain(value)));
        }
    }
    parts.join(", ")
}

fn setting(setting: &Setting) -> String {
    let origin = match setting.origin {
        SettingOrigin::Flag => "flag",
        SettingOrigin::Env => "environment",
        SettingOrigin::Plan => "plan file",
        SettingOrigin::Default => "default",
    };
    format!("{} ({origin})", plain(&setting.value))
}

/// A value without the quotes and brackets of JSON where that leaves it clear.
fn plain(value: &Value) -> String {
    match value {
        Value::String(text) => text.clone(),
        Value::Array(items) => items.iter().map(plain).collect::<Vec<_>>().join(", "),
        other => other.to_string(),
    }
}
