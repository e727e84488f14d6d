//! One writer per run folder.
//!
//! The lock is the operating system's, on a file in the folder: whatever ends the
//! process gives it back, so that a killed run keeps nobody out.
//!
//! Invariants: of all that hold a [`FolderLock`] of one folder on one machine there is
//! at most one; a lock is not waited for.

use super::error::WriteError;
use super::files;
use std::fs::{self, File, OpenOptions, TryLockError};
use std::io;
use std::path::{Path, PathBuf};

/// The right to write a run folder. Given back when it is dropped.
#[derive(Debug)]
pub struct FolderLock {
    path: PathBuf,
    file: File,
}

/// Locks that were given back just now may have to be tried again.
const TRIES: u32 = 16;

impl FolderLock {
    /// Takes the lock of the folder `dir`, which must exist.
    ///
    /// # Errors
    ///
    /// [`WriteError::Busy`] where another run holds it, and whatever keeps the file
    /// from being made or locked.
    pub fn take(dir: &Path) -> Result<Self, WriteError> {
        let path = dir.join(files::LOCK);
        let failed = |source| WriteError::new(&path, source);
        for _ in 0..TRIES {
            let file = OpenOptions::new()
                .write(true)
                .create(true)
                .truncate(false)
                .open(&path)
                .map_err(failed)?;
            match file.try_lock() {
                Ok(()) => {}
                Err(TryLockError::WouldBlock) => {
                    return Err(WriteError::Busy {
                        path: dir.to_owned(),
                    });
                }
                Err(TryLockError::Error(source)) => return Err(failed(source)),
            }
            // Who held it before may have taken the file away in between.
            if is_the_one_at(&file, &path).map_err(failed)? {
                return Ok(Self { path, file });
            }
        }
        Err(WriteError::Busy {
            path: dir.to_owned(),
        })
    }
}

impl Drop for FolderLock {
    fn drop(&mut self) {
        // While it is still held, so that nobody's new file is taken away.
        let _already_gone = fs::remove_file(&self.path);
        let _given_back_by_closing = self.file.unlock();
    }
}

/// Whether the file that was opened is the one that has this name now.
#[cfg(unix)]
fn is_the_one_at(file: &File, path: &Path) -> io::Result<bool> {
    use std::os::unix::fs::MetadataExt as _;
    let opened = file.metadata()?;
    match fs::metadata(path) {
        Ok(named) => Ok((named.dev(), named.ino()) == (opened.dev(), opened.ino())),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(false),
        Err(error) => Err(error),
    }
}

/// Open files cannot be taken away there.
#[cfg(not(unix))]
fn is_the_one_at(_file: &File, path: &Path) -> io::Result<bool> {
    path.try_exists()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_folder_has_one_writer_and_then_the_next() {
        let dir = tempfile::tempdir().expect("folder");
        let first = FolderLock::take(dir.path()).expect("free");
        let second = FolderLock::take(dir.path()).expect_err("held");
        assert!(matches!(second, WriteError::Busy { .. }), "{second}");
        drop(first);
        assert!(!dir.path().join(files::LOCK).exists());
        FolderLock::take(dir.path()).expect("free again");
    }

    #[test]
    fn what_a_killed_run_left_keeps_nobody_out() {
        let dir = tempfile::tempdir().expect("folder");
        fs::write(dir.path().join(files::LOCK), "").expect("a left lock file");
        FolderLock::take(dir.path()).expect("nobody holds it");
    }
}
