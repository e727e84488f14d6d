//! Keys: fixed ones, and those that a command hands out for a while.
//!
//! Invariants: a key is shown by nothing; a command runs through the shell, its
//! output is trimmed and never printed, and it runs again only when its key has
//! grown older than the target says.

use std::fmt;
use std::io::Read as _;
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;
use thiserror::Error;
use tokio::sync::oneshot;
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
        status: ExitStatus,
    },
    /// It did not end.
    #[error("the key command did not end within {seconds} s")]
    Late {
        /// How long it was waited for.
        seconds: u64,
    },
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
        patience: Duration,
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
        Self::within(line, ttl, PATIENCE)
    }

    fn within(line: &str, ttl: Option<Duration>, patience: Duration) -> Self {
        Self(Arc::new(Source::Command {
            line: line.to_owned(),
            ttl,
            patience,
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
            patience,
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
        let secret = printed(line, *patience).await?;
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
///
/// Waited for up to `patience` in all, for its output and for its end; where the
/// caller does not wait that long either, the command is stopped.
async fn printed(line: &str, patience: Duration) -> Result<Secret, KeyError> {
    let (shell, flag) = if cfg!(windows) {
        ("cmd", "/C")
    } else {
        ("sh", "-c")
    };
    let spawned = Command::new(shell)
        .args([flag, line])
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .spawn();
    let mut running = Running(spawned.map_err(KeyError::Run)?);
    let output = running.0.stdout.take();
    let (told, heard) = oneshot::channel();
    // A thread of its own: a descendant of the command may hold the pipe open for ever,
    // and the end of the program must not wait for that.
    std::thread::spawn(move || {
        let mut text = String::new();
        let read = match output {
            Some(output) => output.take(LONGEST).read_to_string(&mut text).map(|_| text),
            None => Ok(text),
        };
        let _nobody_waits_any_more = told.send(read);
    });
    let whole = async {
        let read = heard.await.map_err(std::io::Error::other).flatten();
        let text = read.map_err(KeyError::Run)?;
        Ok((text, running.ended().await?))
    };
    let (text, status) = timeout(patience, whole)
        .await
        .map_err(|_| KeyError::Late {
            seconds: patience.as_secs(),
        })??;
    if !status.success() {
        return Err(KeyError::Failed { status });
    }
    let secret = Secret::new(&text);
    if secret.reveal().is_empty() {
        return Err(KeyError::Empty);
    }
    Ok(secret)
}

/// A command that runs; stopped when dropped.
struct Running(Child);

impl Running {
    /// Its status, once it has ended.
    async fn ended(&mut self) -> Result<ExitStatus, KeyError> {
        loop {
            if let Some(status) = self.0.try_wait().map_err(KeyError::Run)? {
                return Ok(status);
            }
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        let _already_gone = self.0.kill();
        let _reaped = self.0.wait();
    }
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

    #[cfg(unix)]
    #[tokio::test]
    async fn a_command_that_does_not_end_is_stopped() {
        // Silent; done with its output and still there; gone with its output held open.
        for line in [
            "exec sleep 600",
            "echo sk; exec sleep 600 >&-",
            "sleep 600 & echo sk",
        ] {
            let key = Key::within(line, None, Duration::from_millis(50));
            let late = key.refresh().await.unwrap_err();
            assert!(matches!(late, KeyError::Late { .. }), "{line}: {late}");
            assert_eq!(key.current(), None, "{line}");
        }
    }

    #[cfg(unix)]
    #[tokio::test]
    async fn a_command_that_nobody_waits_for_any_more_is_stopped() {
        let dir = tempfile::tempdir().unwrap();
        let pid = dir.path().join("pid");
        let key = Key::command(
            &format!("echo $$ > '{}'; exec sleep 600", pid.display()),
            None,
        );
        let started = async {
            while std::fs::read_to_string(&pid).is_ok_and(|pid| pid.ends_with('\n')) == false {
                tokio::time::sleep(Duration::from_millis(5)).await;
            }
        };
        tokio::select! {
            ended = key.refresh() => panic!("{ended:?}"),
            () = started => {}
        }
        let pid = std::fs::read_to_string(&pid).unwrap();
        let alive = Command::new("kill")
            .args(["-0", pid.trim()])
            .stderr(Stdio::null())
            .status();
        assert!(!alive.unwrap().success());
    }
}
