//! The two releases that are modelled.

use serde::{Deserialize, Serialize};

/// A release of the modelled program.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum Release {
    /// 3.1.1 of October 2025: the state that the design document describes.
    #[serde(rename = "3.1")]
    V31,
    /// 4.0.2 of August 2026.
    #[serde(rename = "4")]
    V4,
}
