//! Keys: fixed ones, and those that a command hands out for a while.
//!
//! Invariants: a key is shown by nothing; a command runs through the shell, its
//! output is trimmed and never printed, and it runs again only when its key has
//! grown older than the target says.

use std::fmt;
use std::io::Read as _;
use std::process::{Child, Command, Stdio};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;
use thiserror::Error;
use tokio::time::{Instant, timeout};

/// A key. Shown as `***` wherever it would be printed.
#[derive(Clone, PartialEq, Eq)]
pub struct Secret(String);

impl Secret {
    /// Wraps a key; blanks around it are cut off, as they come from files and shells.
    pub fn new(key: &str) -> Self {
        Self(key.trim().to_owned())
    }

    /// The key itself, for the one place that puts it into a header.
    pub fn reveal(&self) -> &str {
        &self.0
    }
}

impl fmt::Debug for Secret {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("***")
    }
}

/// How long a key command may take.
const PATIENCE: Duration = Duration::from_mins(1);

/// Largest output of a key command, in bytes.
const LONGEST: u64 = 64 << 10;

/// A key that a command did not hand out.
#[derive(Debug, Error)]
pub enum KeyError {
    /// The shell could not be started, or its output not read.
    #[error("cannot run the key command")]
    Run(#[source] std::io::Error),
    /// It ended with a failure.
    #[error("the key command ended with {status}")]
    Failed {
        /// How it ended.
        status: std::process::ExitStatus,
    },
    /// It did not end.
    #[error("the key command did not end within {} s", PATIENCE.as_secs())]
    Late,
    /// It printed nothing.
    #[error("the key command printed no key")]
    Empty,
}

/// Where a target's key comes from. A clone shares it.
#[derive(Clone, Debug)]
pub struct Key(Arc<Source>);

#[derive(Debug)]
enum Source {
    Fixed(Secret),
    Command {
        line: String,
        ttl: Option<Duration>,
        held: Mutex<Option<(Secret, Instant)>>,
        running: tokio::sync::Mutex<()>,
    },
}

impl Key {
    /// A key that stays.
    pub fn fixed(secret: Secret) -> Self {
        Self(Arc::new(Source::Fixed(secret)))
    }

    /// What the shell command `line` prints; asked for again when older than `ttl`.
    pub fn command(line: &str, ttl: Option<Duration>) -> Self {
        Self(Arc::new(Source::Command {
            line: line.to_owned(),
            ttl,
            held: Mutex::new(None),
            running: tokio::sync::Mutex::new(()),
        }))
    }

    /// The key as it is now; `None` where its command has not run yet.
    pub fn current(&self) -> Option<Secret> {
        match &*self.0 {
            Source::Fixed(secret) => Some(secret.clone()),
            Source::Command { held, .. } => {
                let held = held.lock().unwrap_or_else(PoisonError::into_inner);
                held.as_ref().map(|(secret, _)| secret.clone())
            }
        }
    }

    /// Runs the command where its key is missing or too old; several callers
    /// wait for one run.
    ///
    /// # Errors
    ///
    /// [`KeyError`]; a key that is held already is kept.
    pub async fn refresh(&self) -> Result<(), KeyError> {
        let Source::Command {
            line,
            running,
            held,
            ..
        } = &*self.0
        else {
            return Ok(());
        };
        if self.is_fresh() {
            return Ok(());
        }
        let _one_at_a_time = running.lock().await;
        if self.is_fresh() {
            return Ok(());
        }
        let secret = printed(line).await?;
        *held.lock().unwrap_or_else(PoisonError::into_inner) = Some((secret, Instant::now()));
        Ok(())
    }

    fn is_fresh(&self) -> bool {
        match &*self.0 {
            Source::Fixed(_) => true,
            Source::Command { ttl, held, .. } => {
                let held = held.lock().unwrap_or_else(PoisonError::into_inner);
                held.as_ref()
                    .is_some_and(|(_, since)| ttl.is_none_or(|ttl| since.elapsed() < ttl))
            }
        }
    }
}

/// The output of a shell command, trimmed.
async fn printed(line: &str) -> Result<Secret, KeyError> {
    let (shell, flag) = if cfg!(windows) {
        ("cmd", "/C")
    } else {
        ("sh", "-c")
    };
    let mut child = Command::new(shell)
        .args([flag, line])
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .spawn()
        .map_err(KeyError::Run)?;
    let output = child.stdout.take();
    let read = tokio::task::spawn_blocking(move || {
        let mut text = String::new();
        match output {
            Some(output) => output.take(LONGEST).read_to_string(&mut text).map(|_| text),
            None => Ok(text),
        }
    });
    let Ok(read) = timeout(PATIENCE, read).await else {
        end(&mut child);
        return Err(KeyError::Late);
    };
    let text = match read.map_err(std::io::Error::other).flatten() {
        Ok(text) => text,
        Err(error) => {
            end(&mut child);
            return Err(KeyError::Run(error));
        }
    };
    let status = child.wait().map_err(KeyError::Run)?;
    if !status.success() {
        return Err(KeyError::Failed { status });
    }
    let secret = Secret::new(&text);
    if secret.reveal().is_empty() {
        return Err(KeyError::Empty);
    }
    Ok(secret)
}

/// Stops a command that is of no use any more.
fn end(child: &mut Child) {
    let _already_gone = child.kill();
    let _reaped = child.wait();
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_key_is_never_shown() {
        let key = Key::fixed(Secret::new(" sk-planted \n"));
        assert!(!format!("{key:?}").contains("sk-planted"));
        assert_eq!(key.current().unwrap().reveal(), "sk-planted");
    }

    #[cfg(unix)]
    #[tokio::test]
    async fn a_command_runs_again_only_when_its_key_is_old() {
        let dir = tempfile::tempdir().unwrap();
        let line = format!("cd '{}'; echo x >> n; wc -l < n", dir.path().display());
        for (ttl, expected) in [
            (None, "1"),
            (Some(Duration::from_mins(1)), "2"),
            (Some(Duration::ZERO), "4"),
        ] {
            let key = Key::command(&line, ttl);
            assert_eq!(key.current(), None);
            key.refresh().await.unwrap();
            key.refresh().await.unwrap();
            assert_eq!(key.current().unwrap().reveal(), expected, "{ttl:?}");
        }
    }

    #[cfg(unix)]
    #[tokio::test]
    async fn a_command_without_a_key_says_why() {
        let failed = Key::command("echo sk-planted; exit 3", None)
            .refresh()
            .await;
        let said = failed.unwrap_err().to_string();
        assert!(
            said.contains("exit status: 3") && !said.contains("sk-planted"),
            "{said}"
        );
        assert!(matches!(
            Key::command("true", None).refresh().await,
            Err(KeyError::Empty)
        ));
    }
}
