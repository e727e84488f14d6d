//! Text of a stated length, without a tokenizer.
//!
//! A benchmark needs much text that means nothing, is the same on every machine
//! and has a known number of tokens. Every word comes from a list of words that
//! are one token each, and the punctuation between them is one token too, so that
//! the text can be counted while it is made. The stated number holds for
//! `o200k_base`; other vocabularies are near it.
//!
//! Invariants: the same arguments give the same bytes on every machine; texts of
//! different seeds or kinds part within the first words; of two texts with one
//! seed and kind, the longer goes on where the shorter ended, but for its end.

use super::words;
use rand::{RngExt as _, SeedableRng as _};
use rand_chacha::ChaCha8Rng;
use schemars::JsonSchema;
use serde::Deserialize;
use sha2::{Digest as _, Sha256};
use std::sync::LazyLock;

/// What generated text looks like.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum Kind {
    /// Sentences in paragraphs.
    #[default]
    Prose,
    /// Headings, paragraphs and lists.
    Markdown,
    /// Functions of a scripting language.
    Code,
}

impl Kind {
    /// The name as written in a scenario.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Prose => "prose",
            Self::Markdown => "markdown",
            Self::Code => "code",
        }
    }
}

static PROSE: LazyLock<Vec<&str>> = LazyLock::new(|| words::PROSE.split_whitespace().collect());
static CODE: LazyLock<Vec<&str>> = LazyLock::new(|| words::CODE.split_whitespace().collect());

/// Below this many tokens a text ends with one piece made to measure.
const ENDING: usize = 24;

/// Text of `tokens` tokens in `o200k_base`; empty for 0.
pub fn generate(tokens: usize, seed: u64, kind: Kind) -> String {
    let mut writer = Writer::new(tokens, seed, kind);
    match kind {
        Kind::Prose => writer.prose(),
        Kind::Markdown => writer.markdown(),
        Kind::Code => writer.code(),
    }
    writer.out
}

struct Writer {
    out: String,
    /// Tokens still to be written.
    left: usize,
    rng: ChaCha8Rng,
}

impl Writer {
    fn new(tokens: usize, seed: u64, kind: Kind) -> Self {
        let mut hash = Sha256::new();
        hash.update(b"prefixbench generated text, 1\n");
        hash.update(kind.as_str());
        hash.update(seed.to_le_bytes());
        Self {
            // A word and its blank are about six bytes.
            out: String::with_capacity(tokens.saturating_mul(6)),
            left: tokens,
            rng: ChaCha8Rng::from_seed(hash.finalize().into()),
        }
    }

    /// A number from `low` to `high`, both included. 32 bits wide on every
    /// machine, so that the stream is too.
    fn number(&mut self, low: u32, high: u32) -> usize {
        self.rng.random_range(low..=high) as usize
    }

    fn word(&mut self) -> &'static str {
        pick(&PROSE, &mut self.rng)
    }

    fn name(&mut self) -> &'static str {
        pick(&CODE, &mut self.rng)
    }

    /// Appends text that is `tokens` tokens.
    fn put(&mut self, text: &str, tokens: usize) {
        self.out.push_str(text);
        self.left = self.left.saturating_sub(tokens);
    }

    fn put_words(&mut self, count: usize) {
        for _ in 0..count {
            let word = self.word();
            self.out.push(' ');
            self.put(word, 1);
        }
    }

    /// Appends a capitalised word, with a blank in front where it follows text.
    fn put_capital(&mut self, blank: bool) {
        let word = self.word();
        if blank {
            self.out.push(' ');
        }
        let (first, rest) = word.split_at(1);
        self.out.push_str(&first.to_ascii_uppercase());
        self.put(rest, 1);
    }

    /// Appends a sentence of exactly `size` tokens, its stop included; of a
    /// single word for 1.
    fn sentence(&mut self, size: usize, blank: bool, stop: &str) {
        if size == 0 {
            return;
        }
        self.put_capital(blank);
        if size == 1 {
            return;
        }
        if size >= 9 {
            self.put_words(3);
            self.put(",", 1);
            self.put_words(size - 6);
        } else {
            self.put_words(size - 2);
        }
        self.put(stop, 1);
    }

    /// Appends sentences until `left` is 0.
    fn ending(&mut self, mut blank: bool) {
        while self.left > 0 {
            let size = if self.left > ENDING { 12 } else { self.left };
            self.sentence(size, blank, ".");
            blank = true;
        }
    }

    /// Appends a paragraph with an empty line behind it.
    fn paragraph(&mut self, sentences: usize) {
        for index in 1..=sentences {
            let size = self.number(6, 14);
            let last = index == sentences;
            self.sentence(size, index > 1, if last { ".\n\n" } else { "." });
        }
    }

    fn prose(&mut self) {
        while self.left > ENDING * 4 {
            let sentences = self.number(3, 6);
            self.paragraph(sentences);
        }
        self.ending(false);
    }

    fn markdown(&mut self) {
        while self.left > ENDING * 6 {
            self.put("##", 1);
            self.put_capital(true);
            self.put_words(2);
            self.put("\n\n", 1);
            let sentences = self.number(2, 4);
            self.paragraph(sentences);
            let items = self.number(2, 4);
            for index in 1..=items {
                self.put("-", 1);
                let words = self.number(3, 6);
                self.put_words(words);
                self.put(if index == items { "\n\n" } else { "\n" }, 1);
            }
        }
        while self.left > ENDING * 4 {
            self.paragraph(2);
        }
        self.ending(false);
    }

    fn code(&mut self) {
        while self.left > ENDING * 4 {
            let [name, first, second] = [self.name(), self.name(), self.name()];
            self.put(&format!("def {name}({first}, {second}):\n"), 6);
            for _ in 0..self.number(2, 5) {
                self.statement();
            }
            let result = self.name();
            self.put(&format!("    return {result}\n\n\n"), 4);
        }
        while self.left > 0 {
            self.comment();
        }
    }

    fn statement(&mut self) {
        let [a, b, c] = [self.name(), self.name(), self.name()];
        match self.number(0, 3) {
            0 => self.put(&format!("    {a} = {b} + {c}\n"), 7),
            1 => self.put(&format!("    if {a} > {b}:\n        return {c}\n"), 10),
            2 => self.put(&format!("    {a}.{b}({c})\n"), 5),
            _ => {
                self.put("    #", 2);
                self.put_words(5);
                self.put("\n", 1);
            }
        }
    }

    /// A comment line of at most 14 tokens that leaves no single token over.
    fn comment(&mut self) {
        let size = match self.left {
            1 => {
                self.put("#", 1);
                return;
            }
            2..=14 => self.left,
            15 => 10,
            _ => 14,
        };
        self.put("#", 1);
        self.put_words(size - 2);
        self.put("\n", 1);
    }
}

fn pick(words: &[&'static str], rng: &mut ChaCha8Rng) -> &'static str {
    let count = u32::try_from(words.len()).unwrap_or(u32::MAX);
    let index = rng.random_range(0..count) as usize;
    words.get(index).copied().unwrap_or("time")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::chat::Digest;

    const KINDS: [Kind; 3] = [Kind::Prose, Kind::Markdown, Kind::Code];

    #[test]
    fn a_text_has_the_tokens_asked_for() {
        let encoding = tiktoken_rs::o200k_base().expect("the vocabulary is bundled");
        for kind in KINDS {
            for tokens in [
                1, 2, 3, 7, 25, 50, 96, 97, 100, 120, 145, 400, 2_500, 20_000,
            ] {
                for seed in 0..5 {
                    let text = generate(tokens, seed, kind);
                    let counted = encoding.encode_ordinary(&text).len();
                    let slack = if tokens < 100 { 2 } else { tokens * 3 / 100 };
                    assert!(
                        counted.abs_diff(tokens) <= slack,
                        "{kind:?}, seed {seed}: {counted} tokens instead of {tokens}:\n{text}"
                    );
                }
            }
            assert_eq!(generate(0, 1, kind), "");
        }
    }

    #[test]
    fn a_text_is_the_same_on_every_machine() {
        let hashes = KINDS.map(|kind| {
            let hex = Digest::of(generate(1_000, 42, kind).as_bytes()).to_string();
            hex.chars().take(16).collect::<String>()
        });
        assert_eq!(
            hashes,
            ["4dc20e304371293f", "996868a26750b3c5", "938b33c6d3167089"]
        );
    }

    #[test]
    fn different_seeds_and_kinds_share_no_long_prefix() {
        let mut texts = Vec::new();
        for kind in KINDS {
            texts.extend((0..100).map(|seed| generate(200, seed, kind)));
        }
        texts.sort();
        for pair in texts.windows(2) {
            let shared = pair[0]
                .bytes()
                .zip(pair[1].bytes())
                .take_while(|(a, b)| a == b)
                .count();
            assert!(shared < 40, "{shared} bytes: {:?}", &pair[0][..shared]);
        }
    }

    #[test]
    fn the_longer_text_of_a_seed_goes_on_where_the_shorter_ended() {
        let (short, long) = (
            generate(900, 3, Kind::Markdown),
            generate(1_200, 3, Kind::Markdown),
        );
        let shared = short
            .bytes()
            .zip(long.bytes())
            .take_while(|(a, b)| a == b)
            .count();
        assert!(shared * 10 > short.len() * 7, "{shared} of {}", short.len());
    }
}
