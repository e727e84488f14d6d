//! How fast a stream is taken apart and read, in bytes and in events a second,
//! beside a scan for line ends that does nothing else.

#![expect(
    clippy::expect_used,
    reason = "a bench without its input has nothing to measure"
)]

use criterion::{BenchmarkId, Criterion, Throughput, criterion_group, criterion_main};
use prefixbench::chat::ChatEvent;
use prefixbench::provider::sse::{SseBytes, SseLimits, SseParser, SseSink};
use prefixbench::provider::{Answer, Decoder, find};
use std::fmt::Write as _;
use std::hint::black_box;

const EVENTS: u64 = 20_000;

/// Chat chunks as vLLM sends them.
fn stream() -> Vec<u8> {
    let mut text = String::new();
    for at in 0..EVENTS {
        let _in_memory = write!(
            text,
            "data: {{\"id\":\"chatcmpl-7\",\"object\":\"chat.completion.chunk\",\"created\":1764500000,\
             \"model\":\"m\",\"choices\":[{{\"index\":0,\"delta\":{{\"content\":\" w{at}\"}},\
             \"logprobs\":null,\"finish_reason\":null}}]}}\n\n"
        );
    }
    text.push_str("data: [DONE]\n\n");
    text.into_bytes()
}

fn parsed(bytes: &[u8], chunk: usize) -> usize {
    let mut parser = SseParser::new(SseLimits::default());
    let (mut events, mut count) = (Vec::new(), 0);
    for chunk in bytes.chunks(chunk) {
        parser.push(chunk, &mut events).expect("small lines");
        count += events.drain(..).count();
    }
    parser.finish(&mut events);
    count + events.len()
}

/// Reads events as the transport does, without stamps.
struct Reading {
    decoder: Box<dyn Decoder>,
    means: Vec<ChatEvent>,
    answer: Answer,
}

impl SseSink for Reading {
    fn piece<'b>(&self, bytes: &'b [u8]) -> Option<(&'b str, usize)> {
        self.decoder.piece(bytes)
    }

    fn take_piece(&mut self, text: &str) {
        self.answer.take_text(text);
    }

    fn take(&mut self, event: SseBytes<'_>) {
        let means = &mut self.means;
        self.decoder.event(&event.name(), &event.data(), means);
        self.answer.extend(means.drain(..));
    }
}

fn decoded(bytes: &[u8]) -> Answer {
    let dialect = find("openai-chat").expect("a dialect");
    let mut parser = SseParser::new(SseLimits::default());
    let mut reading = Reading {
        decoder: dialect.decoder(),
        means: Vec::new(),
        answer: Answer::default(),
    };
    for chunk in bytes.chunks(16 << 10) {
        parser.each(chunk, &mut reading).expect("small lines");
    }
    parser.last(&mut reading);
    reading.answer
}

fn sse(criterion: &mut Criterion) {
    let bytes = stream();
    let mut group = criterion.benchmark_group("sse");
    group.sample_size(20);
    for (unit, throughput) in [
        ("bytes", Throughput::Bytes(bytes.len() as u64)),
        ("events", Throughput::Elements(EVENTS)),
    ] {
        group.throughput(throughput);
        for chunk in [16 << 10, 200] {
            group.bench_function(
                BenchmarkId::new(format!("parsed, {unit}"), chunk),
                |bencher| {
                    bencher.iter(|| parsed(black_box(&bytes), chunk));
                },
            );
        }
        group.bench_function(format!("parsed and decoded, {unit}"), |bencher| {
            bencher.iter(|| decoded(black_box(&bytes)));
        });
        group.bench_function(format!("limit: memchr for line ends, {unit}"), |bencher| {
            bencher.iter(|| memchr::memchr_iter(b'\n', black_box(&bytes)).count());
        });
    }
    group.finish();
}

criterion_group!(benches, sse);
criterion_main!(benches);
