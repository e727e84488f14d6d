//! The rules by which servers reuse the start of a prompt, as data.

use serde::{Deserialize, Deserializer, Serialize, Serializer, de};
use std::fmt;
use std::num::NonZeroUsize;
use std::str::FromStr;
use thiserror::Error;

/// Blocks a pool may have; more would be a typing error.
const MOST_BLOCKS: usize = 1 << 24;

/// Every way of writing a model, with what it is.
pub static MODELS: &[(&str, &str)] = &[
    (
        "blocks:16",
        "full blocks of so many tokens (vLLM); drop=D with a drafter, capacity=N blocks",
    ),
    (
        "align:1600",
        "blocks, but only where a recurrent state was kept (hybrid models on vLLM); drop=D",
    ),
    (
        "radix:1",
        "whole pages of the longest common prefix (SGLang); the page may be left out",
    ),
    (
        "slots:2",
        "one sequence per slot (llama.cpp); sps=0.1 similarity, ram=0 without a host cache",
    ),
    (
        "steps:128,min=1024",
        "multiples of a step, none below a minimum (OpenAI before 5.6, xAI)",
    ),
    (
        "message-ends",
        "ends of messages that an earlier request ended at (OpenAI 5.6 and later); min=1024",
    ),
    (
        "breakpoints",
        "marked places within a look-back (Anthropic, Bedrock, Qwen); min=1024, lookback=20",
    ),
    (
        "units",
        "ends of earlier inputs and outputs, and detected common prefixes (DeepSeek)",
    ),
];

/// A rule of prefix reuse. Written and read as in [`MODELS`].
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Model {
    /// Full blocks, chained from the first (vLLM).
    ///
    /// Hit: the leading full blocks that are present, among the first
    /// `floor((P - 1) / size)`, less `drop`. What was generated counts but for
    /// its last token. Source: measured on vLLM 0.32.0, and its design
    /// document on prefix caching.
    Blocks {
        /// Tokens of a block.
        size: NonZeroUsize,
        /// Blocks taken off the end of a hit: 1 with a drafter of the EAGLE or MTP kind.
        drop: usize,
        /// Blocks of the whole cache, the placeholder included; `None`: never full.
        capacity: Option<usize>,
    },
    /// Blocks, but only at a place where the recurrent state was kept (hybrid
    /// models on vLLM, `mamba_cache_mode=align`): the last full block of a
    /// prompt and of its answer, and a junction seen once before. Optimistic.
    Align {
        /// Tokens of a block.
        size: NonZeroUsize,
        /// As in [`Model::Blocks`].
        drop: usize,
    },
    /// Whole pages of the common prefix, the last token excepted (SGLang).
    Radix {
        /// Tokens of a page.
        page: NonZeroUsize,
    },
    /// One sequence per slot (llama.cpp): the slot that shares more than
    /// `similarity` of the prompt and most of all, else the least recently
    /// used. Knows no salt. Source: its server's README, and measured.
    Slots {
        /// Slots.
        count: NonZeroUsize,
        /// Share of the prompt in thousandths that a slot must have in common.
        similarity: u16,
        /// Whether a displaced sequence is kept in host memory.
        ram: bool,
    },
    /// `size * floor(L / size)`, 0 below `min` (OpenAI before 5.6, xAI).
    /// Optimistic: the blocks below may be coarser than what is reported.
    Steps {
        /// Granularity of the report.
        size: NonZeroUsize,
        /// Least hit.
        min: usize,
    },
    /// The largest eligible message end that an earlier request wrote and this
    /// one lists: its own last, 20 before, and the end of the initial system
    /// messages; 0 below `min` (OpenAI 5.6 and later). Source: its guide.
    MessageEnds {
        /// Least entry.
        min: usize,
    },
    /// The largest marked place that an earlier request wrote, within
    /// `lookback` blocks of a marker of this one; 0 below `min` (Anthropic,
    /// Bedrock, Qwen explicit).
    Breakpoints {
        /// Least entry; depends on the model served.
        min: usize,
        /// Content blocks looked back from a marker, itself included.
        lookback: usize,
    },
    /// The largest unit end: of an earlier input, an earlier output, or a
    /// common prefix that two earlier requests had (DeepSeek V4). Its fixed
    /// intervals are not published and not modelled.
    Units,
}

/// A cache model that cannot be read.
#[derive(Debug, Error, PartialEq, Eq)]
pub enum ModelError {
    /// No model has this name.
    #[error("unknown cache model `{name}` (known: {})", known())]
    Unknown {
        /// The name as written.
        name: String,
    },
    /// The model has no such option.
    #[error("cache model `{model}` has no option `{option}`")]
    Option {
        /// The model's name.
        model: String,
        /// The option as written.
        option: String,
    },
    /// A value is not what it must be.
    #[error("`{value}` is no value for `{name}` of a cache model: {expected}")]
    Value {
        /// What the value is for.
        name: String,
        /// The value as written.
        value: String,
        /// What would have done.
        expected: &'static str,
    },
}

fn known() -> String {
    let names: Vec<String> = MODELS.iter().map(|(name, _)| format!("`{name}`")).collect();
    names.join(", ")
}

impl Model {
    /// Whether later prompts can hit what this server generated.
    ///
    /// True of engines that keep the generated tokens' state; hosted services
    /// that end entries at places of the prompt keep prompts only.
    pub fn keeps_output(&self) -> bool {
        match self {
            Self::Blocks { .. }
            | Self::Align { .. }
            | Self::Radix { .. }
            | Self::Slots { .. }
            | Self::Units => true,
            Self::Steps { .. } | Self::MessageEnds { .. } | Self::Breakpoints { .. } => false,
        }
    }

    /// Whether a request counts as present as soon as it is scheduled, so that
    /// one sent at the same time can hit it.
    pub fn shares_in_flight(&self) -> bool {
        matches!(self, Self::Blocks { .. } | Self::Radix { .. })
    }

    /// Whether the server keeps salts apart.
    pub fn knows_salt(&self) -> bool {
        !matches!(self, Self::Slots { .. })
    }
}

impl fmt::Display for Model {
    /// The shortest text that reads back as the same model.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let option = |f: &mut fmt::Formatter<'_>, name: &str, value: usize, usual: usize| {
            if value == usual {
                Ok(())
            } else {
                write!(f, ",{name}={value}")
            }
        };
        match *self {
            Self::Blocks {
                size,
                drop,
                capacity,
            } => {
                write!(f, "blocks:{size}")?;
                option(f, "drop", drop, 0)?;
                capacity.map_or(Ok(()), |blocks| write!(f, ",capacity={blocks}"))
            }
            Self::Align { size, drop } => {
                write!(f, "align:{size}")?;
                option(f, "drop", drop, 0)
            }
            Self::Radix { page } => write!(f, "radix:{page}"),
            Self::Slots {
                count,
                similarity,
                ram,
            } => {
                write!(f, "slots:{count}")?;
                if similarity != SIMILARITY {
                    write!(f, ",sps={}", f64::from(similarity) / 1e3)?;
                }
                option(f, "ram", usize::from(ram), 1)
            }
            Self::Steps { size, min } => {
                write!(f, "steps:{size}")?;
                option(f, "min", min, 0)
            }
            Self::MessageEnds { min } => {
                write!(f, "message-ends")?;
                option(f, "min", min, MIN)
            }
            Self::Breakpoints { min, lookback } => {
                write!(f, "breakpoints")?;
                option(f, "min", min, MIN)?;
                option(f, "lookback", lookback, LOOKBACK)
            }
            Self::Units => write!(f, "units"),
        }
    }
}

/// Default of `sps`, in thousandths: llama.cpp's `--slot-prompt-similarity`.
const SIMILARITY: u16 = 100;
/// Default minimum of message ends and breakpoints, in tokens.
const MIN: usize = 1024;
/// Default look-back, in content blocks.
const LOOKBACK: usize = 20;

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

    /// Reads a model as [`MODELS`] writes it; blanks around parts do not matter.
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
                written.only(&[])?;
                written.no_size()?;
                Ok(Self::Units)
            }
            name => Err(ModelError::Unknown {
                name: name.to_owned(),
            }),
        }
    }
}

impl Serialize for Model {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

impl<'de> Deserialize<'de> for Model {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        String::deserialize(deserializer)?
            .parse()
            .map_err(de::Error::custom)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_model_reads_back_as_it_was_written() {
        let cases = [
            ("blocks:16", "blocks:16"),
            ("blocks:1600,drop=1", "blocks:1600,drop=1"),
            ("blocks:32, capacity=130", "blocks:32,capacity=130"),
            ("steps:128,min=1024", "steps:128,min=1024"),
            ("message-ends", "message-ends"),
            ("message-ends,min=1024", "message-ends"),
            ("message-ends,min=512", "message-ends,min=512"),
            ("breakpoints,min=1024,lookback=20", "breakpoints"),
            ("breakpoints,lookback=3", "breakpoints,lookback=3"),
            ("align:1600", "align:1600"),
            ("units", "units"),
            ("slots:2", "slots:2"),
            ("slots:2,sps=0.9,ram=0", "slots:2,sps=0.9,ram=0"),
            ("radix", "radix:1"),
            ("radix:16", "radix:16"),
        ];
        for (written, shown) in cases {
            let model: Model = written.parse().expect(written);
            assert_eq!(model.to_string(), shown);
            assert_eq!(shown.parse::<Model>().as_ref(), Ok(&model), "{shown}");
        }
    }

    #[test]
    fn every_listed_model_can_be_read() {
        for (name, help) in MODELS {
            assert!(name.parse::<Model>().is_ok(), "{name}");
            assert!(!help.is_empty(), "{name}");
        }
    }

    #[test]
    fn what_is_wrong_with_a_model_is_said() {
        let cases = [
            (
                "block:16",
                "unknown cache model `block` (known: `blocks:16`",
            ),
            ("blocks", "`` is no value for `blocks`"),
            ("blocks:0", "`0` is no value for `blocks`"),
            (
                "blocks:16,min=3",
                "cache model `blocks` has no option `min`",
            ),
            ("blocks:16,drop=x", "`x` is no value for `drop`"),
            ("blocks:16,capacity=1", "`1` is no value for `capacity`"),
            ("units:3", "`3` is no value for `units`"),
            ("slots:2,sps=7", "`7` is no value for `sps`"),
        ];
        for (written, expected) in cases {
            let error = written.parse::<Model>().expect_err(written).to_string();
            assert!(error.starts_with(expected), "{written}: {error}");
        }
    }
}
