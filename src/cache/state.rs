//! The state of one cache: what earlier requests left in it.

use super::model::Model;
use super::pool::{Holding, Pool};
use super::rules::{self, Verdict};
use super::slots::Slots;
use super::tree::Tree;
use crate::chat::Role;
use std::collections::HashMap;
use std::time::Duration;

/// A prompt that is about to be computed.
#[derive(Clone, Copy, Debug, Default)]
pub struct Query<'a> {
    /// Token ids of the whole prompt, generation suffix included.
    pub ids: &'a [u32],
    /// Token index behind each message, ascending. Only models that end
    /// entries at messages read it.
    pub ends: &'a [usize],
    /// Who speaks in each of those messages; empty where unknown: then an
    /// entry may end behind any of them.
    pub roles: &'a [Role],
    /// Token index behind each marked block, ascending.
    pub markers: &'a [usize],
    /// Requests with different salts share nothing; `None` is a salt of its own.
    pub salt: Option<&'a str>,
    /// When the request starts, in the caller's time.
    pub at_ms: i64,
    /// What the request itself says of its entries.
    pub wishes: Wishes<'a>,
}

/// What a request says of its own cache entries, where a service lets it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Wishes<'a> {
    /// How long its entries live, in place of the cache's lifetime (OpenAI's
    /// `prompt_cache_options.ttl` and `prompt_cache_retention`).
    pub lifetime: Option<Duration>,
    /// Those of its markers whose entries live an hour (Anthropic's `ttl: 1h`).
    pub long_markers: &'a [usize],
    /// Only marked places are read and written (OpenAI's mode `explicit`).
    pub explicit: bool,
    /// The slot to be put into (llama.cpp's `id_slot`); one that does not exist is read over.
    pub slot: Option<usize>,
}

/// Lifetime of the entries at [`Wishes::long_markers`].
const LONG: Duration = Duration::from_hours(1);

/// Names a running request, for [`Cache::finish`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Handle(u64);

/// What a cache can do for a prompt. All in tokens.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Admitted {
    /// Longest common prefix with anything that the cache could still hold:
    /// sent earlier under this salt, since the last reset, within the
    /// lifetime. Capacity does not lessen it.
    pub eligible: u64,
    /// What of it the model returns: what a server of this kind reports as read.
    pub bound: u64,
    /// Newly written tokens, where a server of this kind reports them.
    pub created: Option<u64>,
    /// Of these, the ones that live an hour.
    pub created_long: u64,
    /// The request, to be ended by [`Cache::finish`].
    pub handle: Handle,
}

/// A request between admission and end.
#[derive(Debug)]
struct Flight {
    salt: Option<String>,
    ids: Vec<u32>,
    at_ms: i64,
    /// Ends of entries, and by how many milliseconds they live longer than others.
    writes: Vec<(usize, i64)>,
    place: Place,
}

/// What a running request holds of the engine.
#[derive(Debug)]
pub(super) enum Place {
    Nothing,
    Blocks(Holding),
    Slot(usize),
}

/// Engine state of the models that a tree of prompts does not describe.
#[derive(Debug)]
pub(super) enum Engine {
    Tree,
    Pool(Pool),
    Slots(Slots),
}

impl Engine {
    fn new(model: &Model) -> Self {
        match *model {
            Model::Blocks {
                size,
                drop,
                capacity: Some(capacity),
            } => Self::Pool(Pool::new(size.get(), drop, capacity)),
            Model::Slots {
                count,
                similarity,
                ram,
            } => Self::Slots(Slots::new(count.get(), similarity, ram)),
            _ => Self::Tree,
        }
    }
}

/// What was sent under one salt.
#[derive(Debug, Default)]
pub(super) struct World {
    pub(super) tree: Tree,
    /// Number of the request that used it last.
    used: u64,
}

/// A prefix cache: a [`Model`] and what it holds.
#[derive(Debug)]
pub struct Cache {
    pub(super) model: Model,
    lifetime: Option<Duration>,
    pub(super) worlds: HashMap<Option<String>, World>,
    pub(super) engine: Engine,
    flights: HashMap<Handle, Flight>,
    next: u64,
    /// Whether prompts are kept beside what the engine holds.
    pub(super) history: bool,
}

impl Cache {
    /// An empty cache.
    ///
    /// An entry that was neither written nor read for longer than `lifetime`
    /// is gone; `None`: entries stay. The time counts from the start of the
    /// request that used it last.
    pub fn new(model: &Model, lifetime: Option<Duration>) -> Self {
        Self {
            model: model.clone(),
            lifetime,
            worlds: HashMap::new(),
            engine: Engine::new(model),
            flights: HashMap::new(),
            next: 0,
            history: true,
        }
    }

    /// The rule it follows.
    pub fn model(&self) -> &Model {
        &self.model
    }

    /// Starts a request: what it can read, and its place among those that run.
    ///
    /// An engine that shares on schedule holds the prompt from here on, any
    /// other from [`Cache::finish`]. An empty prompt reads nothing.
    pub fn admit(&mut self, query: &Query<'_>) -> Admitted {
        if !self.history {
            return self.admit_to_pool(query);
        }
        let salt = query.salt.filter(|_| self.model.knows_salt());
        let alive_from = self.alive_from(query.at_ms);
        let world = self.worlds.entry(salt.map(str::to_owned)).or_default();
        world.used = self.next;
        let tree = &mut world.tree;
        let walk = tree.walk(query.ids, alive_from);
        let mut verdict = rules::verdict(&self.model, query, &walk);
        let place = match &mut self.engine {
            Engine::Tree => Place::Nothing,
            Engine::Pool(pool) => {
                let (held, holding) = pool.admit(query.ids, salt);
                limit(&mut verdict, held);
                Place::Blocks(holding)
            }
            Engine::Slots(slots) => {
                let (held, slot) = slots.admit(query.ids, query.wishes.slot);
                limit(&mut verdict, held);
                Place::Slot(slot)
            }
        };
        if self.model.shares_in_flight() {
            tree.insert(query.ids, query.at_ms);
        }
        Admitted {
            eligible: walk.common as u64,
            bound: verdict.read as u64,
            created: verdict.created.map(|tokens| tokens as u64),
            created_long: verdict.created_long as u64,
            handle: self.take_off(query, salt, verdict.writes, place),
        }
    }

    /// Notes that a request runs.
    pub(super) fn take_off(
        &mut self,
        query: &Query<'_>,
        salt: Option<&str>,
        writes: Vec<usize>,
        place: Place,
    ) -> Handle {
        let handle = Handle(self.next);
        self.next += 1;
        let flight = Flight {
            salt: salt.map(str::to_owned),
            ids: query.ids.to_vec(),
            at_ms: query
                .at_ms
                .saturating_add(self.longer_ms(query.wishes.lifetime)),
            writes: self.with_lives(query, writes),
            place,
        };
        self.flights.insert(handle, flight);
        handle
    }

    /// Ends a request that generated `output`, the stop token included.
    ///
    /// The last generated token was never computed, so an engine that keeps
    /// its output keeps all but that one. A request that was broken off before
    /// its first token has an empty output. An unknown handle, or one from
    /// before a reset, changes nothing.
    pub fn finish(&mut self, handle: Handle, output: &[u32]) {
        let Some(mut flight) = self.flights.remove(&handle) else {
            return;
        };
        if self.model.keeps_output() {
            let computed = output.len().saturating_sub(1);
            flight.ids.extend_from_slice(&output[..computed]);
        }
        let ids = flight.ids;
        if !self.history {
            if let (Engine::Pool(pool), Place::Blocks(holding)) = (&mut self.engine, flight.place) {
                pool.finish(holding, &ids);
            }
            return;
        }
        let tree = &mut self.worlds.entry(flight.salt).or_default().tree;
        tree.insert(&ids, flight.at_ms);
        match self.model {
            Model::Align { size, .. } => flight.writes.push((ids.len() / size * size.get(), 0)),
            Model::Units { .. } => flight.writes.push((ids.len(), 0)),
            _ => {}
        }
        for (end, longer_ms) in flight.writes {
            tree.mark(&ids[..end], flight.at_ms.saturating_add(longer_ms));
        }
        match (&mut self.engine, flight.place) {
            (Engine::Pool(pool), Place::Blocks(holding)) => pool.finish(holding, &ids),
            (Engine::Slots(slots), Place::Slot(slot)) => slots.finish(slot, ids),
            _ => {}
        }
    }

    /// Empties the cache. Refused, with `false`, while a request runs, as a
    /// real engine does.
    pub fn reset(&mut self) -> bool {
        if !self.flights.is_empty() {
            return false;
        }
        self.worlds.clear();
        self.engine = Engine::new(&self.model);
        true
    }

    /// Forgets whole salts, the least recently used first, until at most
    /// `most_tokens` are held: for a server that runs for a long time.
    ///
    /// Each token of a shared prefix counts once. Blocks and slots have their
    /// own bounds and stay.
    pub fn trim(&mut self, most_tokens: usize) {
        let held = |world: &World| world.tree.tokens_held();
        let mut total: usize = self.worlds.values().map(held).sum();
        while total > most_tokens {
            let oldest = self.worlds.iter().min_by_key(|(_, world)| world.used);
            let Some(salt) = oldest.map(|(salt, _)| salt.clone()) else {
                return;
            };
            total -= self.worlds.remove(&salt).as_ref().map_or(0, held);
        }
    }

    /// Empties a slot of llama.cpp; the tokens that it held, or `None` where there is
    /// no such slot or a request runs in it.
    pub fn erase_slot(&mut self, slot: usize) -> Option<u64> {
        match &mut self.engine {
            Engine::Slots(slots) => slots.erase(slot).map(|tokens| tokens as u64),
            Engine::Tree | Engine::Pool(_) => None,
        }
    }

    /// Tokens that each slot of llama.cpp holds, and whether a request runs in it;
    /// empty for other engines.
    pub fn slots(&self) -> Vec<(u64, bool)> {
        match &self.engine {
            Engine::Slots(slots) => slots
                .held()
                .map(|(tokens, busy)| (tokens as u64, busy))
                .collect(),
            Engine::Tree | Engine::Pool(_) => Vec::new(),
        }
    }

    /// How many milliseconds longer than others an entry lives that is to live for
    /// `life`. Without a lifetime nothing ends, and nothing can end later.
    fn longer_ms(&self, life: Option<Duration>) -> i64 {
        let ms = |span: Duration| i64::try_from(span.as_millis()).unwrap_or(i64::MAX);
        life.zip(self.lifetime)
            .map_or(0, |(life, usual)| ms(life).saturating_sub(ms(usual)))
    }

    /// How much longer than the request's others each of its entries lives. What is
    /// read is refreshed for as long as the longest of those behind it.
    fn with_lives(&self, query: &Query<'_>, writes: Vec<usize>) -> Vec<(usize, i64)> {
        let long_markers = match self.model {
            Model::Breakpoints { .. } => query.wishes.long_markers,
            _ => &[],
        };
        let longer = |end: usize| {
            let long = long_markers.iter().any(|&marker| end <= marker);
            self.longer_ms(long.then_some(LONG))
        };
        writes.into_iter().map(|end| (end, longer(end))).collect()
    }

    pub(super) fn alive_from(&self, at_ms: i64) -> i64 {
        self.lifetime.map_or(i64::MIN, |lifetime| {
            let lifetime = i64::try_from(lifetime.as_millis()).unwrap_or(i64::MAX);
            at_ms.saturating_sub(lifetime)
        })
    }
}

/// Lessens a verdict to what the engine really holds.
fn limit(verdict: &mut Verdict, held: usize) {
    let read = verdict.read.min(held);
    if let Some(created) = &mut verdict.created {
        *created += verdict.read - read;
    }
    verdict.read = read;
}
