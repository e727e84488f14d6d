//! A limit to the bytes of bodies that are on their way at once.
//!
//! A body is written before there is a connection to take it. Where thousands of long
//! prompts become due together, all of them would wait in memory for theirs; so a
//! body is written when there is room for it, and its room is free again when its
//! bytes are with the operating system. Short bodies never fill the room, and what
//! waits for it shows as lateness.

use bytes::Bytes;
use std::sync::Arc;
use tokio::sync::{OwnedSemaphorePermit, Semaphore};

/// Bytes of bodies at once.
const ROOM: usize = 256 << 20;

/// What a permit stands for.
const UNIT: usize = 1 << 10;

/// Room for bodies, shared by all requests of a client.
#[derive(Clone, Debug)]
pub(super) struct Room(Arc<Semaphore>);

impl Default for Room {
    fn default() -> Self {
        Self(Arc::new(Semaphore::new(ROOM / UNIT)))
    }
}

/// Room for one body.
#[derive(Debug)]
pub struct Held {
    permit: Option<OwnedSemaphorePermit>,
}

/// A body with its room.
struct Body {
    text: String,
    _held: Option<OwnedSemaphorePermit>,
}

impl AsRef<[u8]> for Body {
    fn as_ref(&self) -> &[u8] {
        self.text.as_bytes()
    }
}

impl Room {
    /// Waits for room for so many bytes; what is larger than all of it gets all.
    pub(super) async fn take(&self, bytes: usize) -> Held {
        let units = bytes.div_ceil(UNIT).min(ROOM / UNIT);
        let units = u32::try_from(units).unwrap_or(u32::MAX);
        let permit = Arc::clone(&self.0).acquire_many_owned(units).await;
        Held {
            permit: permit.ok(),
        }
    }
}

impl Held {
    /// The body as bytes that give the room back when the last of them is dropped.
    pub fn body(self, text: String) -> Bytes {
        Bytes::from_owner(Body {
            text,
            _held: self.permit,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use futures_util::FutureExt as _;

    #[tokio::test]
    async fn a_body_waits_until_those_before_it_are_gone() {
        let room = Room::default();
        let half = room.take(ROOM / 2).await.body("a".to_owned());
        let clone = half.clone();
        let more = room.take(ROOM).now_or_never();
        assert!(more.is_none(), "half of it is taken");
        drop(half);
        assert!(room.take(ROOM).now_or_never().is_none(), "a clone holds it");
        assert_eq!(&*clone, b"a");
        drop(clone);
        assert!(room.take(2 * ROOM).now_or_never().is_some());
    }
}
