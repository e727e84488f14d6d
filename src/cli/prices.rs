//! Which prices hold for a target.

use super::exit::Failure;
use super::targets::Prices;
use crate::analysis::prices::Catalogue;
use crate::load::preset::Prices as Listed;
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

/// What the price list says of the target's model at who serves it.
fn listed<'a>(target: &Target, catalogue: &'a Catalogue, date: &str) -> Option<&'a Price> {
    let model = &*target.model;
    if matches!(target.engine, Engine::Vllm | Engine::LlamaCpp) {
        return None;
    }
    let Some(preset) = target.preset else {
        return catalogue.find(model, date);
    };
    if !preset.prices.listed(model) {
        return None;
    }
    let served = catalogue.find(&format!("{}/{model}", preset.name), date);
    match preset.prices {
        // Of whoever serves it, where the same model costs something else elsewhere.
        Listed::Of(_) => served.or_else(|| catalogue.find(model, date)),
        Listed::Behind => catalogue.find(model, date),
        Listed::Makers => served,
        Listed::Own | Listed::Unknown => None,
    }
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
        None => Ok(listed(target, catalogue, date).cloned()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cache::known;
    use crate::load::preset::{self, PRESETS};
    use std::sync::Arc;

    fn priced(preset: &str, model: &str) -> Option<String> {
        let catalogue = Catalogue::shipped();
        let dialect = crate::provider::DIALECTS[0];
        let target = Target {
            model: Arc::from(model),
            preset: preset::find(preset),
            ..Target::at("t", "http://h/v1", dialect)
        };
        let price = of(&target, None, &catalogue, &catalogue.collected);
        price.ok().flatten().map(|price| price.model.to_string())
    }

    #[test]
    fn every_model_that_a_preset_names_a_price_for_has_one() {
        for preset in PRESETS {
            let Listed::Of(models) = preset.prices else {
                continue;
            };
            assert!(!models.is_empty(), "{}", preset.name);
            for model in models {
                assert!(
                    priced(preset.name, model).is_some(),
                    "{} {model}",
                    preset.name
                );
            }
        }
    }

    #[test]
    fn every_listed_price_is_some_presets() {
        let catalogue = Catalogue::shipped();
        for model in catalogue.models().filter(|model| !model.ends_with("-peak")) {
            let found = PRESETS.iter().any(|preset| {
                matches!(preset.prices, Listed::Of(_)) && preset.prices.listed(model)
            });
            assert!(found, "{model}");
        }
    }

    #[test]
    fn a_model_with_a_cache_rule_has_a_price_or_its_preset_names_none() {
        for preset in PRESETS {
            for model in known::rules(preset.name).flat_map(|rule| rule.models) {
                let model = model.trim_end_matches('*');
                let found = priced(preset.name, model).is_some();
                assert_eq!(
                    found,
                    matches!(preset.prices, Listed::Of(_)) && preset.prices.listed(model),
                    "{} {model}",
                    preset.name
                );
            }
        }
    }

    #[test]
    fn a_price_is_that_of_who_serves_the_model() {
        let cases = [
            (
                "bedrock",
                "us.anthropic.claude-opus-5-5-20260922-v1:0",
                Some("Claude Opus 5.5"),
            ),
            (
                "bedrock",
                "arn:aws:bedrock:us-east-1:123:inference-profile/us.anthropic.claude-opus-5-5-v1:0",
                Some("Claude Opus 5.5"),
            ),
            ("bedrock", "anthropic.claude-opus-5-v1:0", None),
            ("groq", "openai/gpt-oss-120b", Some("gpt-oss-120b on Groq")),
            ("groq", "deepseek-v4-pro", None),
            (
                "openrouter",
                "anthropic/claude-opus-5.5",
                Some("Claude Opus 5.5"),
            ),
            ("openrouter", "openai/gpt-oss-120b", None),
            ("openrouter", "deepseek/deepseek-v4-pro", None),
            (
                "litellm",
                "deepseek/deepseek-v4-pro",
                Some("DeepSeek V4 Pro, off-peak"),
            ),
            (
                "litellm",
                "groq/openai/gpt-oss-120b",
                Some("gpt-oss-120b on Groq"),
            ),
            ("litellm", "together_ai/deepseek-v4-pro", None),
            (
                "fireworks",
                "accounts/fireworks/models/deepseek-v4-pro",
                None,
            ),
            ("sglang", "deepseek-v4-pro", None),
            ("azure", "gpt-5.5", Some("GPT-5.5")),
            ("openai", "gpt-5.5-2026-04-24", Some("GPT-5.5")),
            ("openai", "gpt-5.4", None),
            (
                "deepseek",
                "deepseek-flash",
                Some("DeepSeek Flash, off-peak"),
            ),
            ("", "gemini-4-neon", Some("Gemini 4 Neon")),
        ];
        for (preset, model, expected) in cases {
            assert_eq!(
                priced(preset, model).as_deref(),
                expected,
                "{preset} {model}"
            );
        }
    }
}
