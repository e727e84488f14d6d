//! The known state of caches: what it takes, and what is refused because it would
//! not be known.

use super::plan::Planned;
use super::resume::Again;
use super::{Arguments, Place};
use crate::chat::{Digest, Usage};
use crate::cli::exit::{Exit, Failure};
use crate::cli::settings::Settings;
use crate::conversation::Nonce;
use crate::load::limits::{Ask, Budget};
use crate::load::{self, Cell, Engine, Isolate, Order, StartState, Target};
use crate::record::{Outcome, Run};
use crate::units::Money;
use std::collections::BTreeMap;
use std::fmt;
use std::path::Path;
use std::str::FromStr;
use std::sync::Arc;

/// Whether each cell's first prompt is asked again at its end.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, clap::ValueEnum)]
pub(super) enum EvictionProbe {
    /// Where it costs nothing and touches no other cell: on engines of one's own, with
    /// conversations or cells kept apart.
    #[default]
    Auto,
    /// Always.
    On,
    /// Never.
    Off,
}

impl EvictionProbe {
    /// Whether it is asked on this target.
    pub(super) fn asks(self, target: &Target, isolate: Isolate) -> bool {
        self.may_ask(Some(target.engine), isolate)
    }

    /// Whether it may be asked of an engine that is not known before it is asked (`None`).
    pub(super) fn may_ask(self, engine: Option<Engine>, isolate: Isolate) -> bool {
        match self {
            Self::On => true,
            Self::Off => false,
            Self::Auto => {
                engine != Some(Engine::Other)
                    && matches!(isolate, Isolate::Conversation | Isolate::Cell)
            }
        }
    }
}

impl fmt::Display for EvictionProbe {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Auto => "auto",
            Self::On => "on",
            Self::Off => "off",
        })
    }
}

impl FromStr for EvictionProbe {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        clap::ValueEnum::from_str(text, false)
    }
}

/// The nonce that was given, as such or as a text to draw it from.
pub(super) fn given_nonce(
    given: &Arguments,
    settings: &mut Settings,
) -> Result<Option<Nonce>, Failure> {
    let text = settings.optional("nonce", given.nonce.clone())?;
    let drawn_from = settings.optional("nonce-from", given.nonce_from.clone())?;
    match (text, drawn_from) {
        (Some(text), _) => super::nonce(Some(&text)).map(Some),
        (None, Some(text)) if text.trim().is_empty() => Err(Failure::wrong(
            "the text to draw the nonce from is empty",
            "give a text that is new for every run, such as the id of the job",
        )),
        (None, Some(text)) => {
            let digest = Digest::of(format!("nonce of a run {text}").as_bytes());
            let first = digest.0[..8].iter();
            let seed = first.fold(0, |seed, byte| (seed << 8) | u64::from(*byte));
            Ok(Some(Nonce::draw(seed)))
        }
        (None, None) => Ok(None),
    }
}

/// What the run may spend, less what probing its targets has cost and what went `before`,
/// in its folder.
pub(super) fn budget(planned: &Planned, places: &[Place], before: Option<&Path>) -> Arc<Budget> {
    let budget = Budget::new(planned.load.max_usd);
    budget.begin_with(places.iter().map(Place::probing_cost).sum());
    if let Some(dir) = before {
        budget.begin_with(spent_before(dir, planned, places));
    }
    Arc::new(budget)
}

/// What the requests in `dir` have cost so far, by the rule by which requests are billed
/// while they are sent. What does not read was told of when the run was opened.
fn spent_before(dir: &Path, planned: &Planned, places: &[Place]) -> Money {
    let priced = places.iter().map(|place| &place.target);
    let priced: Vec<_> = priced.filter(|target| target.price.is_some()).collect();
    let Some(run) = Run::read(dir).ok().filter(|_| !priced.is_empty()) else {
        return Money(0);
    };
    let mut sent: BTreeMap<Arc<str>, Vec<(Ask, Outcome, Usage)>> = BTreeMap::new();
    let recorded = run.requests().into_iter().flatten().flatten();
    for record in recorded.chain(run.aside().unwrap_or_default()) {
        let ask = Ask {
            bytes: record.bytes_sent.0,
            max_tokens: planned.limits.max_tokens,
        };
        let usage = Usage {
            raw: None,
            ..record.usage
        };
        let of_target = sent.entry(record.target).or_default();
        of_target.push((ask, record.outcome, usage));
    }
    let nothing = Arc::new(Budget::new(None));
    let spent = priced.into_iter().filter_map(|target| {
        let sent = sent.get(&target.name)?;
        Some(planned.gate(target, &nothing).spent(sent))
    });
    spent.sum()
}

/// The nonce that units are numbered from: where conversations are counted, no two
/// sessions of a run share one. Elsewhere the units of a session are its own.
pub(super) fn nonce(again: Option<&Again>, planned: &Planned, cells: &[Arc<Cell>]) -> Nonce {
    if cells.iter().any(|cell| !cell.counted) {
        return planned.nonce;
    }
    let of_cells = cells.iter().map(|cell| u64::from(cell.repeats) + 1);
    let all = 1 + of_cells.sum::<u64>();
    let session = again.map_or(0, Again::session);
    planned.nonce.of_unit(u64::from(session) * all)
}

/// What the runner of each target begins from.
pub(super) fn beginnings(
    again: Option<&Again>,
    planned: &Planned,
    places: &[Place],
) -> Vec<StartState> {
    let order = Arc::default();
    let of = |place: &Place| StartState {
        warm_up: planned.warm_up,
        order: Arc::clone(&order),
        ..again.map_or_else(StartState::default, |again| again.beginning(place))
    };
    places.iter().map(of).collect()
}

/// Where caches are emptied between units: refuses what cannot be kept apart so, and
/// empties each once, so that a server that cannot do it is told of before anything
/// was measured.
pub(super) async fn resets(planned: &Planned, places: &[Place]) -> Result<(), Failure> {
    let emptied = |place: &&Place| place.target.resets;
    if places.iter().any(|place| emptied(&place)) {
        can_be_emptied(planned)?;
    }
    for place in places.iter().filter(emptied) {
        let done = load::reset(&place.client, &place.target, "the run", 0).await;
        done.map_err(|error| {
            let help = Some(error.help().to_owned());
            Failure::new(Exit::WrongInput, &error, help)
        })?;
    }
    Ok(())
}

fn can_be_emptied(planned: &Planned) -> Result<(), Failure> {
    let at_once = planned.load.overlaps();
    if planned.shard.is_some() {
        return Err(Failure::wrong(
            "shards that run side by side would empty each other's cache",
            "isolate by salt or nonce, or run all of it in one process",
        ));
    }
    let refused = match planned.isolate {
        Isolate::Conversation if at_once => {
            "conversations at once cannot each begin on a cache that was just emptied"
        }
        Isolate::Cell if planned.order == Order::Shuffled => {
            "cells that are interleaved cannot each have a cache of their own that is emptied"
        }
        Isolate::None => {
            "`--isolate none` leaves the cache as it is, and `--isolate-by reset` empties it"
        }
        _ => return Ok(()),
    };
    Err(Failure::wrong(
        refused,
        "isolate by salt or nonce, or run them one after the other (--sessions 1, --order given)",
    ))
}
