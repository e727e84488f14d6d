//! A target as a file states it, completed by its preset.

use crate::cache::Model;
use crate::cache::known::Rule;
use crate::chat::Family;
use crate::cli::exit::Failure;
use crate::cli::target::Aim;
use crate::load::preset::Preset;
use crate::load::{Affinity, Key, Rates, Secret, Target, Tolerance};
use crate::provider::Dialect;
use crate::record::Price;
use crate::transport::{Header, ProxyUrl, Settings};
use serde_json::{Map, Value};
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

/// Reads an environment variable.
pub(crate) type Environment<'a> = &'a dyn Fn(&str) -> Option<String>;

/// A text, or the environment variable that holds it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Held {
    /// The text.
    Text(String),
    /// The variable.
    Env(String),
}

impl Held {
    /// The text; `what` names the place for the message.
    fn read(&self, what: &str, environment: Environment<'_>) -> Result<String, Failure> {
        match self {
            Self::Text(text) => Ok(text.clone()),
            Self::Env(name) => environment(name)
                .filter(|text| !text.trim().is_empty())
                .ok_or_else(|| {
                    Failure::wrong(
                        format!("environment variable `{name}`, which {what} names, is not set"),
                        "set it, or take the line out of the targets file",
                    )
                }),
        }
    }
}

/// Where a key comes from.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum KeyPlace {
    /// A variable that must be set.
    Env(String),
    /// A variable that usually holds it.
    Usual(String),
    /// A shell command, and how long its key holds.
    Command(String, Option<Duration>),
}

/// What is to keep a conversation on one server.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) enum Pin {
    /// Nothing is said of it.
    #[default]
    Open,
    /// Nothing, though the preset has something.
    Off,
    /// This.
    By(Affinity<Arc<str>>),
}

/// What prices hold.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Prices {
    /// Those of a model of the price list.
    Model(String),
    /// These.
    Amounts(Box<Price>),
}

/// A target as a file or a preset states it; what they leave open is `None`.
#[derive(Clone)]
pub(crate) struct Entry {
    pub(super) name: String,
    pub(super) preset: Option<&'static Preset>,
    pub(super) url: String,
    pub(super) model: Option<String>,
    pub(super) dialect: &'static dyn Dialect,
    pub(super) family: Option<Family>,
    pub(super) key: Option<KeyPlace>,
    pub(super) headers: Vec<(String, Held)>,
    pub(super) body: Map<String, Value>,
    pub(super) ca: Option<PathBuf>,
    pub(super) proxy: Option<Held>,
    pub(super) cache: Option<Model>,
    pub(super) lifetime: Option<Duration>,
    pub(super) prices: Option<Prices>,
    pub(super) rates: Rates,
    pub(super) metrics: Vec<String>,
    pub(super) tools_first: Option<bool>,
    pub(super) salted: Option<bool>,
    pub(super) affinity: Pin,
    pub(super) tolerance: Option<Tolerance>,
    pub(super) unreliable: Option<Arc<str>>,
    pub(super) absent_is_zero: Option<Arc<str>>,
}

impl Entry {
    /// An entry of which only the place is known.
    pub(crate) fn at(name: &str, url: &str, dialect: &'static dyn Dialect) -> Self {
        Self {
            name: name.to_owned(),
            preset: None,
            url: url.to_owned(),
            model: None,
            dialect,
            family: None,
            key: None,
            headers: Vec::new(),
            body: Map::new(),
            ca: None,
            proxy: None,
            cache: None,
            lifetime: None,
            prices: None,
            rates: Rates::default(),
            metrics: Vec::new(),
            tools_first: None,
            salted: None,
            affinity: Pin::default(),
            tolerance: None,
            unreliable: None,
            absent_is_zero: None,
        }
    }

    /// Fills in what a preset knows and the entry leaves open. The cache model
    /// stays open: what the server itself says goes before the preset's.
    #[must_use]
    pub(crate) fn completed(mut self, preset: &'static Preset) -> Self {
        self.preset = Some(preset);
        self.family.get_or_insert(preset.family);
        if self.key.is_none() {
            self.key = preset.key_env.map(|name| KeyPlace::Usual(name.to_owned()));
        }
        let named = |headers: &[(String, Held)], name: &str| {
            headers
                .iter()
                .any(|(known, _)| known.eq_ignore_ascii_case(name))
        };
        for (name, value) in preset.headers {
            if !named(&self.headers, name) {
                self.headers
                    .push(((*name).to_owned(), Held::Text((*value).to_owned())));
            }
        }
        for (name, json) in preset.body_of(self.dialect.name()) {
            // A test reads every preset's JSON.
            let value = serde_json::from_str(json).unwrap_or_default();
            self.body.entry(*name).or_insert(value);
        }
        let affinity = preset.affinity_in(self.dialect.name());
        if let (Pin::Open, Some(affinity)) = (&self.affinity, affinity) {
            self.affinity = Pin::By(owned(affinity));
        }
        self.tolerance.get_or_insert(preset.tolerance);
        if self.unreliable.is_none() {
            self.unreliable = preset.unreliable_on(self.dialect.name()).map(Arc::from);
        }
        self
    }

    /// The same aim with what the entry states where no flag does.
    pub(crate) fn aim(&self, aim: &Aim) -> Aim {
        let mut aim = aim.clone();
        aim.target = Some(self.url.clone());
        aim.model = aim.model.or_else(|| self.model.clone());
        aim.dialect = aim.dialect.or_else(|| Some(self.dialect.name().to_owned()));
        let family = self.family.map(|family| family.as_str().to_owned());
        aim.wire = aim.wire.or(family);
        aim.cache_model = aim
            .cache_model
            .or_else(|| self.cache.as_ref().map(Model::to_string));
        aim.lifetime = aim
            .lifetime
            .or_else(|| self.lifetime.map(|span| span.as_secs()));
        aim
    }

    /// States what must hold before the first request goes to the target.
    ///
    /// # Errors
    ///
    /// A variable that is named and not set.
    pub(crate) fn before(
        &self,
        target: &mut Target,
        environment: Environment<'_>,
    ) -> Result<(), Failure> {
        target.name = Arc::from(self.name.as_str());
        if target.key.is_none() {
            target.key = self.key(environment)?;
        }
        for (name, held) in &self.headers {
            let what = format!("header `{name}` of target `{}`", self.name);
            let value = held.read(&what, environment)?;
            target.headers.push(match held {
                Held::Text(_) => Header::plain(name, value),
                Held::Env(_) => Header::secret(name, value.trim()),
            });
        }
        target.extra.clone_from(&self.body);
        target.affinity = match &self.affinity {
            Pin::By(affinity) => Some(affinity.clone()),
            Pin::Open | Pin::Off => None,
        };
        if let Some(preset) = self.preset {
            let forms = preset.key_headers.iter();
            target.key_headers = forms
                .map(|(name, prefix)| ((*name).to_owned(), (*prefix).to_owned()))
                .collect();
            target.limit_field =
                (preset.limit_field != "max_tokens").then(|| Arc::from(preset.limit_field));
        }
        Ok(())
    }

    /// States what goes before what the target was found to be, and fills in what
    /// it was not found to be.
    pub(crate) fn after(&self, target: &mut Target) {
        let preset = self.preset;
        target.preset = preset;
        target.salted = self
            .salted
            .unwrap_or(target.salted || preset.is_some_and(|preset| preset.salted));
        target.tools_first = self
            .tools_first
            .or(preset.map(|preset| preset.tools_first))
            .unwrap_or(target.tools_first);
        let rule = preset.and_then(|preset| preset.rule(&target.model));
        if target.cache.is_none() {
            // A test reads every rule's model.
            target.cache = rule.and_then(|rule| rule.cache.parse().ok());
        }
        target.lifetime = target.lifetime.or(rule.and_then(|rule| rule.lifetime));
        target.tolerance = self.tolerance.unwrap_or_default();
        target.rates = self.rates;
        target.metrics.clone_from(&self.metrics);
        if target.metrics.is_empty()
            && let Some(preset) = preset
        {
            target.metrics = preset
                .metrics
                .iter()
                .map(|path| target.at_root(path))
                .collect();
        }
        target.unreliable.clone_from(&self.unreliable);
        target.absent_is_zero.clone_from(&self.absent_is_zero);
    }

    /// What is published of the cache of its model.
    pub(super) fn rule(&self, model: &str) -> Option<&'static Rule> {
        self.preset.and_then(|preset| preset.rule(model))
    }

    /// What is not certain of the cache of `model`, or that nothing is known of it,
    /// where its preset knows caches and neither entry nor server says how it works.
    pub(crate) fn cache_note(&self, model: &str) -> Option<String> {
        let preset = self.preset.filter(|preset| preset.has_rules())?;
        if self.cache.is_some() || model.is_empty() {
            return None;
        }
        match preset.rule(model) {
            Some(rule) => rule.note.map(|note| format!("cache of `{model}`: {note}")),
            None => Some(format!(
                "nothing is known of how {} caches `{model}`: bounds need `cache_model`; `probe` finds one",
                preset.name
            )),
        }
    }

    /// The environment variables that it reads.
    pub(crate) fn variables(&self) -> Vec<String> {
        let key = match &self.key {
            Some(KeyPlace::Env(name) | KeyPlace::Usual(name)) => Some(name.clone()),
            Some(KeyPlace::Command(..)) | None => None,
        };
        let held = self.headers.iter().map(|(_, held)| held);
        let held = held.chain(&self.proxy).filter_map(|held| match held {
            Held::Env(name) => Some(name.clone()),
            Held::Text(_) => None,
        });
        held.chain(key).collect()
    }

    /// What prices it states.
    pub(crate) fn prices(&self) -> Option<&Prices> {
        self.prices.as_ref()
    }

    /// What records call it.
    pub(crate) fn name(&self) -> &str {
        &self.name
    }

    /// The URL.
    pub(crate) fn url(&self) -> &str {
        &self.url
    }

    /// Limits and routes of the client that speaks to it.
    ///
    /// # Errors
    ///
    /// A file of certificates that cannot be read, or a variable that is not set.
    pub(crate) fn client(&self, environment: Environment<'_>) -> Result<Settings, Failure> {
        let mut settings = Settings::default();
        if let Some(path) = &self.ca {
            settings.ca = Some(std::fs::read(path).map_err(|error| {
                Failure::wrong(
                    format!(
                        "cannot read `{}`, the certificates of target `{}`: {error}",
                        path.display(),
                        self.name
                    ),
                    "`ca` is a PEM file beside the targets file",
                )
            })?);
        }
        if let Some(held) = &self.proxy {
            let what = format!("`proxy` of target `{}`", self.name);
            settings.proxy = Some(ProxyUrl(held.read(&what, environment)?.trim().to_owned()));
        }
        Ok(settings)
    }

    fn key(&self, environment: Environment<'_>) -> Result<Option<Key>, Failure> {
        let fixed = |key: String| Key::fixed(Secret::new(&key));
        match &self.key {
            None => Ok(None),
            Some(KeyPlace::Usual(name)) => {
                let key = environment(name).filter(|key| !key.trim().is_empty());
                Ok(key.map(fixed))
            }
            Some(KeyPlace::Env(name)) => {
                let what = format!("`key_env` of target `{}`", self.name);
                let key = Held::Env(name.clone()).read(&what, environment)?;
                Ok(Some(fixed(key)))
            }
            Some(KeyPlace::Command(line, ttl)) => Ok(Some(Key::command(line, *ttl))),
        }
    }
}

fn owned(affinity: Affinity<&'static str>) -> Affinity<Arc<str>> {
    match affinity {
        Affinity::Header(name) => Affinity::Header(Arc::from(name)),
        Affinity::Field(name) => Affinity::Field(Arc::from(name)),
    }
}
