//! One connection: what is still to be sent, and what came and is not yet understood.

use super::connect::Stream;
use bytes::{Buf as _, Bytes, BytesMut};
use std::fmt;
use std::future::poll_fn;
use std::io;
use std::pin::{Pin, pin};
use std::task::{Context, Poll, Waker};
use tokio::io::AsyncWrite as _;
use tokio::task::unconstrained;
use tokio_util::io::{poll_read_buf, poll_write_buf};

/// Bytes that one read may bring.
const READ: usize = 8 << 10;

/// A connection with at most one request on its way.
pub(super) struct Connection {
    stream: Box<dyn Stream>,
    request: Option<bytes::buf::Chain<Bytes, Bytes>>,
    /// Why the rest of the request was not taken.
    refused: Option<io::Error>,
    /// What came and is not yet understood.
    pub(super) unread: BytesMut,
}

impl fmt::Debug for Connection {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Connection").finish_non_exhaustive()
    }
}

impl Connection {
    pub(super) fn new(stream: Box<dyn Stream>) -> Self {
        Self {
            stream,
            request: None,
            refused: None,
            unread: BytesMut::new(),
        }
    }

    /// Puts a request on its way: whoever waits for the answer sends it.
    pub(super) fn send(&mut self, head: Bytes, body: Bytes) {
        self.request = Some(head.chain(body));
    }

    /// Sends what is left of the request and waits for more of the answer: the number
    /// of bytes that came, 0 at the end of the connection.
    ///
    /// A server may answer before it has the whole request, and may then close; so
    /// bytes that cannot be sent are an error only once no more of an answer comes. That
    /// there is one the system may tell after it has refused the bytes.
    pub(super) async fn more(&mut self) -> io::Result<usize> {
        poll_fn(|context| self.poll_more(context)).await
    }

    fn poll_more(&mut self, context: &mut Context<'_>) -> Poll<io::Result<usize>> {
        if self.request.is_some()
            && let Err(refused) = self.poll_send(context)
        {
            (self.request, self.refused) = (None, Some(refused));
        }
        if self.unread.is_empty() || self.unread.spare_capacity_mut().len() < READ / 2 {
            self.unread.reserve(READ);
        }
        let read = poll_read_buf(Pin::new(&mut self.stream), context, &mut self.unread);
        match read {
            Poll::Ready(Ok(0) | Err(_)) => self
                .refused
                .take()
                .map_or(read, |refused| Poll::Ready(Err(refused))),
            read => read,
        }
    }

    /// Sends as much as the connection takes now. The request's bytes are let go of as
    /// soon as it has the last one.
    fn poll_send(&mut self, context: &mut Context<'_>) -> io::Result<()> {
        let mut stream = Pin::new(&mut self.stream);
        if let Some(request) = &mut self.request {
            while request.has_remaining() {
                match poll_write_buf(stream.as_mut(), context, request) {
                    Poll::Ready(Ok(0)) => return Err(io::ErrorKind::WriteZero.into()),
                    Poll::Ready(Ok(_)) => {}
                    Poll::Ready(Err(error)) => return Err(error),
                    Poll::Pending => return Ok(()),
                }
            }
        }
        match stream.poll_flush(context) {
            Poll::Ready(sent) => {
                self.request = None;
                sent
            }
            Poll::Pending => Ok(()),
        }
    }

    /// Whether it can take another request: the last one is sent, nothing came behind
    /// its answer, and the other end has not closed it as far as is known.
    pub(super) fn is_idle(&mut self) -> bool {
        if self.request.is_some() || self.refused.is_some() || !self.unread.is_empty() {
            return false;
        }
        let read =
            poll_fn(|context| poll_read_buf(Pin::new(&mut self.stream), context, &mut self.unread));
        // Of a task that has done much without a pause, nothing would be ready.
        let read = pin!(unconstrained(read));
        read.poll(&mut Context::from_waker(Waker::noop()))
            .is_pending()
    }
}
