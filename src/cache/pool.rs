//! vLLM's pool of cache blocks, with its queue of free ones.
//!
//! Needed where the cache can be full: which blocks a request finds then
//! depends on the order in which earlier ones gave theirs back. Rules measured
//! on vLLM 0.32.0:
//!
//! * one block is a placeholder and holds nothing;
//! * a request takes its hits out of the queue, then new blocks from the
//!   front, which forget what they held, and one more whenever its answer
//!   needs it;
//! * at its end the blocks go back last first: full ones to the back of the
//!   queue, the partly filled one to the front;
//! * blocks are not de-duplicated: two may hold the same tokens.
//!
//! Invariants: a block is in the queue exactly when nobody uses it, and a key
//! leads to the blocks that hold it, oldest first.

use crate::chat::Digest;
use std::collections::HashMap;

/// No block: the end of the queue.
const NONE: usize = usize::MAX;

#[derive(Clone, Debug)]
struct Block {
    /// Chained hash of the tokens up to its end; `None` while it is not full.
    key: Option<Digest>,
    users: usize,
    before: usize,
    after: usize,
}

/// The blocks of one engine.
#[derive(Debug)]
pub(super) struct Pool {
    size: usize,
    drop: usize,
    blocks: Vec<Block>,
    front: usize,
    back: usize,
    held: HashMap<Digest, Vec<usize>>,
    evicted: u64,
}

/// What a running request holds.
#[derive(Debug)]
pub(super) struct Holding {
    blocks: Vec<usize>,
    /// Key of the last full block; where the chain goes on.
    chain: Digest,
    /// Leading blocks that have their key.
    keyed: usize,
}

impl Pool {
    /// A pool of `capacity` blocks of `size` tokens, the placeholder included,
    /// that takes `drop` blocks off the end of a hit.
    pub(super) fn new(size: usize, drop: usize, capacity: usize) -> Self {
        let mut pool = Self {
            size,
            drop,
            blocks: Vec::new(),
            front: NONE,
            back: NONE,
            held: HashMap::new(),
            evicted: 0,
        };
        let free = Block {
            key: None,
            users: 0,
            before: NONE,
            after: NONE,
        };
        pool.blocks.resize(capacity.saturating_sub(1), free);
        for block in 0..pool.blocks.len() {
            pool.push_back(block);
        }
        pool
    }

    /// Takes the blocks of a prompt, and says how many of its tokens were in them.
    ///
    /// Where the pool has too few free blocks the rest of the prompt stays
    /// without: a real engine would wait or preempt.
    pub(super) fn admit(&mut self, ids: &[u32], salt: Option<&str>) -> (usize, Holding) {
        let keys = chain(root(salt), ids, self.size);
        let hits = self.hits(&keys, ids.len());
        for &block in &hits {
            self.take(block);
        }
        let cached = hits.len() * self.size;
        let mut holding = Holding {
            chain: hits
                .len()
                .checked_sub(1)
                .map_or(root(salt), |last| keys[last]),
            keyed: hits.len(),
            blocks: hits,
        };
        self.grow(&mut holding, ids.len());
        self.fill(&mut holding, &keys);
        (cached, holding)
    }

    /// How many tokens of a prompt are in blocks now. Takes nothing.
    pub(super) fn peek(&self, ids: &[u32], salt: Option<&str>) -> usize {
        let keys = chain(root(salt), ids, self.size);
        self.hits(&keys, ids.len()).len() * self.size
    }

    /// Blocks that were full and have since been taken for something else.
    pub(super) fn evicted(&self) -> u64 {
        self.evicted
    }

    /// The blocks that hold the start of a prompt of so many tokens.
    fn hits(&self, keys: &[Digest], tokens: usize) -> Vec<usize> {
        let reusable = tokens.saturating_sub(1) / self.size;
        let mut hits: Vec<usize> = keys
            .iter()
            .take(reusable)
            .map_while(|key| self.held.get(key)?.first().copied())
            .collect();
        hits.truncate(hits.len().saturating_sub(self.drop));
        hits
    }

    /// Gives the blocks back once `ids`, prompt and answer, were computed.
    pub(super) fn finish(&mut self, mut holding: Holding, ids: &[u32]) {
        self.grow(&mut holding, ids.len());
        let keys = chain(holding.chain, &ids[holding.keyed * self.size..], self.size);
        let mut all = vec![holding.chain; holding.keyed];
        all.extend(keys);
        self.fill(&mut holding, &all);
        for &block in holding.blocks.iter().rev() {
            let left = self.blocks[block].users.saturating_sub(1);
            self.blocks[block].users = left;
            if left > 0 {
                continue;
            }
            if self.blocks[block].key.is_some() {
                self.push_back(block);
            } else {
                self.push_front(block);
            }
        }
    }

    /// Takes new blocks until `tokens` have room, or none is free.
    fn grow(&mut self, holding: &mut Holding, tokens: usize) {
        while holding.blocks.len() < tokens.div_ceil(self.size) && self.front != NONE {
            let block = self.front;
            self.forget(block);
            self.take(block);
            holding.blocks.push(block);
        }
    }

    /// Gives the full ones among the held blocks their keys.
    fn fill(&mut self, holding: &mut Holding, keys: &[Digest]) {
        let full = holding.blocks.iter().zip(keys);
        for (&block, &key) in full.skip(holding.keyed) {
            self.blocks[block].key = Some(key);
            self.held.entry(key).or_default().push(block);
            holding.chain = key;
            holding.keyed += 1;
        }
    }

    fn forget(&mut self, block: usize) {
        let Some(key) = self.blocks[block].key.take() else {
            return;
        };
        self.evicted += 1;
        if let Some(copies) = self.held.get_mut(&key) {
            copies.retain(|&copy| copy != block);
            if copies.is_empty() {
                self.held.remove(&key);
            }
        }
    }

    fn take(&mut self, block: usize) {
        if self.blocks[block].users == 0 {
            self.unlink(block);
        }
        self.blocks[block].users += 1;
    }

    fn unlink(&mut self, block: usize) {
        let (before, after) = (self.blocks[block].before, self.blocks[block].after);
        match before {
            NONE => self.front = after,
            _ => self.blocks[before].after = after,
        }
        match after {
            NONE => self.back = before,
            _ => self.blocks[after].before = before,
        }
    }

    fn push_back(&mut self, block: usize) {
        let before = std::mem::replace(&mut self.back, block);
        self.blocks[block].before = before;
        self.blocks[block].after = NONE;
        match before {
            NONE => self.front = block,
            _ => self.blocks[before].after = block,
        }
    }

    fn push_front(&mut self, block: usize) {
        let after = std::mem::replace(&mut self.front, block);
        self.blocks[block].after = after;
        self.blocks[block].before = NONE;
        match after {
            NONE => self.back = block,
            _ => self.blocks[after].before = block,
        }
    }
}

/// Where the chain of a salt begins; no salt is one of its own.
fn root(salt: Option<&str>) -> Digest {
    match salt {
        None => Digest::of(b"-"),
        Some(salt) => Digest::of(format!("+{salt}").as_bytes()),
    }
}

/// Keys of the full blocks of `ids`, each hashed with the one before.
fn chain(from: Digest, ids: &[u32], size: usize) -> Vec<Digest> {
    let mut parent = from;
    let mut bytes = Vec::with_capacity(32 + size * 4);
    ids.chunks_exact(size)
        .map(|block| {
            bytes.clear();
            bytes.extend_from_slice(&parent.0);
            for id in block {
                bytes.extend_from_slice(&id.to_le_bytes());
            }
            parent = Digest::of(&bytes);
            parent
        })
        .collect()
}
