//! What a gateway says of an answer that it did not simply pass on.
//!
//! An answer out of a gateway's own cache of whole answers replays another request's
//! counts (or zeros) in no time; one behind a gateway's own retries or fallbacks took
//! longer, and may come from another server or another model. Neither says anything of
//! the prefix cache that is measured, so that such a request is set apart.
//!
//! The signs are response headers. Sources: the documentations of LiteLLM, OpenRouter,
//! Cloudflare's AI Gateway, Portkey and Helicone; read 2026-11-30.

use crate::record::request::{ANSWER_CACHE, GATEWAY_FALLBACK, GATEWAY_RETRIED};

/// A header by which a gateway says that it did something of its own.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Sign {
    /// What it did, as a record's flag.
    pub flag: &'static str,
    /// The header's name, lowercase.
    pub header: &'static str,
    /// Its value.
    pub value: String,
}

/// What of a header's value is a sign.
#[derive(Clone, Copy)]
enum When {
    /// That it is there: LiteLLM sends the key of a cached answer with hits only.
    There,
    /// The word `hit`, alone or the last of several (`SEMANTIC HIT`).
    Hit,
    /// A number above 0.
    Positive,
}

const SIGNS: &[(&str, When, &str)] = &[
    ("x-litellm-cache-key", When::There, ANSWER_CACHE),
    ("x-openrouter-cache-status", When::Hit, ANSWER_CACHE),
    ("cf-aig-cache-status", When::Hit, ANSWER_CACHE),
    ("x-portkey-cache-status", When::Hit, ANSWER_CACHE),
    ("helicone-cache", When::Hit, ANSWER_CACHE),
    (
        "x-litellm-attempted-retries",
        When::Positive,
        GATEWAY_RETRIED,
    ),
    (
        "x-portkey-retry-attempt-count",
        When::Positive,
        GATEWAY_RETRIED,
    ),
    (
        "x-litellm-attempted-fallbacks",
        When::Positive,
        GATEWAY_FALLBACK,
    ),
];

/// The signs among the headers of a response; `header` gives the value of a lowercase
/// name.
pub fn signs<'h>(header: impl Fn(&str) -> Option<&'h str>) -> Vec<Sign> {
    let found = SIGNS.iter().filter_map(|&(name, when, flag)| {
        let value = header(name)?.trim();
        when.is_so(value).then(|| Sign {
            flag,
            header: name,
            value: value.to_owned(),
        })
    });
    found.collect()
}

impl When {
    fn is_so(self, value: &str) -> bool {
        match self {
            Self::There => !value.is_empty() && value != "None",
            Self::Hit => {
                let last = value.rsplit(' ').next();
                last.is_some_and(|word| word.eq_ignore_ascii_case("hit"))
            }
            Self::Positive => value.parse().is_ok_and(|number: f64| number > 0.0),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_header_is_a_sign_only_where_it_says_that_something_happened() {
        for (name, value, expected) in [
            ("x-litellm-cache-key", "ab12", Some(ANSWER_CACHE)),
            ("x-litellm-cache-key", "", None),
            ("x-openrouter-cache-status", "HIT", Some(ANSWER_CACHE)),
            ("x-openrouter-cache-status", "MISS", None),
            ("cf-aig-cache-status", "hit", Some(ANSWER_CACHE)),
            ("x-portkey-cache-status", "SEMANTIC HIT", Some(ANSWER_CACHE)),
            ("x-portkey-cache-status", "SEMANTIC MISS", None),
            ("helicone-cache", "HIT", Some(ANSWER_CACHE)),
            ("x-litellm-attempted-retries", "2", Some(GATEWAY_RETRIED)),
            ("x-litellm-attempted-retries", "0", None),
            ("x-litellm-attempted-retries", "None", None),
            ("x-litellm-attempted-fallbacks", "1", Some(GATEWAY_FALLBACK)),
            ("x-litellm-attempted-fallbacks", "0", None),
            ("x-litellm-model-id", "2", None),
        ] {
            let found = signs(|asked| (asked == name).then_some(value));
            let flags: Vec<_> = found.iter().map(|sign| sign.flag).collect();
            assert_eq!(flags, Vec::from_iter(expected), "{name}: {value}");
        }
    }
}
