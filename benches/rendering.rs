//! How fast strategies build prompts: all requests of a chat, in bytes of prompt
//! text a second. Unchanged text is shared, so the rate may be above that of
//! `memcpy`, which is measured beside it.

#![expect(
    clippy::expect_used,
    reason = "a bench without its input has nothing to measure"
)]

mod support;

use criterion::{BenchmarkId, Criterion, Throughput, criterion_group, criterion_main};
use prefixbench::conversation::Pending;
use std::hint::black_box;

const TOKENS_PER_TURN: usize = 400;

fn prompt_bytes(requests: &[Pending]) -> u64 {
    let bodies = requests.iter().map(support::body);
    let spans = bodies
        .flat_map(|body| body.messages)
        .flat_map(|message| message.spans);
    spans.map(|placed| placed.span.text.len() as u64).sum()
}

/// 200,000 tokens in 500 turns under each strategy.
fn strategies(criterion: &mut Criterion) {
    let scenario = support::long_chat(500, 500 * TOKENS_PER_TURN);
    let mut group = criterion.benchmark_group("rendering of 500 turns");
    group.sample_size(10);
    for strategy in support::STRATEGIES {
        let bytes = prompt_bytes(&support::requests(&scenario, strategy));
        group.throughput(Throughput::Bytes(bytes));
        group.bench_function(*strategy, |bencher| {
            bencher.iter(|| support::requests(black_box(&scenario), strategy));
        });
    }
    group.finish();
}

/// The same rate at every length: time is linear in the bytes produced.
fn lengths(criterion: &mut Criterion) {
    let mut group = criterion.benchmark_group("rendering by length");
    group.sample_size(10);
    for turns in [125, 250, 500] {
        let scenario = support::long_chat(turns, turns * TOKENS_PER_TURN);
        for strategy in ["inline", "append-only"] {
            let bytes = prompt_bytes(&support::requests(&scenario, strategy));
            group.throughput(Throughput::Bytes(bytes));
            group.bench_function(BenchmarkId::new(strategy, turns), |bencher| {
                bencher.iter(|| support::requests(black_box(&scenario), strategy));
            });
        }
    }
    group.finish();
}

/// What copying and writing the last of these prompts costs.
fn limits(criterion: &mut Criterion) {
    let scenario = support::long_chat(500, 500 * TOKENS_PER_TURN);
    let requests = support::requests(&scenario, "append-only");
    let body = requests
        .last()
        .map(support::body)
        .expect("500 requests")
        .text;
    let value: serde_json::Value = serde_json::from_str(&body).expect("JSON");
    let mut group = criterion.benchmark_group("rendering limits");
    group.throughput(Throughput::Bytes(body.len() as u64));
    let mut copy = vec![0; body.len()];
    group.bench_function("memcpy", |bencher| {
        bencher.iter(|| black_box(&mut copy).copy_from_slice(black_box(body.as_bytes())));
    });
    group.bench_function("serde_json", |bencher| {
        bencher.iter(|| serde_json::to_string(black_box(&value)));
    });
    group.finish();
}

criterion_group!(benches, strategies, lengths, limits);
criterion_main!(benches);
