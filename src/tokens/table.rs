//! Token ids that a server's `/tokenize` gave, by the hash of what was asked.
//!
//! The caller asks the server, usually after a cell, and puts the answers in;
//! here nothing is asked and nothing is guessed.

use super::{EncodeError, EncodedPrompt, PromptEncoder, TemplateMessage};
use crate::chat::Digest;
use std::collections::HashMap;
use std::sync::{Arc, PoisonError, RwLock};

/// Answers of one server and model. Shared by reference; filling it needs no
/// exclusive access.
#[derive(Debug)]
pub struct Table {
    name: String,
    known: RwLock<HashMap<Digest, Arc<[u32]>>>,
}

impl Table {
    /// An empty table; `name` is written into records (`/tokenize`).
    pub fn new(name: impl Into<String>) -> Self {
        Self {
            name: name.into(),
            known: RwLock::default(),
        }
    }

    /// Key of a conversation, rendered with its generation suffix.
    pub fn prompt_key(messages: &[TemplateMessage<'_>]) -> Digest {
        let mut bytes = b"prompt".to_vec();
        // With its length in front, a text cannot run into the next.
        let mut put = |kind: u8, text: &str| {
            bytes.push(kind);
            bytes.extend_from_slice(&(text.len() as u64).to_le_bytes());
            bytes.extend_from_slice(text.as_bytes());
        };
        for message in messages {
            put(u8::MAX, message.role);
            for (part, text) in message.parts() {
                put(part as u8, text);
            }
        }
        Digest::of(&bytes)
    }

    /// Key of generated text.
    pub fn output_key(text: &str) -> Digest {
        Digest::of(format!("output{text}").as_bytes())
    }

    /// Remembers what the server answered; the last answer counts.
    pub fn insert(&self, key: Digest, ids: impl Into<Arc<[u32]>>) {
        let mut known = self.known.write().unwrap_or_else(PoisonError::into_inner);
        known.insert(key, ids.into());
    }

    /// What the server answered; `None` where it was not asked.
    pub fn get(&self, key: Digest) -> Option<Arc<[u32]>> {
        let known = self.known.read().unwrap_or_else(PoisonError::into_inner);
        known.get(&key).cloned()
    }
}

impl PromptEncoder for Table {
    fn name(&self) -> &str {
        &self.name
    }

    fn prompt(&self, messages: &[TemplateMessage<'_>]) -> Vec<u32> {
        let ids = self.get(Self::prompt_key(messages));
        ids.map_or_else(Vec::new, |ids| ids.to_vec())
    }

    fn output(&self, text: &str) -> Vec<u32> {
        let ids = self.get(Self::output_key(text));
        ids.map_or_else(Vec::new, |ids| ids.to_vec())
    }

    fn encoded(&self, messages: &[TemplateMessage<'_>]) -> Result<EncodedPrompt, EncodeError> {
        let key = Self::prompt_key(messages);
        let ids = self.get(key).ok_or_else(|| EncodeError::Missing {
            digest: key.to_string(),
        })?;
        Ok(EncodedPrompt {
            ids: ids.to_vec(),
            ends: Vec::new(),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_table_knows_what_was_put_in_and_nothing_else() {
        let table = Table::new("/tokenize");
        let asked = [TemplateMessage::text("user", "Hi")];
        let key = Table::prompt_key(&asked);
        assert_eq!(
            table.encoded(&asked),
            Err(EncodeError::Missing {
                digest: key.to_string()
            })
        );
        table.insert(key, vec![1, 2, 3]);
        table.insert(Table::output_key("Yes"), vec![4]);
        assert_eq!(table.prompt(&asked), [1, 2, 3]);
        assert_eq!(table.output("Yes"), [4]);
        assert_eq!(table.output("No"), [0; 0]);
        let shifted = [TemplateMessage::text("userH", "i")];
        assert!(table.encoded(&shifted).is_err());
    }
}
