//! What one conversation sends, and what may be expected of it.

use super::assumed::Assumed;
use crate::cli::predicted::Predicted;
use crate::units::{Money, Share, Tokens};
use std::time::Duration;

/// Amounts of what is sent, at most.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Amounts {
    pub(super) requests: u64,
    /// Tokens of prompts; where replies are live, with the script's in their place.
    pub(super) prompt: Tokens,
    /// By how much replies of the model itself can make prompts longer.
    pub(super) grown: Tokens,
    pub(super) output: Tokens,
    /// With nothing read and everything written. `None`: nobody knows.
    pub(super) cost: Option<Money>,
}

impl Amounts {
    /// Nothing, which costs nothing.
    pub(super) const NONE: Self = Self {
        requests: 0,
        prompt: Tokens(0),
        grown: Tokens(0),
        output: Tokens(0),
        cost: Some(Money(0)),
    };

    /// Nobody knows how much.
    pub(super) const UNKNOWN: Self = Self {
        cost: None,
        ..Self::NONE
    };

    /// The same so many times.
    pub(super) fn times(self, n: u64) -> Self {
        let times = |tokens: Tokens| Tokens(tokens.0.saturating_mul(n));
        if n == 0 {
            return Self::NONE;
        }
        Self {
            requests: self.requests.saturating_mul(n),
            prompt: times(self.prompt),
            grown: times(self.grown),
            output: times(self.output),
            cost: self.cost.map(|cost| cost * Tokens(n)),
        }
    }

    /// Both.
    pub(super) fn and(self, other: Self) -> Self {
        Self {
            requests: self.requests + other.requests,
            prompt: self.prompt + other.prompt,
            grown: self.grown + other.grown,
            output: self.output + other.output,
            cost: self.cost.zip(other.cost).map(|(a, b)| a + b),
        }
    }
}

/// One conversation.
#[derive(Clone, Debug)]
pub(super) struct One {
    /// All that it sends.
    pub(super) all: Amounts,
    /// Its first request, which warms up and probes.
    pub(super) first: Amounts,
    /// Prompt tokens of each request.
    pub(super) prompts: Vec<u64>,
    /// Of the requests that the cache model says something of; `None` where it is not
    /// known.
    pub(super) achievable: Option<Share>,
    /// About how long it takes, and its first request, where the target's speed is known.
    pub(super) time: Option<Duration>,
    pub(super) first_time: Option<Duration>,
    pub(super) turns: u32,
}

impl One {
    /// Of these requests. With `live` replies a prompt may hold as many answers of full
    /// length as went before it.
    pub(super) fn of(requests: &[Predicted], assumed: &Assumed, live: bool) -> Self {
        let most = Tokens(u64::from(assumed.form.max_tokens));
        let mut one = Self {
            all: Amounts::NONE,
            first: Amounts::NONE,
            prompts: Vec::new(),
            achievable: assumed.cache.as_ref().map(|_| Share::default()),
            time: assumed.speed.map(|_| Duration::ZERO),
            first_time: assumed.speed.map(|_| Duration::ZERO),
            turns: requests.last().map_or(0, |last| last.record.turn),
        };
        for (before, Predicted { bound, .. }) in (0_u64..).zip(requests) {
            let prompt = bound.prompt.unwrap_or_default();
            let grown = if live { most.0 * before } else { 0 };
            let sent = Amounts {
                requests: 1,
                prompt,
                grown: Tokens(grown),
                output: most,
                cost: bound
                    .prompt
                    .and_then(|prompt| assumed.most(prompt + Tokens(grown), most)),
            };
            one.all = one.all.and(sent);
            one.prompts.push(prompt.0);
            let part = bound.bound.unwrap_or_default();
            if let (Some(achievable), Some(_)) = (&mut one.achievable, bound.bound) {
                let whole = prompt;
                *achievable = *achievable + Share { part, whole };
            }
            let took = assumed.speed.map(|speed| {
                let computed = prompt.saturating_sub(part);
                speed.overhead + at(computed, speed.prefill_per_s) + at(most, speed.decode_per_s)
            });
            one.time = one.time.zip(took).map(|(sum, took)| sum + took);
            if before == 0 {
                (one.first, one.first_time) = (sent, took);
            }
        }
        one
    }
}

fn at(tokens: Tokens, per_second: f64) -> Duration {
    Duration::try_from_secs_f64(tokens.0 as f64 / per_second).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_cost_that_nobody_knows_stays_unknown_but_for_nothing_at_all() {
        assert_eq!(Amounts::UNKNOWN.and(Amounts::NONE).cost, None);
        assert_eq!(Amounts::UNKNOWN.times(3).cost, None);
        assert_eq!(Amounts::UNKNOWN.times(0), Amounts::NONE);
    }
}
