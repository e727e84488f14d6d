//! A folder to run the program in, and a server that takes its time.

use prefixbench::record::{Run, RunContents};
use prefixbench::server::{Handle, Options, Server, Speed};
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Output, Stdio};
use std::time::Duration;

/// Three turns.
const CHAT: &str = "\
scenario: chat
system: {generate: {tokens: 200, seed: 1}}
steps:
  - user: {text: One., reply: Fine.}
  - user: {text: Two., reply: Good.}
  - user: {text: Three., reply: Done.}
";

pub(crate) struct Folder(tempfile::TempDir);

pub(crate) struct Ended {
    pub(crate) code: Option<i32>,
    pub(crate) out: String,
    pub(crate) err: String,
}

impl Folder {
    /// With `chat.yaml` in it.
    pub(crate) fn new() -> Self {
        let folder = Self(tempfile::tempdir().expect("a temporary folder"));
        folder.write("chat.yaml", CHAT);
        folder
    }

    pub(crate) fn path(&self) -> &Path {
        self.0.path()
    }

    pub(crate) fn write(&self, name: &str, text: &str) {
        fs::write(self.path().join(name), text).expect(name);
    }

    pub(crate) fn read(&self, name: &str) -> String {
        fs::read_to_string(self.path().join(name)).expect(name)
    }

    /// The program in this folder, with an empty environment.
    pub(crate) fn program(&self, arguments: &[&str]) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_prefixbench"));
        command.current_dir(self.path()).env_clear();
        command.env("NO_COLOR", "1").stdin(Stdio::null());
        command.args(arguments);
        command
    }

    pub(crate) fn run(&self, arguments: &[&str]) -> Ended {
        Ended::of(self.program(arguments).output())
    }

    pub(crate) fn start(&self, arguments: &[&str]) -> Child {
        let mut program = self.program(arguments);
        program.stdout(Stdio::null()).stderr(Stdio::null());
        program.spawn().expect("the program starts")
    }

    pub(crate) fn contents(&self, run: &str) -> RunContents {
        let run = Run::read(&self.path().join(run));
        run.and_then(Run::contents).expect("a run that reads")
    }

    /// Whole lines of a file; 0 where it is not there.
    #[expect(clippy::naive_bytecount, reason = "files of a test are short")]
    pub(crate) fn lines(&self, name: &str) -> usize {
        let bytes = fs::read(self.path().join(name)).unwrap_or_default();
        bytes.iter().filter(|byte| **byte == b'\n').count()
    }
}

impl Ended {
    pub(crate) fn of(output: std::io::Result<Output>) -> Self {
        let output = output.expect("the program starts");
        Self {
            code: output.status.code(),
            out: String::from_utf8_lossy(&output.stdout).into_owned(),
            err: String::from_utf8_lossy(&output.stderr).into_owned(),
        }
    }

    /// Asserts the exit code, and that stderr holds each of `said`, however its lines
    /// are wrapped.
    #[track_caller]
    pub(crate) fn ended_with(&self, code: i32, said: &[&str]) {
        assert_eq!(self.code, Some(code), "{}\n{}", self.out, self.err);
        let joined = self.err.replace('│', " ");
        let joined = joined.split_whitespace().collect::<Vec<_>>().join(" ");
        for said in said {
            assert!(joined.contains(said), "`{said}` is not in:\n{}", self.err);
        }
    }
}

/// Waits until `ready`, as long as the program runs.
#[track_caller]
pub(crate) fn wait_until(child: &mut Child, ready: impl Fn() -> bool) {
    while !ready() {
        let ended = child.try_wait().expect("a process");
        assert!(
            ended.is_none(),
            "ended before it could be killed: {ended:?}"
        );
        #[expect(clippy::disallowed_methods, reason = "waits for another process")]
        std::thread::sleep(Duration::from_millis(2));
    }
}

/// Kills a process as nothing can be killed harder, and waits until it is gone.
pub(crate) fn kill(child: &mut Child) {
    child.kill().expect("a process that can be killed");
    child.wait().expect("an end");
}

/// An embedded server of the test's own process, which outlives those that it serves.
pub(crate) struct Served {
    runtime: Option<tokio::runtime::Runtime>,
    handle: Option<Handle>,
    pub(crate) url: String,
}

impl Served {
    pub(crate) fn start(options: Options) -> Self {
        let runtime = tokio::runtime::Builder::new_multi_thread()
            .worker_threads(1)
            .enable_all()
            .build()
            .expect("a runtime");
        let handle = runtime.block_on(Server::start(options)).expect("a server");
        Self {
            url: handle.url(),
            runtime: Some(runtime),
            handle: Some(handle),
        }
    }

    /// Answers at once.
    pub(crate) fn instant() -> Self {
        Self::start(Options {
            speed: Speed::INSTANT,
            ..Options::default()
        })
    }

    /// Takes some milliseconds over each answer.
    pub(crate) fn slow() -> Self {
        Self::start(Options {
            speed: Speed {
                decode_per_s: 100.0,
                ..Speed::INSTANT
            },
            ..Options::default()
        })
    }
}

impl Drop for Served {
    fn drop(&mut self) {
        drop(self.handle.take());
        if let Some(runtime) = self.runtime.take() {
            runtime.shutdown_background();
        }
    }
}

/// A run that was written by format 1.
pub(crate) fn format_1() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/data/format-1")
}
