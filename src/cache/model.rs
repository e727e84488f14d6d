//! The rules by which servers reuse the start of a prompt, as data.

use super::written::{LOOKBACK, MIN, SIMILARITY, STEP};
use serde::{Deserialize, Deserializer, Serialize, Serializer, de};
use std::fmt;
use std::num::NonZeroUsize;
use thiserror::Error;

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
        "intervals:2048",
        "entries every so many tokens, hidden ones counted (OpenAI GPT-5.5); step=128, hidden=0, min=1024",
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
        "ends of earlier inputs and outputs, and detected common prefixes (DeepSeek); interval=N tokens",
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
    /// The last of the places `size`, `2 size`, ... that the common prefix
    /// reaches, counted from the start of a hidden system text of `hidden`
    /// tokens; reported without those and in multiples of `step`, 0 below `min`
    /// (OpenAI GPT-5.5). How long the hidden text is has to be found out: 0 is
    /// optimistic. Source: its guide.
    Intervals {
        /// Tokens between two entries.
        size: NonZeroUsize,
        /// Granularity of the report.
        step: NonZeroUsize,
        /// Tokens in front of the prompt that no usage counts.
        hidden: usize,
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
    /// common prefix that two earlier requests had; and with an `interval` every
    /// multiple of it that was sent before (DeepSeek V4). What its interval is is
    /// not published; 64 tokens were its unit before.
    Units {
        /// Tokens between units at fixed places; `None`: none is assumed.
        interval: Option<NonZeroUsize>,
    },
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
            | Self::Units { .. } => true,
            Self::Steps { .. }
            | Self::Intervals { .. }
            | Self::MessageEnds { .. }
            | Self::Breakpoints { .. } => false,
        }
    }

    /// Whether a request counts as present as soon as it is scheduled, so that
    /// one sent at the same time can hit it.
    pub fn shares_in_flight(&self) -> bool {
        matches!(self, Self::Blocks { .. } | Self::Radix { .. })
    }

    /// Tokens below which nothing is read or kept; `None` where there is no such bound.
    pub fn minimum(&self) -> Option<usize> {
        match *self {
            Self::Steps { min, .. }
            | Self::Intervals { min, .. }
            | Self::MessageEnds { min }
            | Self::Breakpoints { min, .. } => (min > 0).then_some(min),
            _ => None,
        }
    }

    /// Whether it has a size, so that one request can drive out what another left.
    pub fn can_be_full(&self) -> bool {
        match self {
            Self::Blocks { capacity, .. } => capacity.is_some(),
            Self::Slots { .. } => true,
            _ => false,
        }
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
            Self::Intervals {
                size,
                step,
                hidden,
                min,
            } => {
                write!(f, "intervals:{size}")?;
                option(f, "step", step.get(), STEP)?;
                option(f, "hidden", hidden, 0)?;
                option(f, "min", min, MIN)
            }
            Self::Units { interval } => {
                write!(f, "units")?;
                interval.map_or(Ok(()), |tokens| write!(f, ",interval={tokens}"))
            }
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
            ("units,interval=64", "units,interval=64"),
            ("intervals:2048", "intervals:2048"),
            ("intervals:2048,step=128,min=1024", "intervals:2048"),
            (
                "intervals:1024,hidden=70,step=1",
                "intervals:1024,step=1,hidden=70",
            ),
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
            ("units,interval=0", "`0` is no value for `interval`"),
            ("intervals:2048,step=0", "`0` is no value for `step`"),
            ("slots:2,sps=7", "`7` is no value for `sps`"),
        ];
        for (written, expected) in cases {
            let error = written.parse::<Model>().expect_err(written).to_string();
            assert!(error.starts_with(expected), "{written}: {error}");
        }
    }
}
