//! Shared text that remembers its own hash, and how JSON writes it.

use super::escape::escape;
use serde::{Deserialize, Deserializer, Serialize, Serializer, de};
use sha2::{Digest as _, Sha256};
use std::fmt;
use std::ops::Deref;
use std::sync::{Arc, OnceLock};

/// A SHA-256, shown and stored as 64 lowercase hexadecimal digits.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Digest(pub [u8; 32]);

impl Digest {
    /// The hash of `bytes`.
    pub fn of(bytes: &[u8]) -> Self {
        Self(Sha256::digest(bytes).into())
    }

    /// Reads 64 hexadecimal digits; `None` for anything else.
    pub fn from_hex(hex: &str) -> Option<Self> {
        let digits = hex.as_bytes();
        if digits.len() != 64 {
            return None;
        }
        let mut out = [0; 32];
        for (byte, pair) in out.iter_mut().zip(digits.chunks_exact(2)) {
            let high = char::from(pair[0]).to_digit(16)?;
            let low = char::from(pair[1]).to_digit(16)?;
            *byte = u8::try_from(high * 16 + low).ok()?;
        }
        Some(Self(out))
    }
}

impl Digest {
    /// Its digits. Records hold many, so they are not formatted but looked up, two at a
    /// time.
    fn hex(self) -> [u8; 64] {
        const PAIRS: [[u8; 2]; 256] = {
            let digits = b"0123456789abcdef";
            let mut pairs = [[0; 2]; 256];
            let mut byte = 0;
            while byte < pairs.len() {
                pairs[byte] = [digits[byte >> 4], digits[byte & 15]];
                byte += 1;
            }
            pairs
        };
        let mut hex = [0; 64];
        for (pair, byte) in hex.as_chunks_mut().0.iter_mut().zip(self.0) {
            *pair = PAIRS[usize::from(byte)];
        }
        hex
    }
}

impl fmt::Display for Digest {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(std::str::from_utf8(&self.hex()).unwrap_or_default())
    }
}

impl fmt::Debug for Digest {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

impl Serialize for Digest {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(std::str::from_utf8(&self.hex()).unwrap_or_default())
    }
}

impl<'de> Deserialize<'de> for Digest {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let hex = String::deserialize(deserializer)?;
        Self::from_hex(&hex).ok_or_else(|| de::Error::custom("not a sha256 of 64 hex digits"))
    }
}

struct Shared {
    text: Box<str>,
    digest: OnceLock<Digest>,
    /// `None`: as it is.
    json: OnceLock<Option<Box<str>>>,
}

/// Immutable text that many prompts share.
///
/// A clone costs a counter, and the hash is computed once for all clones, so a
/// conversation of a thousand requests hashes each text once. So it is with its form in
/// JSON: a long history is copied into each body and not escaped again.
#[derive(Clone)]
pub struct Text(Arc<Shared>);

impl Text {
    /// The SHA-256 of the UTF-8 bytes.
    pub fn digest(&self) -> Digest {
        *self
            .0
            .digest
            .get_or_init(|| Digest::of(self.0.text.as_bytes()))
    }

    /// The text as it stands between the quotes of a JSON string.
    pub fn json(&self) -> &str {
        let escaped = self.0.json.get_or_init(|| {
            let mut escaped = String::new();
            escape(&self.0.text, &mut escaped);
            // Each escape is longer than what it stands for.
            let same = escaped.len() == self.0.text.len();
            (!same).then(|| escaped.into_boxed_str())
        });
        escaped.as_deref().unwrap_or(&self.0.text)
    }

    /// The text itself.
    pub fn as_str(&self) -> &str {
        &self.0.text
    }

    /// Whether both are the same allocation, which implies equality.
    pub fn is_same(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.0, &other.0)
    }
}

impl From<String> for Text {
    fn from(text: String) -> Self {
        Self(Arc::new(Shared {
            text: text.into_boxed_str(),
            digest: OnceLock::new(),
            json: OnceLock::new(),
        }))
    }
}

impl From<&str> for Text {
    fn from(text: &str) -> Self {
        Self::from(text.to_owned())
    }
}

impl Default for Text {
    fn default() -> Self {
        Self::from("")
    }
}

impl Deref for Text {
    type Target = str;

    fn deref(&self) -> &str {
        &self.0.text
    }
}

impl PartialEq for Text {
    fn eq(&self, other: &Self) -> bool {
        self.is_same(other) || self.0.text == other.0.text
    }
}

impl Eq for Text {}

impl std::hash::Hash for Text {
    fn hash<H: std::hash::Hasher>(&self, state: &mut H) {
        self.0.text.hash(state);
    }
}

impl fmt::Debug for Text {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Debug::fmt(&self.0.text, f)
    }
}

impl fmt::Display for Text {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(&self.0.text, f)
    }
}

impl Serialize for Text {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(self)
    }
}

impl<'de> Deserialize<'de> for Text {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        String::deserialize(deserializer).map(Self::from)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_digest_is_what_sha256sum_prints() {
        // `printf abc | sha256sum`
        let expected = "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad";
        let text = Text::from("abc");
        assert_eq!(text.digest().to_string(), expected);
        assert_eq!(Digest::from_hex(expected), Some(text.digest()));
        assert_eq!(Digest::from_hex("ba78"), None);
    }

    #[test]
    fn clones_share_their_text() {
        let text = Text::from("abc");
        assert!(text.is_same(&text.clone()));
        assert!(!text.is_same(&Text::from("abc")));
        assert_eq!(text, Text::from("abc"));
    }
    #[test]
    fn the_form_in_json_is_made_once_for_all_clones_and_only_where_it_is_another() {
        for plain in ["", "abc", "é😀/"] {
            let text = Text::from(plain);
            assert_eq!(text.json().as_ptr(), text.as_str().as_ptr(), "{plain}");
        }
        let text = Text::from("a\n\"b\"");
        assert_eq!(text.json(), r#"a\n\"b\""#);
        assert_eq!(text.json().as_ptr(), text.clone().json().as_ptr());
    }
}
