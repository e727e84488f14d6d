//! Figures that a rule can name: every number of `summary.csv`, and a few more.

use crate::analysis::{Figures, Latency, WithFailures};
use crate::units::Tokens;

/// What a figure is counted in.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Unit {
    /// A fraction of 1.
    Share,
    /// Tokens.
    Tokens,
    /// Microseconds.
    Micros,
    /// US dollars.
    Dollars,
    /// Pieces.
    Count,
}

/// What a figure depends on besides its own requests.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// A share: comparable whatever the number of requests, as long as nearly all of
    /// them have a count.
    Ratio,
    /// A quantile of times, in which a failed request took for ever: comparable where
    /// there are requests enough on its far side.
    Quantile,
    /// A mean over whole conversations: comparable over the same mix of scenarios.
    Mean,
    /// A sum: comparable over the same conversations, each of them whole.
    Sum,
    /// A count of what went wrong or right: always known.
    Tally,
}

/// What a figure is computed from.
#[derive(Clone, Copy, Debug)]
pub struct Known<'a> {
    /// The usual figures.
    pub figures: &'a Figures,
    /// Requests whose prefix broke, and the tokens lost behind the breaks.
    pub breaks: (u64, Option<Tokens>),
}

/// A figure that a rule can name.
pub struct Metric {
    /// As rules write it.
    pub name: &'static str,
    /// What it is, for a person.
    pub about: &'static str,
    /// What it is counted in.
    pub unit: Unit,
    /// What has to be alike for two of it to be compared.
    pub kind: Kind,
    /// Whether a prediction knows it too.
    pub predicted: bool,
    /// Its value; `None` where there is no evidence.
    pub of: fn(Known<'_>) -> Option<f64>,
}

impl PartialEq for Metric {
    fn eq(&self, other: &Self) -> bool {
        self.name == other.name
    }
}

impl std::fmt::Debug for Metric {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(self.name)
    }
}

/// The metric of that name.
pub(super) fn find(name: &str) -> Option<&'static Metric> {
    METRICS.iter().find(|metric| metric.name == name)
}

/// Defines [`METRICS`] from a line each.
macro_rules! metrics {
    ($($name:literal $unit:ident $kind:ident $predicted:literal $about:literal $of:expr;)+) => {
        /// Every figure that a rule can name.
        pub static METRICS: &[Metric] = &[$(Metric {
            name: $name,
            about: $about,
            unit: Unit::$unit,
            kind: Kind::$kind,
            predicted: $predicted,
            of: $of,
        }),+];
    };
}

fn tokens(value: Option<Tokens>) -> Option<f64> {
    value.map(|tokens| tokens.0 as f64)
}

/// A time that is infinite where too many requests were never answered.
fn endless(ttft: &Latency, of: fn(&WithFailures) -> Option<f64>) -> Option<f64> {
    let times = &ttft.with_failures;
    of(times).or((times.n > 0).then_some(f64::INFINITY))
}

/// Requests that a quantile takes to be told, and how it is written; `None` of a figure
/// that is none. The rule of `compare`: at least five requests on its far side.
pub(in crate::analysis) fn takes(name: &str) -> Option<(u64, &'static str)> {
    match name {
        "ttft_p50_us" | "ttft_from_due_p50_us" => Some((10, "p50")),
        "ttft_p90_us" | "ttft_from_due_p90_us" => Some((50, "p90")),
        "ttft_p99_us" | "ttft_from_due_p99_us" => Some((500, "p99")),
        _ => None,
    }
}

#[expect(clippy::unnecessary_wraps, reason = "it is what a metric gives")]
fn number(value: u64) -> Option<f64> {
    Some(value as f64)
}

metrics! {
    "cached_share" Share Ratio false "prompt tokens read from the cache, of all"
        |known| known.figures.cached_share;
    "cached_share_low" Share Ratio false "lower end of its 95 % interval"
        |known| Some(known.figures.cached_interval?.low);
    "cached_share_high" Share Ratio false "upper end of its 95 % interval"
        |known| Some(known.figures.cached_interval?.high);
    "cached_share_after_first" Share Ratio false "cached share without each conversation's first request"
        |known| known.figures.cached_share_after_first;
    "achievable_share" Share Ratio true "what the cache model could return, of all prompt tokens"
        |known| known.figures.achievable_share;
    "eligible_share" Share Ratio true "prompt tokens that repeat an earlier prompt, of all"
        |known| Some(tokens(known.figures.eligible)? / tokens(known.figures.total).filter(|total| *total > 0.0)?);
    "efficiency" Share Ratio false "tokens read, of what the cache model could return"
        |known| known.figures.efficiency;
    "computed_per_conversation" Tokens Mean true "prompt tokens not read from the cache, for each conversation"
        |known| known.figures.computed_per_conversation;
    "computed_tokens" Tokens Sum true "prompt tokens not read from the cache"
        |known| tokens(known.figures.computed);
    "total_tokens" Tokens Sum true "prompt tokens"
        |known| tokens(known.figures.total);
    "read_tokens" Tokens Sum false "prompt tokens read from the cache"
        |known| tokens(known.figures.read);
    "eligible_tokens" Tokens Sum true "prompt tokens that repeat an earlier prompt"
        |known| tokens(known.figures.eligible);
    "bound_tokens" Tokens Sum true "prompt tokens that the cache model could return"
        |known| tokens(known.figures.bound);
    "breaks" Count Sum true "requests whose prefix broke"
        |known| number(known.breaks.0);
    "lost_tokens" Tokens Sum true "tokens lost behind the breaks"
        |known| tokens(known.breaks.1);
    "ttft_p50_us" Micros Quantile false "time to first token, of failed requests infinite: half are faster"
        |known| endless(&known.figures.ttft, |times| times.p50_us);
    "ttft_p90_us" Micros Quantile false "time to first token, of failed requests infinite: nine in ten are faster"
        |known| endless(&known.figures.ttft, |times| times.p90_us);
    "ttft_p99_us" Micros Quantile false "time to first token, of failed requests infinite: 99 in a hundred are faster"
        |known| endless(&known.figures.ttft, |times| times.p99_us);
    "ttft_from_due_p50_us" Micros Quantile false "the same from when a request was due first: half are faster"
        |known| endless(&known.figures.ttft_from_due, |times| times.p50_us);
    "ttft_from_due_p90_us" Micros Quantile false "the same from when a request was due first: nine in ten are faster"
        |known| endless(&known.figures.ttft_from_due, |times| times.p90_us);
    "ttft_from_due_p99_us" Micros Quantile false "the same from when a request was due first: 99 in a hundred are faster"
        |known| endless(&known.figures.ttft_from_due, |times| times.p99_us);
    "cost_usd" Dollars Sum false "what the requests cost"
        |known| Some(known.figures.cost?.usd());
    "cost_uncached_usd" Dollars Sum false "what they would have cost without a cache"
        |known| Some(known.figures.cost_uncached?.usd());
    "cost_best_usd" Dollars Sum false "what they would have cost had the cache returned all that it can"
        |known| Some(known.figures.costs.best?.usd());
    "cost_least_usd" Dollars Sum false "lower end of the cost where counts are absent"
        |known| Some(known.figures.costs.least?.usd());
    "cost_most_usd" Dollars Sum false "upper end of the cost where counts are absent"
        |known| Some(known.figures.costs.most?.usd());
    "cost_per_conversation_usd" Dollars Mean false "what the requests of a whole conversation cost"
        |known| Some(known.figures.costs.per_conversation?.usd());
    "write_tokens" Tokens Sum false "tokens newly written to the cache"
        |known| tokens(known.figures.written);
    "prompt_reuse_tokens" Tokens Sum false "tokens read that stood in an earlier prompt"
        |known| tokens(known.figures.reuse.prompt);
    "reply_reuse_tokens" Tokens Sum false "tokens read that the model had generated"
        |known| tokens(known.figures.reuse.reply);
    "hit_chances" Count Sum false "requests that could have read something"
        |known| number(known.figures.hit_chances);
    "full_hits" Count Sum false "of these, those that read all that the cache can return"
        |known| number(known.figures.full_hits);
    "set_apart" Count Tally false "requests that shares leave out"
        |known| number(known.figures.set_apart);
    "requests" Count Tally true "requests, retries not counted apart"
        |known| number(known.figures.requests);
    "failed" Count Tally true "requests that were never answered"
        |known| number(known.figures.failed);
    "without_count" Count Tally false "answered requests without a usable count of cached tokens"
        |known| number(known.figures.without_count);
    "conversations" Count Tally true "conversations that the shares are taken from"
        |known| number(known.figures.conversations);
}
