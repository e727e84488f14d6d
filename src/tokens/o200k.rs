//! The bundled vocabulary: tiktoken's `o200k_base`.

use super::Encoder;
use tiktoken_rs::o200k_base_singleton;

/// Bytes that are encoded in one go; a longer text is cut at these places from
/// its start, so that what is appended changes nothing before it.
const PIECE: usize = 1 << 17;

/// tiktoken's `o200k_base`, loaded when first used and then shared.
#[derive(Clone, Copy, Debug, Default)]
pub struct O200k;

/// The bundled vocabulary. Costs nothing until it encodes.
pub fn o200k() -> O200k {
    O200k
}

impl Encoder for O200k {
    fn name(&self) -> &'static str {
        "o200k"
    }

    fn encode(&self, text: &str) -> Vec<u32> {
        let bpe = o200k_base_singleton();
        let mut ids = Vec::with_capacity(text.len() / 4);
        let mut rest = text;
        while rest.len() > PIECE {
            let (piece, behind) = rest.split_at(rest.floor_char_boundary(PIECE));
            ids.extend(bpe.encode_ordinary(piece));
            rest = behind;
        }
        ids.extend(bpe.encode_ordinary(rest));
        ids
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ids_are_those_of_the_vocabulary() {
        // Reference: the published `o200k_base` of tiktoken.
        assert_eq!(o200k().encode("hello world"), [24_912, 2_375]);
        assert_eq!(o200k().encode(""), [0; 0]);
        assert!(
            o200k().encode("<|endoftext|>").len() > 1,
            "a special token in a text is text"
        );
    }

    #[test]
    fn a_long_text_keeps_its_start() {
        let long = "é one two ".repeat(40_000);
        let longer = format!("{long} more");
        let (long, longer) = (o200k().encode(&long), o200k().encode(&longer));
        assert!(longer.starts_with(&long[..long.len() - 1]));
    }
}
