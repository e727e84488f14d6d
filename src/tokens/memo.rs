//! Encodings remembered by the hash of their text.

use crate::chat::Digest;
use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};

/// Ids remembered in one generation before the older one is dropped.
const GENERATION_TOKENS: usize = 1 << 21;

/// A bounded map from text to its ids.
///
/// Two generations: what is asked for moves into the younger; when that is
/// full it becomes the older, whose entries are dropped. So memory stays
/// below two generations, and what is in use stays.
#[derive(Debug, Default)]
pub(super) struct Memo {
    generations: Mutex<Generations>,
}

#[derive(Debug, Default)]
struct Generations {
    young: HashMap<Digest, Arc<[u32]>>,
    old: HashMap<Digest, Arc<[u32]>>,
    young_tokens: usize,
}

impl Memo {
    /// The ids of `text`, encoded by `encode` where they are not remembered.
    pub(super) fn get(&self, text: &str, encode: impl FnOnce(&str) -> Vec<u32>) -> Arc<[u32]> {
        let digest = Digest::of(text.as_bytes());
        if let Some(ids) = self.lock().find(digest) {
            return ids;
        }
        // Not under the lock: another thread may encode the same text meanwhile.
        let ids: Arc<[u32]> = encode(text).into();
        self.lock().put(digest, Arc::clone(&ids));
        ids
    }

    fn lock(&self) -> std::sync::MutexGuard<'_, Generations> {
        self.generations
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
    }
}

impl Generations {
    fn find(&mut self, digest: Digest) -> Option<Arc<[u32]>> {
        if let Some(ids) = self.young.get(&digest) {
            return Some(Arc::clone(ids));
        }
        let ids = self.old.remove(&digest)?;
        self.put(digest, Arc::clone(&ids));
        Some(ids)
    }

    fn put(&mut self, digest: Digest, ids: Arc<[u32]>) {
        // An entry costs its key too, so that empty texts are bounded as well.
        self.young_tokens += ids.len() + 16;
        self.young.insert(digest, ids);
        if self.young_tokens > GENERATION_TOKENS {
            self.old = std::mem::take(&mut self.young);
            self.young_tokens = 0;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_text_is_encoded_once_and_the_memory_is_bounded() {
        let memo = Memo::default();
        let ids = memo.get("a", |_| vec![7; 10]);
        assert_eq!(memo.get("a", |_| Vec::new()), ids);
        for index in 0..20 {
            memo.get(&index.to_string(), |_| vec![0; GENERATION_TOKENS / 4]);
            assert_eq!(memo.get("a", |_| Vec::new()), ids, "in use, so kept");
        }
        let generations = memo.lock();
        let kept = generations.young.values().chain(generations.old.values());
        let tokens: usize = kept.map(|ids| ids.len()).sum();
        assert!(tokens < 3 * GENERATION_TOKENS, "{tokens}");
        drop(generations);
        assert_eq!(memo.get("0", |_| vec![1]).as_ref(), [1], "long unused");
    }
}
