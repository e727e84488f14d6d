//! A target of a run: who asks it, and who answers where that is the embedded server.

use super::Arguments;
use super::dry::dearest;
use super::plan::{EMBEDDED, Planned};
use crate::cli::exit::{Exit, Failure};
use crate::cli::prices;
use crate::cli::probe::Probed;
use crate::cli::target::{Aim, name_output, no_client, variable};
use crate::cli::targets;
use crate::conversation::Nonce;
use crate::load::limits::Budget;
use crate::load::{
    Health, Idle, Limits, MOST_UNITS, Runner, RunnerSetup, StartState, Target, Writer,
};
use crate::record::WallTime;
use crate::server::{self, Handle, Server};
use crate::transport::{Client, Settings as ClientSettings};
use crate::units::Money;
use std::sync::Arc;
use std::time::Duration;
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;

/// Where requests go, and the embedded server where that is it.
pub(super) struct Place {
    pub(super) target: Arc<Target>,
    pub(super) client: Arc<Client>,
    pub(super) server: Option<Arc<Handle>>,
    pub(super) probed: Option<Probed>,
}

/// Numbers that a probe has to itself: the last before they begin again.
const PROBE_UNITS: u64 = 100_000;

/// Tokens of the first prompt of a target's probe.
pub(super) const PROBE_TOKENS: usize = 2_000;

impl Place {
    /// All targets of the run, in the order given.
    pub(super) async fn all(
        given: &Arguments,
        planned: &Planned,
        (started, patience): (Instant, Duration),
    ) -> Result<Vec<Self>, Failure> {
        let mut places = Vec::new();
        for name in &planned.targets {
            places.push(Self::find(given, planned, name, (started, patience)).await?);
        }
        Ok(places)
    }

    async fn find(
        given: &Arguments,
        planned: &Planned,
        name: &str,
        clock: (Instant, Duration),
    ) -> Result<Self, Failure> {
        if name == EMBEDDED {
            Self::embedded(given, planned, clock).await
        } else {
            Self::remote(given, planned, name, clock).await
        }
    }

    async fn remote(
        given: &Arguments,
        planned: &Planned,
        name: &str,
        (started, patience): (Instant, Duration),
    ) -> Result<Self, Failure> {
        let catalogue = prices::catalogue(given.aim.prices.as_deref())?;
        let aim = Aim {
            target: Some(name.to_owned()),
            ..given.aim.clone()
        };
        let entry = targets::named(&aim, &given.files.scenarios)?;
        let routes = match &entry {
            Some(entry) => entry.client(&variable)?,
            None => ClientSettings::default(),
        };
        let client = Client::new(&routes.giving_up_after(patience), started).map_err(no_client)?;
        let mut target = match &entry {
            Some(entry) => aim.named(entry, &client).await?,
            None => aim.remote(name, &client).await?,
        };
        if planned.live() {
            // What was generated is sent again as text, which need not tokenise alike.
            name_output(&mut target);
        }
        let stated = entry.as_ref().and_then(targets::Entry::prices);
        target.price = prices::of(&target, stated, &catalogue, &WallTime::now().date())?;
        let mut probed = None;
        if given.probe {
            // Of no conversation, so that none of them shares its beginning.
            let probe_nonce = planned.nonce.of_unit(2 * MOST_UNITS - PROBE_UNITS);
            let found = Probed::of(&target, &client, probe_nonce, PROBE_TOKENS).await?;
            found.complete(&mut target);
            probed = Some(found);
        }
        Ok(Self {
            target: Arc::new(target),
            client: Arc::new(client),
            server: None,
            probed,
        })
    }

    async fn embedded(
        given: &Arguments,
        planned: &Planned,
        (started, patience): (Instant, Duration),
    ) -> Result<Self, Failure> {
        let catalogue = prices::catalogue(given.aim.prices.as_deref())?;
        let (profile, cache, lifetime) = planned.embedded(&given.aim)?;
        let options = server::Options {
            profile,
            seed: planned.seed,
            model: "embedded".to_owned(),
            cache_model: Some(cache.clone()),
            lifetime,
            ..server::Options::default()
        };
        let server = Server::start(options).await.map_err(|error| {
            Failure::new(
                Exit::Unexpected,
                format!("cannot start the embedded server: {error}"),
                None,
            )
        })?;
        let routes = ClientSettings::default().giving_up_after(patience);
        let client = Client::new(&routes, started).map_err(no_client)?;
        let mut target = given.aim.embedded(&server, cache, lifetime)?;
        target.salted &= profile.habit.knows_salt();
        target.price = prices::of(&target, None, &catalogue, &WallTime::now().date())?;
        Ok(Self {
            target: Arc::new(target),
            client: Arc::new(client),
            server: Some(Arc::new(server)),
            probed: None,
        })
    }

    /// What probing it has cost, with nothing read from a cache.
    pub(super) fn probing_cost(&self) -> Money {
        let (Some(probed), Some(price)) = (&self.probed, &self.target.price) else {
            return Money(0);
        };
        let kept = self.target.lifetime.map(|span| span.as_millis());
        let kept_ms = kept.and_then(|millis| u64::try_from(millis).ok());
        let cost = |(prompt, output)| dearest(price, kept_ms, prompt, output);
        probed.sent().filter_map(cost).sum()
    }

    /// Only what is waited for can be cut short.
    pub(super) fn limits(&self, limits: Limits) -> Limits {
        Limits {
            longest_idle: limits.longest_idle.filter(|_| self.server.is_none()),
            ..limits
        }
    }

    /// The embedded server's clock jumps; anything else is waited for.
    pub(super) fn idle(&self) -> Idle {
        let server = self.server.clone();
        Arc::new(move |span: Duration| {
            let server = server.clone();
            Box::pin(async move {
                match server {
                    Some(server) => server.advance(span),
                    None => tokio::time::sleep(span).await,
                }
            })
        })
    }

    /// What drives conversations against it.
    pub(super) fn runner(
        &self,
        planned: &Planned,
        begin: StartState,
        nonce: Nonce,
        budget: &Arc<Budget>,
        writer: &Writer,
        stop: &CancellationToken,
    ) -> Runner {
        Runner::new(RunnerSetup {
            client: Arc::clone(&self.client),
            isolate: planned.isolate,
            nonce,
            limits: self.limits(planned.limits),
            gate: Arc::new(planned.gate(&self.target, budget)),
            health: Health::default(),
            think: planned.load.think,
            seed: planned.seed,
            records: writer.sender(),
            idle: self.idle(),
            stop: stop.clone(),
            begin,
        })
    }

    pub(super) async fn close(self) {
        if let Some(server) = self.server.and_then(Arc::into_inner) {
            server.shutdown().await;
        }
    }
}
