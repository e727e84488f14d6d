//! The embedded server in a process of its own, ended with its parent.

use crate::cli::exit::{Exit, Failure};
use std::io::{self, BufRead as _, BufReader};
use std::process::{Child, Command, Stdio};

/// A server on loopback, ended when this is dropped, and when this process ends
/// however it does: it reads from a pipe that ends then.
pub(super) struct Server {
    child: Child,
    url: String,
}

impl Server {
    /// Starts `serve` with these flags on a free port and waits until it listens.
    pub(super) fn start(flags: &[String]) -> Result<Self, Failure> {
        spawn(flags).map_err(|error| {
            Failure::new(
                Exit::Unexpected,
                format!("cannot start the embedded server: {error}"),
                None,
            )
        })
    }

    /// Base URL with its version part.
    pub(super) fn url(&self) -> &str {
        &self.url
    }
}

fn spawn(flags: &[String]) -> io::Result<Server> {
    let mut child = Command::new(std::env::current_exe()?)
        .args(["serve", "--until-stdin-ends"])
        .args(flags)
        // A key that is meant for another server.
        .env_remove("PREFIXBENCH_SERVE_KEY")
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn()?;
    let mut url = String::new();
    let said = child.stdout.take().map(BufReader::new);
    let mut server = Server {
        child,
        url: String::new(),
    };
    if let Some(mut said) = said {
        said.read_line(&mut url)?;
    }
    if !url.starts_with("http") {
        return Err(io::Error::other("it ended before it listened"));
    }
    url.trim_end().clone_into(&mut server.url);
    Ok(server)
}

impl Drop for Server {
    fn drop(&mut self) {
        let _ended_by_itself = self.child.kill();
        let _either_way = self.child.wait();
    }
}
