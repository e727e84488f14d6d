//! Cache models as they are written on a command line or in a file.

use super::model::{Model, ModelError};
use std::num::NonZeroUsize;
use std::str::FromStr;

/// Blocks a pool may have; more would be a typing error.
const MOST_BLOCKS: usize = 1 << 24;

/// Default of `sps`, in thousandths: llama.cpp's `--slot-prompt-similarity`.
pub(super) const SIMILARITY: u16 = 100;
/// Default minimum of message ends and breakpoints, in tokens.
pub(super) const MIN: usize = 1024;
/// Default granularity of a report, in tokens.
pub(super) const STEP: usize = 128;
/// Default look-back, in content blocks.
pub(super) const LOOKBACK: usize = 20;

/// What stands behind a model's name.
struct Written<'a> {
    name: &'a str,
    value: Option<&'a str>,
    options: Vec<(&'a str, &'a str)>,
}

impl<'a> Written<'a> {
    fn new(text: &'a str) -> Self {
        let mut parts = text.trim().split(',').map(str::trim);
        let head = parts.next().unwrap_or_default();
        let (name, value) = match head.split_once(':') {
            Some((name, value)) => (name, Some(value)),
            None => (head, None),
        };
        let options = parts
            .map(|part| part.split_once('=').unwrap_or((part, "")))
            .collect();
        Self {
            name,
            value,
            options,
        }
    }

    /// The value behind the colon: at least 1.
    fn size(&self, usual: Option<usize>) -> Result<NonZeroUsize, ModelError> {
        let size = match (self.value, usual) {
            (Some(value), _) => value.parse().ok(),
            (None, usual) => usual,
        };
        size.and_then(NonZeroUsize::new)
            .ok_or_else(|| self.bad(self.name, self.value.unwrap_or_default(), "a number from 1"))
    }

    /// An option that is at least 1.
    fn positive(&self, name: &str) -> Result<Option<NonZeroUsize>, ModelError> {
        self.find(name)
            .map(|value| {
                let number = value.parse().ok().and_then(NonZeroUsize::new);
                number.ok_or_else(|| self.bad(name, value, "a number from 1"))
            })
            .transpose()
    }

    fn no_size(&self) -> Result<(), ModelError> {
        match self.value {
            None => Ok(()),
            Some(value) => Err(self.bad(self.name, value, "it has none")),
        }
    }

    fn count(&self, name: &str, usual: usize) -> Result<usize, ModelError> {
        self.find(name).map_or(Ok(usual), |value| {
            value
                .parse()
                .map_err(|_not_a_number| self.bad(name, value, "a whole number"))
        })
    }

    fn find(&self, name: &str) -> Option<&'a str> {
        let option = self.options.iter().rev().find(|(known, _)| *known == name);
        option.map(|(_, value)| *value)
    }

    /// Refuses options that are not among `known`.
    fn only(&self, known: &[&str]) -> Result<(), ModelError> {
        match self.options.iter().find(|(name, _)| !known.contains(name)) {
            None => Ok(()),
            Some((name, _)) => Err(ModelError::Option {
                model: self.name.to_owned(),
                option: (*name).to_owned(),
            }),
        }
    }

    #[expect(
        clippy::unused_self,
        reason = "reads as a method where it is called, beside the others"
    )]
    fn bad(&self, name: &str, value: &str, expected: &'static str) -> ModelError {
        ModelError::Value {
            name: name.to_owned(),
            value: value.to_owned(),
            expected,
        }
    }

    fn capacity(&self) -> Result<Option<usize>, ModelError> {
        let Some(value) = self.find("capacity") else {
            return Ok(None);
        };
        match value.parse() {
            Ok(blocks) if (2..=MOST_BLOCKS).contains(&blocks) => Ok(Some(blocks)),
            _ => Err(self.bad("capacity", value, "a number of blocks from 2 to 16777216")),
        }
    }

    fn similarity(&self) -> Result<u16, ModelError> {
        let Some(value) = self.find("sps") else {
            return Ok(SIMILARITY);
        };
        match value.parse::<f64>() {
            #[expect(
                clippy::cast_possible_truncation,
                clippy::cast_sign_loss,
                reason = "within 0 and 1000"
            )]
            Ok(share) if (0.0..=1.0).contains(&share) => Ok((share * 1e3).round() as u16),
            _ => Err(self.bad("sps", value, "a share from 0 to 1")),
        }
    }
}

impl FromStr for Model {
    type Err = ModelError;

    /// Reads a model as [`super::MODELS`] writes it; blanks around parts do not matter.
    fn from_str(text: &str) -> Result<Self, ModelError> {
        let written = Written::new(text);
        match written.name {
            "blocks" => {
                written.only(&["drop", "capacity"])?;
                Ok(Self::Blocks {
                    size: written.size(None)?,
                    drop: written.count("drop", 0)?,
                    capacity: written.capacity()?,
                })
            }
            "align" => {
                written.only(&["drop"])?;
                Ok(Self::Align {
                    size: written.size(None)?,
                    drop: written.count("drop", 0)?,
                })
            }
            "radix" => {
                written.only(&[])?;
                Ok(Self::Radix {
                    page: written.size(Some(1))?,
                })
            }
            "slots" => {
                written.only(&["sps", "ram"])?;
                Ok(Self::Slots {
                    count: written.size(None)?,
                    similarity: written.similarity()?,
                    ram: written.count("ram", 1)? > 0,
                })
            }
            "steps" => {
                written.only(&["min"])?;
                Ok(Self::Steps {
                    size: written.size(None)?,
                    min: written.count("min", 0)?,
                })
            }
            "intervals" => {
                written.only(&["step", "hidden", "min"])?;
                let step = written.positive("step")?;
                Ok(Self::Intervals {
                    size: written.size(None)?,
                    step: step
                        .or(NonZeroUsize::new(STEP))
                        .unwrap_or(NonZeroUsize::MIN),
                    hidden: written.count("hidden", 0)?,
                    min: written.count("min", MIN)?,
                })
            }
            "message-ends" => {
                written.only(&["min"])?;
                written.no_size()?;
                Ok(Self::MessageEnds {
                    min: written.count("min", MIN)?,
                })
            }
            "breakpoints" => {
                written.only(&["min", "lookback"])?;
                written.no_size()?;
                Ok(Self::Breakpoints {
                    min: written.count("min", MIN)?,
                    lookback: written.count("lookback", LOOKBACK)?,
                })
            }
            "units" => {
                written.only(&["interval"])?;
                written.no_size()?;
                Ok(Self::Units {
                    interval: written.positive("interval")?,
                })
            }
            name => Err(ModelError::Unknown {
                name: name.to_owned(),
            }),
        }
    }
}
