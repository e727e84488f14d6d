//! How long a prompt of 100,000 tokens takes from when it is due until the server has
//! all of it: built, written as a body, sent over loopback; beside a plain `write` of
//! the same bytes on a connection that stands. Both wait for the same short answer. The
//! prompt is that of a late turn: its texts have been in a body before.

#![expect(
    clippy::expect_used,
    reason = "a bench without its input has nothing to measure"
)]

mod support;

use criterion::{Criterion, Throughput, criterion_group, criterion_main};
use prefixbench::provider::find;
use prefixbench::record::Outcome;
use prefixbench::transport::{Client, Outgoing, Settings};
use prefixbench::units::Micros;
use std::hint::black_box;
use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::sync::Arc;
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;

const ANSWER: &str = "HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\ncontent-length: 78\r\n\r\n\
    data: {\"choices\":[{\"index\":0,\"delta\":{\"content\":\"a\"},\"finish_reason\":\"stop\"}]}";

/// Reads requests to their last byte and answers each.
fn sink() -> SocketAddr {
    let listener = TcpListener::bind("127.0.0.1:0").expect("a free port");
    let address = listener.local_addr().expect("an address");
    std::thread::spawn(move || {
        for connection in listener.incoming() {
            let connection = connection.expect("a connection");
            std::thread::spawn(move || answer(connection));
        }
    });
    address
}

/// Answers until the other side goes.
fn answer(connection: TcpStream) {
    connection.set_nodelay(true).expect("a socket");
    let mut reader = BufReader::with_capacity(1 << 16, connection);
    let mut body = Vec::new();
    loop {
        let mut length = 0;
        loop {
            let mut line = String::new();
            if reader.read_line(&mut line).unwrap_or(0) == 0 {
                return;
            }
            let line = line.to_ascii_lowercase();
            if let Some(said) = line.strip_prefix("content-length:") {
                length = said.trim().parse().expect("a number");
            }
            if line.trim().is_empty() {
                break;
            }
        }
        body.resize(length, 0);
        let whole = reader.read_exact(&mut body);
        if whole.is_err() || reader.get_mut().write_all(ANSWER.as_bytes()).is_err() {
            return;
        }
    }
}

fn uploads(criterion: &mut Criterion) {
    let address = sink();
    let scenario = support::long_chat(100, 100_000);
    let requests = support::requests(&scenario, "append-only");
    let last = requests.last().expect("100 requests");
    let body = support::body(last).text;
    let runtime = tokio::runtime::Runtime::new().expect("a runtime");
    let client = Client::new(&Settings::default(), Instant::now()).expect("a client");
    let mut group = criterion.benchmark_group("upload");
    group.throughput(Throughput::Bytes(body.len() as u64));
    let last = Arc::new(last.clone());
    group.bench_function("due to received", |bencher| {
        bencher.iter_custom(|times| {
            let (client, last) = (client.clone(), Arc::clone(&last));
            // On a worker, as conversations are.
            let sent = runtime.spawn(async move {
                let began = Instant::now();
                for _ in 0..times {
                    let outgoing = Outgoing {
                        url: format!("http://{address}/v1/chat/completions"),
                        headers: Vec::new(),
                        body: support::body(black_box(&last)).text.into(),
                        dialect: find("openai-chat").expect("a dialect"),
                        stream: true,
                        due: Micros(0),
                    };
                    let sent = client.send(outgoing, &CancellationToken::new()).await;
                    assert_eq!(sent.outcome, Outcome::Ok, "{:?}", sent.error);
                }
                began.elapsed()
            });
            runtime.block_on(sent).expect("no panic")
        });
    });
    let mut plain = TcpStream::connect(address).expect("a connection");
    plain.set_nodelay(true).expect("a socket");
    let head = format!(
        "POST / HTTP/1.1\r\nhost: {address}\r\ncontent-length: {}\r\n\r\n",
        body.len()
    );
    let bytes = [head.as_bytes(), body.as_bytes()].concat();
    let mut answered = vec![0; ANSWER.len()];
    group.bench_function("limit: plain write", |bencher| {
        bencher.iter(|| {
            plain.write_all(black_box(&bytes)).expect("written");
            plain.read_exact(&mut answered).expect("answered");
        });
    });
    group.finish();
}

criterion_group!(benches, uploads);
criterion_main!(benches);
