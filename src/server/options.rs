//! How an embedded server is to behave.

use super::faults::Faults;
use super::profile::{PROFILES, Profile};
use super::template::Template;
use crate::cache::Model;
use std::net::{Ipv4Addr, SocketAddr};
use std::time::Duration;

/// How fast the imagined hardware is.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Speed {
    /// Prompt tokens computed in a second; those read from cache cost nothing.
    /// 0 or less: at once.
    pub prefill_per_s: f64,
    /// Tokens generated in a second, for each request alone. 0 or less: at once.
    pub decode_per_s: f64,
    /// What every request costs before its first token.
    pub overhead: Duration,
    /// How far a request's prefill may differ from its due time, as a share:
    /// 0.05 is up to 5 % to either side.
    pub jitter: f64,
}

impl Default for Speed {
    /// A cold prompt of 2,000 tokens takes about 40 ms, an answer 1 ms a token.
    fn default() -> Self {
        Self {
            prefill_per_s: 50_000.0,
            decode_per_s: 1_000.0,
            overhead: Duration::from_millis(1),
            jitter: 0.05,
        }
    }
}

impl Speed {
    /// No waiting at all: for tests of everything but time.
    pub const INSTANT: Self = Self {
        prefill_per_s: 0.0,
        decode_per_s: 0.0,
        overhead: Duration::ZERO,
        jitter: 0.0,
    };

    /// Time to the first token of a request that computes `tokens`; `draw` is
    /// its jitter, from -1 to 1.
    pub(super) fn prefill(&self, tokens: u64, draw: f64) -> Duration {
        let exact = if self.prefill_per_s > 0.0 {
            tokens as f64 / self.prefill_per_s
        } else {
            0.0
        };
        let jittered = exact * (1.0 + self.jitter * draw).max(0.0);
        self.overhead + Duration::try_from_secs_f64(jittered).unwrap_or(Duration::MAX)
    }

    /// Time from one token to the next.
    pub(super) fn per_token(&self) -> Duration {
        if self.decode_per_s > 0.0 {
            Duration::try_from_secs_f64(1.0 / self.decode_per_s).unwrap_or(Duration::MAX)
        } else {
            Duration::ZERO
        }
    }
}

/// What to start.
#[derive(Clone, Debug)]
pub struct Options {
    /// Where to listen; port 0 takes a free one.
    pub addr: SocketAddr,
    /// Whose habits to imitate.
    pub profile: &'static Profile,
    /// Decides words and jitter.
    pub seed: u64,
    /// What to do wrong, and how often.
    pub faults: Faults,
    /// How fast to be.
    pub speed: Speed,
    /// Name under which the model is served.
    pub model: String,
    /// Whether another model name is refused.
    pub strict_model: bool,
    /// Requests let in within any minute of the server's clock; more are
    /// refused with 429 and the seconds to wait.
    pub requests_per_minute: Option<u32>,
    /// Key that requests must bring.
    pub api_key: Option<String>,
    /// Cache model, where not the profile's.
    pub cache_model: Option<Model>,
    /// Lifetime of cache entries, where not the profile's.
    pub lifetime: Option<Duration>,
    /// Context window in tokens, where not the profile's.
    pub context: Option<usize>,
    /// Tokens after which an answer ends by itself, its stop token included.
    pub reply_tokens: u32,
    /// Whether the usage of a chat stream tells when its first token was sent, as
    /// [`FIRST_TOKEN`](super::FIRST_TOKEN).
    pub stamps: bool,
    /// Answer every chat request with the same stream of so many tokens, in one
    /// write, after the overhead of `speed`; nothing else holds then.
    pub canned: Option<u32>,
    /// What the chat template does.
    pub template: Template,
    /// How long after an answer its entries can be read. Engines that share what is
    /// being computed share it at once all the same.
    pub visible_after: Duration,
}

impl Default for Options {
    /// vLLM with blocks of 16 on a free loopback port.
    fn default() -> Self {
        Self {
            addr: SocketAddr::from((Ipv4Addr::LOCALHOST, 0)),
            profile: &PROFILES[0],
            seed: 0,
            faults: Faults::default(),
            speed: Speed::default(),
            model: "simulated".to_owned(),
            strict_model: false,
            requests_per_minute: None,
            api_key: None,
            cache_model: None,
            lifetime: None,
            context: None,
            reply_tokens: 256,
            stamps: false,
            canned: None,
            template: Template::Plain,
            visible_after: Duration::ZERO,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn time_to_first_token_follows_the_computed_tokens() {
        let speed = Speed {
            overhead: Duration::ZERO,
            ..Speed::default()
        };
        let cases = [
            (2_000, 0.0, 40_000),
            (2_000, 1.0, 42_000),
            (2_000, -1.0, 38_000),
            (100, 0.0, 2_000),
            (0, 1.0, 0),
        ];
        for (tokens, draw, micros) in cases {
            assert_eq!(speed.prefill(tokens, draw), Duration::from_micros(micros));
        }
        assert_eq!(speed.per_token(), Duration::from_millis(1));
        assert_eq!(Speed::INSTANT.prefill(1_000_000, 1.0), Duration::ZERO);
        assert_eq!(Speed::INSTANT.per_token(), Duration::ZERO);
    }
}
