//! What keeps measurements apart, as a flag, a plan and the environment say it.

use std::fmt;
use std::str::FromStr;

/// What keeps one measurement's cache entries from another's.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, clap::ValueEnum)]
pub(in crate::cli) enum IsolateBy {
    /// By salt where the target is known to have salts, else by nonce.
    #[default]
    Auto,
    /// By `cache_salt`: for vLLM behind a gateway that passes it through.
    Salt,
    /// By a nonce in the prompt.
    Nonce,
    /// By emptying the cache before each unit, where the server can (vLLM with
    /// `VLLM_SERVER_DEV_MODE=1`, SGLang, llama.cpp with --slot-save-path).
    Reset,
}

impl fmt::Display for IsolateBy {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Auto => "auto",
            Self::Salt => "salt",
            Self::Nonce => "nonce",
            Self::Reset => "reset",
        })
    }
}

impl FromStr for IsolateBy {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        clap::ValueEnum::from_str(text, false)
    }
}

impl IsolateBy {
    /// Whether salts are sent to a target that is known to have them, or not to.
    pub(super) fn salted(self, known: bool) -> bool {
        match self {
            Self::Auto => known,
            Self::Salt => true,
            Self::Nonce | Self::Reset => false,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_flag_decides_what_keeps_conversations_apart() {
        let cases = [
            (IsolateBy::Auto, [false, true]),
            (IsolateBy::Salt, [true, true]),
            (IsolateBy::Nonce, [false, false]),
            (IsolateBy::Reset, [false, false]),
        ];
        for (by, expected) in cases {
            assert_eq!(
                [false, true].map(|known| by.salted(known)),
                expected,
                "{by:?}"
            );
        }
    }
}
