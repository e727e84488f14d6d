//! A fleet: many copies of some conversations at once, on several replicas of
//! one cache.
//!
//! Invariants: requests run one after the other, in an order drawn from a seed,
//! turn by turn; a replica sees only what is routed to it; with a capacity,
//! memory is that of the replicas' blocks and of one prompt a conversation,
//! however many copies there are.

use super::model::Model;
use super::state::{Cache, Query};
use crate::chat::Role;
use crate::units::{Share, Tokens};
use rand::SeedableRng;
use rand::seq::SliceRandom;
use rand_chacha::ChaCha8Rng;
use std::num::NonZeroUsize;
use std::sync::Arc;
use std::time::Duration;

/// Which replica a request goes to.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, clap::ValueEnum)]
pub enum Routing {
    /// The next one, whoever asks.
    #[default]
    RoundRobin,
    /// A session always to the same one.
    Sticky,
    /// The one that holds most of the prompt, if at least half; else the one
    /// that has computed least.
    Prefix,
}

impl Routing {
    /// The name as written on the command line.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::RoundRobin => "round-robin",
            Self::Sticky => "sticky",
            Self::Prefix => "prefix",
        }
    }
}

/// Which sessions can read each other's entries.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Sharing {
    /// None: every session begins with a nonce of its own.
    #[default]
    Nothing,
    /// The copies of one conversation.
    Copies,
    /// All.
    Everything,
}

/// What a fleet is made of.
#[derive(Clone, Debug)]
pub struct FleetOptions {
    /// The cache of each replica.
    pub model: Model,
    /// How long an unused entry lives; `None`: until it is displaced. Not heeded
    /// by a model with a capacity.
    pub lifetime: Option<Duration>,
    /// Replicas.
    pub replicas: NonZeroUsize,
    /// How requests find them.
    pub routing: Routing,
    /// Copies of each conversation.
    pub copies: NonZeroUsize,
    /// Who shares with whom.
    pub sharing: Sharing,
    /// Seed of the order.
    pub seed: u64,
}

/// The next request of a conversation, as every copy of it sends it.
#[derive(Clone, Debug, Default)]
pub struct FleetPrompt {
    /// Number of the conversation, from 0.
    pub conversation: usize,
    /// Model asked for: entries of one are of no use to another.
    pub model: Arc<str>,
    /// Token ids of the whole prompt.
    pub ids: Vec<u32>,
    /// Token index behind each message.
    pub ends: Vec<usize>,
    /// Who speaks in each of them.
    pub roles: Vec<Role>,
    /// When it is sent, in the conversation's time.
    pub at_ms: i64,
}

/// What one replica did.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Replica {
    /// Requests that it answered.
    pub requests: u64,
    /// Of these, read at least one token from its cache.
    pub hits: u64,
    /// Prompt tokens, and what of them its cache returned.
    pub share: Share,
    /// Full blocks that made room for others.
    pub evicted: u64,
}

/// Replicas and what they have done so far.
#[derive(Debug)]
pub struct Fleet {
    options: FleetOptions,
    caches: Vec<Cache>,
    replicas: Vec<Replica>,
    order: ChaCha8Rng,
    sent: usize,
}

impl Fleet {
    /// A fleet of cold caches.
    pub fn new(options: FleetOptions) -> Self {
        let cache = |_| match options.lifetime {
            None => Cache::without_history(&options.model),
            lifetime => Cache::new(&options.model, lifetime),
        };
        Self {
            caches: (0..options.replicas.get()).map(cache).collect(),
            replicas: vec![Replica::default(); options.replicas.get()],
            order: ChaCha8Rng::seed_from_u64(options.seed),
            sent: 0,
            options,
        }
    }

    /// Every copy of these conversations sends its request, in a drawn order.
    pub fn round(&mut self, prompts: &mut [FleetPrompt]) {
        let copies = self.options.copies.get();
        let mut order: Vec<(usize, usize)> = (0..prompts.len())
            .flat_map(|prompt| (0..copies).map(move |copy| (prompt, copy)))
            .collect();
        order.shuffle(&mut self.order);
        for (prompt, copy) in order {
            let prompt = &mut prompts[prompt];
            let session = prompt.conversation * copies + copy;
            let unit = match self.options.sharing {
                Sharing::Nothing => Some(session),
                Sharing::Copies => Some(prompt.conversation),
                Sharing::Everything => None,
            };
            if let (Some(unit), Some(first)) = (unit, prompt.ids.first_mut()) {
                *first = nonce(unit);
            }
            self.send(session, prompt);
        }
    }

    /// The replicas, in the order of their numbers.
    pub fn replicas(&self) -> &[Replica] {
        &self.replicas
    }

    /// All replicas together.
    pub fn total(&self) -> Replica {
        let sum = |sum: Replica, one: &Replica| Replica {
            requests: sum.requests + one.requests,
            hits: sum.hits + one.hits,
            share: sum.share + one.share,
            evicted: sum.evicted + one.evicted,
        };
        self.replicas.iter().fold(Replica::default(), sum)
    }

    fn send(&mut self, session: usize, prompt: &FleetPrompt) {
        let query = Query {
            ids: &prompt.ids,
            ends: &prompt.ends,
            roles: &prompt.roles,
            salt: Some(&prompt.model),
            at_ms: prompt.at_ms,
            ..Query::default()
        };
        let replica = self.route(session, &query);
        let cache = &mut self.caches[replica];
        let admitted = cache.admit(&query);
        cache.finish(admitted.handle, &[]);
        let counts = &mut self.replicas[replica];
        counts.requests += 1;
        counts.hits += u64::from(admitted.bound > 0);
        counts.share = counts.share
            + Share {
                part: Tokens(admitted.bound),
                whole: Tokens(prompt.ids.len() as u64),
            };
        counts.evicted = cache.evicted();
        self.sent += 1;
    }

    fn route(&self, session: usize, query: &Query<'_>) -> usize {
        let count = self.caches.len();
        match self.options.routing {
            _ if count == 1 => 0,
            Routing::RoundRobin => self.sent % count,
            Routing::Sticky => session % count,
            Routing::Prefix => {
                let held = self.caches.iter().map(|cache| cache.would_read(query));
                let (best, most) = held
                    .enumerate()
                    // Of several that hold as much, the first.
                    .max_by_key(|&(at, held)| (held, std::cmp::Reverse(at)))
                    .unwrap_or_default();
                if most.saturating_mul(2) >= query.ids.len() as u64 {
                    return best;
                }
                let computed = |one: &Replica| one.share.whole.saturating_sub(one.share.part);
                let least = (0..count).min_by_key(|&at| computed(&self.replicas[at]));
                least.unwrap_or_default()
            }
        }
    }
}

/// Stands in for the first token of a session's prompts, as a nonce would; no
/// vocabulary has ids so high.
fn nonce(unit: usize) -> u32 {
    u32::MAX - u32::try_from(unit).unwrap_or(u32::MAX)
}

#[cfg(test)]
#[path = "fleet_tests.rs"]
mod tests;
