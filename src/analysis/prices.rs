//! Dated prices, read from a file that is data, not code.
//!
//! Invariants: amounts are decimal text and become whole pico-dollars without
//! rounding; a model without a price has none, and a read without a price makes
//! a bill unknown, never free.

use crate::chat::ModelName;
use crate::record::{Peak, Price, PriceTier};
use crate::units::{Money, Tokens};
use serde::Deserialize;
use std::sync::Arc;
use thiserror::Error;

/// The prices that come with the program.
const SHIPPED: &str = include_str!("prices.json");

/// A price file that cannot be read.
#[derive(Debug, Error)]
pub enum PriceError {
    /// Not JSON of the form of a price file.
    #[error("not a price file")]
    Malformed(#[source] serde_json::Error),
    /// Written for a newer version of the program.
    #[error("price file has version {found}, and this program reads 1")]
    Version {
        /// Its version.
        found: u32,
    },
    /// An amount is no decimal number, or finer than a pico-dollar a token.
    #[error("`{amount}` of `{model}` is not an amount of dollars per million tokens")]
    Amount {
        /// The text.
        amount: String,
        /// The model.
        model: String,
    },
    /// A peak on no day of the week, or at no hour of the day.
    #[error("the peak of `{model}` needs days from 1 to 7 and hours from 0 to 24 that ascend")]
    Peak {
        /// The model.
        model: String,
    },
    /// Tiers do not begin with 0 or do not ascend.
    #[error("tiers of `{model}` must begin with `above: 0` and ascend")]
    Tiers {
        /// The model.
        model: String,
    },
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct RawFile {
    version: u32,
    #[serde(rename = "about", default)]
    _about: String,
    collected: String,
    prices: Vec<RawPrice>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct RawPrice {
    model: String,
    ids: Vec<String>,
    #[serde(default)]
    by: Vec<String>,
    from: Option<String>,
    until: Option<String>,
    source: String,
    certainty: String,
    tiers: Vec<RawTier>,
    peak: Option<RawPeak>,
    storage_hour: Option<String>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct RawPeak {
    days: Vec<u8>,
    hours: Vec<(u8, u8)>,
    tiers: Vec<RawTier>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct RawTier {
    above: u64,
    input: String,
    read: Option<String>,
    write: Option<String>,
    write_long: Option<String>,
    output: String,
}

/// Prices by model and date.
#[derive(Clone, Debug)]
pub struct Catalogue {
    /// Day on which the prices were collected (`2026-11-30`).
    pub collected: String,
    entries: Vec<Priced>,
}

#[derive(Clone, Debug)]
struct Priced {
    ids: Vec<String>,
    /// Who may stand in front of the model for the price to hold; empty: anybody.
    by: Vec<String>,
    price: Price,
}

impl Priced {
    fn is_served(&self, model: &ModelName) -> bool {
        let front = model.front();
        self.by.is_empty() || front.is_none_or(|front| self.by.iter().any(|by| by == front))
    }
}

impl Catalogue {
    /// The prices that come with the program.
    pub fn shipped() -> Self {
        #[expect(clippy::expect_used, reason = "a test reads the shipped file")]
        Self::parse(SHIPPED).expect("the shipped prices are well-formed")
    }

    /// Reads a price file.
    ///
    /// # Errors
    ///
    /// [`PriceError`], which names the model and what is wrong.
    pub fn parse(text: &str) -> Result<Self, PriceError> {
        let file: RawFile = serde_json::from_str(text).map_err(PriceError::Malformed)?;
        if file.version != 1 {
            return Err(PriceError::Version {
                found: file.version,
            });
        }
        let entries = file
            .prices
            .into_iter()
            .map(|raw| {
                let (ids, by) = (raw.ids.clone(), raw.by.clone());
                price(raw).map(|price| Priced { ids, by, price })
            })
            .collect::<Result<_, _>>()?;
        Ok(Self {
            collected: file.collected,
            entries,
        })
    }

    /// The price of `model` on `date` (`2026-11-30`).
    ///
    /// A model is found by every way of writing its id that [`ModelName`] knows. One
    /// whose price is its maker's only is not found where another serves it
    /// (`together/deepseek-v4-pro`). `None` where no price holds on that day.
    pub fn find(&self, model: &str, date: &str) -> Option<&Price> {
        let model = ModelName::new(model);
        let mut held = self.entries.iter().filter(|entry| {
            holds(&entry.price, date)
                && entry.is_served(&model)
                && entry.ids.iter().any(|id| model.is(id))
        });
        held.next().map(|entry| &entry.price)
    }

    /// The ids of every model that has a price at some time.
    pub fn models(&self) -> impl Iterator<Item = &str> {
        let ids = self.entries.iter().flat_map(|entry| &entry.ids);
        ids.map(String::as_str)
    }
}

fn holds(price: &Price, date: &str) -> bool {
    price.from.as_deref().is_none_or(|from| from <= date)
        && price.until.as_deref().is_none_or(|until| date < until)
}

fn price(raw: RawPrice) -> Result<Price, PriceError> {
    let peak = raw.peak.map(|peak| {
        let hours = |&(from, until): &(u8, u8)| from < until && until <= 24;
        let days = |day: &u8| (1..=7).contains(day);
        if !peak.hours.iter().all(hours) || !peak.days.iter().all(days) {
            return Err(PriceError::Peak {
                model: raw.model.clone(),
            });
        }
        Ok(Peak {
            tiers: tiers(&peak.tiers, &raw.model)?,
            days: peak.days,
            hours: peak.hours,
        })
    });
    let storage = raw.storage_hour.as_ref();
    Ok(Price {
        tiers: tiers(&raw.tiers, &raw.model)?,
        peak: peak.transpose()?,
        storage_hour: storage.map(|text| amount(text, &raw.model)).transpose()?,
        model: Arc::from(raw.model),
        from: raw.from.map(Arc::from),
        until: raw.until.map(Arc::from),
        source: Arc::from(raw.source),
        certainty: Arc::from(raw.certainty),
    })
}

fn tiers(raw: &[RawTier], model: &str) -> Result<Vec<PriceTier>, PriceError> {
    let maybe = |text: &Option<String>| text.as_ref().map(|text| amount(text, model)).transpose();
    let mut tiers = Vec::with_capacity(raw.len());
    for tier in raw {
        tiers.push(PriceTier {
            above: Tokens(tier.above),
            input: amount(&tier.input, model)?,
            read: maybe(&tier.read)?,
            write: maybe(&tier.write)?,
            write_long: maybe(&tier.write_long)?,
            output: amount(&tier.output, model)?,
        });
    }
    let first = tiers.first().map(|tier| tier.above);
    if first != Some(Tokens(0)) || !tiers.is_sorted_by(|a, b| a.above < b.above) {
        return Err(PriceError::Tiers {
            model: model.to_owned(),
        });
    }
    Ok(tiers)
}

fn amount(text: &str, model: &str) -> Result<Money, PriceError> {
    per_token(text).ok_or_else(|| PriceError::Amount {
        amount: text.to_owned(),
        model: model.to_owned(),
    })
}

/// Dollars per million tokens to pico-dollars per token: six decimal places are
/// whole. `None` for anything else than a short decimal number.
fn per_token(text: &str) -> Option<Money> {
    let (whole, part) = text.split_once('.').unwrap_or((text, ""));
    let digits = |text: &str| text.bytes().all(|byte| byte.is_ascii_digit());
    if whole.is_empty() || whole.len() > 9 || part.len() > 6 || !digits(whole) || !digits(part) {
        return None;
    }
    format!("{whole}{part:0<6}").parse().ok().map(Money)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_shipped_price_is_well_formed_and_dated() {
        let catalogue = Catalogue::parse(SHIPPED).expect("reads");
        assert!(catalogue.entries.len() > 20);
        assert_eq!(catalogue.collected.len(), "2026-11-30".len());
        for Priced { ids, price, .. } in &catalogue.entries {
            assert!(!ids.is_empty(), "{}", price.model);
            assert!(
                price.source.bytes().any(|byte| byte.is_ascii_digit()),
                "{}",
                price.model
            );
            for tier in &price.tiers {
                assert!(
                    tier.read.is_none_or(|read| read < tier.input),
                    "{}",
                    price.model
                );
            }
        }
    }

    #[test]
    fn a_price_is_found_by_model_and_day() {
        let catalogue = Catalogue::shipped();
        let cases = [
            ("claude-sonnet-5.5", "2026-10-06", Some(200_000)),
            ("claude-sonnet-5-5", "2026-10-07", Some(100_000)),
            (
                "anthropic/claude-sonnet-5-5-20261001",
                "2026-11-30",
                Some(100_000),
            ),
            ("gemini-4-argon", "2026-11-30", Some(100_000)),
            ("gemini-4-argon", "2026-12-01", Some(200_000)),
            ("gpt-6.1-sol", "2026-11-30", Some(100_000)),
            ("gpt-6.1-sol-mini", "2026-11-30", None),
            (
                "us.anthropic.claude-opus-5-5-20260922-v1:0",
                "2026-11-30",
                Some(200_000),
            ),
            ("groq/openai/gpt-oss-120b", "2026-11-30", Some(75_000)),
            ("openai/gpt-oss-120b", "2026-11-30", None),
            ("deepseek/deepseek-flash", "2026-11-30", Some(3_000)),
            (
                "fireworks_ai/accounts/fireworks/models/deepseek-v4-pro",
                "2026-11-30",
                None,
            ),
            ("openrouter/deepseek/deepseek-v4-pro", "2026-11-30", None),
            ("together/mistral-large-2512", "2026-11-30", None),
            ("claude-opus-5", "2026-11-30", None),
            ("gpt-5.5-pro", "2026-11-30", None),
            ("deepseek-flash-peak", "2026-11-30", Some(6_000)),
            ("some-model", "2026-11-30", None),
            ("", "2026-11-30", None),
        ];
        for (model, date, read) in cases {
            let found = catalogue
                .find(model, date)
                .map(|price| price.tiers[0].read.expect("these have a price of reads").0);
            assert_eq!(found, read, "{model} on {date}");
        }
    }

    #[test]
    fn amounts_are_exact_or_refused() {
        let cases = [
            ("0.003", Some(3_000)),
            ("12.50", Some(12_500_000)),
            ("20", Some(20_000_000)),
            ("0.0000001", None),
            ("-1", None),
            ("1e3", None),
            ("", None),
            (".5", None),
        ];
        for (text, expected) in cases {
            assert_eq!(per_token(text), expected.map(Money), "{text}");
        }
    }

    #[test]
    fn a_file_with_a_mistake_is_refused_by_name() {
        let file = |tiers: &str| {
            format!(
                r#"{{"version":1,"collected":"2026-11-30","prices":[{{"model":"M","ids":["m"],"source":"s","certainty":"good","tiers":[{tiers}]}}]}}"#
            )
        };
        let amount = Catalogue::parse(&file(r#"{"above":0,"input":"x","output":"1"}"#));
        assert!(matches!(amount, Err(PriceError::Amount { model, .. }) if model == "M"));
        let tiers = Catalogue::parse(&file(r#"{"above":5,"input":"1","output":"1"}"#));
        assert!(matches!(tiers, Err(PriceError::Tiers { .. })));
        assert!(matches!(
            Catalogue::parse("{}"),
            Err(PriceError::Malformed(_))
        ));
        let newer = Catalogue::parse(r#"{"version":2,"collected":"","prices":[]}"#);
        assert!(matches!(newer, Err(PriceError::Version { found: 2 })));
    }
}
