//! What strategies keep on the message tree.

use super::layered::{BuiltTurn, Kept};
use super::turn::state::{Anchor, Update};
use serde::{Deserialize, Serialize};

/// What a strategy stored on a user message, on a summary or on the chat.
///
/// One or two variants a strategy, so that a chat whose layout was switched in
/// the middle holds several and none reads another's.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum Stored {
    /// Nothing yet: a marker that the strategy saw the message.
    Seen,
    /// Turn context: what a user message tells beside its text.
    TurnUpdate(Update),
    /// Turn context: the frozen system prompt of a segment.
    TurnAnchor(Anchor),
    /// Layered: what its layers were when the message was sent.
    Layered(Kept),
    /// Releases of the layered system: the turn as it was built.
    Copilot(Box<BuiltTurn>),
}
