//! Text to tokens, and conversations to prompts of tokens.
//!
//! An [`Encoder`] knows a vocabulary, a [`PromptEncoder`] also the chat
//! template around it. [`embedded`] is what the embedded server renders;
//! [`hf`] reads a local `tokenizer.json` with its template; [`table`] answers
//! from what a server's `/tokenize` said. Nothing here opens a connection.
//!
//! Invariants: the same text gives the same ids, and text never becomes
//! structure: a special token written inside a message is ordinary text to the
//! embedded template. Where an encoder cannot say something, it says so, and
//! never guesses.

mod chatml;
mod form;
#[cfg(feature = "hf")]
pub mod hf;
mod memo;
mod o200k;
pub mod table;

pub use chatml::{ChatMl, embedded};
pub use form::{ChatForm, chat_form};
pub use o200k::{O200k, o200k};

use crate::chat::Part;
use std::sync::Arc;
use thiserror::Error;

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
    /// What the stretches of `text` are, in order and without gaps; empty where
    /// all of it is one text.
    pub pieces: &'a [Piece],
}

/// A stretch of a message's text that stands in the request as one string.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Piece {
    /// What part of the message it is.
    pub part: Part,
    /// One behind its last byte; it begins where the piece before it ends.
    pub end: usize,
}

impl<'a> TemplateMessage<'a> {
    /// A message that is one text.
    pub fn text(role: &'a str, text: &'a str) -> Self {
        Self {
            role,
            text,
            pieces: &[],
        }
    }

    /// Its stretches: what they are and what they say.
    pub fn parts(&self) -> impl Iterator<Item = (Part, &'a str)> {
        let whole = [Piece {
            part: Part::Text,
            end: self.text.len(),
        }];
        let whole = whole.into_iter().filter(|_| self.pieces.is_empty());
        let (text, mut start) = (self.text, 0);
        whole.chain(self.pieces.iter().copied()).map(move |piece| {
            let from = std::mem::replace(&mut start, piece.end);
            (piece.part, text.get(from..piece.end).unwrap_or_default())
        })
    }
}

/// A rendered and encoded prompt.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct EncodedPrompt {
    /// Token ids, generation suffix included.
    pub ids: Vec<u32>,
    /// Token index behind each message, in order; empty where the encoder
    /// cannot tell.
    pub ends: Vec<usize>,
}

/// A prompt that cannot be encoded.
#[derive(Clone, Debug, Error, PartialEq, Eq)]
pub enum EncodeError {
    /// The template refused the conversation or is broken.
    #[error("the chat template does not render this conversation: {reason}")]
    Template {
        /// What it said.
        reason: String,
    },
    /// Pictures become tokens by a rule of the model's own.
    #[error("a picture cannot be counted by `{encoder}`")]
    Image {
        /// Name of the encoder.
        encoder: String,
    },
    /// The server was not asked for this text.
    #[error("no token ids known for the text with hash `{digest}`")]
    Missing {
        /// Key of the text in [`table::Table`].
        digest: String,
    },
    /// The tokenizer failed on the text.
    #[error("the tokenizer does not encode this text: {reason}")]
    Tokenizer {
        /// What it said.
        reason: String,
    },
}

/// A whole prompt to token ids, generation suffix included.
pub trait PromptEncoder: Send + Sync {
    /// What made a count, for records.
    fn name(&self) -> &str;

    /// Ids of the rendered prompt; empty where it cannot be encoded, which
    /// [`PromptEncoder::encoded`] explains.
    fn prompt(&self, messages: &[TemplateMessage<'_>]) -> Vec<u32>;

    /// Ids of generated text as it stands behind the generation suffix; empty
    /// where that is not known.
    fn output(&self, text: &str) -> Vec<u32>;

    /// The rendered prompt with the place where each message ends.
    ///
    /// # Errors
    ///
    /// [`EncodeError`] where the conversation cannot be rendered or is not known.
    fn encoded(&self, messages: &[TemplateMessage<'_>]) -> Result<EncodedPrompt, EncodeError> {
        Ok(EncodedPrompt {
            ids: self.prompt(messages),
            ends: Vec::new(),
        })
    }

    /// Token index behind each message; empty where the encoder cannot tell.
    fn message_ends(&self, messages: &[TemplateMessage<'_>]) -> Vec<usize> {
        self.encoded(messages)
            .map_or_else(|_unknown| Vec::new(), |prompt| prompt.ends)
    }
}

/// Shared handle to a prompt encoder.
pub type SharedEncoder = Arc<dyn PromptEncoder>;
