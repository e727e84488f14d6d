//! Files that a scenario names.
//!
//! Invariants: nothing outside the scenario's folder is read unless that was
//! allowed, also not by `..` or a link; no more than the limit is ever read; each
//! file is read once, and its bytes enter the scenario's digest in the order of
//! first mention.

use super::error::Mistake;
use super::limits::{Limits, size};
use crate::chat::Digest;
use sha2::{Digest as _, Sha256};
use std::collections::HashMap;
use std::fs::File;
use std::io::{self, Read as _};
use std::path::{Path, PathBuf};
use std::sync::Arc;

pub(super) struct Files {
    folder: PathBuf,
    outside: bool,
    limits: Limits,
    read: HashMap<PathBuf, Arc<[u8]>>,
    hash: Sha256,
}

impl Files {
    /// `scenario` is the bytes of the scenario file, which the digest begins with.
    pub(super) fn new(folder: &Path, outside: bool, limits: Limits, scenario: &[u8]) -> Self {
        let mut hash = Sha256::new();
        hash.update(scenario);
        Self {
            folder: folder.to_owned(),
            outside,
            limits,
            read: HashMap::new(),
            hash,
        }
    }

    /// SHA-256 over the scenario file and every file read so far, in order:
    /// what `cat SCENARIO FILE... | sha256sum` prints.
    pub(super) fn digest(&self) -> Digest {
        Digest(self.hash.clone().finalize().into())
    }

    /// The bytes of the file that the scenario calls `name`.
    pub(super) fn bytes(&mut self, name: &str) -> Result<Arc<[u8]>, Mistake> {
        let path = self.resolve(name)?;
        if let Some(bytes) = self.read.get(&path) {
            return Ok(Arc::clone(bytes));
        }
        let bytes: Arc<[u8]> = read_at_most(&path, self.limits.file)
            .map_err(|error| refused(name, self.limits.file, error))?
            .into();
        self.hash.update(&bytes);
        self.read.insert(path, Arc::clone(&bytes));
        Ok(bytes)
    }

    /// The text of the file that the scenario calls `name`, without byte-order
    /// mark and with plain line ends, so that a checkout on Windows reads alike.
    pub(super) fn text(&mut self, name: &str) -> Result<String, Mistake> {
        let bytes = self.bytes(name)?;
        let text = std::str::from_utf8(&bytes).map_err(|error| {
            Mistake::value(
                format_args!("`{name}`"),
                format!("is no UTF-8 text: byte {}", error.valid_up_to()),
            )
        })?;
        Ok(plain(text))
    }

    /// Path of a file of finished bodies, relative to the working folder; its
    /// bytes enter the digest, but are not kept.
    pub(super) fn raw(&mut self, name: &str) -> Result<PathBuf, Mistake> {
        let path = self.resolve(name)?;
        let bytes = read_at_most(&path, self.limits.raw)
            .map_err(|error| refused(name, self.limits.raw, error))?;
        self.hash.update(&bytes);
        Ok(self.folder.join(name))
    }

    fn resolve(&self, name: &str) -> Result<PathBuf, Mistake> {
        let failed = |source| Mistake::File {
            name: name.to_owned(),
            source,
        };
        if name.is_empty() {
            return Err(Mistake::value("`file`", "is empty"));
        }
        let outside = || Mistake::Outside {
            name: name.to_owned(),
        };
        // Told before looking, so that no message says what exists elsewhere.
        if !self.outside && leaves(name) {
            return Err(outside());
        }
        let folder = self.folder.canonicalize().map_err(failed)?;
        let path = folder.join(name).canonicalize().map_err(failed)?;
        if !self.outside && !path.starts_with(&folder) {
            return Err(outside());
        }
        if !path.metadata().map_err(failed)?.is_file() {
            return Err(failed(io::Error::other("not a regular file")));
        }
        Ok(path)
    }
}

/// Whether `name` alone leads out of the folder that it is relative to.
fn leaves(name: &str) -> bool {
    use std::path::Component;
    let mut depth = 0_i32;
    for component in Path::new(name).components() {
        match component {
            Component::Prefix(_) | Component::RootDir => return true,
            Component::ParentDir => depth -= 1,
            Component::Normal(_) => depth += 1,
            Component::CurDir => {}
        }
        if depth < 0 {
            return true;
        }
    }
    false
}

/// The whole file, or an error of kind `FileTooLarge`.
pub(crate) fn read_at_most(path: &Path, limit: u64) -> io::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    File::open(path)?
        .take(limit.saturating_add(1))
        .read_to_end(&mut bytes)?;
    if u64::try_from(bytes.len()).unwrap_or(u64::MAX) > limit {
        return Err(io::Error::from(io::ErrorKind::FileTooLarge));
    }
    Ok(bytes)
}

fn refused(name: &str, limit: u64, source: io::Error) -> Mistake {
    let name = name.to_owned();
    if source.kind() == io::ErrorKind::FileTooLarge {
        Mistake::TooLarge {
            what: format!("`{name}`"),
            limit: size(limit),
        }
    } else {
        Mistake::File { name, source }
    }
}

/// Without byte-order mark, and with plain line ends.
pub(super) fn plain(text: &str) -> String {
    text.strip_prefix('\u{feff}')
        .unwrap_or(text)
        .replace("\r\n", "\n")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_that_lead_out_are_told_apart() {
        for name in ["a.md", "a/b.md", "./a.md", "a/../b.md"] {
            assert!(!leaves(name), "{name}");
        }
        for name in ["../a.md", "/etc/passwd", "a/../../b.md", ".."] {
            assert!(leaves(name), "{name}");
        }
    }
}
