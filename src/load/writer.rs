//! The thread that writes records, so that no turn waits for a disk.
//!
//! One bounded channel leads to it. A write that fails ends the run: what was
//! written stays, what still comes is dropped and counted. Nothing of a record
//! is kept once it is written, so that memory does not grow with a run; what
//! follows from the records is computed from the files. Only texts that the files
//! must not have are kept, by those who will need them.

use super::session::Measured;
use crate::record::{BoundRecord, Ending, LedgerLine, Manifest, RunWriter, SpanStore, WriteError};
use crate::units::Tokens;
use std::sync::mpsc::RecvTimeoutError;
use std::thread::JoinHandle;
use std::time::Duration;
use tokio::sync::{mpsc, oneshot};
use tokio_util::sync::CancellationToken;

/// Records that may wait for the disk.
const QUEUE: usize = 1024;

/// Records that are taken from the queue at once: to wake the thread for each
/// would cost more than to write it.
const BATCH: usize = 256;
/// How long a record may wait until a power cut cannot take it away.
const SYNC_EVERY: Duration = Duration::from_secs(1);

/// What the writer is told.
pub enum ToWriter {
    /// An attempt ended.
    Measured(Box<Measured>),
    /// What was computed after a cell.
    Bounds(Vec<BoundRecord>),
    /// Texts that the files lack are wanted back, if they were kept.
    Texts(oneshot::Sender<SpanStore>),
    /// Lengths of the stored texts in tokens, by what counts them.
    Lengths(Box<dyn Fn(crate::chat::Digest) -> Option<Tokens> + Send>),
    /// An attempt ended that counts nowhere.
    Aside(Box<Measured>),
    /// Something to be kept in the ledger.
    Note(LedgerLine),
    /// A second has passed.
    Tick,
    /// Somebody waits until everything told before has been dealt with.
    Flush(oneshot::Sender<()>),
}

/// Called for every attempt, on the writer's thread.
pub(super) type OnRecord = Box<dyn FnMut(&Measured) + Send>;

/// A running writer.
pub struct Writer {
    send: mpsc::Sender<ToWriter>,
    thread: JoinHandle<(RunWriter, Option<WriteError>)>,
}

impl Writer {
    /// Starts the thread. A write that fails cancels `stop`. With `keep_texts`
    /// every distinct text stays in memory for [`Writer::texts`].
    pub fn start(
        run: RunWriter,
        keep_texts: bool,
        on_record: OnRecord,
        stop: CancellationToken,
    ) -> Self {
        let (send, receive) = mpsc::channel(QUEUE);
        tick(send.downgrade());
        let work = Work {
            run,
            texts: keep_texts.then(SpanStore::default),
            on_record,
            stop,
        };
        let thread = std::thread::spawn(move || work.until_closed(receive));
        Self { send, thread }
    }

    /// The way to it.
    pub fn sender(&self) -> mpsc::Sender<ToWriter> {
        self.send.clone()
    }

    /// The texts that were kept, which are no longer kept then; none where that
    /// was not asked for or the writer is gone.
    pub async fn texts(&self) -> SpanStore {
        let (send, receive) = oneshot::channel();
        if self.send.send(ToWriter::Texts(send)).await.is_err() {
            return SpanStore::default();
        }
        receive.await.unwrap_or_default()
    }

    /// Returns when every record sent before has been written and told of; at
    /// once where the writer is gone.
    pub async fn flush(&self) {
        let (send, receive) = oneshot::channel();
        if self.send.send(ToWriter::Flush(send)).await.is_ok() {
            let _gone = receive.await;
        }
    }

    /// Writes what was computed after a cell.
    pub async fn bounds(&self, bounds: Vec<BoundRecord>) {
        // A writer that is gone tells why in `finish`.
        let _gone = self.send.send(ToWriter::Bounds(bounds)).await;
    }

    /// Notes the lengths of the stored texts in tokens.
    pub async fn lengths(
        &self,
        count: impl Fn(crate::chat::Digest) -> Option<Tokens> + Send + 'static,
    ) {
        let _gone = self.send.send(ToWriter::Lengths(Box::new(count))).await;
    }

    /// Ends the run and the thread. Every other sender must be dropped by now.
    ///
    /// # Errors
    ///
    /// The first write that failed.
    pub async fn finish(self, ending: Ending) -> Result<Manifest, WriteError> {
        drop(self.send);
        let joined = tokio::task::spawn_blocking(move || self.thread.join()).await;
        match joined {
            Ok(Ok((run, None))) => run.finish(ending),
            Ok(Ok((run, Some(error)))) => {
                // The disk may be full; the manifest may still fit.
                let _as_far_as_it_goes = run.finish(Ending::Failed(error.to_string()));
                Err(error)
            }
            Ok(Err(panic)) => std::panic::resume_unwind(panic),
            Err(join) => std::panic::resume_unwind(join.into_panic()),
        }
    }
}

struct Work {
    run: RunWriter,
    texts: Option<SpanStore>,
    on_record: OnRecord,
    stop: CancellationToken,
}

impl Work {
    fn until_closed(
        mut self,
        mut receive: mpsc::Receiver<ToWriter>,
    ) -> (RunWriter, Option<WriteError>) {
        let mut failed = None;
        let mut batch = Vec::with_capacity(BATCH);
        while receive.blocking_recv_many(&mut batch, BATCH) > 0 {
            for told in batch.drain(..) {
                self.take(told, &mut failed);
            }
        }
        (self.run, failed)
    }

    fn take(&mut self, told: ToWriter, failed: &mut Option<WriteError>) {
        let done = match told {
            ToWriter::Texts(reply) => {
                let _nobody_waits = reply.send(self.texts.take().unwrap_or_default());
                return;
            }
            ToWriter::Flush(reply) => {
                let _nobody_waits = reply.send(());
                return;
            }
            _ if failed.is_some() => return,
            ToWriter::Measured(measured) => self.write(&measured),
            ToWriter::Aside(measured) => self.aside(&measured),
            ToWriter::Note(line) => self.run.note(&line),
            ToWriter::Tick => self.run.sync(),
            ToWriter::Bounds(bounds) => self.run.bounds(&bounds),
            ToWriter::Lengths(count) => self.run.lengths(&*count),
        };
        if let Err(error) = done {
            *failed = Some(error);
            self.stop.cancel();
        }
    }

    fn write(&mut self, measured: &Measured) -> Result<(), WriteError> {
        self.run
            .append(&measured.record, &mut measured.texts.iter())?;
        self.keep(measured);
        (self.on_record)(measured);
        Ok(())
    }

    fn aside(&mut self, measured: &Measured) -> Result<(), WriteError> {
        self.run
            .aside(&measured.record, &mut measured.texts.iter())?;
        self.keep(measured);
        Ok(())
    }

    fn keep(&mut self, measured: &Measured) {
        if let Some(texts) = &mut self.texts {
            texts.extend(measured.texts.iter().cloned());
        }
    }
}

/// Tells the writer each second to make safe what it has, also while nothing comes.
/// Ends within a second of the last other sender.
fn tick(to: mpsc::WeakSender<ToWriter>) {
    std::thread::spawn(move || {
        let (_held, wait) = std::sync::mpsc::channel::<()>();
        while wait.recv_timeout(SYNC_EVERY) == Err(RecvTimeoutError::Timeout) {
            let Some(to) = to.upgrade() else { return };
            // A full queue has a tick in it, or will take the next one.
            let _full = to.try_send(ToWriter::Tick);
        }
    });
}
