//! A folder to run the program in, and what the program leaves there.

use serde_json::Value;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};

/// A short chat: three turns, 300 tokens of instructions.
const SMALL: &str = "\
scenario: small
system: {generate: {tokens: 300, seed: 1}}
steps:
  - user: {text: One., reply: Fine.}
  - user: {text: Two., reply: Good.}
  - user: {text: Three., reply: Done.}
";

/// The scenarios that the project ships.
pub(crate) fn shipped() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("scenarios")
}

/// An empty folder that goes with the test.
pub(crate) struct Folder(tempfile::TempDir);

/// How the program ended.
#[derive(Debug)]
pub(crate) struct Ended {
    pub(crate) code: Option<i32>,
    pub(crate) out: String,
    pub(crate) err: String,
}

impl Folder {
    pub(crate) fn new() -> Self {
        Self(tempfile::tempdir().expect("a temporary folder"))
    }

    /// With `small.yaml` in it.
    pub(crate) fn with_small() -> Self {
        let folder = Self::new();
        folder.write("small.yaml", SMALL);
        folder
    }

    pub(crate) fn path(&self) -> &Path {
        self.0.path()
    }

    pub(crate) fn write(&self, name: &str, text: &str) {
        fs::write(self.path().join(name), text).expect(name);
    }

    /// The program in this folder, with an empty environment.
    pub(crate) fn program(&self) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_prefixbench"));
        command.current_dir(self.path()).env_clear();
        command.env("NO_COLOR", "1").stdin(Stdio::null());
        command
    }

    /// Runs the program to its end.
    pub(crate) fn run(&self, arguments: &[&str]) -> Ended {
        Ended::of(self.program().args(arguments).output())
    }

    /// The lines of a file of JSON lines in the run folder `run`.
    pub(crate) fn lines(&self, run: &str, file: &str) -> Vec<Value> {
        let text = self.read(run, file);
        let lines = text.lines().map(serde_json::from_str);
        lines.collect::<Result<_, _>>().expect(file)
    }

    /// The records of the run folder `run`, as far as their lines are whole.
    pub(crate) fn records(&self, run: &str) -> Vec<Value> {
        let text = self.read(run, "requests.jsonl");
        let whole = text.rfind('\n').map_or("", |end| &text[..end]);
        let lines = whole.lines().map(serde_json::from_str);
        lines.collect::<Result<_, _>>().expect("records")
    }

    /// Outcomes of the records of the run folder `run`, in order.
    pub(crate) fn outcomes(&self, run: &str) -> Vec<String> {
        let records = self.records(run);
        let outcome = |record: &Value| record["outcome"].as_str().map(str::to_owned);
        records.iter().filter_map(outcome).collect()
    }

    pub(crate) fn manifest(&self, run: &str) -> Value {
        serde_json::from_str(&self.read(run, "manifest.json")).expect("a manifest")
    }

    pub(crate) fn read(&self, run: &str, file: &str) -> String {
        fs::read_to_string(self.path().join(run).join(file)).expect(file)
    }

    /// Every file below the folder with its bytes.
    pub(crate) fn files(&self) -> Vec<(PathBuf, Vec<u8>)> {
        let (mut found, mut folders) = (Vec::new(), vec![self.path().to_owned()]);
        while let Some(folder) = folders.pop() {
            for entry in fs::read_dir(folder).expect("a folder") {
                let path = entry.expect("an entry").path();
                if path.is_dir() {
                    folders.push(path);
                } else {
                    let bytes = fs::read(&path).expect("a file");
                    found.push((path, bytes));
                }
            }
        }
        found
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

    /// Asserts the exit code, and that stderr holds each of `said`. Lines are
    /// joined first: messages are wrapped at the width of the terminal.
    #[track_caller]
    pub(crate) fn ended_with(&self, code: i32, said: &[&str]) {
        assert_eq!(self.code, Some(code), "{}\n{}", self.out, self.err);
        let joined = self.err.replace("│", " ");
        let joined = joined.split_whitespace().collect::<Vec<_>>().join(" ");
        for said in said {
            assert!(joined.contains(said), "`{said}` is not in:\n{}", self.err);
        }
    }
}
