//! The process behind an `external` configuration.

use crate::context::Builder;
use std::collections::{BTreeSet, VecDeque};
use std::io::{BufRead, BufReader, Read, Write};
use std::path::Path;
use std::process::{Child, ChildStdin, Command, Stdio};
use std::sync::mpsc::{Receiver, RecvTimeoutError, SyncSender, sync_channel};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::JoinHandle;
use std::time::Duration;

/// Longest line that a builder may answer with.
const MAX_LINE: u64 = 64 << 20;
/// Lines of stderr kept for messages.
const KEPT_LINES: usize = 5;

/// A running builder: one process a conversation, ended when it is dropped.
pub(super) struct Process {
    child: Child,
    requests: Option<SyncSender<String>>,
    lines: Receiver<std::io::Result<String>>,
    said: Arc<Mutex<VecDeque<String>>>,
    /// Reads stderr until it ends.
    listens: Option<JoinHandle<()>>,
    timeout: Duration,
}

impl Process {
    /// Starts `command` in `folder`, without the environment variables `withheld`.
    ///
    /// # Errors
    ///
    /// A sentence that names the program, where it cannot be started.
    pub(super) fn start(
        command: &[String],
        folder: &Path,
        timeout: Duration,
        withheld: &BTreeSet<String>,
    ) -> Result<Self, String> {
        let [program, arguments @ ..] = command else {
            return Err("command is empty".to_owned());
        };
        let mut started = Command::new(program);
        for name in withheld {
            started.env_remove(name);
        }
        let mut child = started
            .args(arguments)
            .current_dir(if folder.as_os_str().is_empty() {
                Path::new(".")
            } else {
                folder
            })
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .map_err(|error| format!("`{program}` cannot be started: {error}"))?;
        let requests = child.stdin.take().map(write_lines);
        let said = Arc::default();
        let stderr = child.stderr.take();
        let listens = stderr.map(|stderr| keep_last_lines(stderr, Arc::clone(&said)));
        let lines = match child.stdout.take() {
            Some(stdout) => read_lines(stdout),
            None => return Err(format!("`{program}` has no output")),
        };
        Ok(Self {
            child,
            requests,
            lines,
            said,
            listens,
            timeout,
        })
    }

    /// What the process wrote to stderr last, as the end of a sentence.
    fn last_words(&self) -> String {
        let said = self.said.lock().unwrap_or_else(PoisonError::into_inner);
        if said.is_empty() {
            return String::new();
        }
        format!(
            "; it said: {}",
            said.iter()
                .map(String::as_str)
                .collect::<Vec<_>>()
                .join(" / ")
        )
    }

    /// Gives a process that closed its output a moment to end by itself, so that
    /// its exit status and its last words can be told; one that does not is not
    /// waited for.
    fn let_end(&mut self) {
        drop(self.requests.take());
        for _ in 0..100 {
            let heard = self.listens.as_ref().is_none_or(JoinHandle::is_finished);
            if heard && !matches!(self.child.try_wait(), Ok(None)) {
                return;
            }
            #[expect(
                clippy::disallowed_methods,
                reason = "the conversation cannot go on anyway"
            )]
            std::thread::sleep(Duration::from_millis(10));
        }
    }

    fn ended(&mut self) -> String {
        let how = match self.child.try_wait() {
            Ok(Some(status)) => format!("ended ({status})"),
            _ => "closed its output".to_owned(),
        };
        format!("{how}{}", self.last_words())
    }
}

impl Builder for Process {
    fn ask(&mut self, line: &str) -> Result<String, String> {
        // A writer that is gone shows in the answer that does not come.
        let _gone = self
            .requests
            .as_ref()
            .map(|requests| requests.send(line.to_owned()));
        match self.lines.recv_timeout(self.timeout) {
            Ok(Ok(answer)) => Ok(answer),
            Ok(Err(error)) => Err(format!(
                "wrote something unreadable: {error}{}",
                self.last_words()
            )),
            Err(RecvTimeoutError::Timeout) => {
                let seconds = self.timeout.as_secs();
                Err(format!(
                    "did not answer within {seconds} s{}",
                    self.last_words()
                ))
            }
            Err(RecvTimeoutError::Disconnected) => {
                self.let_end();
                Err(self.ended())
            }
        }
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        drop(self.requests.take());
        let _already_gone = self.child.kill();
        let _status = self.child.wait();
    }
}

/// Writes on a thread of its own, so that a builder which does not read cannot
/// hold up the time limit.
fn write_lines(mut stdin: ChildStdin) -> SyncSender<String> {
    let (send, receive) = sync_channel::<String>(1);
    std::thread::spawn(move || {
        for mut line in receive {
            line.push('\n');
            if stdin
                .write_all(line.as_bytes())
                .and_then(|()| stdin.flush())
                .is_err()
            {
                return;
            }
        }
    });
    send
}

fn read_lines(stdout: impl Read + Send + 'static) -> Receiver<std::io::Result<String>> {
    let (send, receive) = sync_channel(1);
    std::thread::spawn(move || {
        let mut reader = BufReader::new(stdout);
        loop {
            let mut line = String::new();
            match (&mut reader).take(MAX_LINE).read_line(&mut line) {
                Ok(0) => return,
                Ok(_) => {
                    let line = line.trim_end_matches(['\n', '\r']).to_owned();
                    if send.send(Ok(line)).is_err() {
                        return;
                    }
                }
                Err(error) => {
                    let _gone = send.send(Err(error));
                    return;
                }
            }
        }
    });
    receive
}

fn keep_last_lines(
    stderr: impl Read + Send + 'static,
    said: Arc<Mutex<VecDeque<String>>>,
) -> JoinHandle<()> {
    std::thread::spawn(move || {
        for line in BufReader::new(stderr).lines().map_while(Result::ok) {
            let mut said = said.lock().unwrap_or_else(PoisonError::into_inner);
            if said.len() == KEPT_LINES {
                said.pop_front();
            }
            said.push_back(line.chars().take(200).collect());
        }
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shell(script: &str) -> Process {
        let command = ["sh", "-c", script].map(str::to_owned);
        Process::start(
            &command,
            Path::new(""),
            Duration::from_secs(5),
            &BTreeSet::new(),
        )
        .unwrap()
    }

    #[test]
    fn a_line_is_answered_by_a_line() {
        let mut builder = shell("while read line; do echo \"got $line\"; done");
        assert_eq!(builder.ask("one"), Ok("got one".to_owned()));
        assert_eq!(builder.ask("two"), Ok("got two".to_owned()));
    }

    #[test]
    fn a_builder_that_dies_is_told_with_its_last_words() {
        let mut builder = shell("read line; echo 'no such template' >&2; exit 3");
        let said = builder.ask("one").unwrap_err();
        assert!(said.contains("exit status: 3"), "{said}");
        assert!(said.contains("no such template"), "{said}");
    }

    #[test]
    fn a_builder_that_hangs_is_given_up() {
        let command = ["sh", "-c", "read line; exec sleep 60"].map(str::to_owned);
        let mut builder = Process::start(
            &command,
            Path::new(""),
            Duration::from_millis(50),
            &BTreeSet::new(),
        )
        .unwrap();
        assert!(builder.ask("one").unwrap_err().contains("did not answer"));
    }

    #[test]
    fn a_builder_that_closes_its_output_and_stays_is_not_waited_for() {
        let mut builder = shell("read line; exec sleep 600 > /dev/null");
        assert_eq!(builder.ask("one"), Err("closed its output".to_owned()));
    }

    #[test]
    fn a_missing_program_is_named() {
        let command = ["no-such-builder".to_owned()];
        let error = Process::start(
            &command,
            Path::new(""),
            Duration::from_secs(1),
            &BTreeSet::new(),
        )
        .err()
        .unwrap();
        assert!(error.contains("`no-such-builder`"), "{error}");
    }
}
