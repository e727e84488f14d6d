//! llama.cpp's slots: each holds the sequence that it computed last.
//!
//! A free slot is chosen whose sequence shares more than a given part of the
//! new prompt, and of these the one that shares most; else the least recently
//! used. What the slot held beyond the common prefix is lost, unless less than
//! half of it would be kept: then it goes to host memory, from where a later
//! prompt may take it back. Source: llama.cpp `tools/server`, and measured.
//!
//! Invariant: a slot is busy from admission to the end of its request.

use super::tree::common_len;

/// Share of a stored sequence that a prompt must keep for it to be restored.
const RESTORE_KEEPS: f64 = 0.25;
/// Share of a slot's sequence below which it is worth saving.
const SAVE_BELOW: f64 = 0.5;

#[derive(Clone, Debug, Default)]
struct Slot {
    ids: Vec<u32>,
    busy: bool,
    /// Order of last use; 0 is never.
    used: u64,
}

/// The slots of one server and its cache in host memory.
#[derive(Debug)]
pub(super) struct Slots {
    all: Vec<Slot>,
    /// Thousandths of the prompt that must be in common.
    similarity: u16,
    stored: Option<Vec<Vec<u32>>>,
    clock: u64,
}

fn share(part: usize, whole: usize) -> f64 {
    if whole == 0 {
        0.0
    } else {
        part as f64 / whole as f64
    }
}

impl Slots {
    /// `count` empty slots; with `ram`, displaced sequences are kept.
    pub(super) fn new(count: usize, similarity: u16, ram: bool) -> Self {
        Self {
            all: vec![Slot::default(); count],
            similarity,
            stored: ram.then(Vec::new),
            clock: 0,
        }
    }

    /// Puts a prompt into a slot, the one `asked` for where there is such a one; its
    /// tokens found there, and the slot. Nothing is saved or restored for a slot that
    /// was asked for.
    ///
    /// Where all slots are busy one is shared as if it were free: a real server
    /// would let the request wait.
    pub(super) fn admit(&mut self, ids: &[u32], asked: Option<usize>) -> (usize, usize) {
        let asked = asked.filter(|&slot| slot < self.all.len());
        let (slot, swap) = asked.map_or_else(|| self.choose(ids), |slot| (slot, false));
        if swap {
            self.swap(slot, ids);
        }
        let common = common_len(&self.all[slot].ids, ids);
        self.all[slot] = Slot {
            ids: ids.to_vec(),
            busy: true,
            used: self.tick(),
        };
        (common.min(ids.len().saturating_sub(1)), slot)
    }

    /// Ends the request in `slot`, which now holds `ids`.
    pub(super) fn finish(&mut self, slot: usize, ids: Vec<u32>) {
        let used = self.tick();
        self.all[slot] = Slot {
            ids,
            busy: false,
            used,
        };
    }

    /// Empties a slot in which nothing runs; the tokens that it held.
    pub(super) fn erase(&mut self, slot: usize) -> Option<usize> {
        let slot = self.all.get_mut(slot).filter(|slot| !slot.busy)?;
        Some(std::mem::take(&mut slot.ids).len())
    }

    /// Tokens that each slot holds, and whether a request runs in it.
    pub(super) fn held(&self) -> impl Iterator<Item = (usize, bool)> {
        self.all.iter().map(|slot| (slot.ids.len(), slot.busy))
    }

    fn tick(&mut self) -> u64 {
        self.clock += 1;
        self.clock
    }

    /// The slot for a prompt, and whether what it holds is to be saved.
    fn choose(&self, ids: &[u32]) -> (usize, bool) {
        let all_busy = self.all.iter().all(|slot| slot.busy);
        let free = || {
            let slots = self.all.iter().enumerate();
            slots.filter(move |(_, slot)| all_busy || !slot.busy)
        };
        let mut best: Option<(usize, usize)> = None;
        for (index, slot) in free() {
            let common = common_len(&slot.ids, ids);
            let alike = common * 1000 > usize::from(self.similarity) * ids.len();
            if self.similarity > 0 && alike && best.is_none_or(|(_, most)| common > most) {
                best = Some((index, common));
            }
        }
        if let Some((index, common)) = best {
            let kept = share(common, self.all[index].ids.len());
            return (index, kept < SAVE_BELOW);
        }
        let oldest = free().min_by_key(|(_, slot)| slot.used);
        (oldest.map_or(0, |(index, _)| index), true)
    }

    /// Saves what `slot` holds and takes back what suits `ids` better.
    fn swap(&mut self, slot: usize, ids: &[u32]) {
        let Some(stored) = &mut self.stored else {
            return;
        };
        let held = &self.all[slot].ids;
        let contained = |inner: &[u32], outer: &[u32]| outer.starts_with(inner);
        if !held.is_empty() && !stored.iter().any(|other| contained(held, other)) {
            stored.retain(|other| !contained(other, held));
            stored.push(held.clone());
        }
        let here = common_len(held, ids);
        let mut keeps = share(here, held.len());
        let mut alike = share(here, ids.len());
        let mut found = None;
        for (index, other) in stored.iter().enumerate() {
            let common = common_len(other, ids);
            let (other_keeps, other_alike) = (share(common, other.len()), share(common, ids.len()));
            if other_keeps >= RESTORE_KEEPS && other_keeps > keeps && other_alike > alike {
                (keeps, alike, found) = (other_keeps, other_alike, Some(index));
            }
        }
        if let Some(index) = found {
            self.all[slot].ids = stored.remove(index);
        }
    }
}
