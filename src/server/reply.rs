//! What the embedded server answers: words drawn from a seed.
//!
//! Every word with its leading blank is one token of the bundled vocabulary,
//! so that an answer that comes back in the history re-tokenises to the ids
//! that were "generated".

use crate::chat::Digest;
use crate::tokens::{Encoder, o200k};
use rand::{RngExt, SeedableRng};
use rand_chacha::ChaCha8Rng;
use std::sync::LazyLock;

const WORDS: &[&str] = &[
    " the", " answer", " is", " here", " and", " it", " was", " made", " from", " a", " list",
    " of", " short", " words", " that", " no", " model", " has", " written", " so", " its",
    " meaning", " does", " not", " matter", " only", " time", " length", " count", " each", " one",
    " will", " come", " back", " as", " same", " token", " when", " you", " send", " this",
    " again", " in", " next", " turn", " für", " más", " não", " à",
];

/// Ids of [`WORDS`], loaded with the vocabulary.
static IDS: LazyLock<Vec<u32>> = LazyLock::new(|| {
    let ids = WORDS.iter().map(|word| o200k().encode(word));
    ids.map(|ids| ids.first().copied().unwrap_or_default())
        .collect()
});

/// One answer and the luck of its request.
#[derive(Debug)]
pub(super) struct Reply {
    /// Its tokens as text, in order.
    pub(super) words: Vec<&'static str>,
    /// Their ids.
    pub(super) ids: Vec<u32>,
    /// The jitter of its prefill, from -1 to 1.
    pub(super) jitter: f64,
}

/// `tokens` words for a prompt, always the same for the same seed.
pub(super) fn reply(seed: u64, prompt: &[u32], tokens: usize) -> Reply {
    let mut bytes = seed.to_le_bytes().to_vec();
    bytes.extend(prompt.iter().flat_map(|id| id.to_le_bytes()));
    let mut random = ChaCha8Rng::from_seed(Digest::of(&bytes).0);
    let jitter = random.random_range(-1.0..=1.0);
    let chosen: Vec<usize> = (0..tokens)
        .map(|_| random.random_range(0..WORDS.len()))
        .collect();
    Reply {
        words: chosen.iter().map(|&word| WORDS[word]).collect(),
        ids: chosen.iter().map(|&word| IDS[word]).collect(),
        jitter,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_answer_encodes_to_its_own_ids() {
        let reply = reply(7, &[1, 2, 3], 300);
        assert_eq!(o200k().encode(&reply.words.concat()), reply.ids);
        assert_eq!(reply.ids.len(), 300);
    }

    #[test]
    fn seed_and_prompt_decide_the_answer() {
        let words = |seed, prompt: &[u32]| reply(seed, prompt, 20).words;
        assert_eq!(words(1, &[1, 2]), words(1, &[1, 2]));
        assert_ne!(words(1, &[1, 2]), words(2, &[1, 2]));
        assert_ne!(words(1, &[1, 2]), words(1, &[1, 3]));
    }
}
