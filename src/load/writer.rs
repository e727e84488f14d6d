//! The thread that writes records, so that no turn waits for a disk.
//!
//! One bounded channel leads to it. A write that fails ends the run: what was
//! written stays, what still comes is dropped and counted.

use super::session::Measured;
use crate::record::{
    BoundRecord, Ending, LedgerLine, Manifest, RequestRecord, RunWriter, WriteError,
};
use std::sync::mpsc::RecvTimeoutError;
use std::thread::JoinHandle;
use std::time::Duration;
use tokio::sync::{mpsc, oneshot};
use tokio_util::sync::CancellationToken;

/// Records that may wait for the disk.
const QUEUE: usize = 1024;

/// How long a record may wait until a power cut cannot take it away.
const SYNC_EVERY: Duration = Duration::from_secs(1);

/// What the writer is told.
pub enum ToWriter {
    /// An attempt ended.
    Measured(Box<Measured>),
    /// What has come since the last such request is wanted back, what counts nowhere too.
    Take(oneshot::Sender<Vec<Measured>>),
    /// What was computed after a cell.
    Bounds(Vec<BoundRecord>),
    /// An attempt ended that counts nowhere.
    Aside(Box<Measured>),
    /// Something to be kept in the ledger.
    Note(LedgerLine),
    /// A second has passed.
    Tick,
    /// Somebody waits until everything told before has been dealt with.
    Flush(oneshot::Sender<()>),
}

/// Called for every record, on the writer's thread.
pub(super) type OnRecord = Box<dyn FnMut(&RequestRecord) + Send>;

/// A running writer.
pub struct Writer {
    send: mpsc::Sender<ToWriter>,
    thread: JoinHandle<(RunWriter, Option<WriteError>)>,
}

impl Writer {
    /// Starts the thread. A write that fails cancels `stop`.
    pub fn start(run: RunWriter, on_record: OnRecord, stop: CancellationToken) -> Self {
        let (send, receive) = mpsc::channel(QUEUE);
        tick(send.downgrade());
        let thread = std::thread::spawn(move || {
            Work {
                run,
                on_record,
                stop,
            }
            .until_closed(receive)
        });
        Self { send, thread }
    }

    /// The way to it.
    pub fn sender(&self) -> mpsc::Sender<ToWriter> {
        self.send.clone()
    }

    /// What has been measured since this was last asked; empty where the writer
    /// is gone.
    pub async fn take(&self) -> Vec<Measured> {
        let (send, receive) = oneshot::channel();
        if self.send.send(ToWriter::Take(send)).await.is_err() {
            return Vec::new();
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
    on_record: OnRecord,
    stop: CancellationToken,
}

impl Work {
    fn until_closed(
        mut self,
        mut receive: mpsc::Receiver<ToWriter>,
    ) -> (RunWriter, Option<WriteError>) {
        let mut kept = Vec::new();
        let mut failed = None;
        while let Some(told) = receive.blocking_recv() {
            match told {
                ToWriter::Take(reply) => {
                    let _nobody_waits = reply.send(std::mem::take(&mut kept));
                }
                ToWriter::Flush(reply) => {
                    let _nobody_waits = reply.send(());
                }
                ToWriter::Measured(measured) if failed.is_none() => {
                    failed = self.write(&measured).err();
                    kept.push(*measured);
                }
                ToWriter::Bounds(bounds) if failed.is_none() => {
                    failed = self.run.bounds(&bounds).err();
                }
                ToWriter::Aside(measured) if failed.is_none() => {
                    let texts = &mut measured.texts.iter();
                    failed = self.run.aside(&measured.record, texts).err();
                    kept.push(*measured);
                }
                ToWriter::Note(line) if failed.is_none() => {
                    failed = self.run.note(&line).err();
                }
                ToWriter::Tick if failed.is_none() => {
                    failed = self.run.sync().err();
                }
                ToWriter::Measured(_)
                | ToWriter::Bounds(_)
                | ToWriter::Aside(_)
                | ToWriter::Note(_)
                | ToWriter::Tick => {}
            }
            if failed.is_some() {
                self.stop.cancel();
            }
        }
        (self.run, failed)
    }

    fn write(&mut self, measured: &Measured) -> Result<(), WriteError> {
        self.run
            .append(&measured.record, &mut measured.texts.iter())?;
        (self.on_record)(&measured.record);
        Ok(())
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
