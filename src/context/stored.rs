//! What strategies keep on the message tree.

use serde::{Deserialize, Serialize};

/// What a strategy stored on a user message, on a summary or on the chat.
///
/// One variant a strategy, so that a chat whose layout was switched in the
/// middle holds several and none reads another's.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum Stored {
    /// Nothing yet: a marker that the strategy saw the message.
    Seen,
}
