//! Text to tokens.

use std::sync::Arc;

/// Encodes text. Pure: the same text gives the same ids.
pub trait Encoder: Send + Sync {
    /// What made a count, for records: `o200k`, `tokenizer.json`, `/tokenize`.
    fn name(&self) -> &str;

    /// Ids of `text`. Special tokens inside `text` are ordinary text.
    fn encode(&self, text: &str) -> Vec<u32>;
}

/// A message as a chat template sees it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TemplateMessage<'a> {
    /// `tools`, `system`, `user`, `assistant` or `tool`.
    pub role: &'a str,
    /// Its text: all its parts in order.
    pub text: &'a str,
}

/// A whole prompt to token ids, generation suffix included.
pub trait PromptEncoder: Send + Sync {
    /// What made a count, for records.
    fn name(&self) -> &str;

    /// Ids of the rendered prompt.
    fn prompt(&self, messages: &[TemplateMessage<'_>]) -> Vec<u32>;

    /// Ids of generated text as it stands behind the generation suffix.
    fn output(&self, text: &str) -> Vec<u32>;
}

/// Shared handle to a prompt encoder.
pub type SharedEncoder = Arc<dyn PromptEncoder>;
