//! `raw`: the user's own finished bodies, a JSONL file with one body a turn.
//!
//! A body of the `OpenAI` or Anthropic form is read into a prompt, a span for
//! each string, so that it can be sent in any dialect and its breaks be found.
//! Fields that are not content (model, temperature, limits) are left to the
//! target. Line n of the file is the body of turn n: a send, an edit and a
//! regeneration each take the next.
//!
//! Invariant: what cannot be read is an error that names the file, the line and
//! the place; nothing is left out silently.

use super::body;
use super::strategy::{ContextError, Setup, Strategy, StrategyKind};
use super::view::{Chain, Purpose};
use crate::chat::{Prompt, Text};
use std::sync::Arc;

/// The strategy's line in the registry.
pub(super) const KIND: StrategyKind = StrategyKind {
    name: "raw",
    about: "your own finished bodies: a JSONL file, one body a turn",
    options: &["raw", "prompt_cache_key", "affinity_header"],
    compacts: false,
    tells: None,
    start: |setup| Ok(Box::new(Raw::new(setup)?)),
};

struct Raw {
    /// For messages.
    file: String,
    bodies: Arc<[Text]>,
    /// Turns that took a body.
    turns: usize,
}

impl Raw {
    fn new(setup: Setup) -> Result<Self, ContextError> {
        let Some(path) = setup.options.raw else {
            return Err(ContextError::Raw {
                said: "option `raw` names no file of bodies".to_owned(),
            });
        };
        Ok(Self {
            file: path.display().to_string(),
            bodies: setup.bodies,
            turns: 0,
        })
    }

    fn prompt(&self, index: usize) -> Result<Prompt, ContextError> {
        let Self { file, bodies, .. } = self;
        let line = index + 1;
        let body = bodies.get(index).ok_or_else(|| ContextError::Raw {
            said: format!(
                "`{file}` has {} bodies, and turn {line} needs one more",
                bodies.len()
            ),
        })?;
        body::read(body).map_err(|said| ContextError::Raw {
            said: format!("`{file}` line {line}: {said}"),
        })
    }
}

impl Strategy for Raw {
    fn render(&mut self, chain: &Chain<'_>) -> Result<Prompt, ContextError> {
        let what = match chain.purpose {
            Purpose::Send | Purpose::Regenerate if chain.rounds == 0 => {
                self.turns += 1;
                return self.prompt(self.turns - 1);
            }
            Purpose::Send | Purpose::Regenerate | Purpose::Resume => "a tool loop",
            Purpose::Summarise => "a summariser request",
            Purpose::Subagent(_) => "an isolated helper",
        };
        Err(ContextError::Unsupported {
            strategy: KIND.name,
            what: format!("{what}: its file has one body a turn"),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::context::{Options, Phrases};

    fn raw(lines: &[&str]) -> Raw {
        Raw::new(Setup {
            options: Options {
                raw: Some("bodies.jsonl".into()),
                ..Options::default()
            },
            phrases: Arc::new(Phrases::default()),
            builder: None,
            bodies: lines.iter().map(|line| Text::from(*line)).collect(),
        })
        .unwrap()
    }

    #[test]
    fn what_is_wrong_with_a_body_is_said_with_file_and_line() {
        let raw = raw(&[
            r#"{"messages": []}"#,
            "{",
            r#"{"messages": [{"role": "bird"}]}"#,
        ]);
        assert!(raw.prompt(0).is_ok());
        for (index, expected) in [
            (
                1,
                "raw bodies: `bodies.jsonl` line 2: not JSON: EOF while parsing an object at line 1 column 1",
            ),
            (
                2,
                "raw bodies: `bodies.jsonl` line 3: `messages[0]`: unknown role `bird`",
            ),
            (
                3,
                "raw bodies: `bodies.jsonl` has 3 bodies, and turn 4 needs one more",
            ),
        ] {
            assert_eq!(raw.prompt(index).unwrap_err().to_string(), expected);
        }
    }

    #[test]
    fn without_a_file_there_is_nothing_to_send() {
        let setup = Setup {
            options: Options::default(),
            phrases: Arc::new(Phrases::default()),
            builder: None,
            bodies: Arc::new([]),
        };
        let error = Raw::new(setup).err().unwrap();
        assert_eq!(
            error.to_string(),
            "raw bodies: option `raw` names no file of bodies"
        );
    }
}
