//! What the client itself costs on a machine, as measured against a server of known latency.

use crate::units::Micros;
use serde::{Deserialize, Serialize};

/// The client's own share of what it measures.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Calibration {
    /// Time to first token that the server was set to.
    pub first_token_us: Micros,
    /// Tokens of an answer.
    pub tokens: u32,
    /// By number of streams, in the order measured.
    pub levels: Vec<CalibrationLevel>,
    /// Against a server that answers at once.
    pub ceiling: Ceiling,
}

/// What so many streams at once add.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct CalibrationLevel {
    /// Conversations at once.
    pub streams: usize,
    /// Requests that were answered whole and stamped by both sides.
    pub requests: usize,
    /// Requests that were not.
    pub failed: usize,
    /// Time to first token as the client saw it, less what the server says that it
    /// took: the network of this machine, the wait for a core, the reading.
    pub added_p50_us: Option<Micros>,
    /// Its 99th percentile.
    pub added_p99_us: Option<Micros>,
    /// By how much requests were sent later than due: building and waiting for a connection.
    pub late_p50_us: Option<Micros>,
    /// Its 99th percentile.
    pub late_p99_us: Option<Micros>,
}

/// How much the client can do.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Ceiling {
    /// Conversations at once.
    pub streams: usize,
    /// Requests that were answered.
    pub requests: u64,
    /// Of them in a second, with the server on the same machine.
    pub requests_per_s: f64,
    /// Time of a core that a request costs the client, in microseconds; `None` where
    /// the system does not tell.
    pub cpu_us_per_request: Option<f64>,
}
