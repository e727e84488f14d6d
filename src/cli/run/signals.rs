//! What the operating system tells a run.

use crate::cli::output;
use tokio_util::sync::CancellationToken;

/// Waits for Ctrl-C or a request to terminate: the first one ends the run and keeps what there is, a
/// second one leaves at once, whatever still drains.
pub(super) async fn watch(stop: CancellationToken, leave: CancellationToken) {
    let _held = survive_file_limit();
    asked_to_end().await;
    output::tell("interrupted: what was measured is kept; once more to leave at once");
    stop.cancel();
    asked_to_end().await;
    leave.cancel();
    std::future::pending::<()>().await;
}

/// Ctrl-C, or the signal by which a supervisor ends a process.
#[cfg(unix)]
async fn asked_to_end() {
    let terminate = tokio::signal::unix::SignalKind::terminate();
    let Ok(mut terminate) = tokio::signal::unix::signal(terminate) else {
        return only_interrupt().await;
    };
    tokio::select! {
        () = only_interrupt() => {}
        _ = terminate.recv() => {}
    }
}

/// Ctrl-C.
#[cfg(not(unix))]
async fn asked_to_end() {
    only_interrupt().await;
}

async fn only_interrupt() {
    if tokio::signal::ctrl_c().await.is_err() {
        std::future::pending::<()>().await;
    }
}

/// Takes the signal that a write beyond the limit of a file's size raises, and
/// that would end the process: the write then fails like one on a full disk.
#[cfg(unix)]
fn survive_file_limit() -> Option<tokio::signal::unix::Signal> {
    /// `SIGXFSZ`, the same number on Linux, macOS and the BSDs.
    const TOO_LARGE: i32 = 25;
    let kind = tokio::signal::unix::SignalKind::from_raw(TOO_LARGE);
    tokio::signal::unix::signal(kind).ok()
}

/// There is no such signal.
#[cfg(not(unix))]
fn survive_file_limit() {}
