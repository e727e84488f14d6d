//! Servers to send to: the embedded one with faults, and a few lines of socket
//! for what no server should do.

use prefixbench::server::{Fault, Faults, Handle, Options, Server, Speed};
use std::io::{BufRead, BufReader, Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use tokio::runtime::Runtime;

/// An embedded server that answers at once, on a runtime of its own.
pub(crate) struct Embedded {
    runtime: Option<Runtime>,
    handle: Option<Handle>,
    pub(crate) url: String,
}

impl Embedded {
    pub(crate) fn start(options: Options) -> Self {
        let runtime = tokio::runtime::Builder::new_multi_thread()
            .worker_threads(1)
            .enable_all()
            .build()
            .expect("a runtime");
        let handle = runtime.block_on(Server::start(options)).expect("a server");
        let url = handle.url();
        Self {
            runtime: Some(runtime),
            handle: Some(handle),
            url,
        }
    }

    /// With `fault` at every `every`th request.
    pub(crate) fn with_fault(fault: Fault, every: u64) -> Self {
        Self::start(Options {
            faults: Faults::default().with(fault, every),
            ..instant()
        })
    }
}

/// Answers at once.
pub(crate) fn instant() -> Options {
    Options {
        speed: Speed::INSTANT,
        ..Options::default()
    }
}

impl Drop for Embedded {
    fn drop(&mut self) {
        drop(self.handle.take());
        if let Some(runtime) = self.runtime.take() {
            runtime.shutdown_background();
        }
    }
}

/// A port that nobody listens on.
pub(crate) fn closed_port() -> SocketAddr {
    let listener = TcpListener::bind("127.0.0.1:0").expect("a free port");
    listener.local_addr().expect("an address")
}

/// Answers every request with what `answer` makes of its head, then closes.
/// Returns the base URL; lives as long as the test.
pub(crate) fn canned(answer: impl Fn(&str) -> String + Send + 'static) -> String {
    let listener = TcpListener::bind("127.0.0.1:0").expect("a free port");
    let address = listener.local_addr().expect("an address");
    std::thread::spawn(move || {
        for stream in listener.incoming().map_while(Result::ok) {
            // A client that hangs up is no concern of the server.
            let _gone = answer_one(stream, &answer);
        }
    });
    format!("http://{address}/v1")
}

fn answer_one(mut stream: TcpStream, answer: &dyn Fn(&str) -> String) -> std::io::Result<()> {
    let mut reader = BufReader::new(stream.try_clone()?);
    let (mut head, mut length) = (String::new(), 0);
    loop {
        let mut line = String::new();
        if reader.read_line(&mut line)? == 0 || line.trim().is_empty() {
            break;
        }
        if let Some(value) = line.to_lowercase().strip_prefix("content-length:") {
            length = value.trim().parse().unwrap_or(0);
        }
        head.push_str(&line);
    }
    reader.read_exact(&mut vec![0; length])?;
    stream.write_all(answer(&head).as_bytes())?;
    stream.flush()
}

/// An HTTP answer in one piece.
pub(crate) fn http(status: &str, kind: &str, body: &str) -> String {
    format!(
        "HTTP/1.1 {status}\r\ncontent-type: {kind}\r\ncontent-length: {}\r\nconnection: close\r\n\r\n{body}",
        body.len()
    )
}
