//! The same answer to everything, at once: what a client is measured against.
//!
//! The embedded server proper reads, tokenises and caches, which costs more than
//! a client does. This one looks for the end of a request and writes bytes that
//! were made when it started, in one write, so that what is measured is the client.
//!
//! Invariants: a request is answered when its last byte is there and not before;
//! memory does not grow with the size of a body, which is read and dropped.

use super::FINGERPRINT;
use super::faults::{Fault, Faults};
use serde_json::{Value, json};
use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::{TcpListener, TcpStream};
use tokio::time::sleep;
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;

/// Longest head of a request that is read.
const HEAD: usize = 64 << 10;

/// What is answered, made once.
pub(super) struct Canned {
    /// Of `/v1/chat/completions`.
    stream: Vec<u8>,
    /// Of `/v1/models`, and of whatever else is asked.
    models: Vec<u8>,
    /// From a request's last byte to the first of its answer.
    delay: Duration,
    faults: Faults,
    requests: AtomicU64,
    connections: AtomicU64,
}

/// How a connection goes on behind an answer.
enum Then {
    Next,
    End,
}

impl Canned {
    /// Streams of `tokens` tokens, after `delay`. Of the faults it knows refusals,
    /// `cut`, `reset` and `hang`.
    pub(super) fn new(model: &str, tokens: u32, delay: Duration, faults: Faults) -> Self {
        let models = json!({"object": "list", "data": [{"id": model, "object": "model"}]});
        Self {
            stream: stream(model, tokens),
            models: whole(200, &models),
            delay,
            faults,
            requests: AtomicU64::new(0),
            connections: AtomicU64::new(0),
        }
    }

    /// Serves until `stop`.
    pub(super) async fn serve(
        self,
        listener: TcpListener,
        stop: CancellationToken,
        tasks: TaskTracker,
    ) {
        let canned = Arc::new(self);
        loop {
            let accepted = stop.run_until_cancelled(listener.accept()).await;
            let Some(accepted) = accepted else { return };
            let Ok((connection, _)) = accepted else {
                // Out of descriptors: those that end free some.
                sleep(Duration::from_millis(10)).await;
                continue;
            };
            let (canned, stop) = (Arc::clone(&canned), stop.clone());
            tasks.spawn(async move {
                let served = canned.connection(connection);
                let _until_it_breaks = stop.run_until_cancelled(served).await;
            });
        }
    }

    async fn connection(&self, mut connection: TcpStream) -> io::Result<()> {
        connection.set_nodelay(true)?;
        self.connections.fetch_add(1, Ordering::Relaxed);
        let mut bytes = Vec::new();
        while let Some(Head { length, what, end }) = head(&mut connection, &mut bytes).await? {
            let here = (bytes.len() - end).min(length);
            bytes.drain(..end + here);
            skip(&mut connection, length - here).await?;
            match what {
                What::Chat => {
                    if let Then::End = self.answer(&mut connection).await? {
                        return Ok(());
                    }
                }
                What::Stats => {
                    let (requests, connections) = (&self.requests, &self.connections);
                    let counts = json!({
                        "requests": requests.load(Ordering::Relaxed),
                        "connections": connections.load(Ordering::Relaxed),
                    });
                    connection.write_all(&whole(200, &counts)).await?;
                }
                What::Else => connection.write_all(&self.models).await?,
            }
        }
        Ok(())
    }

    async fn answer(&self, connection: &mut TcpStream) -> io::Result<Then> {
        let number = self.requests.fetch_add(1, Ordering::Relaxed) + 1;
        if !self.delay.is_zero() {
            sleep(self.delay).await;
        }
        let has = |fault| self.faults.has(fault, number);
        if let Some(status) = self.faults.refusal(number) {
            let said = json!({"error": {"message": "simulated", "code": status}});
            connection.write_all(&whole(status, &said)).await?;
            return Ok(Then::Next);
        }
        let half = &self.stream[..self.stream.len() / 2];
        if has(Fault::Hang) {
            connection.write_all(half).await?;
            // Until the client gives up.
            let _gone = connection.read(&mut [0]).await?;
            return Ok(Then::End);
        }
        if has(Fault::Reset) {
            connection.write_all(half).await?;
            connection.set_zero_linger()?;
            return Ok(Then::End);
        }
        if has(Fault::Cut) {
            connection.write_all(half).await?;
            return Ok(Then::End);
        }
        connection.write_all(&self.stream).await?;
        Ok(Then::Next)
    }
}

/// A response in one piece.
fn whole(status: u16, body: &Value) -> Vec<u8> {
    let body = body.to_string();
    let head = format!(
        "HTTP/1.1 {status} Simulated\r\ncontent-type: application/json\r\nretry-after: 0\r\n\
         content-length: {}\r\n\r\n",
        body.len()
    );
    (head + &body).into_bytes()
}

/// What is asked for.
enum What {
    Chat,
    Stats,
    Else,
}

/// What must be known of a request.
struct Head {
    /// Bytes of its body.
    length: usize,
    what: What,
    /// Where its head ends.
    end: usize,
}

/// Reads the head of the next request; `None` where there is none.
async fn head(connection: &mut TcpStream, bytes: &mut Vec<u8>) -> io::Result<Option<Head>> {
    loop {
        if let Some(at) = memchr::memmem::find(bytes, b"\r\n\r\n") {
            let text = String::from_utf8_lossy(&bytes[..at]).to_ascii_lowercase();
            let length = text
                .lines()
                .find_map(|line| line.strip_prefix("content-length:"));
            let length = length.and_then(|length| length.trim().parse().ok());
            let line = text.lines().next().unwrap_or_default();
            let what = if line.starts_with("post ") && line.contains("/chat/completions") {
                What::Chat
            } else if line.starts_with("get /stats") {
                What::Stats
            } else {
                What::Else
            };
            return Ok(Some(Head {
                length: length.unwrap_or(0),
                what,
                end: at + 4,
            }));
        }
        if bytes.len() > HEAD || connection.read_buf(bytes).await? == 0 {
            return Ok(None);
        }
    }
}

/// Reads so many bytes and drops them.
async fn skip(connection: &mut TcpStream, mut length: usize) -> io::Result<()> {
    if length == 0 {
        return Ok(());
    }
    let mut sink = vec![0; length.min(HEAD)];
    while length > 0 {
        let room = sink.len().min(length);
        match connection.read(&mut sink[..room]).await? {
            0 => return Err(io::ErrorKind::UnexpectedEof.into()),
            read => length -= read,
        }
    }
    Ok(())
}

/// A chunk for every token, each a chunk of the transfer too, as engines send them.
fn stream(model: &str, tokens: u32) -> Vec<u8> {
    let chunk = |choices: Value, usage: Option<Value>| {
        let mut chunk = json!({
            "id": "chatcmpl-0", "object": "chat.completion.chunk", "created": 1,
            "model": model, "choices": choices,
        });
        if let Some(usage) = usage {
            chunk["usage"] = usage;
        }
        format!("data: {chunk}\n\n")
    };
    let piece = |delta: Value, finish: Value| {
        let choice = json!({"index": 0, "delta": delta, "logprobs": null, "finish_reason": finish});
        chunk(json!([choice]), None)
    };
    let usage = json!({
        "prompt_tokens": 64, "completion_tokens": tokens, "total_tokens": 64 + tokens,
        "prompt_tokens_details": {"cached_tokens": 48},
    });
    let mut events = vec![piece(
        json!({"role": "assistant", "content": ""}),
        Value::Null,
    )];
    events.extend((0..tokens).map(|_| piece(json!({"content": " word"}), Value::Null)));
    events.push(piece(json!({}), json!("stop")));
    events.push(chunk(json!([]), Some(usage)));
    events.push("data: [DONE]\n\n".to_owned());
    let mut out = format!(
        "HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\nserver: {FINGERPRINT}\r\n\
         {}: 1\r\ntransfer-encoding: chunked\r\n\r\n",
        super::SIMULATED
    );
    for event in events {
        out.push_str(&format!("{:x}\r\n{event}\r\n", event.len()));
    }
    out.push_str("0\r\n\r\n");
    out.into_bytes()
}
