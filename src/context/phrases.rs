//! The fixed wording around content, as data.
//!
//! Headings, introductions and labels are not structure: tag names, separators
//! and order belong to the strategies, words belong to a book that a user can
//! replace. The project ships its own words, of about the length of those of
//! the systems it models.

use std::collections::BTreeMap;
use thiserror::Error;

/// A phrase book that cannot be used.
#[derive(Debug, Error)]
pub enum PhrasesError {
    /// Not a JSON object of strings.
    #[error("phrase book is not a JSON object of strings")]
    Format(#[source] serde_json::Error),
    /// A key that no strategy reads.
    #[error("unknown phrase `{key}`")]
    UnknownKey {
        /// The key as written.
        key: String,
    },
}

/// The project's own words, a file per family of strategies.
const SHIPPED: &[&str] = &[
    include_str!("plain_phrases.json"),
    include_str!("turn/phrases.json"),
    include_str!("layered/phrases.json"),
];

/// A phrase book: every key that the strategies read, with its words.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Phrases(BTreeMap<String, String>);

impl Default for Phrases {
    fn default() -> Self {
        let mut all = BTreeMap::new();
        for file in SHIPPED {
            // A shipped file that does not parse is caught by the test below.
            all.extend(serde_json::from_str::<BTreeMap<String, String>>(file).unwrap_or_default());
        }
        Self(all)
    }
}

impl Phrases {
    /// The shipped book with the entries of `json` in place of its own.
    ///
    /// # Errors
    ///
    /// [`PhrasesError`] where `json` is no object of strings or names a phrase
    /// that does not exist.
    pub fn with(json: &str) -> Result<Self, PhrasesError> {
        let mut book = Self::default();
        let given: BTreeMap<String, String> =
            serde_json::from_str(json).map_err(PhrasesError::Format)?;
        for (key, words) in given {
            if !book.0.contains_key(&key) {
                return Err(PhrasesError::UnknownKey { key });
            }
            book.0.insert(key, words);
        }
        Ok(book)
    }

    /// The words under `key`; empty for a key that is not in the book.
    pub fn get(&self, key: &str) -> &str {
        self.0.get(key).map_or("", String::as_str)
    }

    /// The words under `key` with each `{name}` in them replaced by the value of
    /// that name. Values are not looked into; a name without a value stays.
    pub fn fill(&self, key: &str, values: &[(&str, &str)]) -> String {
        let mut out = String::new();
        let mut rest = self.get(key);
        while let Some((before, after)) = rest.split_once('{') {
            out.push_str(before);
            let named = values.iter().find_map(|(name, value)| {
                Some((value, after.strip_prefix(name)?.strip_prefix('}')?))
            });
            rest = if let Some((value, behind)) = named {
                out.push_str(value);
                behind
            } else {
                out.push('{');
                after
            };
        }
        out.push_str(rest);
        out
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_fill_their_places_and_are_not_looked_into() {
        let book = Phrases::with(
            r#"{"embedded_heading_missing": "{no {heading} in {path}", "sections_omitted": "{n}{x}"}"#,
        )
        .unwrap();
        let values = [("heading", "{path}"), ("path", "{heading}")];
        let filled = book.fill("embedded_heading_missing", &values);
        assert_eq!(filled, "{no {path} in {heading}");
        assert_eq!(book.fill("sections_omitted", &[("n", "3")]), "3{x}");
    }

    #[test]
    fn every_shipped_file_parses_and_no_key_is_in_two() {
        let mut seen = BTreeMap::new();
        for file in SHIPPED {
            let book: BTreeMap<String, String> = serde_json::from_str(file).unwrap();
            for (key, words) in book {
                assert_eq!(seen.insert(key, words), None);
            }
        }
    }
}
