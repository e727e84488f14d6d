//! The grammar of plan files as types.
//!
//! Doc comments here become the descriptions in the JSON schema, which editors
//! show. Names, files and numbers are checked later, in `check`.

use super::values::{ScenarioEntry, Several};
use crate::scenario::load::grammar::ConfigurationFile;
use crate::scenario::load::yaml::{At, Entries};
use schemars::JsonSchema;
use serde::Deserialize;

/// What is run: scenarios, ways of building their prompts, targets and load.
///
/// A flag goes before the environment, that before this file, that before the default.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(title = "prefixbench plan")]
pub(super) struct PlanFile {
    /// Name; part of the run folder's name.
    pub(super) plan: At<String>,
    /// What the plan shows.
    pub(super) about: Option<String>,
    /// Scenario files, relative to the plan.
    pub(super) scenarios: At<Vec<At<ScenarioEntry>>>,
    /// Names of the configurations to run; the usual ones and those that the plan defines.
    pub(super) config: Option<At<Vec<At<String>>>>,
    /// Configurations of the plan's own, by name.
    #[serde(default)]
    pub(super) configurations: Entries<At<ConfigurationFile>>,
    /// Targets by name or URL, or `embedded`; the embedded server.
    pub(super) targets: Option<At<Vec<At<String>>>>,
    /// Model; the first that the target lists.
    pub(super) model: Option<At<String>>,
    /// Wire format: `openai-chat`, `openai-responses`, `anthropic`, `gemini`, ...
    pub(super) dialect: Option<At<String>>,
    /// Kind of provider that strategies build for; by dialect.
    pub(super) wire: Option<At<String>>,
    /// How the targets' cache works (`blocks:16`); as the target says, where it does.
    pub(super) cache_model: Option<At<String>>,
    /// How long the targets keep an unused cache entry: `10m`.
    pub(super) lifetime: Option<At<String>>,
    /// The embedded server.
    #[serde(default)]
    pub(super) embedded: EmbeddedFile,
    /// Conversations per cell; 1. A scenario's weight multiplies it, and `duration` as well.
    pub(super) repeat: Option<At<u32>>,
    /// Conversations at once; a list makes each a load level, and so a cell, of its own.
    pub(super) sessions: Option<At<Several<u32>>>,
    /// How conversations begin, in place of `sessions`; a list makes each a load level: `sessions=8`
    /// (closed), `open=2/s,poisson`, `ramp=1/s..10/s,over=5m`, `steps=1@30s,8@30s`, `trace=FILE`.
    pub(super) load: Option<At<Several<String>>>,
    /// Level after level, in place of `sessions`: `sessions=1..64,x2`, `open=1/s..32/s,+4`.
    pub(super) sweep: Option<At<String>>,
    /// The sweep ends at the first level that does not keep one of these: `ttft_p90<=500ms`,
    /// `late_p99<=1ms`, `failed<=1%`, `shed<=0%`.
    pub(super) until: Option<At<Several<String>>>,
    /// Conversations begin for so long in each cell: `10m`.
    pub(super) duration: Option<At<String>>,
    /// How long a person thinks between an answer and the next message: `2s`, `uniform=1s..5s`,
    /// `exponential=5s`, `lognormal=5s,sigma=1`; not at all.
    pub(super) think: Option<At<String>>,
    /// In which order cells and their conversations are run; given.
    pub(super) order: Option<At<OrderFile>>,
    /// What starts on a cold cache; every conversation.
    pub(super) isolate: Option<At<IsolateFile>>,
    /// What keeps conversations apart in the cache; salts where the server has them, else a nonce.
    pub(super) isolate_by: Option<At<IsolateByFile>>,
    /// What is sent before what is measured, and counts nowhere; nothing.
    pub(super) warm_up: Option<At<WarmUpFile>>,
    /// Whether each cell's first prompt is asked again at its end; where that costs nothing.
    pub(super) eviction_probe: Option<At<EvictionProbeFile>>,
    /// Output tokens asked for; 16, or 512 with live replies.
    pub(super) max_tokens: Option<At<u32>>,
    /// Tries after the first where a failure may pass; 2.
    pub(super) retries: Option<At<u32>>,
    /// Seed of everything drawn; 1.
    pub(super) seed: Option<At<u64>>,
    /// Bounds of the whole run, and what holds its requests back.
    #[serde(default)]
    pub(super) limits: LimitsFile,
    /// Rules that the results must keep, for `gate`.
    #[serde(default)]
    pub(super) rules: Vec<At<String>>,
    /// A fleet of servers, for `predict`.
    pub(super) fleet: Option<At<FleetFile>>,
}

/// How the embedded server behaves, where it is a target.
#[derive(Debug, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub(super) struct EmbeddedFile {
    /// Whose habits it imitates (`prefixbench list profiles`); vllm.
    pub(super) profile: Option<At<String>>,
    /// How its cache works, in place of the profile's: `blocks:16,capacity=400`.
    pub(super) cache_model: Option<At<String>>,
    /// How long an unused entry of its cache lives, in place of the profile's: `10m`.
    pub(super) lifetime: Option<At<String>>,
}

/// In which order cells and their conversations are run.
#[derive(Clone, Copy, Debug, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub(super) enum OrderFile {
    /// As the files and names are given, a cell after the other.
    Given,
    /// Interleaved at random, by the seed, so that a drift of the target meets all cells alike.
    Shuffled,
}

/// What starts on a cold cache.
#[derive(Clone, Copy, Debug, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub(super) enum IsolateFile {
    /// Every conversation.
    Conversation,
    /// Every cell; its conversations share their cache.
    Cell,
    /// The run; all of its conversations share one cache.
    Run,
    /// Nothing: whatever the server still holds is found.
    None,
}

/// What keeps one measurement's cache entries from another's.
#[derive(Clone, Copy, Debug, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub(super) enum IsolateByFile {
    /// Salts where the target is known to have them, else a nonce.
    Auto,
    /// `cache_salt` in the body.
    Salt,
    /// Eight digits at the very front of the prompt.
    Nonce,
    /// The cache is emptied before each unit.
    Reset,
}

/// What is sent before what is measured.
#[derive(Clone, Copy, Debug, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub(super) enum WarmUpFile {
    /// Nothing.
    None,
    /// The first prompt of each unit, under its own nonce, until the cache gives it back.
    Prime,
    /// The first prompt of each cell, under a nonce of its own.
    Isolate,
}

/// Whether each cell's first prompt is asked again at its end.
#[derive(Clone, Copy, Debug, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub(super) enum EvictionProbeFile {
    /// Where it costs nothing and touches no other cell.
    Auto,
    /// Always.
    On,
    /// Never.
    Off,
}

/// Bounds of the whole run, and what holds its requests back.
#[derive(Debug, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub(super) struct LimitsFile {
    /// A run that would send more requests is not begun.
    pub(super) requests: Option<At<u64>>,
    /// A run that would send more prompt tokens is not begun.
    pub(super) tokens: Option<At<u64>>,
    /// US dollars; the run ends before it has cost more.
    pub(super) usd: Option<At<f64>>,
    /// Requests in flight at a target; arrivals above it are shed, turns wait.
    pub(super) in_flight: Option<At<u32>>,
    /// Requests that may begin in any minute, for each target.
    pub(super) requests_per_minute: Option<At<u64>>,
    /// Tokens, of prompts and answers, in any minute, for each target.
    pub(super) tokens_per_minute: Option<At<u64>>,
    /// The longest wait that a server may ask for: `2m`; 1m.
    pub(super) longest_wait: Option<At<String>>,
}

/// A fleet of servers that is too large to run, for `predict`.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct FleetFile {
    /// Conversations at once over the whole fleet.
    pub(super) sessions: At<u32>,
    /// Tokens that the cache of one server holds.
    pub(super) capacity: At<u64>,
    /// Servers.
    pub(super) replicas: At<u32>,
    /// How a request finds its server; a list compares them.
    pub(super) routing: At<Several<RoutingFile>>,
}

/// How a request finds its server.
#[derive(Clone, Copy, Debug, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub(super) enum RoutingFile {
    /// One server after the other.
    RoundRobin,
    /// Every request of a conversation goes to the same server.
    Sticky,
    /// To the server that holds most of the prompt.
    Prefix,
}
