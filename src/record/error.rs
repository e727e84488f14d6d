//! What can go wrong when results are written.

use super::read::ReadError;
use std::io;
use std::path::{Path, PathBuf};
use thiserror::Error;

/// Results that could not be written.
#[derive(Debug, Error)]
pub enum WriteError {
    /// The folder holds something already.
    #[error("folder `{}` is not empty", path.display())]
    NotEmpty {
        /// The folder.
        path: PathBuf,
    },
    /// Another run writes to the folder.
    #[error("another run is writing to `{}`", path.display())]
    Busy {
        /// The folder.
        path: PathBuf,
    },
    /// The disk or the quota is full.
    #[error("no space left for `{}`", path.display())]
    Full {
        /// The file.
        path: PathBuf,
        /// What the operating system said.
        source: io::Error,
    },
    /// The folder or file may not be written.
    #[error("no permission to write `{}`", path.display())]
    Denied {
        /// The file.
        path: PathBuf,
        /// What the operating system said.
        source: io::Error,
    },
    /// Anything else.
    #[error("cannot write `{}`", path.display())]
    Io {
        /// The file.
        path: PathBuf,
        /// What the operating system said.
        source: io::Error,
    },
    /// The folder to go on with cannot be read.
    #[error("cannot go on with the run in `{}`", path.display())]
    Resume {
        /// The folder.
        path: PathBuf,
        /// Why.
        source: ReadError,
    },
}

impl WriteError {
    /// The error for `path`, told apart by what the operating system said.
    pub fn new(path: &Path, source: io::Error) -> Self {
        let path = path.to_owned();
        match source.kind() {
            io::ErrorKind::StorageFull
            | io::ErrorKind::QuotaExceeded
            | io::ErrorKind::FileTooLarge => Self::Full { path, source },
            io::ErrorKind::PermissionDenied | io::ErrorKind::ReadOnlyFilesystem => {
                Self::Denied { path, source }
            }
            _ => Self::Io { path, source },
        }
    }

    /// What to do about it.
    pub fn help(&self) -> &'static str {
        match self {
            Self::Full { .. } => {
                "free some space and go on with `prefixbench run --resume`; what was measured is kept, and `prefixbench report` reads it"
            }
            Self::NotEmpty { .. } => {
                "choose another folder with --out; a run that was broken off goes on with `prefixbench run --resume`"
            }
            Self::Busy { .. } => "wait until it has ended, or choose another folder with --out",
            Self::Denied { .. } | Self::Io { .. } => "choose another folder with --out",
            Self::Resume { .. } => "start a new run in another folder with --out",
        }
    }
}
