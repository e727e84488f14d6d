//! A request body that notes when the connection takes it.

use bytes::Bytes;
use http_body::{Body, Frame, SizeHint};
use std::convert::Infallible;
use std::pin::Pin;
use std::sync::{Arc, OnceLock};
use std::task::{Context, Poll};
use tokio::time::Instant;

/// The instant at which a body was handed over; empty as long as it was not.
pub(super) type Handover = Arc<OnceLock<Instant>>;

/// A body of one piece. It is polled only when a connection stands, so the stamp
/// leaves out waiting for one; its length is known, so it is not sent chunked.
pub(super) struct Stamped {
    bytes: Option<Bytes>,
    handover: Handover,
}

impl Stamped {
    pub(super) fn new(bytes: Bytes, handover: Handover) -> Self {
        Self {
            bytes: Some(bytes),
            handover,
        }
    }
}

impl Body for Stamped {
    type Data = Bytes;
    type Error = Infallible;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        _context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, Infallible>>> {
        let taken = self.bytes.take();
        if taken.is_some() {
            self.handover.get_or_init(Instant::now);
        }
        Poll::Ready(taken.map(|bytes| Ok(Frame::data(bytes))))
    }

    fn is_end_stream(&self) -> bool {
        self.bytes.is_none()
    }

    fn size_hint(&self) -> SizeHint {
        SizeHint::with_exact(self.bytes.as_ref().map_or(0, |bytes| bytes.len() as u64))
    }
}
