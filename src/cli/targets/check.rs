//! From what stands in a targets file to targets that can be used.

use super::entry::{Entry, Held, KeyPlace, Pin, Prices};
use super::grammar::{AffinityFile, AmountsFile, EntryFile, HeaderFile, PricesFile, TargetsFile};
use crate::analysis::prices::Catalogue;
use crate::chat::Family;
use crate::load::preset::{self, PRESETS};
use crate::load::{Affinity, Rates, Tolerance};
use crate::provider::{self, DIALECTS};
use crate::record::PublicUrl;
use crate::scenario::load::yaml::{At, Source};
use crate::scenario::names::nearest;
use crate::scenario::{Mistake, ScenarioError, duration};
use crate::units::Tokens;
use reqwest::header::HeaderName;
use serde_json::json;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

/// Everything that `file` states, in its order. `folder` is where files that it names lie.
pub(super) fn entries(
    source: &Source,
    file: TargetsFile,
    folder: &Path,
) -> Result<Vec<Entry>, ScenarioError> {
    let named = file.targets.0.into_iter();
    named
        .map(|(name, entry)| Check { source, folder }.entry(&name, entry))
        .collect()
}

struct Check<'a> {
    source: &'a Source,
    folder: &'a Path,
}

impl Check<'_> {
    fn wrong<T>(&self, at: &At<T>, mistake: Mistake) -> ScenarioError {
        self.source.error(at.place.clone(), mistake)
    }

    /// One of a list of names.
    fn one_of<T>(
        &self,
        what: &'static str,
        at: &At<String>,
        known: &[&'static str],
        find: impl FnOnce(&str) -> Option<T>,
    ) -> Result<T, ScenarioError> {
        find(&at.value).ok_or_else(|| {
            let mistake = Mistake::UnknownName {
                what,
                name: at.value.clone(),
                nearest: nearest(&at.value, known.iter().copied()).map(str::to_owned),
                help: format!("known: {}", known.join(", ")),
            };
            self.wrong(at, mistake)
        })
    }

    fn entry(&self, name: &At<String>, at: At<EntryFile>) -> Result<Entry, ScenarioError> {
        if name.value.trim().is_empty() || name.value.contains("://") {
            let mistake = Mistake::value("the name of a target", "must be no URL and not empty");
            return Err(self.wrong(name, mistake));
        }
        let place = At {
            value: (),
            place: name.place.clone(),
            line: name.line,
        };
        let file = at.value;
        let names: Vec<_> = PRESETS.iter().map(|preset| preset.name).collect();
        let chosen = file.preset.as_ref();
        let chosen = chosen
            .map(|at| self.one_of("preset", at, &names, preset::find))
            .transpose()?;
        let url = match (&file.url, chosen) {
            (Some(at), _) => self.url(at)?,
            (None, Some(preset)) if preset.url_is_whole() => preset.url.to_owned(),
            (None, Some(preset)) => {
                let mistake = Mistake::value("`url`", "differs by account and must be given")
                    .helped(format!("it has the form {}", preset.url));
                return Err(self.wrong(&place, mistake));
            }
            (None, None) => return Err(self.wrong(&place, Mistake::Missing { name: "url" })),
        };
        let dialects: Vec<_> = DIALECTS.iter().map(|dialect| dialect.name()).collect();
        let dialect = if let Some(at) = &file.dialect {
            self.one_of("dialect", at, &dialects, provider::find)?
        } else {
            let usual = chosen.map_or("openai-chat", |preset| preset.dialect);
            provider::find(usual).unwrap_or(DIALECTS[0])
        };
        let mut entry = Entry::at(&name.value, &url, dialect);
        self.key(&file, &mut entry)?;
        self.routes(&file, &mut entry)?;
        self.cache(&file, &mut entry)?;
        self.counts(&file, &mut entry)?;
        entry.model = file.model.map(|at| at.value);
        entry.body = file.body;
        entry.rates = Rates {
            requests_per_minute: self.rate(file.limits.requests_per_minute)?,
            tokens_per_minute: self.rate(file.limits.tokens_per_minute)?,
        };
        Ok(match chosen {
            Some(preset) => entry.completed(preset),
            None => entry,
        })
    }

    fn url(&self, at: &At<String>) -> Result<String, ScenarioError> {
        let checked = crate::cli::target::checked_url(&at.value);
        checked.map_err(|failure| {
            let said = format!("is no address of a target: {}", failure.report);
            let shown = format!("`{}`", PublicUrl::new(&at.value));
            self.wrong(at, Mistake::value(shown, said))
        })
    }

    fn key(&self, file: &EntryFile, entry: &mut Entry) -> Result<(), ScenarioError> {
        entry.key = match (&file.key_env, &file.key_command, &file.key_ttl_s) {
            (Some(_), Some(at), _) => {
                let mistake = Mistake::value("`key_command`", "cannot stand beside `key_env`");
                return Err(self.wrong(at, mistake));
            }
            (_, None, Some(at)) => {
                let mistake = Mistake::value(
                    "`key_ttl_s`",
                    "says how old the key of a `key_command` may grow",
                );
                return Err(self.wrong(at, mistake));
            }
            (Some(at), None, None) => Some(KeyPlace::Env(self.variable(at)?)),
            (None, Some(at), ttl) => {
                let ttl = ttl.as_ref().map(|at| Duration::from_secs(at.value));
                Some(KeyPlace::Command(at.value.clone(), ttl))
            }
            (None, None, None) => None,
        };
        Ok(())
    }

    fn variable(&self, at: &At<String>) -> Result<String, ScenarioError> {
        let good = |c: char| c.is_ascii_alphanumeric() || c == '_';
        if !at.value.is_empty() && at.value.chars().all(good) {
            return Ok(at.value.clone());
        }
        // It is not repeated: the likeliest mistake is a key in place of its name.
        let mistake = Mistake::value(
            "the name of an environment variable",
            "has letters, digits and `_` only",
        )
        .helped("write the name of the variable that holds the key, not the key");
        Err(self.wrong(at, mistake))
    }

    fn held(&self, at: &At<HeaderFile>) -> Result<Held, ScenarioError> {
        match &at.value {
            HeaderFile::Text(text) => Ok(Held::Text(text.clone())),
            HeaderFile::Env(name) => self.variable(name).map(Held::Env),
        }
    }

    fn routes(&self, file: &EntryFile, entry: &mut Entry) -> Result<(), ScenarioError> {
        for (name, value) in &file.headers.0 {
            let lower = name.value.to_lowercase();
            if HeaderName::try_from(lower.as_str()).is_err() {
                let mistake = Mistake::value(format!("`{}`", name.value), "is no name of a header");
                return Err(self.wrong(name, mistake));
            }
            let held = self.held(value)?;
            let secret = ["authorization", "x-api-key", "api-key", "x-goog-api-key"];
            if secret.contains(&lower.as_str()) && matches!(held, Held::Text(_)) {
                let mistake =
                    Mistake::value(format!("`{}`", name.value), "would keep a key in this file")
                        .helped("use `key_env` or `key_command`, or `{env: NAME}` as its value");
                return Err(self.wrong(value, mistake));
            }
            entry.headers.push((lower, held));
        }
        entry.ca = file.ca.as_ref().map(|at| self.folder.join(&at.value));
        entry.proxy = file.proxy.as_ref().map(|at| self.held(at)).transpose()?;
        for at in &file.metrics {
            if reqwest::Url::parse(&at.value).is_err() {
                let mistake =
                    Mistake::value(format!("`{}`", PublicUrl::new(&at.value)), "is no address");
                return Err(self.wrong(at, mistake));
            }
            entry.metrics.push(at.value.clone());
        }
        if let Some(at) = &file.affinity {
            entry.affinity = self.affinity(at)?;
        }
        Ok(())
    }

    fn affinity(&self, at: &At<AffinityFile>) -> Result<Pin, ScenarioError> {
        let name = match &at.value {
            AffinityFile::Off => return Ok(Pin::Off),
            AffinityFile::Field(name) if !name.is_empty() => {
                return Ok(Pin::By(Affinity::Field(Arc::from(name.as_str()))));
            }
            AffinityFile::Header(name) | AffinityFile::Field(name) => name.to_lowercase(),
        };
        if HeaderName::try_from(name.as_str()).is_err() {
            let mistake = Mistake::value(format!("`{name}`"), "is no name to send an affinity by");
            return Err(self.wrong(at, mistake));
        }
        Ok(Pin::By(Affinity::Header(Arc::from(name))))
    }

    fn cache(&self, file: &EntryFile, entry: &mut Entry) -> Result<(), ScenarioError> {
        if let Some(at) = &file.wire {
            let known: Vec<_> = Family::ALL.iter().map(|family| family.as_str()).collect();
            let find = |name: &str| {
                Family::ALL
                    .into_iter()
                    .find(|family| family.as_str() == name)
            };
            entry.family = Some(self.one_of("wire", at, &known, find)?);
        }
        if let Some(at) = &file.cache_model {
            let model = at
                .value
                .parse()
                .map_err(|error: crate::cache::ModelError| {
                    let mistake =
                        Mistake::value("`cache_model`", format!("cannot be read: {error}"))
                            .helped("see `prefixbench list cache-models`");
                    self.wrong(at, mistake)
                })?;
            entry.cache = Some(model);
        }
        if let Some(at) = &file.lifetime {
            let span = duration::parse(&at.value)
                .map_err(|said| self.wrong(at, Mistake::value("`lifetime`", said)))?;
            entry.lifetime = Some(span);
        }
        if let Some(at) = &file.prices {
            entry.prices = Some(self.prices(at, &entry.name)?);
        }
        entry.tools_first = file.tools_first.as_ref().map(|at| at.value);
        entry.salted = file.salt.as_ref().map(|at| at.value);
        Ok(())
    }

    fn prices(&self, at: &At<PricesFile>, name: &str) -> Result<Prices, ScenarioError> {
        let amounts = match &at.value {
            PricesFile::Model(model) => return Ok(Prices::Model(model.clone())),
            PricesFile::Amounts(amounts) => amounts,
        };
        let AmountsFile {
            input,
            read,
            write,
            write_long,
            output,
        } = amounts;
        let tier = json!({"above": 0, "input": input, "read": read, "write": write,
            "write_long": write_long, "output": output});
        let price = json!({"model": name, "ids": [name], "source": "the targets file",
            "certainty": "stated", "tiers": [tier]});
        let file = json!({"version": 1, "collected": "", "prices": [price]});
        let read = Catalogue::parse(&file.to_string());
        let price = read.map(|catalogue| catalogue.find(name, "").cloned());
        match price {
            Ok(Some(price)) => Ok(Prices::Amounts(Box::new(price))),
            Ok(None) => Err(self.wrong(at, Mistake::value("`prices`", "cannot be read"))),
            Err(error) => Err(self.wrong(
                at,
                Mistake::value("`prices`", format!("cannot be read: {error}")),
            )),
        }
    }

    fn counts(&self, file: &EntryFile, entry: &mut Entry) -> Result<(), ScenarioError> {
        entry.unreliable = file
            .unreliable
            .as_ref()
            .map(|at| Arc::from(at.value.as_str()));
        entry.tolerance = file.tolerance.as_ref().map(|at| Tolerance {
            tokens: Tokens(at.value),
            permille: 0,
        });
        let evidence = file.evidence.as_ref();
        let shown = evidence.filter(|at| !at.value.trim().is_empty());
        match (&file.absent_means_zero, shown) {
            (Some(At { value: true, .. }), Some(at)) => {
                entry.absent_is_zero = Some(Arc::from(at.value.trim()));
            }
            (Some(at @ At { value: true, .. }), None) => {
                let mistake = Mistake::value("`absent_means_zero`", "needs `evidence`").helped(
                    "say what shows it: `prefixbench probe` sends the warm control request",
                );
                return Err(self.wrong(at, mistake));
            }
            (_, Some(at)) => {
                let mistake =
                    Mistake::value("`evidence`", "says what `absent_means_zero: true` rests on");
                return Err(self.wrong(at, mistake));
            }
            (_, None) => {}
        }
        Ok(())
    }

    fn rate<N: PartialEq + Default + Copy>(
        &self,
        at: Option<At<N>>,
    ) -> Result<Option<N>, ScenarioError> {
        match at {
            Some(at) if at.value == N::default() => {
                let mistake = Mistake::value("a limit", "of 0 would let nothing through");
                Err(self.wrong(&at, mistake))
            }
            at => Ok(at.map(|at| at.value)),
        }
    }
}
