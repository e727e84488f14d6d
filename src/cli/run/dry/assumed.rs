//! What is taken for true of a target without asking it.

use crate::analysis::cost::{Moment, buckets};
use crate::cache::Model;
use crate::chat::{Usage, UsageOrigin};
use crate::cli::assumed::Stated;
use crate::cli::exit::Failure;
use crate::cli::prices;
use crate::cli::requests::Form;
use crate::cli::run::Arguments;
use crate::cli::run::plan::{EMBEDDED, Planned};
use crate::cli::target::name_of;
use crate::cli::targets::Entry;
use crate::load::limits::Quotas;
use crate::load::preset::Prices as Listed;
use crate::load::{Engine, Target};
use crate::record::{Price, PublicUrl, WallTime};
use crate::scenario::plan::Embedded;
use crate::server::Speed;
use crate::units::{Money, Tokens};
use std::sync::Arc;
use std::time::Duration;

/// A target, as far as it is known before it is asked.
pub(super) struct Assumed {
    /// As it was written, without what could be a key.
    pub(super) shown: String,
    /// What records call it.
    pub(super) name: String,
    pub(super) form: Form,
    pub(super) cache: Option<Model>,
    pub(super) lifetime: Option<Duration>,
    pub(super) speed: Option<Speed>,
    pub(super) price: Option<Price>,
    /// The run's own and those of its account.
    pub(super) quotas: Quotas,
    /// The software that answers, where that is certain.
    pub(super) engine: Option<Engine>,
}

impl Assumed {
    /// Milliseconds that the cache keeps an entry for.
    pub(super) fn kept_ms(&self) -> Option<u64> {
        self.lifetime
            .and_then(|span| u64::try_from(span.as_millis()).ok())
    }

    /// Whether a provider is paid by the token.
    pub(super) fn hosted(&self) -> bool {
        self.price.is_some() && self.speed.is_none()
    }

    /// The most that a request of so many tokens may cost; `None` where nobody knows.
    /// The embedded server costs nothing.
    pub(super) fn most(&self, prompt: Tokens, output: Tokens) -> Option<Money> {
        match &self.price {
            None => self.speed.map(|_| Money(0)),
            Some(price) => dearest(price, self.kept_ms(), prompt, output),
        }
    }

    pub(super) fn of(target: &str, given: &Arguments, planned: &Planned) -> Result<Self, Failure> {
        if target == EMBEDDED {
            Self::embedded(given, planned)
        } else {
            Self::remote(target, given, planned)
        }
    }

    fn embedded(given: &Arguments, planned: &Planned) -> Result<Self, Failure> {
        let mut aim = given.aim.clone();
        let (profile, cache, lifetime) = planned.embedded(&aim)?;
        let own = Embedded {
            cache: Some(cache),
            lifetime,
        };
        aim.dialect.get_or_insert_with(|| "openai-chat".to_owned());
        let stated = Stated::embedded(aim, profile, &own)?;
        Ok(Self {
            shown: EMBEDDED.to_owned(),
            name: EMBEDDED.to_owned(),
            form: form(stated.form, planned),
            cache: stated.cache,
            lifetime: stated.lifetime,
            speed: Some(Speed::default()),
            price: None,
            quotas: planned.load.quotas,
            engine: Some(Engine::Embedded),
        })
    }

    fn remote(target: &str, given: &Arguments, planned: &Planned) -> Result<Self, Failure> {
        let mut aim = given.aim.clone();
        aim.target = Some(target.to_owned());
        let stated = Stated::remote(&aim, &given.files.scenarios)?;
        let (dialect, _) = stated.form.resolve()?;
        let mut at = Target {
            model: Arc::from(stated.form.model.as_deref().unwrap_or_default()),
            ..Target::at(name_of(target), target, dialect)
        };
        if let Some(entry) = &stated.entry {
            // Who serves a model decides what it costs.
            entry.after(&mut at);
            at.name = Arc::from(entry.name());
        }
        let catalogue = prices::catalogue(given.aim.prices.as_deref())?;
        let own = stated.entry.as_ref().and_then(Entry::prices);
        let price = prices::of(&at, own, &catalogue, &WallTime::now().date())?;
        // Of a vendor's service; a gateway may have an engine of one's own behind it.
        let vendor = at
            .preset
            .is_some_and(|preset| matches!(preset.prices, Listed::Of(_)));
        Ok(Self {
            shown: PublicUrl::new(target).as_str().to_owned(),
            name: at.name.to_string(),
            form: form(stated.form, planned),
            cache: stated.cache,
            lifetime: stated.lifetime,
            speed: None,
            price,
            quotas: planned.load.quotas.within(at.rates),
            engine: vendor.then_some(Engine::Other),
        })
    }
}

fn form(stated: Form, planned: &Planned) -> Form {
    Form {
        max_tokens: planned.limits.max_tokens,
        ..stated
    }
}

/// The most that a request may cost: nothing is read, what is billed most for newly
/// cached tokens is billed for all of them, and at the dearest hour of the week.
///
/// `None` where keeping them is charged and how long a cache keeps them is not known.
pub(in crate::cli::run) fn dearest(
    price: &Price,
    kept_ms: Option<u64>,
    prompt: Tokens,
    output: Tokens,
) -> Option<Money> {
    let usage = Usage {
        total: Some(prompt),
        read: Some(Tokens(0)),
        write: Some(Tokens(0)),
        output: Some(output),
        origin: UsageOrigin::Reported,
        ..Usage::default()
    };
    let short = Usage {
        write: Some(prompt),
        ..usage.clone()
    };
    let long = Usage {
        write_long: Some(prompt),
        ..usage.clone()
    };
    if price.storage_hour.is_some() && kept_ms.is_none() {
        return None;
    }
    let moment = Moment {
        at_ms: None,
        kept_ms,
    };
    let at_peak = price.peak.as_ref().map(|peak| Price {
        tiers: peak.tiers.clone(),
        ..price.clone()
    });
    let most = |price: &Price| {
        let each = [&usage, &short, &long].map(|usage| buckets(price, usage, moment));
        let bills = each.into_iter().flatten().map(|buckets| buckets.sum());
        bills.max()
    };
    most(price).max(at_peak.as_ref().and_then(most))
}
