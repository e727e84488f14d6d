//! A local `tokenizer.json` with the chat template that stands beside it.
//!
//! The template comes from `chat_template.jinja`, else from `chat_template` in
//! `tokenizer_config.json`. The rendered prompt is encoded as a whole, and the
//! tokenizer finds the special tokens in it, as servers do.
//!
//! Messages, calls and tool definitions go into the template in the form in
//! which servers hand them to it. Pictures are not counted.

mod python_json;
mod template;

use super::memo::Memo;
use super::{EncodeError, EncodedPrompt, PromptEncoder, TemplateMessage, chat_form};
use crate::chat::{Digest, Part};
use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use template::Template;
use thiserror::Error;
use tokenizers::Tokenizer;

/// A tokenizer or template that cannot be used.
#[derive(Debug, Error)]
pub enum HfError {
    /// A file could not be read.
    #[error("cannot read `{}`", path.display())]
    Read {
        /// The file.
        path: PathBuf,
        /// Why.
        source: io::Error,
    },
    /// The tokenizer file is not one.
    #[error("`{}` is no tokenizer: {reason}", path.display())]
    Tokenizer {
        /// The file.
        path: PathBuf,
        /// What the parser said.
        reason: String,
    },
    /// The configuration file is not JSON of the expected form.
    #[error("cannot parse `{}`", path.display())]
    Config {
        /// The file.
        path: PathBuf,
        /// What the parser said.
        source: serde_json::Error,
    },
    /// There is no template, or not one that parses.
    #[error("no usable chat template beside `{}`: {reason}", path.display())]
    Template {
        /// The tokenizer file.
        path: PathBuf,
        /// What is wrong.
        reason: String,
    },
}

/// A model's own tokenizer and chat template.
#[derive(Debug)]
pub struct HfEncoder {
    name: String,
    tokenizer: Tokenizer,
    template: Template,
    memo: Memo,
}

fn read(path: &Path) -> Result<String, HfError> {
    fs::read_to_string(path).map_err(|source| HfError::Read {
        path: path.to_owned(),
        source,
    })
}

impl HfEncoder {
    /// Reads `path`, a `tokenizer.json`, and the template beside it.
    ///
    /// # Errors
    ///
    /// [`HfError`] where a file is missing or cannot be used. Nothing is fetched.
    pub fn open(path: &Path) -> Result<Self, HfError> {
        let bytes = read(path)?;
        let name = format!(
            "tokenizer.json {:.8}",
            Digest::of(bytes.as_bytes()).to_string()
        );
        let tokenizer = Tokenizer::from_bytes(bytes).map_err(|error| HfError::Tokenizer {
            path: path.to_owned(),
            reason: error.to_string(),
        })?;
        let config_path = path.with_file_name("tokenizer_config.json");
        let config = read(&config_path)?;
        let config = serde_json::from_str(&config).map_err(|source| HfError::Config {
            path: config_path,
            source,
        })?;
        let own = path.with_file_name("chat_template.jinja");
        let own = own.is_file().then(|| read(&own)).transpose()?;
        let template = Template::new(&config, own).map_err(|reason| HfError::Template {
            path: path.to_owned(),
            reason,
        })?;
        Ok(Self {
            name,
            tokenizer,
            template,
            memo: Memo::default(),
        })
    }

    /// The prompt as text, before it is encoded.
    ///
    /// # Errors
    ///
    /// [`EncodeError`] where the template refuses the conversation, or a
    /// picture is in it.
    pub fn rendered(&self, messages: &[TemplateMessage<'_>]) -> Result<String, EncodeError> {
        let mut parts = messages.iter().flat_map(TemplateMessage::parts);
        if parts.any(|(part, _)| part == Part::Image) {
            return Err(EncodeError::Image {
                encoder: self.name.clone(),
            });
        }
        self.template.render(chat_form(messages), true)
    }

    /// Special tokens in `text` become themselves, and none is added around it.
    fn encode(&self, text: &str) -> Result<Vec<u32>, EncodeError> {
        let encoding = self.tokenizer.encode_fast(text, false);
        let encoding = encoding.map_err(|error| EncodeError::Tokenizer {
            reason: error.to_string(),
        })?;
        Ok(encoding.get_ids().to_vec())
    }
}

impl PromptEncoder for HfEncoder {
    fn name(&self) -> &str {
        &self.name
    }

    fn prompt(&self, messages: &[TemplateMessage<'_>]) -> Vec<u32> {
        self.encoded(messages)
            .map_or_else(|_unknown| Vec::new(), |prompt| prompt.ids)
    }

    fn output(&self, text: &str) -> Vec<u32> {
        self.encode(text).unwrap_or_default()
    }

    fn encoded(&self, messages: &[TemplateMessage<'_>]) -> Result<EncodedPrompt, EncodeError> {
        let text = self.rendered(messages)?;
        let mut failed = None;
        let ids = self.memo.get(&text, |text| {
            self.encode(text).unwrap_or_else(|error| {
                failed = Some(error);
                Vec::new()
            })
        });
        match failed {
            Some(error) => Err(error),
            None => Ok(EncodedPrompt {
                ids: ids.to_vec(),
                ends: Vec::new(),
            }),
        }
    }

    /// Renders the conversation up to each message and looks how far that
    /// agrees with the whole; a template that moves text yields fewer tokens.
    fn message_ends(&self, messages: &[TemplateMessage<'_>]) -> Vec<usize> {
        let Ok(text) = self.rendered(messages) else {
            return Vec::new();
        };
        let Ok(encoding) = self.tokenizer.encode(text.as_str(), false) else {
            return Vec::new();
        };
        let offsets = encoding.get_offsets();
        let end = |count: usize| {
            let part = self
                .template
                .render(chat_form(&messages[..count]), false)
                .ok()?;
            let same = part.bytes().zip(text.bytes());
            let same = same.take_while(|(part, whole)| part == whole).count();
            Some(offsets.iter().take_while(|(_, to)| *to <= same).count())
        };
        (1..=messages.len())
            .map(end)
            .collect::<Option<Vec<_>>>()
            .unwrap_or_default()
    }
}

#[cfg(test)]
mod tests;
